/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_report.h"

#include "bottleneck.h"
#include "json.h"

#include <inttypes.h>
#include <math.h>

/* What both forms print, computed once. */
struct derived {
    double images_per_s, bytes_per_s;
    double cpu_ms, full_ms, ratio;
    char bottleneck[320];
};

static struct derived derive(const struct bench_figures *figures)
{
    const struct bench_result *result = figures->result;
    struct derived derived = {.full_ms = full_decode_median_ms(figures->yardstick)};
    derived.images_per_s = (double)result->images / result->seconds;
    derived.bytes_per_s = (double)result->stats.bytes_read / result->seconds;
    derived.cpu_ms = result->cpu_s * 1e3 / (double)result->decoded;
    derived.ratio = derived.cpu_ms / derived.full_ms;
    struct bottleneck_run run = {
        .stats = &result->stats,
        .stages = &result->stages,
        .seconds = result->seconds,
        .consumer = CONSUMER_FREE,
        .data_idle = (double)result->stats.host_wait_ns * 1e-9 / result->seconds,
        .processors = figures->setting.processors,
    };
    bottleneck_describe(&run, derived.bottleneck, sizeof derived.bottleneck);
    return derived;
}

static void print_cpu(const struct bench_figures *figures, const struct derived *derived)
{
    printf("CPU           %.3f ms an image, all threads\n", derived->cpu_ms);
    if (isnan(derived->full_ms)) {
        printf("full decode   no JPEG to compare with\n");
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
        printf("interrupted: the figures cover what was run until then\n");
    }
    printf("speed         %.1f images/s (%" PRIu64 " images, %" PRIu64 " whole epochs, %.2f s)\n",
           derived.images_per_s, result->images, result->epochs, result->seconds);
    print_cpu(figures, &derived);
    printf("first batch   %.1f ms\n", figures->warm_up->first_batch_ms);
    printf("peak memory   %.1f MiB resident\n", figures->peak_rss_mib);
    bench_stats_print(&result->stats, &result->stages, &figures->setting, result->seconds);
    printf("bottleneck    %s\n", derived.bottleneck);
}

static void write_amounts(struct json *json, const struct bench_figures *figures,
                          const struct derived *derived)
{
    const struct bench_result *result = figures->result;
    json_bool(json, "interrupted", result->interrupted);
    json_unsigned(json, "images", result->images);
    json_unsigned(json, "batches", result->batches);
    json_unsigned(json, "epochs", result->epochs);
    json_real(json, "seconds", result->seconds);
    json_real(json, "cpu_s", result->cpu_s);
    json_unsigned(json, "bytes_read", result->stats.bytes_read);
    json_real(json, "bytes_per_s", derived->bytes_per_s);
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
    json_real(&json, "images_per_s", derived.images_per_s);
    json_real(&json, "cpu_ms_per_image", derived.cpu_ms);
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
    json_null(&json, "accelerator");
    json_text(&json, "verdict", derived.bottleneck);
    json_close_object(&json);
}
