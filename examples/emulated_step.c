/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulated_step: shows whether this machine would feed a GPU whose step takes MS milliseconds. Each
 * step is a sleep that holds its batch, so no GPU is needed. Prints the fraction of the time in
 * which the GPU would have worked:
 *
 *     emulated_step DATASET MS [BATCH [STEPS]]
 *     ...
 *     utilisation 99.7 %: 40 steps of 90 ms in 3.610 s
 *
 * The first steps wait until the loader has read ahead, and are not counted. `sluice bench
 * --step-ms MS` measures and compares more.
 */
#include <sluice/sluice.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WARM_STEPS = 8 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Sleeps until an absolute time, so that work since the last step is part of the step. */
static void sleep_until(double when)
{
    struct timespec time = {.tv_sec = (time_t)when};
    time.tv_nsec = (long)((when - (double)time.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0) {
    }
}

static sluice_status train(sluice_loader *loader, double step_s, int steps)
{
    double begin = 0;
    sluice_status status = sluice_loader_start_endless(loader, 0);
    for (int i = 0; i < WARM_STEPS + steps && status == SLUICE_OK; i++) {
        sluice_batch *batch = NULL;
        if (i == WARM_STEPS) {
            begin = now();
        }
        status = sluice_loader_next(loader, &batch, -1);
        if (status == SLUICE_OK) {
            sleep_until(now() + step_s); /* a real step computes with the batch here */
            sluice_batch_release(batch);
        }
    }
    if (status == SLUICE_OK) {
        const double seconds = now() - begin;
        printf("utilisation %.1f %%: %d steps of %g ms in %.3f s\n", 100 * steps * step_s / seconds,
               steps, step_s * 1e3, seconds);
    }
    return status;
}

int main(int argc, char **argv)
{
    const double step_s = argc > 2 ? strtod(argv[2], NULL) * 1e-3 : 0;
    const int steps = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 40;
    if (step_s <= 0 || steps < 1) {
        fprintf(stderr, "usage: emulated_step DATASET MS [BATCH [STEPS]]\n");
        return 2;
    }
    const char *path = argv[1];
    sluice_dataset *data = NULL;
    sluice_augment *recipe = NULL;
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 64;
    sluice_augment_create(&recipe);
    sluice_augment_random_resized_crop(recipe, 224, 224, 0.08, 1.0, 3.0 / 4, 4.0 / 3);
    sluice_augment_random_flip(recipe, 0.5);
    if (sluice_dataset_open(&data, &path, 1, NULL, &error) == SLUICE_OK &&
        sluice_loader_open(&loader, data, recipe, &options, &error) == SLUICE_OK &&
        train(loader, step_s, steps) != SLUICE_OK) {
        sluice_loader_get_error(loader, &error);
    }
    if (error.status < 0) {
        char text[1200];
        sluice_error_format(&error, text, sizeof(text));
        fprintf(stderr, "%s\n", text);
    }
    sluice_loader_close(loader);
    sluice_dataset_close(data);
    sluice_augment_destroy(recipe);
    return error.status < 0;
}
