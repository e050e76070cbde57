/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epochs_bench: measures epochs of a loader through the public interface only, so that it can be
 * built with the library of any commit. bench/compare does that with two commits.
 *
 *     epochs_bench DATASET KIND [EPOCHS [BATCH [WORKERS [pread]]]]
 *
 * KIND: "train", "eval" and "crop" as in `sluice bench --pipeline`, with ":SIDE" [224] and ":f32"
 * (normalised, channels first); "natural": the default columns; "windows:LENGTH" of the field
 * `tokens`, as i32; "boxes" and "mosaic" of COCO; "masks": a folder of images and masks; "open": no
 * loader, only the dataset, EPOCHS times.
 *
 * Prints one line: CPU microseconds per sample (all threads, EPOCHS [2] epochs after one that is
 * not counted), milliseconds from opening the loader to its first batch, CPU milliseconds to open
 * the dataset, samples. "pread": reads complete in order, which makes instruction counts
 * comparable.
 */
#include <sluice/sluice.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const float mean[3] = {0.485F, 0.456F, 0.406F}, deviation[3] = {0.229F, 0.224F, 0.225F};

static double now_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void check(sluice_status status, const sluice_error *error)
{
    if (status < 0) {
        fprintf(stderr, "epochs_bench: %s\n", error->text);
        exit(1);
    }
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* NULL: without images. */
static sluice_augment *recipe_of(const char *kind, bool f32)
{
    const char *number = strchr(kind, ':');
    const uint32_t given = number == NULL ? 0 : (uint32_t)strtoul(number + 1, NULL, 10);
    const uint32_t side = given == 0 ? 224 : given;
    sluice_augment *recipe = NULL;
    (void)sluice_augment_create(&recipe);
    if (begins(kind, "train") || begins(kind, "boxes") || begins(kind, "masks")) {
        (void)sluice_augment_random_resized_crop(recipe, side, side, 0.08, 1, 3. / 4, 4. / 3);
        (void)sluice_augment_random_flip(recipe, 0.5);
    } else if (begins(kind, "mosaic")) {
        (void)sluice_augment_add(recipe, "mosaic", (const double[]){side, 2}, 2);
        (void)sluice_augment_add(recipe, "center_crop", (const double[]){side, side}, 2);
    } else if (begins(kind, "eval")) {
        (void)sluice_augment_resize_center_crop(recipe, side * 8 / 7, side, side);
    } else if (begins(kind, "crop")) {
        (void)sluice_augment_random_crop(recipe, side, side, 4);
        (void)sluice_augment_random_flip(recipe, 0.5);
    } else {
        sluice_augment_destroy(recipe);
        return NULL;
    }
    if (f32) {
        (void)sluice_augment_normalize(recipe, mean, deviation, 3);
    }
    return recipe;
}

static void add_column(sluice_columns *columns, sluice_column *column, int32_t kind,
                       const char *field)
{
    column->kind = kind;
    column->field = field;
    (void)sluice_columns_add(columns, column);
}

/* NULL: the default columns. */
static sluice_columns *columns_of(const char *kind, const sluice_augment *recipe)
{
    sluice_columns *columns = NULL;
    sluice_column first = SLUICE_COLUMN_INIT;
    sluice_column follower = SLUICE_COLUMN_INIT;
    (void)sluice_columns_create(&columns);
    first.recipe = recipe;
    if (begins(kind, "windows:")) {
        first.dtype = SLUICE_I32;
        first.length = strtoul(strchr(kind, ':') + 1, NULL, 10);
        add_column(columns, &first, SLUICE_COLUMN_WINDOW, "tokens");
    } else if (begins(kind, "boxes") || begins(kind, "mosaic")) {
        follower.box_format = SLUICE_BOX_XYWH;
        follower.length = 64;
        add_column(columns, &first, SLUICE_COLUMN_IMAGE, "image");
        add_column(columns, &follower, SLUICE_COLUMN_BOXES, "boxes");
    } else if (begins(kind, "masks")) {
        follower.name = "classes";
        add_column(columns, &first, SLUICE_COLUMN_IMAGE, "image");
        add_column(columns, &follower, SLUICE_COLUMN_MASK, "mask");
    } else {
        sluice_columns_destroy(columns);
        columns = NULL;
    }
    return columns;
}

/* Returns the samples of an epoch. */
static uint64_t run_epoch(sluice_loader *loader, uint64_t epoch)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_batch *batch = NULL;
    uint64_t samples = 0;
    sluice_status status = sluice_loader_start_epoch(loader, epoch);
    while (status == SLUICE_OK && (status = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
        samples += sluice_batch_rows(batch);
        sluice_batch_release(batch);
    }
    if (status < 0) {
        (void)sluice_loader_get_error(loader, &error);
    }
    check(status, &error);
    return samples;
}

static void measure(sluice_dataset *dataset, const char *kind, uint64_t epochs,
                    sluice_loader_options *options, double open_ms)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    sluice_loader *loader = NULL;
    const bool f32 = strstr(kind, ":f32") != NULL;
    sluice_augment *recipe = recipe_of(kind, f32);
    sluice_columns *columns = columns_of(kind, recipe);
    options->columns = columns;
    options->dtype = f32 ? SLUICE_F32 : SLUICE_U8;
    options->layout = f32 ? SLUICE_NCHW : SLUICE_NHWC;
    options->end_epoch = epochs + 1; /* so that nothing after them is read */
    check(sluice_loader_open(&loader, dataset, columns == NULL ? recipe : NULL, options, &error),
          &error);
    (void)run_epoch(loader, 0);
    uint64_t samples = 0;
    const double began = now_us(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t epoch = 1; epoch <= epochs; epoch++) {
        samples += run_epoch(loader, epoch);
    }
    const double took = now_us(CLOCK_PROCESS_CPUTIME_ID) - began;
    (void)sluice_loader_get_stats(loader, &stats);
    printf("%.4f %.3f %.4f %llu\n", took / (double)samples, (double)stats.first_batch_ns / 1e6,
           open_ms, (unsigned long long)samples);
    sluice_loader_close(loader);
    sluice_columns_destroy(columns);
    sluice_augment_destroy(recipe);
}

