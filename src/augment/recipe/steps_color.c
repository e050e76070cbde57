/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_color: operations on pixels by themselves, as torchvision draws them. Pure.
 */
#include "hsv.h"
#include "operations.h"
#include "step_row.h"

#include <math.h>

static sluice_status color_add(sl_drawing *drawing, const sl_operation_kind *kind, double value)
{
    sl_operation *operation = sl_draw_operation(drawing, kind);
    if (operation == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    operation->values[0] = value;
    return SLUICE_OK;
}

/* ---- jitter ---- */

enum { JITTERS = 4, HUE = 3 };

static const sl_operation_kind *const jitters[JITTERS] = {
    &sl_operation_brightness, &sl_operation_contrast, &sl_operation_saturation, &sl_operation_hue};

/*
 * Draws a jitter. Ends of the factors' ranges; `used`: which of them exist. All numbers are drawn
 * if any is used, so that one strength does not change the others; those of the hue, which was
 * added later, after the others, and only if it is used: then its place among the others is drawn.
 */
static sluice_status jitter(sl_drawing *drawing, double ranges[JITTERS][2],
                            const bool used[JITTERS])
{
    sl_random *random = &drawing->random;
    uint8_t order[JITTERS] = {0, 1, 2, HUE};
    double factors[JITTERS];
    for (uint32_t left = 3; left > 1; left--) {
        const uint32_t pick = sl_random_below(random, left);
        const uint8_t last = order[left - 1];
        order[left - 1] = order[pick];
        order[pick] = last;
    }
    for (size_t i = 0; i < HUE; i++) {
        factors[i] = sl_random_range(random, ranges[i][0], ranges[i][1]);
    }
    if (used[HUE]) {
        factors[HUE] = sl_random_range(random, ranges[HUE][0], ranges[HUE][1]);
        for (uint32_t at = HUE, place = sl_random_below(random, JITTERS); at > place; at--) {
            order[at] = order[at - 1];
            order[at - 1] = HUE;
        }
    }
    for (size_t i = 0; i < JITTERS; i++) {
        const size_t kind = order[i];
        const sluice_status status =
            used[kind] ? color_add(drawing, jitters[kind], (double)(float)factors[kind])
                       : SLUICE_OK;
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

static sluice_status draw_color_jitter(const double *strengths, sl_drawing *drawing)
{
    double ranges[JITTERS][2];
    bool used[JITTERS];
    for (size_t i = 0; i < JITTERS; i++) {
        ranges[i][0] = i == HUE ? -strengths[i] : fmax(0.0, 1.0 - strengths[i]);
        ranges[i][1] = i == HUE ? strengths[i] : 1.0 + strengths[i];
        used[i] = strengths[i] > 0;
    }
    return jitter(drawing, ranges, used);
}

static sluice_status draw_color_jitter_ranges(const double *arguments, sl_drawing *drawing)
{
    double ranges[JITTERS][2];
    bool used[JITTERS];
    for (size_t i = 0; i < JITTERS; i++) {
        const double nothing = i == HUE ? 0 : 1;
        ranges[i][0] = arguments[2 * i];
        ranges[i][1] = arguments[2 * i + 1];
        used[i] = ranges[i][0] != nothing || ranges[i][1] != nothing;
    }
    return jitter(drawing, ranges, used);
}

static uint32_t color_jitter_operations(const double *arguments)
{
    (void)arguments;
    return JITTERS;
}

SL_STEP(color_jitter) = {
    .name = "color_jitter",
    .text = "brightness, contrast, saturation and hue by random factors, in a random order",
    .stage = SL_STAGE_COLOR,
    .stream = 3,
    .arguments = {{SL_ARG_FACTOR("brightness", 0)},
                  {SL_ARG_FACTOR("contrast", 0)},
                  {SL_ARG_FACTOR("saturation", 0)},
                  {SL_ARG_REAL("hue", 0, 0.5, 0)}},
    .draw = draw_color_jitter,
    .operations = color_jitter_operations};

static const char *color_jitter_ranges_mismatch(const double *arguments)
{
    static const char *const texts[JITTERS] = {"brightness_min must be at most brightness_max",
                                               "contrast_min must be at most contrast_max",
                                               "saturation_min must be at most saturation_max",
                                               "hue_min must be at most hue_max"};
    for (size_t i = 0; i < JITTERS; i++) {
        if (arguments[2 * i] > arguments[2 * i + 1]) {
            return texts[i];
        }
    }
    return NULL;
}

SL_STEP(color_jitter_ranges) = {.name = "color_jitter_ranges",
                                .text = "the same, with the ends of the factors' ranges",
                                .stage = SL_STAGE_COLOR,
                                .stream = 9,
                                .arguments = {{SL_ARG_FACTOR("brightness_min", 1)},
                                              {SL_ARG_FACTOR("brightness_max", 1)},
                                              {SL_ARG_FACTOR("contrast_min", 1)},
                                              {SL_ARG_FACTOR("contrast_max", 1)},
                                              {SL_ARG_FACTOR("saturation_min", 1)},
                                              {SL_ARG_FACTOR("saturation_max", 1)},
                                              {SL_ARG_REAL("hue_min", -0.5, 0.5, 0)},
                                              {SL_ARG_REAL("hue_max", -0.5, 0.5, 0)}},
                                .mismatch = color_jitter_ranges_mismatch,
                                .draw = draw_color_jitter_ranges,
                                .operations = color_jitter_operations};

/* ---- one operation, with a probability ---- */

static sluice_status maybe(sl_drawing *drawing, const sl_operation_kind *kind, double value,
                           double probability)
{
    return sl_draw_happens(drawing, probability) ? color_add(drawing, kind, value) : SLUICE_OK;
}

static sluice_status draw_random_grayscale(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_grey, 0, arguments[0]);
}

SL_STEP(random_grayscale) = {.name = "random_grayscale",
                             .text = "grey, in three equal channels",
                             .stage = SL_STAGE_COLOR,
                             .stream = 10,
                             .arguments = {{SL_ARG_PROBABILITY(0.1)}},
                             .draw = draw_random_grayscale};

static sluice_status draw_random_invert(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_invert, 0, arguments[0]);
}

SL_STEP(random_invert) = {.name = "random_invert",
                          .text = "255 minus each value",
                          .stage = SL_STAGE_COLOR,
                          .stream = 11,
                          .arguments = {{SL_ARG_PROBABILITY(0.5)}},
                          .draw = draw_random_invert};

static sluice_status draw_random_autocontrast(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_autocontrast, 0, arguments[0]);
}

