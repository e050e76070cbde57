/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_report.h"

#include "bottleneck.h"
#include "json.h"
#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* What both forms print, computed once. */
struct derived {
    double images_per_s, bytes_per_s;
    double cpu_ms, full_ms, ratio;
    char bottleneck[320];
    struct emulated_figures emulated;
};

/* Without the first step's wait, which fills the pipeline, where the steps are on record. */
static double wait_share(const struct bench_result *result, const struct emulated_figures *emulated)
{
    if (emulated->steps > 0) {
        return 1 - emulated->au_mlperf;
    }
    return (double)result->stats.host_wait_ns * 1e-9 / result->seconds;
}

static struct derived derive(const struct bench_figures *figures)
{
    struct bench_result *result = figures->result;
    struct derived derived = {.full_ms = full_decode_median_ms(figures->yardstick)};
    derived.images_per_s = (double)result->images / result->seconds;
    derived.bytes_per_s = (double)result->stats.bytes_read / result->seconds;
    derived.cpu_ms = result->cpu_s * 1e3 / (double)result->decoded;
    derived.ratio = derived.cpu_ms / derived.full_ms;
    derived.emulated = emulated_figures(&result->emulated);
    struct bottleneck_run run = {
        .stats = &result->stats,
        .seconds = result->seconds,
        .wait_share = wait_share(result, &derived.emulated),
        .step_s = figures->plan->step_s,
        .processors = figures->processors,
    };
    bottleneck_describe(&run, derived.bottleneck, sizeof derived.bottleneck);
    return derived;
}

static void print_stage(const char *name, const sluice_stage_stats *stage, double seconds)
{
    printf("  %-8s busy %6.2f s (%.2f threads), queue %3.0f %% full\n", name,
           (double)stage->busy_ns * 1e-9, (double)stage->busy_ns * 1e-9 / seconds,
           100 * bottleneck_queue_fill(stage));
}

static void print_emulated(const struct bench_figures *figures, const struct derived *derived)
{
    const struct emulated_figures *emulated = &derived->emulated;
    printf("emulated accelerator (a sleep of %.3f ms a step, no real device):\n",
           figures->plan->step_s * 1e3);
    if (emulated->steps == 0) {
        printf("  no step after the first: nothing to count; give more --epochs or --seconds\n");
        return;
    }
    printf("  utilisation %.1f %% strict, %.1f %% by the MLPerf Storage formula, over %" PRIu64
           " steps\n",
           100 * emulated->au_strict, 100 * emulated->au_mlperf, emulated->steps);
    printf("  host wait a step: p50 %.2f ms, p99 %.2f ms, max %.2f ms\n", emulated->wait_p50_ms,
           emulated->wait_p99_ms, emulated->wait_max_ms);
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
    const sluice_loader_stats *stats = &result->stats;
    struct derived derived = derive(figures);
    char rate[32];
    units_format_bytes(rate, sizeof rate, (uint64_t)derived.bytes_per_s);
    if (result->interrupted) {
        printf("interrupted: the figures cover what was run until then\n");
    }
    printf("speed         %.1f images/s (%" PRIu64 " images, %" PRIu64 " whole epochs, %.2f s)\n",
           derived.images_per_s, result->images, result->epochs, result->seconds);
    print_cpu(figures, &derived);
    printf("first batch   %.1f ms\n", figures->warm_up->first_batch_ms);
    printf("peak memory   %.1f MiB resident\n", figures->peak_rss_mib);
    printf("reading       %s/s by %s%s%s%s\n", rate, stats->io_backend,
           stats->io_reason[0] != '\0' ? " (" : "", stats->io_reason,
           stats->io_reason[0] != '\0' ? ")" : "");
    printf("workers       %" PRIu32 " on %" PRIu32 " processors\n", stats->workers,
           figures->processors);
    print_stage("read", &stats->read, result->seconds);
    print_stage("decode", &stats->decode, result->seconds);
    print_stage("augment", &stats->augment, result->seconds);
    print_stage("upload", &stats->upload, result->seconds);
    if (stats->bad_samples > 0) {
        printf("bad samples   %" PRIu64 "; `sluice verify --decode` names them\n",
               stats->bad_samples);
    }
    if (figures->plan->step_s > 0) {
        print_emulated(figures, &derived);
    }
    printf("bottleneck    %s\n", derived.bottleneck);
}

static void write_histogram(struct json *json, const char *key, const uint64_t *bins)
{
    json_open_row(json, key);
    for (int bin = 0; bin < SLUICE_HISTOGRAM_BINS; bin++) {
        json_unsigned(json, NULL, bins[bin]);
    }
    json_close_array(json);
}

static void write_stage(struct json *json, const char *name, const sluice_stage_stats *stage)
{
    json_open_object(json, name);
    json_real(json, "busy_s", (double)stage->busy_ns * 1e-9);
    json_unsigned(json, "items", stage->items);
    json_real(json, "queue_fill", bottleneck_queue_fill(stage));
    write_histogram(json, "queue_depth", stage->depth);
    json_close_object(json);
}

static void write_emulated(struct json *json, const struct bench_figures *figures,
                           const struct derived *derived)
{
    const struct emulated_figures *emulated = &derived->emulated;
    bool used = figures->plan->step_s > 0;
    json_bool(json, "emulated", used);
    json_real(json, "step_ms", used ? figures->plan->step_s * 1e3 : NAN);
    json_unsigned(json, "steps_counted", emulated->steps);
    json_real(json, "au_strict", emulated->au_strict);
    json_real(json, "au_mlperf", emulated->au_mlperf);
    json_open_object(json, "host_wait_ms");
    json_real(json, "p50", emulated->wait_p50_ms);
    json_real(json, "p99", emulated->wait_p99_ms);
    json_real(json, "max", emulated->wait_max_ms);
    json_close_object(json);
}

static void write_setting(struct json *json, const struct bench_figures *figures)
{
    const sluice_loader_stats *stats = &figures->result->stats;
    json_text(json, "dataset", figures->dataset);
    json_unsigned(json, "batch", figures->plan->options.batch_size);
    json_unsigned(json, "workers", stats->workers);
    json_unsigned(json, "processors", figures->processors);
    json_text(json, "io_backend", stats->io_backend);
    json_text(json, "io_reason", stats->io_reason);
    json_bool(json, "io_direct", stats->io_direct != 0);
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

static void write_stages(struct json *json, const sluice_loader_stats *stats)
{
    json_open_object(json, "stages");
    write_stage(json, "read", &stats->read);
    write_stage(json, "decode", &stats->decode);
    write_stage(json, "augment", &stats->augment);
    write_stage(json, "upload", &stats->upload);
    json_close_object(json);
    write_histogram(json, "ready_batches", stats->ready_depth);
}

void bench_report_json(const struct bench_figures *figures)
{
    const struct full_decode *yardstick = figures->yardstick;
    struct derived derived = derive(figures);
    struct json json;
    json_begin(&json, stdout);
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
    write_setting(&json, figures);
    write_amounts(&json, figures, &derived);
    write_stages(&json, &figures->result->stats);
    write_emulated(&json, figures, &derived);
    json_text(&json, "bottleneck", derived.bottleneck);
    json_close_object(&json);
}
