/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of steps, below, and what its rows do. A new step is a row and its draw (or convert);
 * pixels are worked on elsewhere (jitter.c). Owner thread: any; all is pure and constant.
 */
#include "steps.h"

#include "error.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { SIDE_MAX = 16384, CROP_TRIES = 10 };

/* ---- geometry ---- */

typedef struct crop_size {
    double width, height;
} crop_size;

/* Rounds half to even, as Python's round() does. */
static double round_even(double value)
{
    return nearbyint(value);
}

/* The largest central crop whose ratio is in the range. */
static crop_size fallback_size(double ratio_min, double ratio_max, double width, double height)
{
    double ratio = width / height;
    crop_size crop = {width, height};
    if (ratio < ratio_min) {
        crop.height = round_even(width / ratio_min);
    } else if (ratio > ratio_max) {
        crop.width = round_even(height * ratio_max);
    }
    /* Very thin pictures round to nothing. */
    crop.width = fmin(fmax(crop.width, 1.0), width);
    crop.height = fmin(fmax(crop.height, 1.0), height);
    return crop;
}

enum { RRC_WIDTH, RRC_HEIGHT, RRC_SCALE_MIN, RRC_SCALE_MAX, RRC_RATIO_MIN, RRC_RATIO_MAX };

/* torchvision's RandomResizedCrop.get_params */
static sl_rect draw_crop(const double *arguments, sl_random *random, uint32_t picture_width,
                         uint32_t picture_height)
{
    double width = picture_width;
    double height = picture_height;
    double ratio_low = log(arguments[RRC_RATIO_MIN]);
    double ratio_high = log(arguments[RRC_RATIO_MAX]);
    for (int i = 0; i < CROP_TRIES; i++) {
        double area = width * height *
                      sl_random_range(random, arguments[RRC_SCALE_MIN], arguments[RRC_SCALE_MAX]);
        double ratio = exp(sl_random_range(random, ratio_low, ratio_high));
        crop_size crop = {round_even(sqrt(area * ratio)), round_even(sqrt(area / ratio))};
        if (crop.width >= 1 && crop.width <= width && crop.height >= 1 && crop.height <= height) {
            sl_rect box = {.width = (uint32_t)crop.width, .height = (uint32_t)crop.height};
            box.y = sl_random_below(random, picture_height - box.height + 1);
            box.x = sl_random_below(random, picture_width - box.width + 1);
            return box;
        }
    }
    crop_size crop =
        fallback_size(arguments[RRC_RATIO_MIN], arguments[RRC_RATIO_MAX], width, height);
    sl_rect box = {.width = (uint32_t)crop.width, .height = (uint32_t)crop.height};
    box.x = (picture_width - box.width) / 2;
    box.y = (picture_height - box.height) / 2;
    return box;
}

static sluice_status random_resized_crop(const double *arguments, sl_random *random,
                                         sl_params *params, sluice_error *error)
{
    (void)error;
    sl_mapping *mapping = &params->mapping;
    mapping->source = draw_crop(arguments, random, mapping->source.width, mapping->source.height);
    mapping->virtual_width = mapping->width;
    mapping->virtual_height = mapping->height;
    return SLUICE_OK;
}

static const char *random_resized_crop_mismatch(const double *arguments)
{
    if (arguments[RRC_SCALE_MIN] > arguments[RRC_SCALE_MAX]) {
        return "scale_min must be at most scale_max";
    }
    return arguments[RRC_RATIO_MIN] > arguments[RRC_RATIO_MAX]
               ? "ratio_min must be at most ratio_max"
               : NULL;
}

enum { CENTER_SHORTER, CENTER_WIDTH, CENTER_HEIGHT };

/* torchvision's Resize(shorter_side) and CenterCrop */
static sluice_status resize_center_crop(const double *arguments, sl_random *random,
                                        sl_params *params, sluice_error *error)
{
    (void)random;
    sl_mapping *mapping = &params->mapping;
    const uint32_t shorter_side = (uint32_t)arguments[CENTER_SHORTER];
    uint64_t width = mapping->source.width;
    uint64_t height = mapping->source.height;
    uint64_t shorter = width < height ? width : height;
    uint64_t longer = width < height ? height : width;
    uint64_t scaled = shorter_side * longer / shorter;
    if (scaled > INT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "augment",
                            "a picture of %u x %u is too long to resize its shorter side to %u",
                            mapping->source.width, mapping->source.height, shorter_side);
    }
    mapping->virtual_width = width <= height ? shorter_side : (uint32_t)scaled;
    mapping->virtual_height = width <= height ? (uint32_t)scaled : shorter_side;
    mapping->window_x = (int32_t)round_even((mapping->virtual_width - mapping->width) / 2.0);
    mapping->window_y = (int32_t)round_even((mapping->virtual_height - mapping->height) / 2.0);
    return SLUICE_OK;
}

