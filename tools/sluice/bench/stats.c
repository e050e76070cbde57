/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"

#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool bench_has_images(const struct bench_setting *setting)
{
    return column_set_picture(setting->columns, 0) != NULL;
}

const char *bench_rows_are(const struct bench_setting *setting)
{
    return bench_has_images(setting) ? "images" : "samples";
}

void bench_setting_look(struct bench_setting *setting, const sluice_dataset *dataset)
{
    sluice_dataset_info info = {.struct_size = sizeof info};
    const char *advice = strstr(sluice_dataset_describe(dataset), "; ");
    if (sluice_dataset_get_info(dataset, &info) < 0) {
        return;
    }
    setting->packable = strcmp(info.format, "shards") != 0 && strcmp(info.format, "mixed") != 0;
    setting->files = info.shards == 0;
    if (advice != NULL && (setting->options->shuffle == SLUICE_SHUFFLE_FULL ||
                           setting->options->shuffle == SLUICE_SHUFFLE_SHARDS)) {
        setting->advice = advice + 2;
    }
}

const char *bench_packing(const struct bench_setting *setting, const sluice_loader_stats *stats)
{
    /* Below this, a JPEG is packed in its existing form (docs/cli.md). */
    static const uint64_t least_bytes = 15000;
    const struct column_spec *picture = column_set_picture(setting->columns, 0);
    if (!setting->packable || picture == NULL ||
        stats->bytes_wanted < least_bytes * stats->samples) {
        return NULL;
    }
    switch (picture->crop != COLUMN_WORD_NONE ? picture->crop : setting->pipeline) {
    case PIPELINE_TRAIN:
        return "20 to 40 % less CPU an image in docs/benchmarking.md";
    case PIPELINE_EVAL:
        return "15 % less CPU an image in docs/benchmarking.md";
    default:
        return "";
    }
}

static void print_stage(const char *name, const sluice_stage_stats *stage, double seconds)
{
    printf("  %-8s busy %6.2f s (%.2f threads), queue %3.0f %% full\n", name,
           (double)stage->busy_ns * 1e-9, (double)stage->busy_ns * 1e-9 / seconds,
           100 * bottleneck_queue_fill(stage));
}

/* Prints the operations that take at least a hundredth of augmenting. */
static void print_operations(const struct bottleneck_stages *stages)
{
    const double all = (double)stages->augment.busy_ns;
    for (uint32_t i = 0; i < stages->operation_count; i++) {
        const sluice_operation_stats *one = &stages->operations[i];
        if (one->busy_ns > 0 && (double)one->busy_ns >= all / 100) {
            printf("    %-18s %6.2f s, %2.0f %%\n", one->name, (double)one->busy_ns * 1e-9,
                   100 * (double)one->busy_ns / all);
        }
    }
}

/* Prints unpacking, for files that are compressed as a whole; it is part of the time with reads
 * in flight. */
static void print_unpacking(const sluice_loader_stats *stats, double seconds)
{
    char rate[32];
    if (stats->unpacked_bytes > 0) {
        units_format_bytes(rate, sizeof rate, (uint64_t)((double)stats->unpacked_bytes / seconds));
        printf("  %-8s busy %6.2f s (%.2f threads), %s/s come out\n", "unpack",
               (double)stats->unpack_ns * 1e-9, (double)stats->unpack_ns * 1e-9 / seconds, rate);
    }
}

