/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segmentation_step: images with their label masks, for a training step that takes MS milliseconds.
 * Each step is a sleep that holds its batch, as in emulated_step; meanwhile the program counts the
 * batch's labels, as a loss would read them. Prints the fraction of the time in which the GPU would
 * have worked, and the fraction of the pixels in each class; a loss ignores 255.
 *
 *     segmentation_step DATASET MS [BATCH [STEPS]]
 *     segmentation_step cityscapes/leftImg8bit/train 90 8
 *
 * The dataset has fields "image" and "mask" (docs/formats/images.md, "Folders of masks").
 */
#include <sluice/sluice.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WARM_STEPS = 8, CLASSES = 256, SIDE = 128 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void sleep_until(double when)
{
    struct timespec time = {.tv_sec = (time_t)when};
    time.tv_nsec = (long)((when - (double)time.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0) {
    }
}

/* Adds a scaled, rotated and flipped crop, and the classes of its pixels: classes are never
 * interpolated, and pixels outside the image are 255. */
static void ask(sluice_columns *columns, sluice_augment *recipe)
{
    sluice_augment_random_resized_crop(recipe, SIDE, SIDE, 0.25, 1.0, 3.0 / 4, 4.0 / 3);
    sluice_augment_add(recipe, "random_rotation", (const double[]){-15, 15, 1}, 3);
    sluice_augment_random_flip(recipe, 0.5);
    sluice_columns_image(columns, "image", recipe, SLUICE_F16, SLUICE_NCHW);
    sluice_column classes = SLUICE_COLUMN_INIT;
    classes.kind = SLUICE_COLUMN_MASK;
    classes.field = "mask";
    classes.name = "classes"; /* every batch has a column "mask" */
    classes.fill = 255;
    sluice_columns_add(columns, &classes);
}

static sluice_status train(sluice_loader *loader, double step_s, int steps,
                           unsigned long long pixels[CLASSES])
{
    double begin = 0;
    sluice_status status = sluice_loader_start_endless(loader, 0);
    for (int i = 0; i < WARM_STEPS + steps && status == SLUICE_OK; i++) {
        sluice_batch *batch = NULL;
        sluice_tensor classes = SLUICE_TENSOR_INIT;
        if (i == WARM_STEPS) {
            begin = now();
        }
        status = sluice_loader_next(loader, &batch, -1);
        if (status != SLUICE_OK) {
            break;
        }
        const double end = now() + step_s;
        sluice_batch_tensor(batch, "classes", &classes); /* rows x SIDE x SIDE, u8 */
        const unsigned char *at = classes.data;
        for (long k = 0; k < (long)classes.shape[0] * SIDE * SIDE; k++) {
            pixels[at[k]]++;
        }
        sleep_until(end);
        sluice_batch_release(batch);
    }
    if (status == SLUICE_OK) {
        const double seconds = now() - begin;
        printf("utilisation %.1f %%: %d steps of %g ms in %.3f s\n", 100 * steps * step_s / seconds,
               steps, step_s * 1e3, seconds);
    }
    return status;
}

static void print_shares(const unsigned long long pixels[CLASSES])
{
    unsigned long long sum = 0;
    for (int i = 0; i < CLASSES; i++) {
        sum += pixels[i];
    }
    for (int i = 0; i < CLASSES; i++) {
        if (pixels[i] > 0) {
            printf("class %d: %.1f %%\n", i, 100.0 * (double)pixels[i] / (double)sum);
        }
    }
}

int main(int argc, char **argv)
{
    const double step_s = argc > 2 ? strtod(argv[2], NULL) * 1e-3 : 0;
    const int steps = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 40;
    if (step_s <= 0 || steps < 1) {
        fprintf(stderr, "usage: segmentation_step DATASET MS [BATCH [STEPS]]\n");
        return 2;
    }
    const char *path = argv[1];
    static unsigned long long pixels[CLASSES];
    sluice_dataset *data = NULL;
    sluice_augment *recipe = NULL;
    sluice_columns *columns = NULL;
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 16;
    sluice_augment_create(&recipe);
    sluice_columns_create(&columns);
    ask(columns, recipe);
    options.columns = columns;
    if (sluice_dataset_open(&data, &path, 1, NULL, &error) == SLUICE_OK &&
        sluice_loader_open(&loader, data, NULL, &options, &error) == SLUICE_OK &&
        train(loader, step_s, steps, pixels) != SLUICE_OK) {
        sluice_loader_get_error(loader, &error);
    }
    if (error.status < 0) {
        char text[1200];
        sluice_error_format(&error, text, sizeof(text));
        fprintf(stderr, "%s\n", text);
    } else {
        print_shares(pixels);
    }
    sluice_loader_close(loader);
    sluice_dataset_close(data);
    sluice_columns_destroy(columns);
    sluice_augment_destroy(recipe);
    return error.status < 0;
}
