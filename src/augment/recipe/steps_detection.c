/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_detection: sizes and crops of recipes for detection and segmentation, with the draws and
 * the rounding of torchvision (references/detection/transforms.py, v2) and of the YOLO family
 * (ultralytics, data/augment.py). Each draws only crops and resizes, so annotations can follow.
 * Sizes are products of doubles, cut as Python's int() does: the side 49 of 49 x (1 / 49) may be 0,
 * which torchvision refuses; here a side is never less than 1. Pure.
 */
#include "error.h"
#include "step_row.h"

#include <math.h>

/* `step`: named in the error for an image that would become too large. */
static sluice_status resize_to(sl_drawing *drawing, double width, double height,
                               double interpolation, const char *step)
{
    if (width > INT32_MAX / 2 || height > INT32_MAX / 2) {
        return sl_error_set(drawing->error, SLUICE_UNSUPPORTED, "augment",
                            "a %u x %u image becomes too large in step \"%s\"", drawing->width,
                            drawing->height, step);
    }
    return sl_draw_resize(drawing, (uint32_t)fmax(width, 1), (uint32_t)fmax(height, 1),
                          (sl_interpolation)(int)interpolation);
}

/* ---- random shortest size ---- */

enum {
    SHORTEST_MAX_SIZE,
    SHORTEST_INTERPOLATION,
    SHORTEST_SIZES,
    SHORTEST_MOST = SL_STEP_ARGUMENTS_MAX - SHORTEST_SIZES
};

static double shortest_factor(double size, double limit, double width, double height)
{
    const double factor = size / fmin(width, height);
    return limit > 0 ? fmin(factor, limit / fmax(width, height)) : factor;
}

/* torchvision's RandomShortestSize */
static sluice_status draw_random_shortest_size(const double *arguments, sl_drawing *drawing)
{
    const double *sizes = arguments + SHORTEST_SIZES;
    const uint32_t count = sl_draw_list_count(sizes, SHORTEST_MOST);
    const double width = drawing->width;
    const double height = drawing->height;
    const double size = sizes[sl_random_below(&drawing->random, count)];
    const double ratio = shortest_factor(size, arguments[SHORTEST_MAX_SIZE], width, height);
    return resize_to(drawing, floor(width * ratio), floor(height * ratio),
                     arguments[SHORTEST_INTERPOLATION], "random_shortest_size");
}

/* Returns the side that one size makes, before cutting, from a side that is `ratio` times the other
 * one. `limit` infinite: none. */
static double shortest_side(double size, double limit, double ratio)
{
    return ratio >= 1 ? fmin(size * ratio, limit) : fmin(size, limit * ratio);
}

/* Returns a side cut to a whole number, at most and at least: products of doubles are rounded. */
static double cut_greatest(double side)
{
    return fmax(floor(side + SL_SIDE_SLACK), 1);
}

static double cut_least(double side)
{
    return fmax(floor(side - SL_SIDE_SLACK), 1);
}

static sl_bound shortest_bound(double size, double limit, const sl_bound *from)
{
    const bool limited = limit > 0;
    if (from->width == from->least_width && from->height == from->least_height) {
        const double factor = shortest_factor(size, limit, from->width, from->height);
        return sl_bound_of_size(fmax(floor(from->width * factor), 1),
                                fmax(floor(from->height * factor), 1));
    }
    const double most = limited ? limit : (double)INFINITY;
    const sl_bound to = {.width = cut_greatest(shortest_side(size, most, from->wide)),
                         .height = cut_greatest(shortest_side(size, most, from->tall)),
                         .least_width = cut_least(shortest_side(size, most, 1 / from->tall)),
                         .least_height = cut_least(shortest_side(size, most, 1 / from->wide))};
    return sl_bound_of_sides(to);
}

static uint32_t random_shortest_size_largest(const double *arguments, const sl_bound *from,
                                             sl_bound to[SL_STEP_BOUNDS])
{
    const double limit = arguments[SHORTEST_MAX_SIZE];
    const double *sizes = arguments + SHORTEST_SIZES;
    const uint32_t count = sl_draw_list_count(sizes, SHORTEST_MOST);
    const sl_bound any = sl_bound_of_any();
    if (from == NULL && limit == 0) {
        return 0;
    }
    to[0] = shortest_bound(sizes[0], limit, from != NULL ? from : &any);
    for (uint32_t i = 1; i < count; i++) {
        to[0] =
            sl_bound_of_both(to[0], shortest_bound(sizes[i], limit, from != NULL ? from : &any));
    }
    return 1;
}