void bench_stats_print(const sluice_loader_stats *stats, const struct bottleneck_stages *stages,
                       const struct bench_setting *setting, double seconds)
{
    char rate[32];
    units_format_bytes(rate, sizeof rate, (uint64_t)((double)stats->bytes_read / seconds));
    printf("reading       %s/s by %s%s%s%s\n", rate, stats->io_backend,
           stats->io_reason[0] != '\0' ? " (" : "", stats->io_reason,
           stats->io_reason[0] != '\0' ? ")" : "");
    if (setting->options->device != NULL) {
        printf("batches       in %s, slots pinned: %s%s%s%s\n", stats->device, stats->pinning,
               stats->pinning_reason[0] != '\0' ? " (" : "", stats->pinning_reason,
               stats->pinning_reason[0] != '\0' ? ")" : "");
    }
    printf("workers       %" PRIu32 " on %" PRIu32 " processors%s\n", stats->workers,
           setting->processors, stats->near_device ? ", those of the device's NUMA node only" : "");
    print_stage("read", &stages->read, seconds);
    print_unpacking(stats, seconds);
    print_stage("decode", &stages->decode, seconds);
    print_stage("augment", &stages->augment, seconds);
    print_operations(stages);
    print_stage("upload", &stages->upload, seconds);
    if (stats->bad_samples > 0) {
        printf("bad samples   met %" PRIu64 " times, %" PRIu64 " rows replaced; --quarantine FILE "
               "lists those met, `sluice verify --decode` all there are\n",
               stats->bad_samples, stats->replaced_samples);
    }
}

static void write_columns(struct json *json, const struct column_set *columns)
{
    json_open_array(json, "columns");
    for (uint32_t i = 0; i < columns->count; i++) {
        const struct column_spec *spec = &columns->specs[i];
        json_open_object(json, NULL);
        json_text(json, "name", spec->name);
        json_text(json, "field", spec->field[0] != '\0' ? spec->field : NULL);
        json_text(json, "kind", column_kind_name(spec->column.kind));
        json_close_object(json);
    }
    json_close_array(json);
}

void bench_stats_write_rate(struct json *json, const char *prefix, double rate,
                            const struct bench_setting *setting)
{
    char key[64];
    snprintf(key, sizeof key, "%ssamples_per_s", prefix);
    json_real(json, key, rate);
    snprintf(key, sizeof key, "%simages_per_s", prefix);
    json_real(json, key, bench_has_images(setting) ? rate : NAN);
}

void bench_stats_write_setting(struct json *json, const sluice_loader_stats *stats,
                               const struct bench_setting *setting)
{
    json_text(json, "dataset", setting->dataset);
    json_unsigned(json, "batch", setting->options->batch_size);
    json_unsigned(json, "workers", stats->workers);
    json_unsigned(json, "processors", setting->processors);
    json_text(json, "io_backend", stats->io_backend);
    json_text(json, "io_reason", stats->io_reason);
    json_bool(json, "io_direct", stats->io_direct != 0);
    json_text(json, "device", stats->device);
    json_text(json, "pinning", stats->pinning);
    json_text(json, "pinning_reason", stats->pinning_reason);
    json_bool(json, "near_device", stats->near_device != 0);
    json_bool(json, "converts_on_device", stats->converts_on_device != 0);
    write_columns(json, setting->columns);
}

static void write_histogram(struct json *json, const char *key, const uint64_t *bins, int count)
{
    json_open_row(json, key);
    for (int bin = 0; bin < count; bin++) {
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
    write_histogram(json, "queue_depth", stage->depth, SLUICE_HISTOGRAM_BINS);
    json_close_object(json);
}

void bench_stats_write_stages(struct json *json, const sluice_loader_stats *stats,
                              const struct bottleneck_stages *stages)
{
    json_open_object(json, "stages");
    write_stage(json, "read", &stages->read);
    write_stage(json, "decode", &stages->decode);
    write_stage(json, "augment", &stages->augment);
    write_stage(json, "upload", &stages->upload);
    json_open_object(json, "operations");
    for (uint32_t i = 0; i < stages->operation_count; i++) {
        if (stages->operations[i].busy_ns > 0) {
            json_real(json, stages->operations[i].name,
                      (double)stages->operations[i].busy_ns * 1e-9);
        }
    }
    json_close_object(json);
    json_open_object(json, "unpack");
    json_real(json, "busy_s", (double)stats->unpack_ns * 1e-9);
    json_unsigned(json, "bytes", stats->unpacked_bytes);
    json_close_object(json);
    json_close_object(json);
    write_histogram(json, "ready_batches", stats->ready_depth, SLUICE_HISTOGRAM_BINS);
    write_histogram(json, "host_waits", stats->host_waits, SLUICE_WAIT_BINS);
}
