/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe.h"

#include "error.h"
#include "philox.h"
#include "resample.h"

#include <assert.h>
#include <math.h>

/* Streams of random numbers. A new number for a new operation; changing one changes every run. */
enum { OPERATION_GEOMETRY = 1, OPERATION_FLIP = 2, OPERATION_JITTER = 3 };
/* Room for more of them. */
enum { OPERATIONS_PER_GROUP = 16 };

enum { CROP_TRIES = 10 };

/*
 * Pixels of the scaled picture for each of the raster, as Pillow's reducing_gap of 2. A triangle
 * filter lets pass sinc^2 of the frequency times its reach: at the scaled picture's Nyquist
 * frequency, above which DCT scaling leaves nothing, 0.41 at a ratio of 1, 0.09 at 1.5, 0 at 2.
 */
enum { LEAST_RATIO = 2 };

typedef struct crop_size {
    double width, height;
} crop_size;

/* Rounds half to even, as Python's round() does. */
static double round_even(double value)
{
    return nearbyint(value);
}

/* The largest central crop whose ratio is in the range. */
static crop_size fallback_size(const sluice_augment *recipe, double width, double height)
{
    double ratio = width / height;
    crop_size crop = {width, height};
    if (ratio < recipe->ratio_min) {
        crop.height = round_even(width / recipe->ratio_min);
    } else if (ratio > recipe->ratio_max) {
        crop.width = round_even(height * recipe->ratio_max);
    }
    /* Very thin pictures round to nothing. */
    crop.width = fmin(fmax(crop.width, 1.0), width);
    crop.height = fmin(fmax(crop.height, 1.0), height);
    return crop;
}

/* torchvision's RandomResizedCrop.get_params */
static sl_rect draw_crop(const sluice_augment *recipe, sl_random *random, uint32_t picture_width,
                         uint32_t picture_height)
{
    double width = picture_width;
    double height = picture_height;
    double ratio_low = log(recipe->ratio_min);
    double ratio_high = log(recipe->ratio_max);
    for (int i = 0; i < CROP_TRIES; i++) {
        double area =
            width * height * sl_random_range(random, recipe->scale_min, recipe->scale_max);
        double ratio = exp(sl_random_range(random, ratio_low, ratio_high));
        crop_size crop = {round_even(sqrt(area * ratio)), round_even(sqrt(area / ratio))};
        if (crop.width >= 1 && crop.width <= width && crop.height >= 1 && crop.height <= height) {
            sl_rect box = {.width = (uint32_t)crop.width, .height = (uint32_t)crop.height};
            box.y = sl_random_below(random, picture_height - box.height + 1);
            box.x = sl_random_below(random, picture_width - box.width + 1);
            return box;
        }
    }
    crop_size crop = fallback_size(recipe, width, height);
    sl_rect box = {.width = (uint32_t)crop.width, .height = (uint32_t)crop.height};
    box.x = (picture_width - box.width) / 2;
    box.y = (picture_height - box.height) / 2;
    return box;
}

/* torchvision's Resize(shorter_side) and CenterCrop */
static sluice_status place_center(const sluice_augment *recipe, sl_params *params,
                                  sluice_error *error)
{
    uint64_t width = params->source.width;
    uint64_t height = params->source.height;
    uint64_t shorter = width < height ? width : height;
    uint64_t longer = width < height ? height : width;
    uint64_t scaled = recipe->shorter_side * longer / shorter;
    if (scaled > INT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "augment",
                            "a picture of %u x %u is too long to resize its shorter side to %u",
                            params->source.width, params->source.height, recipe->shorter_side);
    }
    params->virtual_width = width <= height ? recipe->shorter_side : (uint32_t)scaled;
    params->virtual_height = width <= height ? (uint32_t)scaled : recipe->shorter_side;
    params->window_x = (int32_t)round_even((params->virtual_width - recipe->width) / 2.0);
    params->window_y = (int32_t)round_even((params->virtual_height - recipe->height) / 2.0);
    return SLUICE_OK;
}

/* torchvision's RandomCrop with padding */
static sluice_status place_random(const sluice_augment *recipe, sl_random *random,
                                  sl_params *params, sluice_error *error)
{
    uint64_t width = params->source.width + (uint64_t)recipe->padding * 2;
    uint64_t height = params->source.height + (uint64_t)recipe->padding * 2;
    if (width < recipe->width || height < recipe->height || width > INT32_MAX ||
        height > INT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "augment",
                            "a picture of %u x %u with a padding of %u holds no window of %u x %u",
                            params->source.width, params->source.height, recipe->padding,
                            recipe->width, recipe->height);
    }
    params->virtual_width = params->source.width;
    params->virtual_height = params->source.height;
    uint32_t y = sl_random_below(random, (uint32_t)height - recipe->height + 1);
    uint32_t x = sl_random_below(random, (uint32_t)width - recipe->width + 1);
    params->window_x = (int32_t)x - (int32_t)recipe->padding;
    params->window_y = (int32_t)y - (int32_t)recipe->padding;
    return SLUICE_OK;
}

static double draw_factor(sl_random *random, double strength)
{
    return sl_random_range(random, fmax(0.0, 1.0 - strength), 1.0 + strength);
}

static bool jitters(const sluice_augment *recipe)
{
    return recipe->brightness > 0 || recipe->contrast > 0 || recipe->saturation > 0;
}