SL_STEP(random_autocontrast) = {.name = "random_autocontrast",
                                .text = "each channel is spread over 0 to 255",
                                .stage = SL_STAGE_COLOR,
                                .stream = 15,
                                .arguments = {{SL_ARG_PROBABILITY(0.5)}},
                                .draw = draw_random_autocontrast};

static sluice_status draw_random_equalize(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_equalize, 0, arguments[0]);
}

SL_STEP(random_equalize) = {.name = "random_equalize",
                            .text = "each channel's histogram becomes flat",
                            .stage = SL_STAGE_COLOR,
                            .stream = 16,
                            .arguments = {{SL_ARG_PROBABILITY(0.5)}},
                            .draw = draw_random_equalize};

static sluice_status draw_random_posterize(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_posterize, arguments[0], arguments[1]);
}

SL_STEP(random_posterize) = {
    .name = "random_posterize",
    .text = "only the upper bits of each value are kept",
    .stage = SL_STAGE_COLOR,
    .stream = 12,
    .arguments = {{SL_ARG_WHOLE("bits", 0, 8, SL_ARG_GIVEN)}, {SL_ARG_PROBABILITY(0.5)}},
    .draw = draw_random_posterize};

static sluice_status draw_random_solarize(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_solarize, arguments[0], arguments[1]);
}

