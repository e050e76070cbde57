/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_crop: crops, resizes and padding, with the draws and the rounding of torchvision. Pure.
 */
#include "error.h"
#include "operations.h"
#include "portable_math.h"
#include "step_row.h"

#include <math.h>
#include <string.h>

enum { CROP_TRIES = 10 };

static const uint8_t black[3] = {0, 0, 0};

/* ---- random resized crop ---- */

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
    /* Very thin images round to nothing. */
    crop.width = fmin(fmax(crop.width, 1.0), width);
    crop.height = fmin(fmax(crop.height, 1.0), height);
    return crop;
}

enum {
    RRC_WIDTH,
    RRC_HEIGHT,
    RRC_SCALE_MIN,
    RRC_SCALE_MAX,
    RRC_RATIO_MIN,
    RRC_RATIO_MAX,
    RRC_INTERPOLATION
};

/* torchvision's RandomResizedCrop.get_params */
static sl_rect draw_crop(const double *arguments, sl_random *random, uint32_t picture_width,
                         uint32_t picture_height)
{
    double width = picture_width;
    double height = picture_height;
    double ratio_low = sl_log(arguments[RRC_RATIO_MIN]);
    double ratio_high = sl_log(arguments[RRC_RATIO_MAX]);
    for (int i = 0; i < CROP_TRIES; i++) {
        double area = width * height *
                      sl_random_range(random, arguments[RRC_SCALE_MIN], arguments[RRC_SCALE_MAX]);
        double ratio = sl_exp(sl_random_range(random, ratio_low, ratio_high));
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

static sluice_status draw_random_resized_crop(const double *arguments, sl_drawing *drawing)
{
    const sl_rect part = draw_crop(arguments, &drawing->random, drawing->width, drawing->height);
    const sluice_status status =
        sl_draw_crop(drawing, part.x, part.y, part.width, part.height, black);
    return status == SLUICE_OK ? sl_draw_resize(drawing, (uint32_t)arguments[RRC_WIDTH],
                                                (uint32_t)arguments[RRC_HEIGHT],
                                                (sl_interpolation)(int)arguments[RRC_INTERPOLATION])
                               : status;
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

SL_STEP(random_resized_crop) = {.name = "random_resized_crop",
                                .text = "a random part of the image, resized",
                                .stage = SL_STAGE_GEOMETRY,
                                .cuts = true,
                                .stream = 1,
                                .arguments = {{SL_ARG_SIDE("width")},
                                              {SL_ARG_SIDE("height")},
                                              {SL_ARG_SCALE("scale_min", 0.08)},
                                              {SL_ARG_SCALE("scale_max", 1)},
                                              {SL_ARG_RATIO("ratio_min", 3.0 / 4)},
                                              {SL_ARG_RATIO("ratio_max", 4.0 / 3)},
                                              {SL_ARG_RESIZED(SL_BILINEAR)}},
                                .mismatch = random_resized_crop_mismatch,
                                .size = sl_step_size_given,
                                .draw = draw_random_resized_crop,
                                .operations = sl_step_two_operations};

/* ---- resize ---- */

/* Computes torchvision's Resize(int): the longer side is cut to a whole number. `limit` on it; 0:
 * none. */
static void shorter_sides(uint32_t size, uint32_t limit, const uint32_t from[2], uint64_t to[2])
{
    const uint64_t shorter = from[0] < from[1] ? from[0] : from[1];
    const uint64_t longer = from[0] < from[1] ? from[1] : from[0];
    uint64_t least = size;
    uint64_t most = size * longer / shorter;
    if (limit > 0 && most > limit) {
        least = limit * least / most;
        most = limit;
    }
    least = least > 0 ? least : 1;
    to[0] = from[0] <= from[1] ? least : most;
    to[1] = from[0] <= from[1] ? most : least;
}

static sluice_status resize_shorter(sl_drawing *drawing, uint32_t size, uint32_t limit,
                                    sl_interpolation interpolation)
{
    uint64_t to[2];
    shorter_sides(size, limit, (const uint32_t[]){drawing->width, drawing->height}, to);
    if (to[0] > INT32_MAX / 2 || to[1] > INT32_MAX / 2) {
        return sl_error_set(drawing->error, SLUICE_UNSUPPORTED, "augment",
                            "an image of %u x %u is too long to resize its shorter side to %u",
                            drawing->width, drawing->height, size);
    }
    return sl_draw_resize(drawing, (uint32_t)to[0], (uint32_t)to[1], interpolation);
}

/* Returns the longer side that shorter_sides makes of images whose longer side is `ratio` times the
 * other one. `limit` infinite: none. With the ratio the longer one grows, and the shorter one
 * shrinks. */
static double longer_of(double size, double limit, double ratio)
{
    return fmin(floor(size * ratio), limit);
}

static double shorter_of(double size, double limit, double ratio)
{
    const double longer = floor(size * ratio);
    return longer > limit ? fmax(floor(limit * size / longer), 1) : size;
}

/* Return the greatest width, and the least height below, of images of at most that ratio. Slack is
 * for the rounding of the ratio. */
static double widest_of(double size, double limit, double wide)
{
    return wide >= 1 ? longer_of(size, limit, wide + SL_SIDE_SLACK / size)
                     : shorter_of(size, limit, 1 / wide - SL_SIDE_SLACK / size);
}

static double lowest_of(double size, double limit, double wide)
{
    return wide >= 1 ? shorter_of(size, limit, wide + SL_SIDE_SLACK / size)
                     : longer_of(size, limit, 1 / wide - SL_SIDE_SLACK / size);
}

static sl_bound shorter_bound(double size, double limit, const sl_bound *from)
{
    if (from->width == from->least_width && from->height == from->least_height) {
        uint64_t sides[2];
        shorter_sides((uint32_t)size, isinf(limit) ? 0 : (uint32_t)limit,
                      (const uint32_t[]){(uint32_t)from->width, (uint32_t)from->height}, sides);
        return sl_bound_of_size((double)sides[0], (double)sides[1]);
    }
    const sl_bound to = {.width = widest_of(size, limit, from->wide),
                         .height = widest_of(size, limit, from->tall),
                         .least_width = lowest_of(size, limit, from->tall),
                         .least_height = lowest_of(size, limit, from->wide)};
    return sl_bound_of_sides(to);
}

static uint32_t resize_shorter_largest(const double *arguments, const sl_bound *from,
                                       sl_bound to[SL_STEP_BOUNDS])
{
    const sl_bound any = sl_bound_of_any();
    const double limit = arguments[1] > 0 ? arguments[1] : (double)INFINITY;
    if (from == NULL && arguments[1] == 0) {
        return 0;
    }
    to[0] = sl_bound_tighten(shorter_bound(arguments[0], limit, from != NULL ? from : &any));
    return 1;
}

/* Returns a size if that of the image is known. */
static void resize_shorter_size(const double *arguments, uint32_t *width, uint32_t *height)
{
    uint64_t to[2] = {0, 0};
    if (*width > 0) {
        shorter_sides((uint32_t)arguments[0], (uint32_t)arguments[1],
                      (const uint32_t[]){*width, *height}, to);
    }
    const bool fits = to[0] <= INT32_MAX / 2 && to[1] <= INT32_MAX / 2;
    *width = fits ? (uint32_t)to[0] : 0;
    *height = fits ? (uint32_t)to[1] : 0;
}

static sluice_status draw_resize_to(const double *arguments, sl_drawing *drawing)
{
    return sl_draw_resize(drawing, (uint32_t)arguments[0], (uint32_t)arguments[1],
                          (sl_interpolation)(int)arguments[2]);
}

SL_STEP(resize) = {
    .name = "resize",
    .text = "resized to one size, regardless of its aspect ratio",
    .stage = SL_STAGE_GEOMETRY,
    .arguments = {{SL_ARG_SIDE("width")}, {SL_ARG_SIDE("height")}, {SL_ARG_RESIZED(SL_BILINEAR)}},
    .size = sl_step_size_given,
    .draw = draw_resize_to};

static sluice_status draw_resize_shorter(const double *arguments, sl_drawing *drawing)
{
    return resize_shorter(drawing, (uint32_t)arguments[0], (uint32_t)arguments[1],
                          (sl_interpolation)(int)arguments[2]);
}

static const char *resize_shorter_mismatch(const double *arguments)
{
    return arguments[1] > 0 && arguments[1] <= arguments[0] ? "max_size must be above size, or 0"
                                                            : NULL;
}

SL_STEP(resize_shorter) = {
    .name = "resize_shorter",
    .text = "the shorter side is resized, the longer one in proportion, up to a limit",
    .stage = SL_STAGE_GEOMETRY,
    .arguments = {{SL_ARG_SIDE("size")},
                  {SL_ARG_BORDER("max_size")},
                  {SL_ARG_RESIZED(SL_BILINEAR)}},
    .mismatch = resize_shorter_mismatch,
    .size = resize_shorter_size,
    .largest = resize_shorter_largest,
    .draw = draw_resize_shorter};

/* Returns the greatest ratio after a resize to a shorter side of at least `size`. Only the longer
 * side is cut, by less than a pixel. */
static double rounded_ratio(double ratio, double size)
{
    return ratio >= 1 ? ratio : fmin(1 / (1 / ratio - 1 / size), 1);
}

static uint32_t random_resize_largest(const double *arguments, const sl_bound *from,
                                      sl_bound to[SL_STEP_BOUNDS])
{
    if (from == NULL) {
        return 0;
    }
    const sl_bound least = shorter_bound(arguments[0], INFINITY, from);
    const sl_bound most = shorter_bound(fmax(arguments[1] - 1, arguments[0]), INFINITY, from);
    to[0] = sl_bound_of_both(least, most);
    to[0].wide = rounded_ratio(from->wide, arguments[0]);
    to[0].tall = rounded_ratio(from->tall, arguments[0]);
    to[0] = sl_bound_tighten(to[0]);
    return 1;
}

/* torchvision's RandomResize: the upper end is not drawn, unless it is the only one. */
static sluice_status draw_random_resize(const double *arguments, sl_drawing *drawing)
{
    const uint32_t least = (uint32_t)arguments[0];
    const uint32_t sizes = (uint32_t)arguments[1] - least;
    const uint32_t size = least + sl_random_below(&drawing->random, sizes > 0 ? sizes : 1);
    return resize_shorter(drawing, size, 0, (sl_interpolation)(int)arguments[2]);
}

static const char *random_resize_mismatch(const double *arguments)
{
    return arguments[0] > arguments[1] ? "size_min must be at most size_max" : NULL;
}

SL_STEP(random_resize) = {.name = "random_resize",
                          .text = "the shorter side is resized to a random size",
                          .stage = SL_STAGE_GEOMETRY,
                          .stream = 5,
                          .arguments = {{SL_ARG_SIDE("size_min")},
                                        {SL_ARG_SIDE("size_max")},
                                        {SL_ARG_RESIZED(SL_BILINEAR)}},
                          .mismatch = random_resize_mismatch,
                          .size = sl_step_size_unknown,
                          .largest = random_resize_largest,
                          .draw = draw_random_resize};

/* ---- centre ---- */

/* Returns where torchvision's CenterCrop begins: smaller images are padded, more of it after
 * them. */
static int64_t center_begin(uint32_t size, uint32_t wanted)
{
    return size >= wanted ? (int64_t)round_even((size - wanted) / 2.0)
                          : -((int64_t)(wanted - size) / 2);
}

static sluice_status center_crop(sl_drawing *drawing, uint32_t width, uint32_t height)
{
    return sl_draw_crop(drawing, center_begin(drawing->width, width),
                        center_begin(drawing->height, height), width, height, black);
}

static sluice_status draw_center_crop(const double *arguments, sl_drawing *drawing)
{
    return center_crop(drawing, (uint32_t)arguments[0], (uint32_t)arguments[1]);
}

SL_STEP(center_crop) = {.name = "center_crop",
                        .text = "the middle; black around a smaller image",
                        .stage = SL_STAGE_GEOMETRY,
                        .arguments = {{SL_ARG_SIDE("width")}, {SL_ARG_SIDE("height")}},
                        .size = sl_step_size_given,
                        .draw = draw_center_crop};

enum { CENTER_SHORTER, CENTER_WIDTH, CENTER_HEIGHT, CENTER_INTERPOLATION };

static sluice_status draw_resize_center_crop(const double *arguments, sl_drawing *drawing)
{
    const sluice_status status =
        resize_shorter(drawing, (uint32_t)arguments[CENTER_SHORTER], 0,
                       (sl_interpolation)(int)arguments[CENTER_INTERPOLATION]);
    return status == SLUICE_OK ? center_crop(drawing, (uint32_t)arguments[CENTER_WIDTH],
                                             (uint32_t)arguments[CENTER_HEIGHT])
                               : status;
}

static const char *resize_center_crop_mismatch(const double *arguments)
{
    return arguments[CENTER_SHORTER] < fmax(arguments[CENTER_WIDTH], arguments[CENTER_HEIGHT])
               ? "shorter_side must be at least width and height"
               : NULL;
}

static void resize_center_crop_size(const double *arguments, uint32_t *width, uint32_t *height)
{
    sl_step_size_given(arguments + CENTER_WIDTH, width, height);
}

SL_STEP(resize_center_crop) = {.name = "resize_center_crop",
                               .text = "the shorter side is resized, then the centre cut out",
                               .stage = SL_STAGE_GEOMETRY,
                               .arguments = {{SL_ARG_SIDE("shorter_side")},
                                             {SL_ARG_SIDE("width")},
                                             {SL_ARG_SIDE("height")},
                                             {SL_ARG_RESIZED(SL_BILINEAR)}},
                               .mismatch = resize_center_crop_mismatch,
                               .size = resize_center_crop_size,
                               .draw = draw_resize_center_crop,
                               .operations = sl_step_two_operations};

/* ---- the size of the batch ---- */

enum { BUCKET_POSITION, BUCKET_INTERPOLATION };

static const char *const window_words[] = {"random", "center", NULL};

/* a * b / c, rounded to nearest, halves up. */
static uint64_t steps_crop_scaled(uint64_t a, uint64_t b, uint64_t c)
{
    return (2 * a * b + c) / (2 * c);
}

/* One side becomes the batch's, the other at least that; rounding may change the latter by half a
 * pixel, which is how trainers of diffusion models round. */
static sluice_status draw_bucket_crop(const double *arguments, sl_drawing *drawing)
{
    const uint64_t from[2] = {drawing->width, drawing->height};
    const uint32_t size[2] = {drawing->batch_width, drawing->batch_height};
    const bool is_wider = from[0] * size[1] > from[1] * size[0];
    const uint64_t to[2] = {is_wider ? steps_crop_scaled(from[0], size[1], from[1]) : size[0],
                            is_wider ? size[1] : steps_crop_scaled(from[1], size[0], from[0])};
    if (to[0] > INT32_MAX / 2 || to[1] > INT32_MAX / 2) {
        return sl_error_set(drawing->error, SLUICE_UNSUPPORTED, "augment",
                            "an image of %u x %u is too long to cover a bucket of %u x %u",
                            drawing->width, drawing->height, size[0], size[1]);
    }
    const sluice_status status =
        sl_draw_resize(drawing, (uint32_t)to[0], (uint32_t)to[1],
                       (sl_interpolation)(int)arguments[BUCKET_INTERPOLATION]);
    if (status != SLUICE_OK) {
        return status;
    }
    if (arguments[BUCKET_POSITION] != 0) {
        return center_crop(drawing, size[0], size[1]);
    }
    const uint32_t x = sl_random_below(&drawing->random, (uint32_t)to[0] - size[0] + 1);
    const uint32_t y = sl_random_below(&drawing->random, (uint32_t)to[1] - size[1] + 1);
    return sl_draw_crop(drawing, x, y, size[0], size[1], black);
}

static void bucket_crop_size(const double *arguments, uint32_t *width, uint32_t *height)
{
    (void)arguments;
    *width = *height = SL_SIZE_OF_BATCH;
}

SL_STEP(bucket_crop) = {
    .name = "bucket_crop",
    .text = "resized to cover the size of the batch's bucket, then a window of that size",
    .stage = SL_STAGE_GEOMETRY,
    .cuts = true,
    .stream = 44,
    .arguments = {{SL_ARG_WORD("position", window_words, 0)}, {SL_ARG_RESIZED(SL_BILINEAR)}},
    .size = bucket_crop_size,
    .draw = draw_bucket_crop,
    .operations = sl_step_two_operations};

/* ---- padding ---- */

enum { PAD_LEFT, PAD_TOP, PAD_RIGHT, PAD_BOTTOM, PAD_MODE, PAD_FILL };

static sluice_status draw_pad(const double *arguments, sl_drawing *drawing)
{
    sl_padding p = {.left = (uint32_t)arguments[PAD_LEFT],
                    .top = (uint32_t)arguments[PAD_TOP],
                    .right = (uint32_t)arguments[PAD_RIGHT],
                    .bottom = (uint32_t)arguments[PAD_BOTTOM],
                    .mode = (sl_pad_mode)(int)arguments[PAD_MODE]};
    sl_draw_fill(arguments + PAD_FILL, p.fill);
    return sl_draw_padding(drawing, &p);
}

static void pad_size(const double *arguments, uint32_t *width, uint32_t *height)
{
    if (*width > 0) {
        *width += (uint32_t)(arguments[PAD_LEFT] + arguments[PAD_RIGHT]);
        *height += (uint32_t)(arguments[PAD_TOP] + arguments[PAD_BOTTOM]);
    }
}

/* Returns the greatest ratio of sides after a padding that adds `to_side` and `to_other`: that of
 * an image as small or as large as possible, at its greatest ratio. */
static double padded_ratio(double side, double ratio, const double other[2], double to_side,
                           double to_other)
{
    const double turn = fmin(fmax(side / ratio, other[0]), other[1]);
    const double small = (fmin(side, ratio * other[0]) + to_side) / (other[0] + to_other);
    const double large = (fmin(side, ratio * turn) + to_side) / (turn + to_other);
    return fmax(small, large);
}

static uint32_t pad_largest(const double *arguments, const sl_bound *from,
                            sl_bound to[SL_STEP_BOUNDS])
{
    if (from == NULL) {
        return 0;
    }
    const double x = arguments[PAD_LEFT] + arguments[PAD_RIGHT];
    const double y = arguments[PAD_TOP] + arguments[PAD_BOTTOM];
    const double widths[2] = {from->least_width, from->width};
    const double heights[2] = {from->least_height, from->height};
    to[0] =
        sl_bound_tighten((sl_bound){.width = widths[1] + x,
                                    .height = heights[1] + y,
                                    .least_width = widths[0] + x,
                                    .least_height = heights[0] + y,
                                    .wide = padded_ratio(widths[1], from->wide, heights, x, y),
                                    .tall = padded_ratio(heights[1], from->tall, widths, y, x)});
    return 1;
}

SL_STEP(pad) = {.name = "pad",
                .text = "pixels are added around the image",
                .stage = SL_STAGE_GEOMETRY,
                .arguments = {{SL_ARG_BORDER("left")},
                              {SL_ARG_BORDER("top")},
                              {SL_ARG_BORDER("right")},
                              {SL_ARG_BORDER("bottom")},
                              {SL_ARG_WORD("padding_mode", sl_pad_words, SL_PAD_CONSTANT)},
                              SL_ARG_FILL(0)},
                .size = pad_size,
                .largest = pad_largest,
                .draw = draw_pad};

/* ---- random crop ---- */

enum { CROP_WIDTH, CROP_HEIGHT, CROP_PADDING, CROP_MODE, CROP_IF_NEEDED, CROP_FILL };

/* Draws torchvision's pad_if_needed: the missing pixels, on both sides. */
static sluice_status pad_if_needed(sl_drawing *drawing, sl_padding *p, uint32_t width,
                                   uint32_t height)
{
    p->left = p->right = drawing->width < width ? width - drawing->width : 0;
    p->top = p->bottom = 0;
    sluice_status status = sl_draw_padding(drawing, p);
    p->left = p->right = 0;
    p->top = p->bottom = drawing->height < height ? height - drawing->height : 0;
    return status == SLUICE_OK ? sl_draw_padding(drawing, p) : status;
}

/* Returns the operations: the padding, missing pixels across and down, the crop. */
static uint32_t random_crop_operations(const double *arguments)
{
    return 2 + (arguments[CROP_IF_NEEDED] != 0 ? 2 : 0);
}

/* torchvision's RandomCrop with padding */
static sluice_status draw_random_crop(const double *arguments, sl_drawing *drawing)
{
    const uint32_t sides = (uint32_t)arguments[CROP_PADDING];
    const uint32_t width = (uint32_t)arguments[CROP_WIDTH];
    const uint32_t height = (uint32_t)arguments[CROP_HEIGHT];
    const uint32_t picture[2] = {drawing->width, drawing->height};
    sl_padding p = {sides, sides, sides, sides, (sl_pad_mode)(int)arguments[CROP_MODE], {0, 0, 0}};
    sl_draw_fill(arguments + CROP_FILL, p.fill);
    sluice_status status = sl_draw_padding(drawing, &p);
    if (status == SLUICE_OK && arguments[CROP_IF_NEEDED] != 0) {
        status = pad_if_needed(drawing, &p, width, height);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (drawing->width < width || drawing->height < height) {
        return sl_error_set(drawing->error, SLUICE_UNSUPPORTED, "augment",
                            "an image of %u x %u with a padding of %u is smaller than the window, "
                            "%u x %u: pad_if_needed pads it",
                            picture[0], picture[1], sides, width, height);
    }
    const uint32_t y = sl_random_below(&drawing->random, drawing->height - height + 1);
    const uint32_t x = sl_random_below(&drawing->random, drawing->width - width + 1);
    return sl_draw_crop(drawing, x, y, width, height, p.fill);
}

SL_STEP(random_crop) = {.name = "random_crop",
                        .text = "a random window of the padded image, not resized",
                        .stage = SL_STAGE_GEOMETRY,
                        .cuts = true,
                        .stream = 1,
                        .arguments = {{SL_ARG_SIDE("width")},
                                      {SL_ARG_SIDE("height")},
                                      {SL_ARG_BORDER("padding")},
                                      {SL_ARG_WORD("padding_mode", sl_pad_words, SL_PAD_CONSTANT)},
                                      {SL_ARG_FLAG("pad_if_needed")},
                                      SL_ARG_FILL(0)},
                        .size = sl_step_size_given,
                        .draw = draw_random_crop,
                        .operations = random_crop_operations};

/* Draws one of (side - size) / grid places along an axis, from 0 on: like numpy's randint in
 * DINOv3's data/augmentations.py, without the last possible one. */
static uint32_t draw_grid_place(sl_drawing *drawing, uint32_t side, uint32_t size, uint32_t grid)
{
    const uint32_t places = (side - size) / grid;
    return grid * sl_random_below(&drawing->random, places > 1 ? places : 1);
}

static sluice_status draw_random_grid_crop(const double *arguments, sl_drawing *drawing)
{
    const uint32_t width = (uint32_t)arguments[0];
    const uint32_t height = (uint32_t)arguments[1];
    const uint32_t grid = (uint32_t)arguments[2];
    static const uint8_t none[3];
    if (drawing->width < width || drawing->height < height) {
        return sl_error_set(drawing->error, SLUICE_UNSUPPORTED, "augment",
                            "an image of %u x %u is smaller than the window, %u x %u",
                            drawing->width, drawing->height, width, height);
    }
    const uint32_t y = draw_grid_place(drawing, drawing->height, height, grid); /* down first */
    const uint32_t x = draw_grid_place(drawing, drawing->width, width, grid);
    return sl_draw_crop(drawing, x, y, width, height, none);
}

SL_STEP(random_grid_crop) = {
    .name = "random_grid_crop",
    .text = "a window at a random place of a grid, as DINOv3 cuts small views out of large ones",
    .stage = SL_STAGE_GEOMETRY,
    .cuts = true,
    .stream = 46,
    .arguments = {{SL_ARG_SIDE("width")}, {SL_ARG_SIDE("height")}, {SL_ARG_SIDE("grid")}},
    .size = sl_step_size_given,
    .draw = draw_random_grid_crop};
