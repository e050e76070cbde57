/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_ROOM ((size_t)1 << 20)

static void fail(const char *what, const sluice_error *error)
{
    char text[1200];
    (void)sluice_error_format(error, text, sizeof(text));
    (void)fprintf(stderr, "%s: %s\n", what, text);
    abort();
}

static sluice_status read_one(const sluice_dataset *dataset, uint64_t index,
                              snapshot_sample *sample, sluice_error *error)
{
    static uint8_t image[IMAGE_ROOM];
    size_t bytes = 0;
    sample->info.struct_size = sizeof(sample->info);
    sluice_status status = sluice_dataset_get_sample(dataset, index, &sample->info, error);
    if (status == SLUICE_OK) {
        status = sluice_dataset_read(dataset, index, "image", image, sizeof(image), &bytes, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    sample->bytes = bytes;
    sample->image = malloc(bytes + 1);
    memcpy(sample->image, image, bytes);
    return SLUICE_OK;
}

static uint64_t count_samples(const sluice_dataset *dataset)
{
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    return sluice_dataset_get_info(dataset, &info) == SLUICE_OK ? info.samples : 0;
}

void snapshot_take(snapshot *all, const char *path)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset;
    if (sluice_dataset_open(&dataset, &path, 1, NULL, &error) != SLUICE_OK) {
        fail("open", &error);
    }
    all->count = count_samples(dataset);
    all->samples = calloc(all->count + 1, sizeof(*all->samples));
    for (uint64_t i = 0; i < all->count; i++) {
        if (read_one(dataset, i, &all->samples[i], &error) != SLUICE_OK) {
            fail("read", &error);
        }
    }
    sluice_dataset_close(dataset);
}

void snapshot_free(snapshot *all)
{
    for (uint64_t i = 0; i < all->count; i++) {
        free(all->samples[i].image);
    }
    free(all->samples);
    memset(all, 0, sizeof(*all));
}

static bool size_agrees(uint32_t a, uint32_t b)
{
    return a == 0 || b == 0 || a == b;
}

static bool is_same(const snapshot_sample *a, const snapshot_sample *b)
{
    return a->bytes == b->bytes && memcmp(a->image, b->image, a->bytes) == 0 &&
           a->info.label == b->info.label && strcmp(a->info.key, b->info.key) == 0 &&
           size_agrees(a->info.width, b->info.width) && size_agrees(a->info.height, b->info.height);
}

snapshot_difference snapshot_compare(const snapshot *all, const sluice_dataset *dataset)
{
    snapshot_difference difference = {0};
    uint64_t count = count_samples(dataset);
    for (uint64_t i = 0; i < count; i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        snapshot_sample sample = {0};
        sluice_status status = read_one(dataset, i, &sample, &error);
        if (status < 0) {
            difference.errors++;
            difference.last = status;
        } else if (i >= all->count || !is_same(&all->samples[i], &sample)) {
            difference.silent++;
        }
        free(sample.image);
    }
    difference.missing = count < all->count ? all->count - count : 0;
    return difference;
}

sluice_status snapshot_compare_path(const snapshot *all, const char *path,
                                    snapshot_difference *difference)
{
    sluice_dataset *dataset;
    memset(difference, 0, sizeof(*difference));
    sluice_status status = sluice_dataset_open(&dataset, &path, 1, NULL, NULL);
    if (status == SLUICE_OK) {
        *difference = snapshot_compare(all, dataset);
        sluice_dataset_close(dataset);
    }
    return status;
}

uint64_t snapshot_verify(const sluice_dataset *dataset)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_verify_options options = {.struct_size = sizeof(options), .workers = 1};
    sluice_verify_result result = {.struct_size = sizeof(result)};
    if (sluice_dataset_verify(dataset, &options, &result, &error) != SLUICE_OK) {
        fail("verify", &error);
    }
    return result.bad;
}