static const char *resize_center_crop_mismatch(const double *arguments)
{
    return arguments[CENTER_SHORTER] < fmax(arguments[CENTER_WIDTH], arguments[CENTER_HEIGHT])
               ? "shorter_side must be at least width and height"
               : NULL;
}

enum { CROP_WIDTH, CROP_HEIGHT, CROP_PADDING };

/* torchvision's RandomCrop with padding */
static sluice_status random_crop(const double *arguments, sl_random *random, sl_params *params,
                                 sluice_error *error)
{
    sl_mapping *mapping = &params->mapping;
    const uint32_t padding = (uint32_t)arguments[CROP_PADDING];
    uint64_t width = mapping->source.width + (uint64_t)padding * 2;
    uint64_t height = mapping->source.height + (uint64_t)padding * 2;
    if (width < mapping->width || height < mapping->height || width > INT32_MAX ||
        height > INT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "augment",
                            "a picture of %u x %u with a padding of %u holds no window of %u x %u",
                            mapping->source.width, mapping->source.height, padding, mapping->width,
                            mapping->height);
    }
    mapping->virtual_width = mapping->source.width;
    mapping->virtual_height = mapping->source.height;
    uint32_t y = sl_random_below(random, (uint32_t)height - mapping->height + 1);
    uint32_t x = sl_random_below(random, (uint32_t)width - mapping->width + 1);
    mapping->window_x = (int32_t)x - (int32_t)padding;
    mapping->window_y = (int32_t)y - (int32_t)padding;
    return SLUICE_OK;
}

/* ---- flips ---- */

/* A flip of a box is a box. */
static sluice_status random_flip(const double *arguments, sl_random *random, sl_params *params,
                                 sluice_error *error)
{
    (void)error;
    assert(sl_mapping_is_box(&params->mapping));
    params->mapping.flip_x = sl_random_unit(random) < arguments[0];
    return SLUICE_OK;
}

static sluice_status random_vertical_flip(const double *arguments, sl_random *random,
                                          sl_params *params, sluice_error *error)
{
    (void)error;
    assert(sl_mapping_is_box(&params->mapping));
    params->mapping.flip_y = sl_random_unit(random) < arguments[0];
    return SLUICE_OK;
}

/* ---- pixels ---- */

