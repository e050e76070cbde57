/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_report.h"

#include "bottleneck.h"
#include "json.h"

#include <inttypes.h>
#include <math.h>

/* Values that both formats print, computed once. */
struct derived {
    double rows_per_s, read_per_s, delivered_per_s; /* the latter in bytes */
    double cpu_ms, full_ms, ratio;
    double read_each, read_share; /* bytes read per sample; and per sample in a batch */
    struct remote_use remote;
    char bottleneck[800];
};

static struct derived derive(const struct bench_figures *figures)
{
    const struct bench_result *result = figures->result;
    struct derived derived = {.full_ms = full_decode_median_ms(figures->yardstick)};
    derived.rows_per_s = (double)result->samples / result->seconds;
    derived.read_per_s = (double)result->stats.bytes_read / result->seconds;
    derived.delivered_per_s = (double)result->bytes / result->seconds;
    derived.read_each = (double)result->stats.bytes_read / (double)result->decoded;
    derived.read_share = derived.read_each / ((double)result->bytes / (double)result->samples);
    derived.cpu_ms = result->cpu_s * 1e3 / (double)result->decoded;
    derived.ratio = derived.cpu_ms / derived.full_ms;
    derived.remote = result->remote;
    derived.remote.price_get = figures->setting.price_get;
    char store[REMOTE_USE_NAME_BYTES];
    remote_use_name(&derived.remote, store, sizeof store);
    struct bottleneck_run run = {
        .stats = &result->stats,
        .stages = &result->stages,
        .batches = result->batches,
        .seconds = result->seconds,
        .consumer = CONSUMER_FREE,
        .data_idle = (double)result->stats.host_wait_ns * 1e-9 / result->seconds,
        .processors = figures->setting.processors,
        .packing = isnan(derived.full_ms) ? NULL : bench_packing(&figures->setting, &result->stats),
        .files = figures->setting.files,
        .advice = figures->setting.advice,
        .store = remote_use_any(&derived.remote) ? store : NULL,
    };
    bottleneck_describe(&run, derived.bottleneck, sizeof derived.bottleneck);
    return derived;
}

static void print_cpu(const struct bench_figures *figures, const struct derived *derived)
{
    if (!bench_has_images(&figures->setting)) {
        printf("CPU           %.3f us a sample, all threads\n", derived->cpu_ms * 1e3);
        return;
    }
    printf("CPU           %.3f ms an image, all threads\n", derived->cpu_ms);
    if (isnan(derived->full_ms)) {
        printf("full decode   no JPEG can be read by itself for comparison\n");
        return;
    }
    printf("full decode   %.3f ms an image (plain libjpeg-turbo, %" PRIu32 " rounds, median)\n",
           derived->full_ms, figures->yardstick->rounds);
    printf("decode ratio  %.2f (CPU over full decode; lower is better)\n", derived->ratio);
}

void bench_report_text(const struct bench_figures *figures)
{
    const struct bench_result *result = figures->result;
    struct derived derived = derive(figures);
    if (result->interrupted) {
        printf("interrupted: the results cover the run until then\n");
    }
    const char *rows = bench_rows_are(&figures->setting);
    printf("speed         %.1f %s/s, %.1f MB/s (%" PRIu64 " %s, %" PRIu64
           " whole epochs, %.2f s)\n",
           derived.rows_per_s, rows, derived.delivered_per_s * 1e-6, result->samples, rows,
           result->epochs, result->seconds);
    box_counts_print(&result->boxes, result->samples, result->seconds);
    print_cpu(figures, &derived);
    printf("read          %.3f MB a sample, %.2f of its bytes in a batch\n",
           derived.read_each * 1e-6, derived.read_share);
    printf("first batch   %.1f ms\n", figures->warm_up->first_batch_ms);
    printf("peak memory   %.1f MiB resident\n", figures->peak_rss_mib);
    bench_stats_print(&result->stats, &result->stages, &figures->setting, result->seconds);
    remote_use_print(&derived.remote);
    cache_use_print(&result->cache);
    printf("bottleneck    %s\n", derived.bottleneck);
}

