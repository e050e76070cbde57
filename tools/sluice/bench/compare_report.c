/* SPDX-License-Identifier: Apache-2.0 */
/* Medians and spreads of the repeats, as a table and as JSON. Main thread; pure. */
#include "compare_report.h"

#include "bottleneck.h"
#include "remote_use.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* One line of the table: a field of bench_arm_spreads, times `factor`. */
struct row {
    const char *text, *key;
    size_t offset;
    double factor;
    int decimals;
};

#define ROW(text, key, field, factor, decimals)                                \
    {                                                                          \
        text, key, offsetof(struct bench_arm_spreads, field), factor, decimals \
    }

static const struct row rows[] = {
    ROW("step mean ms", "step_ms_mean", step_mean_ms, 1, 2),
    ROW("step p50 ms", "step_ms_p50", step_p50_ms, 1, 2),
    ROW("step p99 ms", "step_ms_p99", step_p99_ms, 1, 2),
    ROW("samples/s", "samples_per_s", rows_per_s, 1, 1),
    ROW("utilisation strict %", "au_strict", au_strict, 100, 2),
    ROW("utilisation DLIO %", "au_mlperf", au_mlperf, 100, 2),
    ROW("host wait p50 ms", "host_wait_ms_p50", wait_p50_ms, 1, 3),
    ROW("host wait p99 ms", "host_wait_ms_p99", wait_p99_ms, 1, 3),
    ROW("host wait max ms", "host_wait_ms_max", wait_max_ms, 1, 3),
    ROW("idle %", "idle", idle, 100, 2),
    ROW("  data-caused %", "data_idle", data_idle, 100, 2),
};
enum { ROWS = sizeof rows / sizeof *rows };

static struct bench_spread spread_at(const struct bench_arms_figures *figures, int arm,
                                     const struct row *row)
{
    const char *spreads = (const char *)&figures->comparison->arms[arm];
    return *(const struct bench_spread *)(const void *)(spreads + row->offset);
}

void bench_arms_judge(struct bench_arms_figures *figures)
{
    struct remote_use remote = {.epochs = 0};
    char store[REMOTE_USE_NAME_BYTES];
    remote_use_end(&remote);
    remote_use_name(&remote, store, sizeof store);
    const struct bottleneck_run run = {
        .stats = &figures->result->stats,
        .stages = &figures->result->stages,
        .batches = figures->result->stats.batches,
        .seconds = figures->result->seconds,
        .consumer = figures->accelerator->real ? CONSUMER_GPU : CONSUMER_EMULATED,
        .data_idle = figures->comparison->arms[ARM_SLUICE].data_idle.median,
        .rows_per_s = figures->comparison->demand,
        .processors = figures->setting.processors,
        .packing = bench_packing(&figures->setting, &figures->result->stats),
        .files = figures->setting.files,
        .advice = figures->setting.advice,
        .store = remote_use_any(&remote) ? store : NULL,
    };
    if (run.seconds > 0) {
        bottleneck_describe(&run, figures->verdict, sizeof figures->verdict);
        bottleneck_advise(&run, figures->advice, sizeof figures->advice);
    } else {
        snprintf(figures->verdict, sizeof figures->verdict,
                 "none: interrupted before sluice's arm was measured");
        snprintf(
            figures->advice, sizeof figures->advice,
            "none: interrupted before sluice's arm was measured; --seconds 5s makes it shorter");
    }
}

/* Returns the row's text; for rows with images, rates are of images. */
static const char *text_of(const struct row *row, const struct bench_setting *setting)
{
    const bool rate = row->offset == offsetof(struct bench_arm_spreads, rows_per_s);
    return rate && bench_has_images(setting) ? "images/s" : row->text;
}

static void print_table(const struct bench_arms_figures *figures)
{
    printf("%-22s", "");
    for (int arm = 0; arm < BENCH_ARMS; arm++) {
        printf("  %-26s", bench_arm_names[arm]);
    }
    printf("\n");
    for (const struct row *row = rows; row < rows + ROWS; row++) {
        printf("%-22s", text_of(row, &figures->setting));
        for (int arm = 0; arm < BENCH_ARMS; arm++) {
            const struct bench_spread spread = spread_at(figures, arm, row);
            char text[64];
            bench_spread_format(text, sizeof text, &spread, row->factor, row->decimals);
            printf("  %-26s", text);
        }
        printf("\n");
    }
}

static void print_spread(const char *name, const struct bench_spread *spread, double factor,
                         const char *unit)
{
    char text[64];
    bench_spread_format(text, sizeof text, spread, factor, 2);
    printf("%-22s  %s%s\n", name, text, unit);
}