/* All numbers are drawn if any is used, so that one strength does not change the others. */
static sluice_status color_jitter(const double *strengths, sl_random *random, sl_params *params,
                                  sluice_error *error)
{
    (void)error;
    static sl_pixel_operation *const operations[3] = {sl_brightness, sl_contrast, sl_saturation};
    uint8_t order[3] = {0, 1, 2};
    for (uint32_t left = 3; left > 1; left--) {
        uint32_t pick = sl_random_below(random, left);
        uint8_t last = order[left - 1];
        order[left - 1] = order[pick];
        order[pick] = last;
    }
    double factors[3];
    for (int i = 0; i < 3; i++) {
        factors[i] = sl_random_range(random, fmax(0.0, 1.0 - strengths[i]), 1.0 + strengths[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        const size_t kind = order[i];
        if (strengths[kind] > 0) {
            assert(params->operation_count < SL_OPERATIONS_MAX);
            params->operations[params->operation_count].apply = operations[kind];
            params->operations[params->operation_count++].amount = (float)factors[kind];
        }
    }
    return SLUICE_OK;
}

/* ---- values ---- */

static void normalize(const double *arguments, size_t channel, float *scale, float *bias)
{
    const float mean = (float)arguments[channel];
    const float deviation = (float)arguments[3 + channel];
    *scale = 1.0F / (255.0F * deviation);
    *bias = -mean / deviation;
}

/* ---- the table ---- */

/* Of an sl_argument. */
#define SIDE(name)          name, SL_NUMBER_WHOLE, false, 1, SIDE_MAX, (double)NAN
#define SCALE(name, preset) name, SL_NUMBER_REAL, true, 0, 1, preset
#define RATIO(name, preset) name, SL_NUMBER_REAL, true, 0, DBL_MAX, preset
#define PROBABILITY         "probability", SL_NUMBER_REAL, false, 0, 1, 0.5
/* Factors above this would be no picture any more, and must fit in a float. */
#define STRENGTH(name)  name, SL_NUMBER_REAL, false, 0, 1000, 0
#define MEAN(name)      name, SL_NUMBER_FLOAT, false, -FLT_MAX, FLT_MAX, (double)NAN
#define DEVIATION(name) name, SL_NUMBER_FLOAT, true, 0, FLT_MAX, (double)NAN

const sl_step_kind sl_step_kinds[] = {
    {.name = "random_resized_crop",
     .text = "a random part of the picture, resized",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 1,
     .arguments = {{SIDE("width")},
                   {SIDE("height")},
                   {SCALE("scale_min", 0.08)},
                   {SCALE("scale_max", 1)},
                   {RATIO("ratio_min", 3.0 / 4)},
                   {RATIO("ratio_max", 4.0 / 3)}},
     .mismatch = random_resized_crop_mismatch,
     .draw = random_resized_crop},
    {.name = "resize_center_crop",
     .text = "the shorter side is resized, then the centre cut out",
     .stage = SL_STAGE_GEOMETRY,
     .arguments = {{SIDE("shorter_side")}, {SIDE("width")}, {SIDE("height")}},
     .mismatch = resize_center_crop_mismatch,
     .draw = resize_center_crop},
    {.name = "random_crop",
     .text = "a random window of the picture with black padding, not resized",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 1,
     .arguments = {{SIDE("width")},
                   {SIDE("height")},
                   {"padding", SL_NUMBER_WHOLE, false, 0, SIDE_MAX, 0}},
     .draw = random_crop},
    {.name = "random_flip",
     .text = "mirrored left to right",
     .stage = SL_STAGE_FLIP,
     .stream = 2,
     .arguments = {{PROBABILITY}},
     .draw = random_flip},
    {.name = "random_vertical_flip",
     .text = "mirrored top to bottom",
     .stage = SL_STAGE_FLIP,
     .stream = 4,
     .arguments = {{PROBABILITY}},
     .draw = random_vertical_flip},
    {.name = "color_jitter",
     .text = "brightness, contrast and saturation by random factors, in a random order",
     .stage = SL_STAGE_COLOR,
     .stream = 3,
     .arguments = {{STRENGTH("brightness")}, {STRENGTH("contrast")}, {STRENGTH("saturation")}},
     .draw = color_jitter},
    {.name = "normalize",
     .text = "(value / 255 - mean) / stddev for each channel; floating dtypes only",
     .stage = SL_STAGE_NORMALIZE,
     .arguments = {{MEAN("mean_r")},
                   {MEAN("mean_g")},
                   {MEAN("mean_b")},
                   {DEVIATION("stddev_r")},
                   {DEVIATION("stddev_g")},
                   {DEVIATION("stddev_b")}},
     .convert = normalize},
};

const uint32_t sl_step_kind_count = sizeof(sl_step_kinds) / sizeof(sl_step_kinds[0]);

_Static_assert(sizeof(sl_step_kinds) / sizeof(sl_step_kinds[0]) <= SL_STEPS_MAX,
               "a recipe has room for each step once");

const sl_step_kind *sl_step_find(const char *name)
{
    for (uint32_t i = 0; i < sl_step_kind_count; i++) {
        if (strcmp(sl_step_kinds[i].name, name) == 0) {
            return &sl_step_kinds[i];
        }
    }
    return NULL;
}

uint32_t sl_step_argument_count(const sl_step_kind *kind)
{
    uint32_t count = 0;
    while (count < SL_STEP_ARGUMENTS_MAX && kind->arguments[count].name != NULL) {
        count++;
    }
    return count;
}

const char *sl_step_stage_name(sl_step_stage stage)
{
    static const char *const names[SL_STAGES] = {"geometry", "flip", "color", "normalize"};
    return names[stage];
}
