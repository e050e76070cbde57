/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program as somebody compiled it against 0.1.0: it sees the frozen headers and no others, and
 * runs with today's library. Writer, dataset, loader, batches, statistics, pack, verify, trace.
 *
 *     frozen_program EMPTY_FOLDER
 */
#include <sluice/sluice.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 24, SIDE = 16, BATCH = 8, EVENTS = 512 };

static int wrong;

static void expect(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "wrong: %s\n", what);
        wrong++;
    }
}

/* What nothing after it can do without. */
static void must(sluice_status status, const sluice_error *error, const char *what)
{
    char text[1200] = "";
    if (status == SLUICE_OK) {
        return;
    }
    if (error != NULL) {
        sluice_error_format(error, text, sizeof(text));
    }
    fprintf(stderr, "%s: %s: %s\n", what, sluice_status_name(status), text);
    exit(1);
}

static void write_samples(const char *folder)
{
    static const char *const classes[] = {"even", "odd"};
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer *writer = NULL;
    uint8_t pixels[SIDE * SIDE * 3];
    char key[32];
    options.classes = classes;
    options.class_count = 2;
    options.zstd_level = 1;
    must(sluice_writer_open(&writer, folder, &options, &error), &error, "writer_open");
    for (int i = 0; i < SAMPLES; i++) {
        sluice_writer_sample sample = SLUICE_WRITER_SAMPLE_INIT;
        memset(pixels, 10 * i, sizeof(pixels));
        snprintf(key, sizeof(key), "picture %d", i);
        sample.image = pixels;
        sample.image_bytes = sizeof(pixels);
        sample.raw_width = sample.raw_height = SIDE;
        sample.label = i % 2;
        sample.key = key;
        must(sluice_writer_add(writer, &sample, &error), &error, "writer_add");
    }
    must(sluice_writer_finish(writer, &error), &error, "writer_finish");
}

static sluice_dataset *open_dataset(const char *folder)
{
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = NULL;
    must(sluice_dataset_open(&dataset, &folder, 1, &options, &error), &error, "dataset_open");
    return dataset;
}

static void look_at_dataset(const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    sluice_field field = SLUICE_FIELD_INIT;
    sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    int64_t label = -7;
    size_t bytes = 0;
    must(sluice_dataset_get_info(dataset, &info), NULL, "dataset_get_info");
    expect(info.struct_size == sizeof(info) && info.samples == SAMPLES && info.classes == 2 &&
               strcmp(info.format, "shards") == 0,
           "the dataset's facts");
    must(sluice_dataset_get_field(dataset, 0, &field), NULL, "dataset_get_field");
    expect(strcmp(field.name, "image") == 0 && field.type == SLUICE_FIELD_IMAGE, "its first field");
    must(sluice_dataset_get_sample(dataset, 3, &sample, &error), &error, "dataset_get_sample");
    expect(sample.label == 1 && sample.width == SIDE && strcmp(sample.key, "picture 3") == 0,
           "a sample's facts");
    must(sluice_dataset_read(dataset, 3, "label", &label, sizeof(label), &bytes, &error), &error,
         "dataset_read");
    expect(label == 1 && bytes == sizeof(label), "a sample's label");
    expect(strcmp(sluice_dataset_class_name(dataset, 1), "odd") == 0, "a class name");
    expect(sluice_dataset_read(dataset, SAMPLES, "label", &label, sizeof(label), &bytes, &error) ==
                   SLUICE_INVALID &&
               error.status == SLUICE_INVALID && error.text[0] != '\0',
           "an error");
}

/* ---- loading ---- */

static sluice_augment *make_recipe(void)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = NULL;
    must(sluice_augment_create(&recipe), NULL, "augment_create");
    sluice_augment_random_resized_crop(recipe, SIDE, SIDE, 0.5, 1, 0.75, 1.5);
    sluice_augment_random_flip(recipe, 0.5);
    must(sluice_augment_get_error(recipe, &error), &error, "augment_get_error");
    return recipe;
}

