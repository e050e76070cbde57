/* SPDX-License-Identifier: Apache-2.0 */
/*
 * views_bench: measures the cost of several views of one image relative to one view.
 *
 *     views_bench DATASET [ROUNDS [EPOCHS [ARM]]]
 *
 * CPU time per sample (all threads, user and system) of EPOCHS [2] epochs of a loader with one
 * worker over the images in field "image", in ROUNDS [5] alternating rounds: one view, two of
 * SimCLR, two large and eight small ones of DINO v1; f32, channels first. "separate" opens and
 * decodes the image again for each view, which gives the same batches. "crops" have only the crop
 * and the flip of the recipe. Prints medians with minimum and maximum; ratios are within a round.
 * ARM: only that one, 1 to 14 in print order, for instruction counts.
 */
#include "loader.h"
#include "measure.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 16, ROUNDS_MAX = 50, BICUBIC = 2 };

#define ADD(recipe, name, ...)                                           \
    must(sluice_augment_add(recipe, name, (const double[]){__VA_ARGS__}, \
                            sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

static void must(sluice_status status)
{
    if (status < 0) {
        fprintf(stderr, "views_bench: %s\n", sluice_status_name(status));
        exit(1);
    }
}

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void normalize(sluice_augment *r)
{
    ADD(r, "normalize", 0.485, 0.456, 0.406, 0.229, 0.224, 0.225);
}

static void jitter(sluice_augment *r, double strength, double saturation, double hue)
{
    must(sluice_augment_begin(r, "random_apply", (const double[]){0.8}, 1));
    ADD(r, "color_jitter", strength, strength, saturation, hue);
    must(sluice_augment_end(r));
    ADD(r, "random_grayscale", 0.2);
}

static void simclr(sluice_augment *r, uint32_t view, bool crops)
{
    (void)view;
    ADD(r, "random_resized_crop", 224, 224, 0.08, 1, 3.0 / 4, 4.0 / 3, BICUBIC);
    ADD(r, "random_flip", 0.5);
    if (!crops) {
        jitter(r, 0.8, 0.8, 0.2);
        must(sluice_augment_begin(r, "random_apply", (const double[]){0.5}, 1));
        ADD(r, "gaussian_blur", 23, 23, 0.1, 2);
        must(sluice_augment_end(r));
    }
    normalize(r);
}

/* Views 0 and 1 are the large ones. */
static void dino(sluice_augment *r, uint32_t view, bool crops)
{
    const double side = view < 2 ? 224 : 96;
    const double blurs = view == 0 ? 1 : view == 1 ? 0.1 : 0.5;
    ADD(r, "random_resized_crop", side, side, view < 2 ? 0.4 : 0.05, view < 2 ? 1 : 0.4, 3.0 / 4,
        4.0 / 3, BICUBIC);
    ADD(r, "random_flip", 0.5);
    if (!crops) {
        jitter(r, 0.4, 0.2, 0.1);
        must(sluice_augment_begin(r, "random_apply", &blurs, 1));
        ADD(r, "pillow_blur", 0.1, 2);
        must(sluice_augment_end(r));
    }
    if (view == 1 && !crops) {
        ADD(r, "random_solarize", 128, 0.2);
    }
    normalize(r);
}

typedef struct arm {
    const char *name;
    void (*add)(sluice_augment *r, uint32_t view, bool crops);
    uint32_t views;
    bool crops, apart;
    uint32_t beside; /* the arm of one view */
    double us[ROUNDS_MAX];
} arm;

static arm arms[] = {
    {"one view of SimCLR", simclr, 1, .beside = 0},
    {"two views", simclr, 2, .beside = 0},
    {"two views, separate", simclr, 2, .apart = true, .beside = 0},
    {"one large view of DINO", dino, 1, .beside = 3},
    {"two large views", dino, 2, .beside = 3},
    {"2 + 8 views", dino, 10, .beside = 3},
    {"2 + 8 views, separate", dino, 10, .apart = true, .beside = 3},
    {"one crop of SimCLR", simclr, 1, .crops = true, .beside = 7},
    {"two crops", simclr, 2, .crops = true, .beside = 7},
    {"two crops, separate", simclr, 2, .crops = true, .apart = true, .beside = 7},
    {"one large crop of DINO", dino, 1, .crops = true, .beside = 10},
    {"two large crops", dino, 2, .crops = true, .beside = 10},
    {"2 + 8 crops", dino, 10, .crops = true, .beside = 10},
    {"2 + 8 crops, separate", dino, 10, .crops = true, .apart = true, .beside = 10},
};
enum { ARMS = sizeof(arms) / sizeof(arms[0]) };

static sluice_columns *columns_of(const arm *a)
{
    sluice_columns *columns = NULL;
    must(sluice_columns_create(&columns));
    for (uint32_t i = 0; i < a->views; i++) {
        char name[16];
        sluice_column column = SLUICE_COLUMN_INIT;
        sluice_augment *recipe = NULL;
        (void)snprintf(name, sizeof(name), "view%u", i);
        must(sluice_augment_create(&recipe));
        a->add(recipe, i, a->crops);
        column.kind = SLUICE_COLUMN_IMAGE;
        column.field = "image";
        column.name = name;
        column.recipe = recipe;
        column.dtype = SLUICE_F32;
        column.layout = SLUICE_NCHW;
        must(sluice_columns_add(columns, &column));
        sluice_augment_destroy(recipe);
    }
    return columns;
}

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
        bench_check(status, &error);
    }
    return samples;
}

