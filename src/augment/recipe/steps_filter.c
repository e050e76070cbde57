/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_filter: operations on pixels and their neighbours, and replaced pixels. Pure.
 */
#include "blur.h"
#include "operations.h"
#include "portable_math.h"
#include "step_row.h"

#include <math.h>

enum { ERASE_TRIES = 10 };

static sluice_status add_canvas(sl_drawing *drawing, const sl_operation_kind *kind,
                                const double *values, size_t count)
{
    sl_operation *operation = sl_draw_operation(drawing, kind);
    if (operation == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    for (size_t i = 0; i < count; i++) {
        operation->values[i] = values[i];
    }
    return SLUICE_OK;
}

/* ---- blur ---- */

enum { BLUR_KERNEL_X, BLUR_KERNEL_Y, BLUR_SIGMA_MIN, BLUR_SIGMA_MAX };

static sluice_status draw_gaussian_blur(const double *arguments, sl_drawing *drawing)
{
    const double sigma =
        sl_random_range(&drawing->random, arguments[BLUR_SIGMA_MIN], arguments[BLUR_SIGMA_MAX]);
    const double values[4] = {arguments[BLUR_KERNEL_X], arguments[BLUR_KERNEL_Y], sigma, sigma};
    return add_canvas(drawing, &sl_operation_gaussian_blur, values, 4);
}

static const char *gaussian_blur_mismatch(const double *arguments)
{
    if (fmod(arguments[BLUR_KERNEL_X], 2) != 1 || fmod(arguments[BLUR_KERNEL_Y], 2) != 1) {
        return "kernel_x and kernel_y must be odd";
    }
    return arguments[BLUR_SIGMA_MIN] > arguments[BLUR_SIGMA_MAX]
               ? "sigma_min must be at most sigma_max"
               : NULL;
}

SL_STEP(gaussian_blur) = {
    .name = "gaussian_blur",
    .text = "torchvision's blur: a kernel of fixed size, a random sigma",
    .stage = SL_STAGE_FILTER,
    .stream = 18,
    .arguments = {{SL_ARG_WHOLE("kernel_x", 1, SL_BLUR_KERNEL_MAX, SL_ARG_GIVEN)},
                  {SL_ARG_WHOLE("kernel_y", 1, SL_BLUR_KERNEL_MAX, SL_ARG_GIVEN)},
                  {"sigma_min", SL_NUMBER_REAL, true, 0, 1000, 0.1},
                  {"sigma_max", SL_NUMBER_REAL, true, 0, 1000, 2}},
    .mismatch = gaussian_blur_mismatch,
    .draw = draw_gaussian_blur};

static sluice_status draw_pillow_blur(const double *arguments, sl_drawing *drawing)
{
    const double radius = sl_random_range(&drawing->random, arguments[0], arguments[1]);
    return add_canvas(drawing, &sl_operation_box_blur, &radius, 1);
}

static const char *pillow_blur_mismatch(const double *arguments)
{
    return arguments[0] > arguments[1] ? "radius_min must be at most radius_max" : NULL;
}

SL_STEP(pillow_blur) = {
    .name = "pillow_blur",
    .text = "Pillow's GaussianBlur, which is three box blurs, of a random radius",
    .stage = SL_STAGE_FILTER,
    .stream = 19,
    .arguments = {{SL_ARG_REAL("radius_min", 0, 1000, 0.1)},
                  {SL_ARG_REAL("radius_max", 0, 1000, 2)}},
    .mismatch = pillow_blur_mismatch,
    .draw = draw_pillow_blur};

/* ---- sharpness, JPEG ---- */

static sluice_status draw_random_sharpness(const double *arguments, sl_drawing *drawing)
{
    return sl_draw_happens(drawing, arguments[1])
               ? add_canvas(drawing, &sl_operation_sharpness, arguments, 1)
               : SLUICE_OK;
}

SL_STEP(random_sharpness) = {
    .name = "random_sharpness",
    .text = "smoothed below a factor of 1, sharpened above it",
    .stage = SL_STAGE_FILTER,
    .stream = 20,
    .arguments = {{SL_ARG_FACTOR("factor", SL_ARG_GIVEN)}, {SL_ARG_PROBABILITY(0.5)}},
    .draw = draw_random_sharpness};

static sluice_status draw_jpeg(const double *arguments, sl_drawing *drawing)
{
    const uint32_t qualities = (uint32_t)(arguments[1] - arguments[0]) + 1;
    const double quality = arguments[0] + sl_random_below(&drawing->random, qualities);
    return add_canvas(drawing, &sl_operation_jpeg, &quality, 1);
}

static const char *jpeg_mismatch(const double *arguments)
{
    return arguments[0] > arguments[1] ? "quality_min must be at most quality_max" : NULL;
}

SL_STEP(jpeg) = {.name = "jpeg",
                 .text = "compressed as a JPEG of a random quality, and decoded",
                 .stage = SL_STAGE_FILTER,
                 .stream = 21,
                 .arguments = {{SL_ARG_WHOLE("quality_min", 1, 100, SL_ARG_GIVEN)},
                               {SL_ARG_WHOLE("quality_max", 1, 100, SL_ARG_GIVEN)}},
                 .mismatch = jpeg_mismatch,
                 .draw = draw_jpeg};

/* ---- erasing ---- */

enum {
    ERASE_PROBABILITY,
    ERASE_SCALE_MIN,
    ERASE_SCALE_MAX,
    ERASE_RATIO_MIN,
    ERASE_RATIO_MAX,
    ERASE_COLOUR,
    ERASE_NOISE = ERASE_COLOUR + 3,
    ERASE_COUNT_MIN,
    ERASE_COUNT_MAX
};

/* Deviation of noise without normalisation: about that of ImageNet's pixels. */
#define NOISE_DEVIATION 57.6

/* Draws torchvision's RandomErasing.get_params, for an area divided by `count` as in timm. */
static bool draw_rectangle(const double *arguments, sl_drawing *drawing, uint32_t count,
                           double part[4])
{
    sl_random *random = &drawing->random;
    const double area = (double)drawing->width * drawing->height;
    for (int i = 0; i < ERASE_TRIES; i++) {
        const double wanted =
            area * sl_random_range(random, arguments[ERASE_SCALE_MIN], arguments[ERASE_SCALE_MAX]) /
            count;
        const double aspect = sl_exp(sl_random_range(random, sl_log(arguments[ERASE_RATIO_MIN]),
                                                     sl_log(arguments[ERASE_RATIO_MAX])));
        const double height = nearbyint(sqrt(wanted * aspect));
        const double width = nearbyint(sqrt(wanted / aspect));
        if (height < drawing->height && width < drawing->width) {
            part[1] = sl_random_below(random, drawing->height - (uint32_t)height + 1);
            part[0] = sl_random_below(random, drawing->width - (uint32_t)width + 1);
            part[2] = width;
            part[3] = height;
            return width > 0 && height > 0;
        }
    }
    return false;
}

/* Noise about black would be half cut off: without normalisation it is about grey. */
static void choose_colour(const double *arguments, const sl_drawing *drawing, double colour[3])
{
    for (size_t c = 0; c < 3; c++) {
        const bool is_normalized = drawing->deviation[c] > 0.0F;
        const double mean = !is_normalized && arguments[ERASE_NOISE] != 0 ? 128 : drawing->mean[c];
        colour[c] = arguments[ERASE_COLOUR + c] < 0 ? mean : arguments[ERASE_COLOUR + c];
    }
}

static sluice_status draw_random_erasing(const double *arguments, sl_drawing *drawing)
{
    double values[SL_OPERATION_VALUES] = {0};
    if (!sl_draw_happens(drawing, arguments[ERASE_PROBABILITY])) {
        return SLUICE_OK;
    }
    const uint32_t counts = (uint32_t)(arguments[ERASE_COUNT_MAX] - arguments[ERASE_COUNT_MIN]);
    const uint32_t count = (uint32_t)arguments[ERASE_COUNT_MIN] +
                           (counts > 0 ? sl_random_below(&drawing->random, counts + 1) : 0);
    choose_colour(arguments, drawing, values + 4);
    for (size_t c = 0; c < 3; c++) {
        const double deviation = (double)drawing->deviation[c];
        values[7 + c] = deviation > 0 ? deviation : NOISE_DEVIATION;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!draw_rectangle(arguments, drawing, count, values)) {
            continue;
        }
        sl_operation *operation = sl_draw_operation(drawing, &sl_operation_erase);
        if (operation == NULL) {
            return SLUICE_UNSUPPORTED;
        }
        for (size_t v = 0; v < SL_OPERATION_VALUES; v++) {
            operation->values[v] = values[v];
        }
        if (arguments[ERASE_NOISE] != 0) {
            const uint64_t high = sl_random_u32(&drawing->random);
            operation->key = (high << 32 | sl_random_u32(&drawing->random)) | 1; /* not 0 */
        }
    }
    return SLUICE_OK;
}

