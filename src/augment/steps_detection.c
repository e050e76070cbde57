/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_detection: sizes and crops of recipes for detection and segmentation, with the draws and
 * the rounding of torchvision (references/detection/transforms.py, v2) and of the YOLO family
 * (ultralytics, data/augment.py). Each draws crops and resizes only, so that what follows a picture
 * follows these. Sizes are products of doubles, cut as Python's int() does: of the side 49 of 49 x
 * (1 / 49) may be 0, which torchvision refuses; here a side is never less than 1. Pure.
 */
#include "error.h"
#include "steps_draw.h"

#include <math.h>

/* `step`: what is said of a picture that would come to be too large. */
static sluice_status resize_to(sl_drawing *drawing, double width, double height,
                               double interpolation, const char *step)
{
    if (width > INT32_MAX / 2 || height > INT32_MAX / 2) {
        return sl_error_set(drawing->error, SLUICE_UNSUPPORTED, "augment",
                            "a picture of %u x %u becomes too large by \"%s\"", drawing->width,
                            drawing->height, step);
    }
    return sl_draw_resize(drawing, (uint32_t)fmax(width, 1), (uint32_t)fmax(height, 1),
                          (sl_interpolation)(int)interpolation);
}

/* ---- random shortest size ---- */

enum { SHORTEST_MAX_SIZE, SHORTEST_SIZES, SHORTEST_INTERPOLATION = SHORTEST_SIZES + 14 };

/* The sizes that are given, in their order. */
static uint32_t shortest_sizes(const double *arguments, double sizes[])
{
    uint32_t count = 0;
    for (uint32_t i = SHORTEST_SIZES; i < SHORTEST_INTERPOLATION; i++) {
        if (arguments[i] > 0) {
            sizes[count++] = arguments[i];
        }
    }
    return count;
}

/* torchvision's RandomShortestSize */
sluice_status sl_draw_random_shortest_size(const double *arguments, sl_drawing *drawing)
{
    double sizes[SHORTEST_INTERPOLATION];
    const uint32_t count = shortest_sizes(arguments, sizes);
    const double width = drawing->width;
    const double height = drawing->height;
    const double size = sizes[sl_random_below(&drawing->random, count)];
    double ratio = size / fmin(width, height);
    if (arguments[SHORTEST_MAX_SIZE] > 0) {
        ratio = fmin(ratio, arguments[SHORTEST_MAX_SIZE] / fmax(width, height));
    }
    return resize_to(drawing, floor(width * ratio), floor(height * ratio),
                     arguments[SHORTEST_INTERPOLATION], "random_shortest_size");
}

/* ---- letter box ---- */

enum {
    LETTER_WIDTH,
    LETTER_HEIGHT,
    LETTER_FILL,
    LETTER_ENLARGE = LETTER_FILL + 3,
    LETTER_POSITION,
    LETTER_INTERPOLATION
};

/* Pixels before the picture, of `left` that it leaves: Python's round(left / 2 - 0.1). */
static int64_t letter_border(uint32_t size, uint32_t within)
{
    return (int64_t)nearbyint((within - size) / 2.0 - 0.1);
}

/* ultralytics' LetterBox with auto=False */
sluice_status sl_draw_letter_box(const double *arguments, sl_drawing *drawing)
{
    uint8_t fill[3];
    const uint32_t width = (uint32_t)arguments[LETTER_WIDTH];
    const uint32_t height = (uint32_t)arguments[LETTER_HEIGHT];
    double ratio = fmin((double)height / drawing->height, (double)width / drawing->width);
    if (arguments[LETTER_ENLARGE] == 0) {
        ratio = fmin(ratio, 1.0);
    }
    sl_draw_fill(arguments + LETTER_FILL, fill);
    const sluice_status status =
        resize_to(drawing, nearbyint(drawing->width * ratio), nearbyint(drawing->height * ratio),
                  arguments[LETTER_INTERPOLATION], "letter_box");
    if (status != SLUICE_OK) {
        return status;
    }
    const bool centered = arguments[LETTER_POSITION] == 0;
    const int64_t left = centered ? letter_border(drawing->width, width) : 0;
    const int64_t top = centered ? letter_border(drawing->height, height) : 0;
    return sl_draw_crop(drawing, -left, -top, width, height, fill);
}

/* ---- scale jitter ---- */

