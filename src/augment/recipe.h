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

#include "view.h"

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

/*
 * Where the output pixels come from. `source` (a box in the picture, pixels) is resampled to a
 * virtual raster of virtual_width x virtual_height, of which the output shows the window at
 * (window_x, window_y). Signed: with padding the window reaches outside and shows black there.
 */
typedef struct sl_params {
    sl_rect source;
    uint32_t virtual_width, virtual_height;
    int32_t window_x, window_y;
    uint32_t width, height; /* of the output */
    bool flip;
    /* jitter in this order; SL_JITTER_NONE ends the list */
    uint8_t jitter[3];
    float factor[3];
    /* the part of `source` that the window needs, filter support included: what to decode */
    sl_rect need;
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

/*
 * How small `need` may be decoded: `source` is at least 2 d times larger than the virtual raster
 * on both sides, d being 2, 4 or 8, exactly when `need` is at least d times larger than this. 0 x 0
 * when there is no such d.
 */
void sl_params_least(const sl_params *params, uint32_t *width, uint32_t *height);

#endif