static sluice_loader *open_loader(sluice_dataset *dataset)
{
    sluice_loader_options options;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = make_recipe();
    sluice_loader *loader = NULL;
    sluice_loader_options_init(&options);
    options.batch_size = BATCH;
    options.workers = 2;
    options.seed = 5;
    must(sluice_loader_open(&loader, dataset, recipe, &options, &error), &error, "loader_open");
    sluice_augment_destroy(recipe);
    return loader;
}

static void look_at_batch(const sluice_batch *batch)
{
    sluice_tensor image = SLUICE_TENSOR_INIT;
    sluice_tensor label = SLUICE_TENSOR_INIT;
    uint8_t code = 99;
    uint8_t bits = 99;
    must(sluice_batch_tensor(batch, "image", &image), NULL, "batch_tensor");
    must(sluice_batch_get_column(batch, 1, &label), NULL, "batch_get_column");
    must(sluice_dtype_dlpack((sluice_dtype)image.dtype, &code, &bits), NULL, "dtype_dlpack");
    expect(image.struct_size == sizeof(image) && image.dims == 4 && image.shape[0] == BATCH &&
               image.strides[0] == (int64_t)SIDE * SIDE * 3 && image.strides[3] == 1,
           "the picture's shape");
    expect(image.device_type == SLUICE_DEVICE_TYPE_CPU && code == 1 && bits == 8, "its type");
    expect(sluice_batch_columns(batch) >= 5 &&
               strcmp(sluice_batch_column_name(batch, 1), "label") == 0,
           "columns");
    for (int i = 0; i < BATCH; i++) {
        const int64_t value = ((const int64_t *)label.data)[i];
        expect(value == 0 || value == 1, "a label");
    }
}

static void take_batches(sluice_loader *loader)
{
    const uint64_t steps = sluice_loader_steps(loader);
    sluice_batch *batch = NULL;
    expect(steps == SAMPLES / BATCH, "the number of steps");
    must(sluice_loader_start_epoch(loader, 0), NULL, "start_epoch");
    for (uint64_t i = 0; i < steps; i++) {
        must(sluice_loader_next(loader, &batch, -1), NULL, "next");
        look_at_batch(batch);
        must(sluice_batch_retain(batch), NULL, "retain");
        must(sluice_batch_wait(batch, NULL), NULL, "wait");
        must(sluice_batch_release_on(batch, NULL), NULL, "release_on");
        sluice_batch_release(batch);
    }
    expect(sluice_loader_next(loader, &batch, -1) == SLUICE_END, "the end");
    must(sluice_loader_start_endless(loader, 1), NULL, "start_endless");
    for (uint64_t i = 0; i < 2 * steps; i++) {
        must(sluice_loader_next(loader, &batch, -1), NULL, "next");
        expect(sluice_batch_epoch(batch) == 1 + i / steps && sluice_batch_step(batch) == i % steps,
               "where a batch is");
        sluice_batch_release(batch);
    }
}

static void save_and_restore(sluice_loader *loader)
{
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    uint64_t epoch = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    must(sluice_loader_save(loader, cursor, &bytes), NULL, "save");
    must(sluice_loader_restore(loader, cursor, bytes, &epoch), NULL, "restore");
    expect(epoch == 2, "the cursor's epoch");
    cursor[40] ^= 1;
    expect(sluice_loader_restore(loader, cursor, bytes, &epoch) == SLUICE_CORRUPT &&
               sluice_loader_get_error(loader, &error) == SLUICE_CORRUPT && error.text[0] != '\0',
           "a damaged cursor");
}