SL_STEP(random_shortest_size) = {
    .name = "random_shortest_size",
    .text =
        "the shorter side is resized to one of several sizes, the longer one at most to a limit",
    .stage = SL_STAGE_GEOMETRY,
    .stream = 34,
    .arguments = {{SL_ARG_WHOLE("max_size", 0, SL_SIDE_MAX, SL_ARG_GIVEN)},
                  {SL_ARG_RESIZED(SL_BILINEAR)},
                  {SL_ARG_WHOLE_LIST("min_sizes", 1, SL_SIDE_MAX, SHORTEST_MOST)}},
    .size = sl_step_size_unknown,
    .largest = random_shortest_size_largest,
    .draw = draw_random_shortest_size};

/* ---- letter box ---- */

enum {
    LETTER_WIDTH,
    LETTER_HEIGHT,
    LETTER_FILL,
    LETTER_ENLARGE = LETTER_FILL + 3,
    LETTER_POSITION,
    LETTER_INTERPOLATION
};

static const char *const position_words[] = {"center", "top-left", NULL};

/* Returns the pixels before the image, of `left` remaining ones: Python's round(left / 2 - 0.1). */
static int64_t letter_border(uint32_t size, uint32_t within)
{
    return (int64_t)nearbyint((within - size) / 2.0 - 0.1);
}

/* ultralytics' LetterBox with auto=False */
static sluice_status draw_letter_box(const double *arguments, sl_drawing *drawing)
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

SL_STEP(letter_box) = {.name = "letter_box",
                       .text = "resized to fit into one size, the rest filled",
                       .stage = SL_STAGE_GEOMETRY,
                       .arguments = {{SL_ARG_SIDE("width")},
                                     {SL_ARG_SIDE("height")},
                                     SL_ARG_FILL(114),
                                     {SL_ARG_WHOLE("enlarge", 0, 1, 1)},
                                     {SL_ARG_WORD("position", position_words, 0)},
                                     {SL_ARG_RESIZED(SL_BILINEAR)}},
                       .size = sl_step_size_given,
                       .draw = draw_letter_box,
                       .operations = sl_step_two_operations};

/* ---- scale jitter ---- */

enum { JITTER_WIDTH, JITTER_HEIGHT, JITTER_MIN, JITTER_MAX, JITTER_INTERPOLATION };

/* torchvision's ScaleJitter, except that its target's height is the image's height. */
static sluice_status draw_scale_jitter(const double *arguments, sl_drawing *drawing)
{
    const double scale =
        sl_random_range(&drawing->random, arguments[JITTER_MIN], arguments[JITTER_MAX]);
    const double ratio =
        fmin(arguments[JITTER_HEIGHT] / drawing->height, arguments[JITTER_WIDTH] / drawing->width) *
        scale;
    return resize_to(drawing, floor(drawing->width * ratio), floor(drawing->height * ratio),
                     arguments[JITTER_INTERPOLATION], "scale_jitter");
}

static const char *scale_jitter_mismatch(const double *arguments)
{
    return arguments[JITTER_MIN] > arguments[JITTER_MAX] ? "scale_min must be at most scale_max"
                                                         : NULL;
}

/* Returns the greatest ratio, of sides `side` and `other` before the factor. Cutting them to whole
 * numbers changes it the most if the other one is smallest; each becomes at least 1. */
static double jittered_ratio(double side, double other, double factor)
{
    const double least = cut_least(other * factor);
    return fmax(side / other * (least + 1), 1) / least;
}

static uint32_t scale_jitter_largest(const double *arguments, const sl_bound *from,
                                     sl_bound to[SL_STEP_BOUNDS])
{
    const sl_bound any = sl_bound_of_any();
    const double wide = from != NULL ? from->wide : any.wide;
    const double tall = from != NULL ? from->tall : any.tall;
    const double width = arguments[JITTER_WIDTH];
    const double height = arguments[JITTER_HEIGHT];
    const double widest[2] = {fmin(width, height * wide), fmin(height, width / wide)};
    const double tallest[2] = {fmin(width, height / tall), fmin(height, width * tall)};
    const double least = arguments[JITTER_MIN];
    const double most = arguments[JITTER_MAX];
    to[0] = sl_bound_tighten((sl_bound){.width = cut_greatest(widest[0] * most),
                                        .height = cut_greatest(tallest[1] * most),
                                        .least_width = cut_least(tallest[0] * least),
                                        .least_height = cut_least(widest[1] * least),
                                        .wide = jittered_ratio(widest[0], widest[1], least),
                                        .tall = jittered_ratio(tallest[1], tallest[0], least)});
    return 1;
}