static uint32_t random_erasing_operations(const double *arguments)
{
    return (uint32_t)arguments[ERASE_COUNT_MAX];
}

static const char *random_erasing_mismatch(const double *arguments)
{
    if (arguments[ERASE_SCALE_MIN] > arguments[ERASE_SCALE_MAX]) {
        return "scale_min must be at most scale_max";
    }
    if (arguments[ERASE_RATIO_MIN] > arguments[ERASE_RATIO_MAX]) {
        return "ratio_min must be at most ratio_max";
    }
    return arguments[ERASE_COUNT_MIN] > arguments[ERASE_COUNT_MAX]
               ? "count_min must be at most count_max"
               : NULL;
}

SL_STEP(random_erasing) = {
    .name = "random_erasing",
    .text =
        "random rectangles become a colour (-1: the value that normalizes to 0) or noise about it",
    .stage = SL_STAGE_FILTER,
    .stream = 22,
    .arguments = {{SL_ARG_PROBABILITY(0.5)},
                  {SL_ARG_SCALE("scale_min", 0.02)},
                  {SL_ARG_SCALE("scale_max", 0.33)},
                  {SL_ARG_RATIO("ratio_min", 0.3)},
                  {SL_ARG_RATIO("ratio_max", 3.3)},
                  {SL_ARG_WHOLE("value_r", -1, 255, -1)},
                  {SL_ARG_WHOLE("value_g", -1, 255, -1)},
                  {SL_ARG_WHOLE("value_b", -1, 255, -1)},
                  {SL_ARG_FLAG("noise")},
                  {SL_ARG_WHOLE("count_min", 1, 8, 1)},
                  {SL_ARG_WHOLE("count_max", 1, 8, 1)}},
    .mismatch = random_erasing_mismatch,
    .draw = draw_random_erasing,
    .operations = random_erasing_operations};