static void print_supply(const struct bench_arms_figures *figures)
{
    const struct bench_comparison *comparison = figures->comparison;
    if (isnan(comparison->supply.median)) {
        return;
    }
    print_spread("supply", &comparison->supply, 1,
                 bench_has_images(&figures->setting) ? " images/s when nothing holds the batches"
                                                     : " samples/s when nothing holds the batches");
    print_spread("  over demand", &comparison->supply_ratio, 1, "");
    print_spread("utilisation predicted", &comparison->predicted, 100,
                 " % = min(1, supply/demand)");
    print_spread("  measured - predicted", &comparison->prediction_error, 1, " points");
}

/* Prints the results beside the requirements of the benchmark, whose own runs decode nothing. */
static void print_asked(const struct bench_arms_figures *figures)
{
    const struct bench_spread *utilisation = &figures->comparison->arms[ARM_SLUICE].au_mlperf;
    if (figures->preset == NULL || isnan(utilisation->median)) {
        return;
    }
    printf("MLPerf Storage asks     %.0f %% of utilisation, where nothing is decoded: %s here\n",
           figures->preset->au_passed * 100,
           utilisation->median >= figures->preset->au_passed ? "as much" : "less");
}

static void print_setting(const struct bench_arms_figures *figures)
{
    const struct bench_arms_result *result = figures->result;
    printf("accelerator   %s\n", figures->accelerator->text);
    if (figures->preset != NULL) {
        printf("preset        %s: only its batch and step time; this is not an MLPerf result\n",
               figures->preset->name);
    }
    if (result->done > 0) {
        printf("repeats       %" PRIu64, result->done);
    } else {
        printf("repeats       none whole");
    }
    printf(", %" PRIu64 " steps an arm counted%s\n", figures->steps,
           result->done > 1 ? " in each; median (min..max)" : "");
}

/* Prints the verdict and the step first, then the arms, then the details. */
void bench_arms_report_text(const struct bench_arms_figures *figures)
{
    const struct bench_comparison *comparison = figures->comparison;
    const struct bench_arms_result *result = figures->result;
    const char *are = bench_rows_are(&figures->setting);
    printf("verdict       %s\n", figures->advice);
    printf("step          %.3f ms for %" PRIu32 " %s: %.1f %s/s wanted\n",
           figures->accelerator->step_s * 1e3, figures->setting.options->batch_size, are,
           comparison->demand, are);
    if (result->interrupted) {
        printf(result->done > 0
                   ? "interrupted: the results cover the completed repeats\n"
                   : "interrupted: the results cover part of the first repeat; - is unknown\n");
    }
    printf("\n");
    print_table(figures);
    printf("\n");
    print_spread("idle points won", &comparison->idle_points, 1, " points of 100");
    print_spread("relative reduction", &comparison->relative, 100, " % of the idle time");
    print_spread("recovered share", &comparison->recovered, 100, " % of what feeding costs");
    print_supply(figures);
    print_asked(figures);
    printf("\n");
    print_setting(figures);
    if (result->seconds > 0) {
        bench_stats_print(&result->stats, &result->stages, &figures->setting, result->seconds);
    }
    printf("peak memory   %.1f MiB resident\n", figures->peak_rss_mib);
    if (figures->nvml != NULL) {
        printf("GPU, all arms\n");
        nvml_print(figures->nvml, stdout, "  ");
    }
    printf("bottleneck    %s\n", figures->verdict);
}

/* ---- JSON ---- */

static void write_spread(struct json *json, const char *key, const struct bench_spread *spread)
{
    json_open_object(json, key);
    json_real(json, "median", spread->median);
    json_real(json, "min", spread->min);
    json_real(json, "max", spread->max);
    json_close_object(json);
}

/* Writes rates; those of images are null for rows without images. */
static void write_rates(struct json *json, const char *key, const struct bench_spread *spread,
                        const struct bench_setting *setting)
{
    static const struct bench_spread none = {NAN, NAN, NAN};
    write_spread(json, key, bench_has_images(setting) ? spread : &none);
}

static void write_accelerator(struct json *json, const struct bench_arms_figures *figures)
{
    const struct preset *preset = figures->preset;
    json_open_object(json, "accelerator");
    json_text(json, "text", figures->accelerator->text);
    json_bool(json, "emulated", !figures->accelerator->real);
    json_real(json, "step_ms", figures->accelerator->step_s * 1e3);
    bench_stats_write_rate(json, "demand_", figures->comparison->demand, &figures->setting);
    json_text(json, "preset", preset == NULL ? NULL : preset->name);
    json_real(json, "au_asked", preset == NULL ? NAN : preset->au_passed);
    json_close_object(json);
}

static void write_arms(struct json *json, const struct bench_arms_figures *figures)
{
    json_open_object(json, "arms");
    for (int arm = 0; arm < BENCH_ARMS; arm++) {
        json_open_object(json, bench_arm_names[arm]);
        json_unsigned(json, "steps", figures->comparison->arms[arm].steps);
        for (const struct row *row = rows; row < rows + ROWS; row++) {
            const struct bench_spread spread = spread_at(figures, arm, row);
            write_spread(json, row->key, &spread);
        }
        write_rates(json, "images_per_s", &figures->comparison->arms[arm].rows_per_s,
                    &figures->setting);
        json_close_object(json);
    }
    json_close_object(json);
}

