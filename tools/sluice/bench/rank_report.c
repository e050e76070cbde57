/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_report.h"

#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct total {
    double rows_per_s, delivered_per_s, seconds; /* seconds: the longest */
    uint64_t samples;
    uint32_t slowest, fastest, machines;
};

static bool is_first_of_machine(const struct rank_report *report, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++) {
        if (strcmp(report->ranks[i].machine, report->ranks[rank].machine) == 0) {
            return false;
        }
    }
    return true;
}

static struct total add_up(const struct rank_report *report)
{
    struct total total = {0};
    for (uint32_t i = 0; i < report->count; i++) {
        const struct rank_figures *figures = &report->ranks[i];
        total.rows_per_s += figures->rows_per_s;
        total.delivered_per_s += figures->delivered_per_s;
        total.samples += figures->samples;
        total.seconds = fmax(total.seconds, figures->seconds);
        total.machines += is_first_of_machine(report, i);
        if (figures->rows_per_s < report->ranks[total.slowest].rows_per_s) {
            total.slowest = i;
        }
        if (figures->rows_per_s > report->ranks[total.fastest].rows_per_s) {
            total.fastest = i;
        }
    }
    return total;
}

void rank_report_text(const struct rank_report *report)
{
    const struct total total = add_up(report);
    const char *rows = bench_rows_are(&report->setting);
    const struct rank_figures *slowest = &report->ranks[total.slowest];
    printf("rank  machine           %7s/s      MB/s   CPU ms   first ms  peak MiB\n", rows);
    for (uint32_t i = 0; i < report->count; i++) {
        const struct rank_figures *figures = &report->ranks[i];
        char cpu[16] = "-"; /* of a rank without a sample */
        if (isfinite(figures->cpu_ms)) {
            snprintf(cpu, sizeof cpu, "%.3f", figures->cpu_ms);
        }
        printf("%4" PRIu32 "  %-16.16s %10.1f %9.1f %8s %10.1f %9.1f\n", i, figures->machine,
               figures->rows_per_s, figures->delivered_per_s * 1e-6, cpu, figures->first_batch_ms,
               figures->peak_rss_mib);
    }
    printf("speed         %.1f %s/s, %.1f MB/s: the sum of %" PRIu32 " ranks on %" PRIu32
           " machine%s (%" PRIu64 " %s, %.2f s)\n",
           total.rows_per_s, rows, total.delivered_per_s * 1e-6, report->count, total.machines,
           total.machines == 1 ? "" : "s", total.samples, rows, total.seconds);
    printf("slowest rank  %" PRIu32 " on %s: %.1f %s/s, %.0f %% of the fastest (rank %" PRIu32
           ")\n",
           total.slowest, slowest->machine, slowest->rows_per_s, rows,
           100 * slowest->rows_per_s / report->ranks[total.fastest].rows_per_s, total.fastest);
    printf("bottleneck    of rank %" PRIu32 ": %s\n", total.slowest, slowest->verdict);
}

static void write_rank(struct json *json, const struct rank_report *report, uint32_t rank)
{
    const struct rank_figures *figures = &report->ranks[rank];
    json_open_object(json, NULL);
    json_unsigned(json, "rank", rank);
    json_text(json, "machine", figures->machine);
    bench_stats_write_rate(json, "", figures->rows_per_s, &report->setting);
    json_real(json, "delivered_bytes_per_s", figures->delivered_per_s);
    json_unsigned(json, "samples", figures->samples);
    json_real(json, "seconds", figures->seconds);
    json_real(json, "cpu_ms_per_sample", figures->cpu_ms);
    json_real(json, "first_batch_ms", figures->first_batch_ms);
    json_real(json, "peak_rss_mib", figures->peak_rss_mib);
    json_text(json, "verdict", figures->verdict);
    json_close_object(json);
}

void rank_report_json(const struct rank_report *report, FILE *stream)
{
    const struct total total = add_up(report);
    struct json json;
    json_begin(&json, stream);
    json_open_object(&json, NULL);
    bench_stats_write_rate(&json, "", total.rows_per_s, &report->setting);
    json_real(&json, "delivered_bytes_per_s", total.delivered_per_s);
    json_unsigned(&json, "samples", total.samples);
    json_real(&json, "seconds", total.seconds);
    json_unsigned(&json, "world_size", report->count);
    json_unsigned(&json, "machines", total.machines);
    json_unsigned(&json, "slowest_rank", total.slowest);
    json_open_array(&json, "ranks");
    for (uint32_t i = 0; i < report->count; i++) {
        write_rank(&json, report, i);
    }
    json_close_array(&json);
    bench_stats_write_setting(&json, report->stats, &report->setting);
    json_text(&json, "verdict", report->ranks[total.slowest].verdict);
    json_close_object(&json);
}