static sluice_dataset *open_dataset(const char *path, double *ms)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = NULL;
    const double began = now_us(CLOCK_PROCESS_CPUTIME_ID);
    check(sluice_dataset_open(&dataset, &path, 1, NULL, &error), &error);
    *ms = (now_us(CLOCK_PROCESS_CPUTIME_ID) - began) / 1e3;
    return dataset;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

/* Returns the median of openings. */
static void measure_open(const char *path, uint64_t times)
{
    double *ms = calloc(times, sizeof(*ms));
    for (uint64_t i = 0; ms != NULL && i < times; i++) {
        sluice_dataset_close(open_dataset(path, &ms[i]));
    }
    if (ms != NULL) {
        qsort(ms, times, sizeof(*ms), by_size);
        printf("0 0 %.4f 0\n", ms[times / 2]);
    }
    free(ms);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: epochs_bench DATASET KIND [EPOCHS [BATCH [WORKERS [pread]]]]\n");
        return 2;
    }
    const uint64_t epochs = argc > 3 ? strtoull(argv[3], NULL, 10) : 2;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 64;
    options.workers = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 2;
    options.last_batch = SLUICE_LAST_SHORT;
    if (argc > 6 && strcmp(argv[6], "pread") == 0) { /* one after the other, so in order */
        options.io_backend = SLUICE_IO_PREAD;
        options.io_threads = 1;
    }
    if (strcmp(argv[2], "open") == 0) {
        measure_open(argv[1], epochs > 1 ? epochs : 2);
        return 0;
    }
    double open_ms = 0;
    sluice_dataset *dataset = open_dataset(argv[1], &open_ms);
    measure(dataset, argv[2], epochs, &options, open_ms);
    sluice_dataset_close(dataset);
    return 0;
}