/* All numbers are drawn if any is used, so that one strength does not change the others. */
static void draw_jitter(const sluice_augment *recipe, sl_random random, sl_params *params)
{
    uint8_t order[3] = {SL_JITTER_BRIGHTNESS, SL_JITTER_CONTRAST, SL_JITTER_SATURATION};
    for (uint32_t left = 3; left > 1; left--) {
        uint32_t pick = sl_random_below(&random, left);
        uint8_t last = order[left - 1];
        order[left - 1] = order[pick];
        order[pick] = last;
    }
    const double strengths[3] = {recipe->brightness, recipe->contrast, recipe->saturation};
    double factors[3];
    for (int i = 0; i < 3; i++) {
        factors[i] = draw_factor(&random, strengths[i]);
    }
    size_t used = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t kind = (size_t)order[i] - SL_JITTER_BRIGHTNESS;
        if (strengths[kind] > 0) {
            params->jitter[used] = order[i];
            params->factor[used] = (float)factors[kind];
            used++;
        }
    }
}

/* A window of black only needs no pixel, but decoders want a rectangle: any pixel will do. */
static void find_need(sl_params *params)
{
    sl_axis axes[2];
    int32_t begin[2];
    int32_t end[2];
    sl_params_axes(params, 1, &axes[0], &axes[1]);
    for (int i = 0; i < 2; i++) {
        sl_filter_span(&axes[i], &begin[i], &end[i]);
        if (begin[i] == end[i]) {
            begin[i] = axes[i].limit_start;
            end[i] = begin[i] + 1;
        }
    }
    params->need = (sl_rect){(uint32_t)begin[0], (uint32_t)begin[1], (uint32_t)(end[0] - begin[0]),
                             (uint32_t)(end[1] - begin[1])};
}

static sluice_status draw_geometry(const sluice_augment *recipe, sl_random random,
                                   sl_params *params, sluice_error *error)
{
    switch (recipe->geometry) {
    case SL_GEOMETRY_RANDOM_RESIZED_CROP:
        params->source = draw_crop(recipe, &random, params->source.width, params->source.height);
        params->virtual_width = recipe->width;
        params->virtual_height = recipe->height;
        return SLUICE_OK;
    case SL_GEOMETRY_RESIZE_CENTER_CROP:
        return place_center(recipe, params, error);
    case SL_GEOMETRY_RANDOM_CROP:
        return place_random(recipe, &random, params, error);
    case SL_GEOMETRY_NONE:
        break;
    }
    return sl_error_set(error, SLUICE_INVALID, "augment", "the recipe has no geometry step");
}

static sl_random random_for(const sl_draw_key *key, uint32_t operation)
{
    return sl_random_for(key->seed, key->epoch, key->sample,
                         key->group * OPERATIONS_PER_GROUP + operation);
}

sluice_status sl_draw(const sluice_augment *recipe, const sl_draw_key *key, uint32_t picture_width,
                      uint32_t picture_height, sl_params *params, sluice_error *error)
{
    assert(picture_width > 0 && picture_height > 0);
    *params = (sl_params){.source = {0, 0, picture_width, picture_height},
                          .width = recipe->width,
                          .height = recipe->height};
    if (picture_width > INT32_MAX || picture_height > INT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "augment", "a picture of %u x %u",
                            picture_width, picture_height);
    }
    sl_random random = random_for(key, OPERATION_GEOMETRY);
    sluice_status status = draw_geometry(recipe, random, params, error);
    if (status != SLUICE_OK) {
        return status;
    }
    random = random_for(key, OPERATION_FLIP);
    params->flip = sl_random_unit(&random) < recipe->flip_probability;
    if (jitters(recipe)) {
        draw_jitter(recipe, random_for(key, OPERATION_JITTER), params);
    }
    find_need(params);
    return SLUICE_OK;
}

/* Whether `source` divided by `times` has enough pixels for the raster. */
static bool is_large(uint32_t source, uint32_t raster, uint32_t times)
{
    return source >= (uint64_t)raster * LEAST_RATIO * times;
}

void sl_params_least(const sl_params *params, uint32_t *width, uint32_t *height)
{
    uint32_t times = 8;
    while (times > 1 && !(is_large(params->source.width, params->virtual_width, times) &&
                          is_large(params->source.height, params->virtual_height, times))) {
        times /= 2;
    }
    *width = times > 1 ? params->need.width / times : 0;
    *height = times > 1 ? params->need.height / times : 0;
}

/* One side of the box, in a picture scaled down by d. */
static sl_axis axis_of(uint32_t start, uint32_t size, uint32_t d)
{
    const uint32_t first = start / d;
    const uint32_t end = (start + size + d - 1) / d;
    return (sl_axis){.box_start = (double)start / d,
                     .box_size = (double)size / d,
                     .limit_start = (int32_t)first,
                     .limit_end = (int32_t)end,
                     .outside_start = (double)(start - first * d) / d,
                     .outside_end = (double)(end * d - (start + size)) / d};
}

void sl_params_axes(const sl_params *params, uint32_t denominator, sl_axis *horizontal,
                    sl_axis *vertical)
{
    const sl_rect *source = &params->source;
    *horizontal = axis_of(source->x, source->width, denominator);
    horizontal->virtual_size = params->virtual_width;
    horizontal->first = params->window_x;
    horizontal->outputs = params->width;
    *vertical = axis_of(source->y, source->height, denominator);
    vertical->virtual_size = params->virtual_height;
    vertical->first = params->window_y;
    vertical->outputs = params->height;
}