enum { JITTER_WIDTH, JITTER_HEIGHT, JITTER_MIN, JITTER_MAX, JITTER_INTERPOLATION };

/* torchvision's ScaleJitter, but that its target's height is that of the picture's height. */
sluice_status sl_draw_scale_jitter(const double *arguments, sl_drawing *drawing)
{
    const double scale =
        sl_random_range(&drawing->random, arguments[JITTER_MIN], arguments[JITTER_MAX]);
    const double ratio =
        fmin(arguments[JITTER_HEIGHT] / drawing->height, arguments[JITTER_WIDTH] / drawing->width) *
        scale;
    return resize_to(drawing, floor(drawing->width * ratio), floor(drawing->height * ratio),
                     arguments[JITTER_INTERPOLATION], "scale_jitter");
}

const char *sl_scale_jitter_mismatch(const double *arguments)
{
    return arguments[JITTER_MIN] > arguments[JITTER_MAX] ? "scale_min must be at most scale_max"
                                                         : NULL;
}

/* ---- fixed size crop ---- */

enum { FIXED_WIDTH, FIXED_HEIGHT, FIXED_MODE, FIXED_FILL };

/* torchvision's FixedSizeCrop: one number is for both axes. Of one colour it is one crop, which
 * reaches outside: a crop and then a padding would be two passes. */
sluice_status sl_draw_fixed_size_crop(const double *arguments, sl_drawing *drawing)
{
    const uint32_t width = (uint32_t)arguments[FIXED_WIDTH];
    const uint32_t height = (uint32_t)arguments[FIXED_HEIGHT];
    const uint32_t kept[2] = {drawing->width < width ? drawing->width : width,
                              drawing->height < height ? drawing->height : height};
    const double at = sl_random_unit(&drawing->random);
    const int64_t left = (int64_t)((drawing->width - kept[0]) * at);
    const int64_t top = (int64_t)((drawing->height - kept[1]) * at);
    sl_padding rest = {.right = width - kept[0],
                       .bottom = height - kept[1],
                       .mode = (sl_pad_mode)(int)arguments[FIXED_MODE]};
    sl_draw_fill(arguments + FIXED_FILL, rest.fill);
    if (width == drawing->width && height == drawing->height) {
        return SLUICE_OK;
    }
    if (rest.mode == SL_PAD_CONSTANT) {
        return sl_draw_crop(drawing, left, top, width, height, rest.fill);
    }
    const sluice_status status = sl_draw_crop(drawing, left, top, kept[0], kept[1], rest.fill);
    return status == SLUICE_OK ? sl_draw_padding(drawing, &rest) : status;
}

/* The crop, the padding. */
uint32_t sl_fixed_size_crop_operations(const double *arguments)
{
    (void)arguments;
    return 2;
}

/* ---- random zoom out ---- */

enum { ZOOM_MIN, ZOOM_MAX, ZOOM_PROBABILITY, ZOOM_FILL };

/* torchvision's RandomZoomOut */
sluice_status sl_draw_random_zoom_out(const double *arguments, sl_drawing *drawing)
{
    uint8_t fill[3];
    if (!sl_draw_happens(drawing, arguments[ZOOM_PROBABILITY])) {
        return SLUICE_OK;
    }
    const double ratio =
        sl_random_range(&drawing->random, arguments[ZOOM_MIN], arguments[ZOOM_MAX]);
    const double width = floor(drawing->width * ratio);
    const double height = floor(drawing->height * ratio);
    if (width > INT32_MAX / 2 || height > INT32_MAX / 2) {
        return sl_error_set(drawing->error, SLUICE_UNSUPPORTED, "augment",
                            "a picture of %u x %u becomes too large by \"random_zoom_out\"",
                            drawing->width, drawing->height);
    }
    const double left = floor((width - drawing->width) * sl_random_unit(&drawing->random));
    const double top = floor((height - drawing->height) * sl_random_unit(&drawing->random));
    sl_draw_fill(arguments + ZOOM_FILL, fill);
    return sl_draw_crop(drawing, -(int64_t)left, -(int64_t)top, (uint32_t)width, (uint32_t)height,
                        fill);
}

const char *sl_random_zoom_out_mismatch(const double *arguments)
{
    return arguments[ZOOM_MIN] > arguments[ZOOM_MAX] ? "side_min must be at most side_max" : NULL;
}