static void write_comparison(struct json *json, const struct bench_arms_figures *figures)
{
    const struct bench_comparison *comparison = figures->comparison;
    json_open_object(json, "comparison");
    write_spread(json, "idle_points", &comparison->idle_points);
    write_spread(json, "relative", &comparison->relative);
    write_spread(json, "recovered", &comparison->recovered);
    write_spread(json, "supply_samples_per_s", &comparison->supply);
    write_rates(json, "supply_images_per_s", &comparison->supply, &figures->setting);
    write_spread(json, "supply_ratio", &comparison->supply_ratio);
    write_spread(json, "au_predicted", &comparison->predicted);
    write_spread(json, "au_minus_predicted_points", &comparison->prediction_error);
    json_close_object(json);
}

/* Writes the steps of the last whole repeat, in milliseconds, for plots. */
static void write_steps(struct json *json, const struct bench_arms_result *result)
{
    json_open_object(json, "last_repeat");
    for (int arm = 0; arm < BENCH_ARMS; arm++) {
        const struct bench_steps *steps = &result->steps[arm];
        json_open_object(json, bench_arm_names[arm]);
        json_open_row(json, "step_ms");
        for (size_t i = steps->skip; i < steps->count; i++) {
            json_real(json, NULL, (steps->at[i].end - steps->at[i - 1].end) * 1e3);
        }
        json_close_array(json);
        json_open_row(json, "host_wait_ms");
        for (size_t i = steps->skip; i < steps->count; i++) {
            json_real(json, NULL, (steps->at[i].got - steps->at[i].asked) * 1e3);
        }
        json_close_array(json);
        json_close_object(json);
    }
    json_close_object(json);
}

static void write_repeats(struct json *json, const struct bench_arms_figures *all)
{
    const struct bench_arms_result *result = all->result;
    json_open_array(json, "repeats");
    for (uint64_t i = 0; i < bench_arms_shown(result); i++) {
        json_open_object(json, NULL);
        bench_stats_write_rate(json, "supply_", result->repeats[i].supply, &all->setting);
        for (int arm = 0; arm < BENCH_ARMS; arm++) {
            const struct bench_step_figures *figures = &result->repeats[i].arms[arm];
            json_open_object(json, bench_arm_names[arm]);
            json_real(json, "step_ms_mean", figures->step_mean_ms);
            json_real(json, "au_strict", figures->au_strict);
            json_real(json, "au_mlperf", figures->au_mlperf);
            json_real(json, "idle", figures->idle);
            json_real(json, "data_idle", figures->data_idle);
            json_real(json, "host_wait_ms_p99", figures->wait_p99_ms);
            json_close_object(json);
        }
        json_close_object(json);
    }
    json_close_array(json);
}

static void write_stream(struct json *json, const sluice_loader_stats *stats)
{
    json_open_object(json, "stream");
    json_unsigned(json, "steps_timed", stats->steps_timed);
    json_real(json, "stall_s", (double)stats->stream_stall_ns * 1e-9);
    json_real(json, "busy_s", (double)stats->stream_busy_ns * 1e-9);
    json_real(json, "span_s", (double)stats->stream_span_ns * 1e-9);
    json_close_object(json);
}

void bench_arms_report_json(const struct bench_arms_figures *figures, FILE *stream)
{
    const struct bench_arms_result *result = figures->result;
    struct json json;
    json_begin(&json, stream);
    json_open_object(&json, NULL);
    json_text(&json, "verdict", figures->verdict);
    json_unsigned(&json, "verdict_steps", result->stats.batches);
    json_unsigned(&json, "verdict_steps_least", BOTTLENECK_BATCHES_LEAST);
    write_accelerator(&json, figures);
    write_arms(&json, figures);
    write_comparison(&json, figures);
    bench_stats_write_setting(&json, &result->stats, &figures->setting);
    json_bool(&json, "interrupted", result->interrupted);
    json_unsigned(&json, "repeats_done", result->done);
    write_repeats(&json, figures);
    write_steps(&json, result);
    json_real(&json, "sluice_window_s", result->seconds);
    bench_stats_write_stages(&json, &result->stats, &result->stages);
    write_stream(&json, &result->stats);
    json_unsigned(&json, "bad_samples", result->stats.bad_samples);
    json_unsigned(&json, "replaced_samples", result->stats.replaced_samples);
    json_unsigned(&json, "memory_bytes", result->stats.memory_bytes);
    json_real(&json, "peak_rss_mib", figures->peak_rss_mib);
    if (figures->nvml != NULL) {
        nvml_write_json(figures->nvml, &json, "gpu");
    } else {
        json_null(&json, "gpu");
    }
    bench_environment_write(&json, figures->environment);
    json_close_object(&json);
}
