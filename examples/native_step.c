/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_step: your own step, called by the workers: fog of random strength that gets thicker
 * towards the top of the image. Prints the mean of the images without the step and with it.
 *
 *     native_step DATASET [STRENGTH]
 *
 * A library of such steps for Python needs only this file's function, and is not linked with
 * sluice:  cc -O2 -shared -fPIC -DSTEP_ONLY -o libfog.so native_step.c
 *          sluice.transforms.Native(("./libfog.so", "fog"), user_data=numpy.float32(0.6))
 */
#include <sluice/sluice.h>
#include <stdio.h>
#include <stdlib.h>

/* Adds fog. user_data: a float, the maximum cover, 0 to 1. Returns 1 if it is out of range. */
int fog(uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, uint64_t seed,
        void *user_data);

int fog(uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, uint64_t seed,
        void *user_data)
{
    const float most = *(const float *)user_data;
    if (!(most >= 0 && most <= 1)) {
        return 1; /* a bad sample: the error names the step and the number */
    }
    const float unit = (float)(sluice_native_random(&seed) >> 40) / (float)(1 << 24); /* [0, 1) */
    for (uint32_t y = 0; y < height; y++) {
        const float cover = most * unit * (float)(height - y) / (float)height;
        const int weight = (int)(cover * 256);
        for (uint32_t i = 0; i < width * 3; i++) {
            uint8_t *value = &pixels[y * stride + i];
            *value = (uint8_t)((*value * (256 - weight) + 230 * weight) >> 8);
        }
    }
    return 0;
}

#ifndef STEP_ONLY

static sluice_status print_mean(sluice_dataset *dataset, float *strength)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = NULL;
    sluice_loader *loader = NULL;
    sluice_batch *batch = NULL;
    sluice_tensor images = SLUICE_TENSOR_INIT;
    sluice_loader_options options;
    sluice_loader_options_init(&options);
    options.batch_size = 8;
    sluice_augment_create(&recipe);
    sluice_augment_random_resized_crop(recipe, 64, 64, 0.25, 1.0, 3.0 / 4, 4.0 / 3);
    sluice_augment_random_flip(recipe, 0.5);
    if (strength != NULL) {
        sluice_augment_native(recipe, fog, strength, NULL, "fog");
    }
    sluice_status status = sluice_loader_open(&loader, dataset, recipe, &options, &error);
    sluice_augment_destroy(recipe);
    if (status == SLUICE_OK) {
        status = sluice_loader_start_epoch(loader, 0);
    }
    if (status == SLUICE_OK) {
        status = sluice_loader_next(loader, &batch, -1);
    }
    if (status == SLUICE_OK) {
        sluice_batch_tensor(batch, "image", &images);
        const unsigned char *at = images.data;
        const long bytes = (long)images.shape[0] * 64 * 64 * 3;
        double sum = 0;
        for (long i = 0; i < bytes; i++) {
            sum += at[i];
        }
        printf("%s: mean %.1f\n", strength != NULL ? "with fog" : "plain", sum / (double)bytes);
        sluice_batch_release(batch);
    } else if (loader != NULL) {
        (void)sluice_loader_get_error(loader, &error);
    }
    if (status != SLUICE_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
    }
    sluice_loader_close(loader);
    return status;
}

int main(int argc, char **argv)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = NULL;
    const char *path = argc > 1 ? argv[1] : "";
    float strength = argc > 2 ? strtof(argv[2], NULL) : 0.6F;
    if (argc < 2 || argc > 3) {
        (void)fprintf(stderr, "usage: native_step DATASET [STRENGTH]\n");
        return 2;
    }
    if (sluice_dataset_open(&dataset, &path, 1, NULL, &error) != SLUICE_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    const int failed =
        print_mean(dataset, NULL) != SLUICE_OK || print_mean(dataset, &strength) != SLUICE_OK;
    sluice_dataset_close(dataset);
    return failed;
}

#endif