static void look_at_stats(sluice_loader *loader)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    sluice_stage_stats stage = SLUICE_STAGE_STATS_INIT;
    must(sluice_loader_get_stats(loader, &stats), NULL, "get_stats");
    must(sluice_loader_get_stage(loader, SLUICE_STAGE_DECODE, &stage), NULL, "get_stage");
    expect(stats.struct_size == sizeof(stats) && stats.workers == 2 &&
               stats.batches == 3 * SAMPLES / BATCH && strcmp(stats.device, "host") == 0,
           "statistics");
    expect(stage.struct_size == sizeof(stage) && stage.items >= 3 * (uint64_t)SAMPLES,
           "a stage's statistics");
}

/* ---- the rest ---- */

static void look_at_trace(void)
{
    static sluice_trace_event events[EVENTS];
    uint64_t lost = 0;
    char name[16] = "";
    sluice_trace_stop();
    const size_t count = sluice_trace_read(events, sizeof(events[0]), EVENTS, &lost);
    expect(count > SAMPLES, "events");
    for (size_t i = 0; i < count && i < EVENTS; i++) {
        expect(events[i].begin_ns > 0 && events[i].begin_ns <= events[i].end_ns &&
                   events[i].kind <= SLUICE_TRACE_FREE && events[i].reserved == 0,
               "an event");
    }
    sluice_trace_get_thread_name(events[0].thread, name, sizeof(name));
    expect(name[0] != '\0', "a thread's name");
    sluice_trace_discard();
}

static void on_progress(void *user, const sluice_pack_progress *progress)
{
    uint64_t *done = user;
    expect(progress->struct_size >= sizeof(*progress), "the progress has what is known of it");
    *done = progress->samples_done;
}

static void pack_and_verify(const sluice_dataset *dataset, const char *folder)
{
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    sluice_pack_result packed = SLUICE_PACK_RESULT_INIT;
    const sluice_verify_options how = SLUICE_VERIFY_OPTIONS_INIT;
    sluice_verify_result verified = SLUICE_VERIFY_RESULT_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    uint64_t done = 0;
    options.workers = 1;
    options.on_progress = on_progress;
    options.user = &done;
    must(sluice_pack(dataset, folder, &options, &packed, &error), &error, "pack");
    expect(packed.samples == SAMPLES && packed.shards == 1 && done == SAMPLES, "what was packed");
    sluice_dataset *copy = open_dataset(folder);
    must(sluice_dataset_verify(copy, &how, &verified, &error), &error, "verify");
    expect(verified.samples == SAMPLES && verified.bad == 0, "what was verified");
    sluice_dataset_close(copy);
}

static void look_at_system(void)
{
    sluice_system system = SLUICE_SYSTEM_INIT;
    char text[256] = "";
    must(sluice_system_get_info(&system), NULL, "system_get_info");
    expect(system.cpus > 0 && system.cpu_text[0] != '\0', "the system's facts");
    must(sluice_device_get_text("host", text, sizeof(text)), NULL, "device_get_text");
    expect(text[0] != '\0', "the device's text");
    printf("compiled against %d.%d.%d, runs with %s\n", SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR,
           SLUICE_VERSION_PATCH, sluice_version());
}

int main(int argc, char **argv)
{
    char written[512];
    char packed[512];
    if (argc != 2) {
        fprintf(stderr, "usage: frozen_program EMPTY_FOLDER\n");
        return 2;
    }
    snprintf(written, sizeof(written), "%s/written", argv[1]);
    snprintf(packed, sizeof(packed), "%s/packed", argv[1]);
    look_at_system();
    write_samples(written);
    sluice_dataset *dataset = open_dataset(written);
    look_at_dataset(dataset);
    must(sluice_trace_start(32, 256), NULL, "trace_start");
    sluice_loader *loader = open_loader(dataset);
    take_batches(loader);
    look_at_stats(loader);
    save_and_restore(loader);
    sluice_loader_cancel(loader);
    sluice_loader_close(loader);
    look_at_trace();
    pack_and_verify(dataset, packed);
    sluice_dataset_close(dataset);
    return wrong == 0 ? 0 : 1;
}