/* Opens a loader for each round and only its epochs, so that no other arm reads ahead meanwhile. */
static void run_arm(arm *a, sluice_dataset *dataset, uint64_t epochs, int round)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    sluice_loader *loader = NULL;
    sluice_columns *columns = columns_of(a);
    uint64_t samples = 0;
    options.columns = columns;
    options.batch_size = BATCH;
    options.workers = 1;
    options.end_epoch = epochs;
    options.io_backend = SLUICE_IO_PREAD; /* in order, which makes counts comparable */
    options.io_threads = 1;
    const double began = cpu_us();
    bench_check(sluice_loader_open(&loader, dataset, NULL, &options, &error), &error);
    loader->columns.apart = a->apart;
    for (uint64_t epoch = 0; epoch < epochs; epoch++) {
        samples += run_epoch(loader, epoch);
    }
    sluice_loader_close(loader);
    a->us[round] = (cpu_us() - began) / (double)samples;
    sluice_columns_destroy(columns);
}

static void print_arm(const arm *a, int rounds)
{
    double us[ROUNDS_MAX];
    double ratios[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++) {
        us[i] = a->us[i];
        ratios[i] = a->us[i] / arms[a->beside].us[i];
    }
    bench_print(a->name, 24, us, rounds, 0);
    bench_print("  relative to one", 24, ratios, rounds, 2);
}

int main(int argc, char **argv)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: views_bench DATASET [ROUNDS [EPOCHS [ARM]]]\n");
        return 2;
    }
    const int rounds = bench_rounds(argc > 2 ? argv[2] : NULL, ROUNDS_MAX, 5);
    const uint64_t epochs = (uint64_t)bench_rounds(argc > 3 ? argv[3] : NULL, 1000, 2);
    bench_check(sluice_dataset_open(&dataset, (const char *const *)&argv[1], 1, NULL, &error),
                &error);
    if (argc > 4) {
        run_arm(&arms[bench_rounds(argv[4], ARMS, 1) - 1], dataset, epochs, 0);
        return 0;
    }
    for (uint32_t i = 0; i < ARMS; i++) { /* loads the images into memory; not counted */
        run_arm(&arms[i], dataset, 1, 0);
    }
    for (int round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < ARMS; i++) {
            run_arm(&arms[i], dataset, epochs, round);
        }
    }
    puts("us of CPU per sample: median (min..max)");
    for (uint32_t i = 0; i < ARMS; i++) {
        print_arm(&arms[i], rounds);
    }
    sluice_dataset_close(dataset);
    return 0;
}
