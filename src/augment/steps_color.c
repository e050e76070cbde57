/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_color: operations on pixels by themselves, as torchvision draws them. Pure.
 */
#include "hsv.h"
#include "operations.h"
#include "steps_draw.h"

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
 * Ends of the factors' ranges; `used`: which of them there are. All numbers are drawn if any is
 * used, so that one strength does not change the others; those of the hue, which came later, behind
 * the others, and only if it is used: then its place among the others is drawn.
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

sluice_status sl_draw_color_jitter(const double *strengths, sl_drawing *drawing)
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

sluice_status sl_draw_color_jitter_ranges(const double *arguments, sl_drawing *drawing)
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

uint32_t sl_color_jitter_operations(const double *arguments)
{
    (void)arguments;
    return JITTERS;
}

const char *sl_color_jitter_ranges_mismatch(const double *arguments)
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

/* ---- one operation, with a probability ---- */

static sluice_status maybe(sl_drawing *drawing, const sl_operation_kind *kind, double value,
                           double probability)
{
    return sl_draw_happens(drawing, probability) ? color_add(drawing, kind, value) : SLUICE_OK;
}

sluice_status sl_draw_random_grayscale(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_grey, 0, arguments[0]);
}

sluice_status sl_draw_random_invert(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_invert, 0, arguments[0]);
}

sluice_status sl_draw_random_autocontrast(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_autocontrast, 0, arguments[0]);
}

sluice_status sl_draw_random_equalize(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_equalize, 0, arguments[0]);
}

sluice_status sl_draw_random_posterize(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_posterize, arguments[0], arguments[1]);
}

sluice_status sl_draw_random_solarize(const double *arguments, sl_drawing *drawing)
{
    return maybe(drawing, &sl_operation_solarize, arguments[0], arguments[1]);
}

sluice_status sl_draw_random_solarize_add(const double *arguments, sl_drawing *drawing)
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

sluice_status sl_draw_random_channel_permutation(const double *arguments, sl_drawing *drawing)
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

/* ---- HSV ---- */

/* ultralytics' RandomHSV: hue turned by r of the circle, the others times 1 + r. */
sluice_status sl_draw_random_hsv(const double *arguments, sl_drawing *drawing)
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