SL_STEP(random_solarize) = {
    .name = "random_solarize",
    .text = "values from a threshold on are inverted",
    .stage = SL_STAGE_COLOR,
    .stream = 13,
    .arguments = {{SL_ARG_REAL("threshold", 0, 256, SL_ARG_GIVEN)}, {SL_ARG_PROBABILITY(0.5)}},
    .draw = draw_random_solarize};

static sluice_status draw_random_solarize_add(const double *arguments, sl_drawing *drawing)
{
    if (!sl_draw_happens(drawing, arguments[2])) {
        return SLUICE_OK;
    }
    sl_operation *operation = sl_draw_operation(drawing, &sl_operation_solarize_add);
    if (operation == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    operation->values[0] = arguments[0];
    operation->values[1] = arguments[1];
    return SLUICE_OK;
}

SL_STEP(random_solarize_add) = {.name = "random_solarize_add",
                                .text = "values below a threshold get brighter",
                                .stage = SL_STAGE_COLOR,
                                .stream = 14,
                                .arguments = {{SL_ARG_WHOLE("add", 0, 255, SL_ARG_GIVEN)},
                                              {SL_ARG_WHOLE("threshold", 0, 256, 128)},
                                              {SL_ARG_PROBABILITY(0.5)}},
                                .draw = draw_random_solarize_add};

static sluice_status draw_random_channel_permutation(const double *arguments, sl_drawing *drawing)
{
    (void)arguments;
    double order[3] = {0, 1, 2};
    for (uint32_t left = 3; left > 1; left--) {
        const uint32_t pick = sl_random_below(&drawing->random, left);
        const double last = order[left - 1];
        order[left - 1] = order[pick];
        order[pick] = last;
    }
    sl_operation *operation = sl_draw_operation(drawing, &sl_operation_permute);
    if (operation == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    for (size_t i = 0; i < 3; i++) {
        operation->values[i] = order[i];
    }
    return SLUICE_OK;
}

SL_STEP(random_channel_permutation) = {.name = "random_channel_permutation",
                                       .text = "the channels in a random order",
                                       .stage = SL_STAGE_COLOR,
                                       .stream = 17,
                                       .draw = draw_random_channel_permutation};

/* ---- HSV ---- */

/* ultralytics' RandomHSV: hue rotated by r of the circle, the others times 1 + r. */
static sluice_status draw_random_hsv(const double *arguments, sl_drawing *drawing)
{
    double parts[3];
    for (size_t i = 0; i < 3; i++) {
        parts[i] = sl_random_range(&drawing->random, -1.0, 1.0) * arguments[i];
    }
    if (arguments[0] == 0 && arguments[1] == 0 && arguments[2] == 0) {
        return SLUICE_OK;
    }
    sl_operation *operation = sl_draw_operation(drawing, &sl_operation_hsv);
    if (operation == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    const int32_t steps = (int32_t)floor(parts[0] * SL_HSV_TURN);
    operation->values[0] = (steps + SL_HSV_TURN) % SL_HSV_TURN;
    operation->values[1] = (double)sl_hsv_factor(parts[1] + 1);
    operation->values[2] = (double)sl_hsv_factor(parts[2] + 1);
    return SLUICE_OK;
}

SL_STEP(random_hsv) = {
    .name = "random_hsv",
    .text = "hue rotated, saturation and value scaled, by random amounts: the YOLO family's",
    .stage = SL_STAGE_COLOR,
    .stream = 41,
    .arguments = {{SL_ARG_REAL("hue", 0, 1, 0.015)},
                  {SL_ARG_REAL("saturation", 0, 1, 0.7)},
                  {SL_ARG_REAL("value", 0, 1, 0.4)}},
    .draw = draw_random_hsv};
