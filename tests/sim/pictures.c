/* SPDX-License-Identifier: Apache-2.0 */
#include "pictures.h"

#include "buckets.h"
#include "world.h"

#include <string.h>

typedef struct pixels {
    const uint8_t *first;
    uint32_t width, height;
} pixels;

static pixels pixels_of(const sluice_batch *batch, uint32_t row)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    if (sluice_batch_tensor(batch, "image", &tensor) != SLUICE_OK || tensor.dims != 4) {
        sim_fail("no pictures");
    }
    const uint64_t bytes = (uint64_t)(tensor.shape[1] * tensor.shape[2] * tensor.shape[3]);
    return (pixels){(const uint8_t *)tensor.data + row * bytes, (uint32_t)tensor.shape[2],
                    (uint32_t)tensor.shape[1]};
}

static const void *picture_column(const sluice_batch *batch, const char *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    if (sluice_batch_tensor(batch, name, &tensor) != SLUICE_OK) {
        sim_fail("no column %s", name);
    }
    return tensor.data;
}

/* Returns the share of the row's own image. */
static float share_of(const sim_case *of, const sluice_batch *batch, uint32_t row)
{
    if (of->picture == SIM_MIXUP) {
        return ((const float *)picture_column(batch, "image.share"))[row];
    }
    return of->picture == SIM_BLEND ? ((const float *)picture_column(batch, "image.weight"))[row]
                                    : 1;
}

/* Returns the sample of the row that was mixed in. */
static int64_t mixed_in(const sluice_batch *batch, uint32_t row)
{
    const int64_t other = ((const int64_t *)picture_column(batch, "image.mixed_with"))[row];
    const uint8_t *status = picture_column(batch, "status");
    if (other < 0 || other >= sluice_batch_rows(batch)) {
        sim_fail("row %u is mixed with row %lld", row, (long long)other);
    }
    if (other != row && (status[other] == SLUICE_ROW_BAD || status[other] == SLUICE_ROW_PADDING)) {
        sim_fail("row %u is mixed with row %lld, which has no sample", row, (long long)other);
    }
    return ((const int64_t *)picture_column(batch, "index"))[other];
}

/* Returns the batch's bucket, if there are buckets. */
static uint32_t bucket_of_batch(const pixels *all)
{
    uint32_t bucket = 0;
    while (bucket < SIM_BUCKETS && (sim_bucket_size(bucket).width != all->width ||
                                    sim_bucket_size(bucket).height != all->height)) {
        bucket++;
    }
    return bucket;
}

static void check_size(const sim_case *of, const pixels *all, uint32_t row, const int64_t *samples)
{
    const uint32_t bucket = bucket_of_batch(all);
    if (of->picture == SIM_BUCKET ? bucket == SIM_BUCKETS
                                  : all->width != SIM_SIDE || all->height != SIM_SIDE) {
        sim_fail("pictures are %u x %u", all->width, all->height);
    }
    if (of->picture == SIM_BUCKET && samples != NULL &&
        sim_bucket_of(of, (uint32_t)samples[0]) != bucket) {
        sim_fail("row %u: sample %lld is not of bucket %u", row, (long long)samples[0], bucket);
    }
}

static bool is_colour(const sim_case *of, const uint8_t *pixel, int64_t sample)
{
    uint8_t colour[SIM_CHANNELS];
    sim_data_colour(of->data, (uint32_t)sample, colour);
    return memcmp(pixel, colour, sizeof(colour)) == 0;
}

static bool is_fill(const uint8_t *pixel)
{
    return pixel[0] == SIM_FILL && pixel[1] == SIM_FILL && pixel[2] == SIM_FILL;
}

static bool is_blend(const sim_case *of, const uint8_t *pixel, const int64_t *samples, float share)
{
    uint8_t colours[2][SIM_CHANNELS];
    sim_data_colour(of->data, (uint32_t)samples[0], colours[0]);
    sim_data_colour(of->data, (uint32_t)samples[1], colours[1]);
    for (uint32_t i = 0; i < SIM_CHANNELS; i++) {
        const float wanted =
            share * (float)colours[0][i] + (1 - share) * (float)colours[1][i] - (float)pixel[i];
        if (wanted > 0.51F || wanted < -0.51F) {
            return false;
        }
    }
    return true;
}

static bool is_of_tiles(const sim_case *of, const uint8_t *pixel, const int64_t *samples)
{
    bool found = is_fill(pixel);
    for (uint32_t i = 0; i < SIM_MOSAIC_MEMBERS; i++) {
        found = found || is_colour(of, pixel, samples[i]);
    }
    return found;
}

static bool is_right(const sim_case *of, const uint8_t *pixel, const int64_t *samples, float share)
{
    if (samples == NULL) {
        return pixel[0] == 0 && pixel[1] == 0 && pixel[2] == 0;
    }
    switch (of->picture) {
    case SIM_MIXUP:
    case SIM_BLEND:
        return is_blend(of, pixel, samples, share);
    case SIM_MOSAIC:
        return is_of_tiles(of, pixel, samples);
    default:
        return is_colour(of, pixel, samples[0]);
    }
}

void sim_picture_check(const sim_case *of, const sluice_batch *batch, uint32_t row,
                       const int64_t *samples)
{
    if (of->picture == SIM_NO_PICTURE) {
        return;
    }
    const pixels all = pixels_of(batch, row);
    const float share = share_of(of, batch, row);
    const int64_t pair[] = {samples != NULL ? samples[0] : -1,
                            of->picture == SIM_BLEND ? mixed_in(batch, row) : -1};
    const int64_t *own = of->picture == SIM_BLEND && samples != NULL ? pair : samples;
    check_size(of, &all, row, samples);
    for (uint32_t i = 0; i < all.width * all.height; i++) {
        const uint8_t *pixel = all.first + (size_t)i * SIM_CHANNELS;
        if (!is_right(of, pixel, own, share)) {
            sim_fail("row %u: pixel %u is %u %u %u, of none of its samples", row, i, pixel[0],
                     pixel[1], pixel[2]);
        }
    }
}

uint64_t sim_picture_digest(const sim_case *of, const sluice_batch *batch, uint32_t row)
{
    uint64_t digest = 0;
    if (of->picture == SIM_NO_PICTURE) {
        return 0;
    }
    const pixels all = pixels_of(batch, row);
    for (uint32_t i = 0; i < all.width * all.height * SIM_CHANNELS; i++) {
        digest = sim_mix(digest ^ all.first[i]);
    }
    return digest;
}
