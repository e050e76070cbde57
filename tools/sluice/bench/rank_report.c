/* SPDX-License-Identifier: Apache-2.0 */
#include "shares.h"

#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct total {
    double rows_per_s, delivered_per_s, seconds; /* seconds: the longest */
    uint64_t samples;
    uint32_t slowest, fastest, machines;
};

static bool is_first_of_machine(const struct bench_shares *shares, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++) {
        if (strcmp(shares->ranks[i].machine, shares->ranks[rank].machine) == 0) {
            return false;
        }
    }
    return true;
}

static struct total add_up(const struct bench_shares *shares)
{
    struct total total = {0};
    for (uint32_t i = 0; i < shares->count; i++) {
        const struct bench_share *share = &shares->ranks[i];
        total.rows_per_s += share->rows_per_s;
        total.delivered_per_s += share->delivered_per_s;
        total.samples += share->samples;
        total.seconds = fmax(total.seconds, share->seconds);
        total.machines += is_first_of_machine(shares, i);
        if (share->rows_per_s < shares->ranks[total.slowest].rows_per_s) {
            total.slowest = i;
        }
        if (share->rows_per_s > shares->ranks[total.fastest].rows_per_s) {
            total.fastest = i;
        }
    }
    return total;
}

void bench_shares_text(const struct bench_shares *shares)
{
    const struct total total = add_up(shares);
    const char *rows = bench_rows_are(&shares->setting);
    const struct bench_share *slowest = &shares->ranks[total.slowest];
    printf("rank  machine           %7s/s      MB/s   CPU ms   first ms  peak MiB\n", rows);
    for (uint32_t i = 0; i < shares->count; i++) {
        const struct bench_share *share = &shares->ranks[i];
        char cpu[16] = "-"; /* of a rank without a sample */
        if (isfinite(share->cpu_ms)) {
            snprintf(cpu, sizeof cpu, "%.3f", share->cpu_ms);
        }
        printf("%4" PRIu32 "  %-16.16s %10.1f %9.1f %8s %10.1f %9.1f\n", i, share->machine,
               share->rows_per_s, share->delivered_per_s * 1e-6, cpu, share->first_batch_ms,
               share->peak_rss_mib);
    }
    printf("speed         %.1f %s/s, %.1f MB/s: the sum of %" PRIu32 " ranks on %" PRIu32
           " machine%s (%" PRIu64 " %s, %.2f s)\n",
           total.rows_per_s, rows, total.delivered_per_s * 1e-6, shares->count, total.machines,
           total.machines == 1 ? "" : "s", total.samples, rows, total.seconds);
    printf("slowest rank  %" PRIu32 " on %s: %.1f %s/s, %.0f %% of the fastest (rank %" PRIu32
           ")\n",
           total.slowest, slowest->machine, slowest->rows_per_s, rows,
           100 * slowest->rows_per_s / shares->ranks[total.fastest].rows_per_s, total.fastest);
    printf("bottleneck    of rank %" PRIu32 ": %s\n", total.slowest, slowest->verdict);
}

static void write_share(struct json *json, const struct bench_shares *shares, uint32_t rank)
{
    const struct bench_share *share = &shares->ranks[rank];
    json_open_object(json, NULL);
    json_unsigned(json, "rank", rank);
    json_text(json, "machine", share->machine);
    bench_stats_write_rate(json, "", share->rows_per_s, &shares->setting);
    json_real(json, "delivered_bytes_per_s", share->delivered_per_s);
    json_unsigned(json, "samples", share->samples);
    json_real(json, "seconds", share->seconds);
    json_real(json, "cpu_ms_per_sample", share->cpu_ms);
    json_real(json, "first_batch_ms", share->first_batch_ms);
    json_real(json, "peak_rss_mib", share->peak_rss_mib);
    json_text(json, "verdict", share->verdict);
    json_close_object(json);
}

void bench_shares_json(const struct bench_shares *shares, FILE *stream)
{
    const struct total total = add_up(shares);
    struct json json;
    json_begin(&json, stream);
    json_open_object(&json, NULL);
    bench_stats_write_rate(&json, "", total.rows_per_s, &shares->setting);
    json_real(&json, "delivered_bytes_per_s", total.delivered_per_s);
    json_unsigned(&json, "samples", total.samples);
    json_real(&json, "seconds", total.seconds);
    json_unsigned(&json, "world_size", shares->count);
    json_unsigned(&json, "machines", total.machines);
    json_unsigned(&json, "slowest_rank", total.slowest);
    json_open_array(&json, "ranks");
    for (uint32_t i = 0; i < shares->count; i++) {
        write_share(&json, shares, i);
    }
    json_close_array(&json);
    bench_stats_write_setting(&json, shares->stats, &shares->setting);
    json_text(&json, "verdict", shares->ranks[total.slowest].verdict);
    json_close_object(&json);
}