void bench_report_rank(const struct bench_figures *figures, struct rank_figures *share)
{
    const struct derived derived = derive(figures);
    share->samples = figures->result->samples;
    share->seconds = figures->result->seconds;
    share->rows_per_s = derived.rows_per_s;
    share->delivered_per_s = derived.delivered_per_s;
    share->cpu_ms = derived.cpu_ms;
    share->first_batch_ms = figures->warm_up->first_batch_ms;
    share->peak_rss_mib = figures->peak_rss_mib;
    snprintf(share->verdict, sizeof share->verdict, "%s",
             share->samples > 0 ? derived.bottleneck
                                : "it had no samples: there are fewer samples than ranks");
}

static void write_amounts(struct json *json, const struct bench_figures *figures,
                          const struct derived *derived)
{
    const struct bench_result *result = figures->result;
    json_bool(json, "interrupted", result->interrupted);
    json_unsigned(json, "samples", result->samples);
    if (bench_has_images(&figures->setting)) {
        json_unsigned(json, "images", result->samples);
    } else {
        json_null(json, "images");
    }
    json_unsigned(json, "batches", result->batches);
    json_unsigned(json, "epochs", result->epochs);
    json_real(json, "seconds", result->seconds);
    json_real(json, "cpu_s", result->cpu_s);
    json_unsigned(json, "bytes_read", result->stats.bytes_read);
    json_real(json, "bytes_per_s", derived->read_per_s);
    json_real(json, "bytes_read_per_sample", derived->read_each);
    json_real(json, "bytes_read_of_delivered", derived->read_share);
    json_unsigned(json, "delivered_bytes", result->bytes);
    json_real(json, "delivered_bytes_per_s", derived->delivered_per_s);
    box_counts_write(&result->boxes, json, result->samples, result->seconds);
    json_unsigned(json, "bad_samples", result->stats.bad_samples);
    json_unsigned(json, "replaced_samples", result->stats.replaced_samples);
    json_unsigned(json, "memory_bytes", result->stats.memory_bytes);
}

void bench_report_json(const struct bench_figures *figures, FILE *stream)
{
    const struct full_decode *yardstick = figures->yardstick;
    struct derived derived = derive(figures);
    struct json json;
    json_begin(&json, stream);
    json_open_object(&json, NULL);
    bench_stats_write_rate(&json, "", derived.rows_per_s, &figures->setting);
    json_real(&json, "cpu_ms_per_sample", derived.cpu_ms);
    json_real(&json, "cpu_ms_per_image",
              bench_has_images(&figures->setting) ? derived.cpu_ms : NAN);
    json_real(&json, "full_decode_cpu_ms_per_image", derived.full_ms);
    json_open_row(&json, "full_decode_rounds_ms");
    for (uint32_t round = 0; round < yardstick->rounds; round++) {
        json_real(&json, NULL, yardstick->round_ms[round]);
    }
    json_close_array(&json);
    json_real(&json, "decode_ratio", derived.ratio);
    json_real(&json, "first_batch_ms", figures->warm_up->first_batch_ms);
    json_real(&json, "peak_rss_mib", figures->peak_rss_mib);
    bench_stats_write_setting(&json, &figures->result->stats, &figures->setting);
    write_amounts(&json, figures, &derived);
    bench_stats_write_stages(&json, &figures->result->stats, &figures->result->stages);
    remote_use_write(&derived.remote, &json);
    cache_use_write(&figures->result->cache, &json);
    json_null(&json, "accelerator");
    json_text(&json, "verdict", derived.bottleneck);
    json_unsigned(&json, "verdict_steps", figures->result->batches);
    json_unsigned(&json, "verdict_steps_least", BOTTLENECK_BATCHES_LEAST);
    json_close_object(&json);
}
