/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe.h"

#include "error.h"
#include "philox.h"

#include <assert.h>
#include <math.h>

/* Streams of random numbers. A new number for a new operation; changing one changes every run. */
enum { OPERATION_GEOMETRY = 1, OPERATION_FLIP = 2, OPERATION_JITTER = 3 };
/* Room for more of them. */
enum { OPERATIONS_PER_GROUP = 16 };

enum { CROP_TRIES = 10 };

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
static sluice_status place_center(const sluice_augment *recipe, sl_mapping *mapping,
                                  sluice_error *error)
{
    uint64_t width = mapping->source.width;
    uint64_t height = mapping->source.height;
    uint64_t shorter = width < height ? width : height;
    uint64_t longer = width < height ? height : width;
    uint64_t scaled = recipe->shorter_side * longer / shorter;
    if (scaled > INT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "augment",
                            "a picture of %u x %u is too long to resize its shorter side to %u",
                            mapping->source.width, mapping->source.height, recipe->shorter_side);
    }
    mapping->virtual_width = width <= height ? recipe->shorter_side : (uint32_t)scaled;
    mapping->virtual_height = width <= height ? (uint32_t)scaled : recipe->shorter_side;
    mapping->window_x = (int32_t)round_even((mapping->virtual_width - recipe->width) / 2.0);
    mapping->window_y = (int32_t)round_even((mapping->virtual_height - recipe->height) / 2.0);
    return SLUICE_OK;
}

/* torchvision's RandomCrop with padding */
static sluice_status place_random(const sluice_augment *recipe, sl_random *random,
                                  sl_mapping *mapping, sluice_error *error)
{
    uint64_t width = mapping->source.width + (uint64_t)recipe->padding * 2;
    uint64_t height = mapping->source.height + (uint64_t)recipe->padding * 2;
    if (width < recipe->width || height < recipe->height || width > INT32_MAX ||
        height > INT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "augment",
                            "a picture of %u x %u with a padding of %u holds no window of %u x %u",
                            mapping->source.width, mapping->source.height, recipe->padding,
                            recipe->width, recipe->height);
    }
    mapping->virtual_width = mapping->source.width;
    mapping->virtual_height = mapping->source.height;
    uint32_t y = sl_random_below(random, (uint32_t)height - recipe->height + 1);
    uint32_t x = sl_random_below(random, (uint32_t)width - recipe->width + 1);
    mapping->window_x = (int32_t)x - (int32_t)recipe->padding;
    mapping->window_y = (int32_t)y - (int32_t)recipe->padding;
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

static sluice_status draw_geometry(const sluice_augment *recipe, sl_random random,
                                   sl_mapping *mapping, sluice_error *error)
{
    switch (recipe->geometry) {
    case SL_GEOMETRY_RANDOM_RESIZED_CROP:
        mapping->source = draw_crop(recipe, &random, mapping->source.width, mapping->source.height);
        mapping->virtual_width = recipe->width;
        mapping->virtual_height = recipe->height;
        return SLUICE_OK;
    case SL_GEOMETRY_RESIZE_CENTER_CROP:
        return place_center(recipe, mapping, error);
    case SL_GEOMETRY_RANDOM_CROP:
        return place_random(recipe, &random, mapping, error);
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
    *params = (sl_params){.mapping = {.source = {0, 0, picture_width, picture_height},
                                      .width = recipe->width,
                                      .height = recipe->height}};
    if (picture_width > INT32_MAX || picture_height > INT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "augment", "a picture of %u x %u",
                            picture_width, picture_height);
    }
    sl_random random = random_for(key, OPERATION_GEOMETRY);
    sluice_status status = draw_geometry(recipe, random, &params->mapping, error);
    if (status != SLUICE_OK) {
        return status;
    }
    random = random_for(key, OPERATION_FLIP);
    params->mapping.flip_x = sl_random_unit(&random) < recipe->flip_probability;
    if (jitters(recipe)) {
        draw_jitter(recipe, random_for(key, OPERATION_JITTER), params);
    }
    params->need = sl_mapping_need(&params->mapping);
    return SLUICE_OK;
}
