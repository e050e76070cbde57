/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe: what the user asked for, and what that means for one picture.
 *
 * Purpose: sluice_augment is a plain value. sl_draw turns (recipe, key, picture size) into the
 * parameters of that sample: a pure function.
 * Threads: pure.
 */
#ifndef SL_RECIPE_H
#define SL_RECIPE_H

#include "mapping.h"

#include <sluice/augment.h>

#include <stdbool.h>

typedef enum sl_geometry {
    SL_GEOMETRY_NONE = 0,
    SL_GEOMETRY_RANDOM_RESIZED_CROP,
    SL_GEOMETRY_RESIZE_CENTER_CROP,
    SL_GEOMETRY_RANDOM_CROP
} sl_geometry;

struct sluice_augment {
    sluice_error error; /* of the first call that was refused; status 0: none */
    sl_geometry geometry;
    uint32_t width, height; /* of the output */
    double scale_min, scale_max, ratio_min, ratio_max;
    uint32_t shorter_side, padding;
    double flip_probability;
    double brightness, contrast, saturation;
    bool normalize;
    float mean[3], stddev[3];
};

/* What was drawn for one sample. */
typedef struct sl_params {
    sl_mapping mapping;
    /* jitter in this order; SL_JITTER_NONE ends the list */
    uint8_t jitter[3];
    float factor[3];
    sl_rect need; /* what to decode: sl_mapping_need */
} sl_params;

enum { SL_JITTER_NONE = 0, SL_JITTER_BRIGHTNESS, SL_JITTER_CONTRAST, SL_JITTER_SATURATION };

/* All that a draw depends on, besides the recipe and the picture's size. */
typedef struct sl_draw_key {
    uint64_t seed, epoch, sample;
    uint32_t group; /* of geometry: what shares it shares the draw; below 4096 */
} sl_draw_key;

/* Errors: UNSUPPORTED when the picture cannot be used (smaller than a random_crop's window). */
sluice_status sl_draw(const sluice_augment *recipe, const sl_draw_key *key, uint32_t picture_width,
                      uint32_t picture_height, sl_params *params, sluice_error *error);

#endif