SL_STEP(scale_jitter) = {.name = "scale_jitter",
                         .text = "resized to fit into one size, times a random factor",
                         .stage = SL_STAGE_GEOMETRY,
                         .stream = 35,
                         .arguments = {{SL_ARG_SIDE("width")},
                                       {SL_ARG_SIDE("height")},
                                       {"scale_min", SL_NUMBER_REAL, true, 0, 1000, 0.1},
                                       {"scale_max", SL_NUMBER_REAL, true, 0, 1000, 2},
                                       {SL_ARG_RESIZED(SL_BILINEAR)}},
                         .mismatch = scale_jitter_mismatch,
                         .size = sl_step_size_unknown,
                         .largest = scale_jitter_largest,
                         .draw = draw_scale_jitter};

/* ---- fixed size crop ---- */

enum { FIXED_WIDTH, FIXED_HEIGHT, FIXED_MODE, FIXED_FILL };

/* torchvision's FixedSizeCrop: one number is for both axes. With one colour it is one crop, which
 * reaches outside: a crop and then a padding would be two passes. */
static sluice_status draw_fixed_size_crop(const double *arguments, sl_drawing *drawing)
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

SL_STEP(fixed_size_crop) = {
    .name = "fixed_size_crop",
    .text = "a random window of a larger picture; a smaller one is padded right and below",
    .stage = SL_STAGE_GEOMETRY,
    .cuts = true,
    .stream = 36,
    .arguments = {{SL_ARG_SIDE("width")},
                  {SL_ARG_SIDE("height")},
                  {SL_ARG_WORD("padding_mode", sl_pad_words, SL_PAD_CONSTANT)},
                  SL_ARG_FILL(0)},
    .size = sl_step_size_given,
    .draw = draw_fixed_size_crop,
    .operations = sl_step_two_operations};

/* ---- random zoom out ---- */

enum { ZOOM_MIN, ZOOM_MAX, ZOOM_PROBABILITY, ZOOM_FILL };

/* torchvision's RandomZoomOut */
static sluice_status draw_random_zoom_out(const double *arguments, sl_drawing *drawing)
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
                            "a %u x %u image becomes too large in step \"random_zoom_out\"",
                            drawing->width, drawing->height);
    }
    const double left = floor((width - drawing->width) * sl_random_unit(&drawing->random));
    const double top = floor((height - drawing->height) * sl_random_unit(&drawing->random));
    sl_draw_fill(arguments + ZOOM_FILL, fill);
    return sl_draw_crop(drawing, -(int64_t)left, -(int64_t)top, (uint32_t)width, (uint32_t)height,
                        fill);
}

static const char *random_zoom_out_mismatch(const double *arguments)
{
    return arguments[ZOOM_MIN] > arguments[ZOOM_MAX] ? "side_min must be at most side_max" : NULL;
}

/* Sides are cut to whole numbers after scaling, which changes their ratio the most if the smaller
 * one is cut just below its next pixel. */
static uint32_t random_zoom_out_largest(const double *arguments, const sl_bound *from,
                                        sl_bound to[SL_STEP_BOUNDS])
{
    if (from == NULL) {
        return 0;
    }
    const double most = arguments[ZOOM_MAX];
    to[0] = sl_bound_tighten((sl_bound){.width = floor(from->width * most + SL_SIDE_SLACK),
                                        .height = floor(from->height * most + SL_SIDE_SLACK),
                                        .least_width = from->least_width,
                                        .least_height = from->least_height,
                                        .wide = from->wide * (1 + 1 / from->least_height),
                                        .tall = from->tall * (1 + 1 / from->least_width)});
    return 1;
}

SL_STEP(random_zoom_out) = {.name = "random_zoom_out",
                            .text = "the image at a random place of a larger canvas",
                            .stage = SL_STAGE_GEOMETRY,
                            .stream = 37,
                            .arguments = {{SL_ARG_REAL("side_min", 1, 1000, 1)},
                                          {SL_ARG_REAL("side_max", 1, 1000, 4)},
                                          {SL_ARG_PROBABILITY(0.5)},
                                          SL_ARG_FILL(0)},
                            .mismatch = random_zoom_out_mismatch,
                            .size = sl_step_size_unknown,
                            .largest = random_zoom_out_largest,
                            .draw = draw_random_zoom_out};
