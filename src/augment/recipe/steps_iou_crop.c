/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_iou_crop: a crop that contains enough of one of the image's boxes (SSD, arXiv 1512.02325),
 * like torchvision's RandomIoUCrop: draws a least overlap of the options, then windows of random
 * sides and places until one is taken, and after so many trials another option. torchvision loops
 * forever if no window can be taken; here the image is left unchanged after ROUNDS options, or
 * after LOOKS comparisons of boxes with windows; and also without boxes, for which torchvision
 * takes no window either until it draws an option of 1. Pure.
 */
#include "geometry.h"
#include "step_row.h"

#include <math.h>

enum {
    IOU_SCALE_MIN,
    IOU_SCALE_MAX,
    IOU_ASPECT_MIN,
    IOU_ASPECT_MAX,
    IOU_TRIALS,
    IOU_OPTIONS,
    IOU_OPTIONS_MOST = SL_STEP_ARGUMENTS_MAX - IOU_OPTIONS
};
enum { ROUNDS = 50, LOOKS = 1 << 18, TRIALS_MAX = 500 };
/* Two numbers of 32 bits for each of a trial's four, of the 2^18 that a stream has. */
_Static_assert(ROUNDS *(2 + 8 * TRIALS_MAX) < 1 << 18, "a stream holds all trials");

/* torchvision's */
static const double preset_options[] = {0, 0.1, 0.3, 0.5, 0.7, 0.9, 1};

/* Draws a window of the sides [0, 1]; false: it has a wrong shape, or no pixel. */
static bool draw_window(const double *arguments, sl_drawing *drawing, sl_rect *window)
{
    double side[2];
    double at[2];
    for (size_t i = 0; i < 2; i++) {
        const double part =
            sl_random_range(&drawing->random, arguments[IOU_SCALE_MIN], arguments[IOU_SCALE_MAX]);
        side[i] = floor((i == 0 ? drawing->width : drawing->height) * part);
    }
    if (!(side[0] >= 1 && side[1] >= 1 && side[0] / side[1] >= arguments[IOU_ASPECT_MIN] &&
          side[0] / side[1] <= arguments[IOU_ASPECT_MAX])) {
        return false;
    }
    at[0] = sl_random_unit(&drawing->random);
    at[1] = sl_random_unit(&drawing->random);
    *window = (sl_rect){.x = (uint32_t)((drawing->width - side[0]) * at[0]),
                        .y = (uint32_t)((drawing->height - side[1]) * at[1]),
                        .width = (uint32_t)side[0],
                        .height = (uint32_t)side[1]};
    return true;
}

/* Returns the intersection over union with a window, for a box whose centre is inside it; else
 * -1. */
static double window_iou(const sl_rect *window, const float box[4])
{
    const double left = window->x;
    const double top = window->y;
    const double right = left + window->width;
    const double bottom = top + window->height;
    const double x = 0.5 * ((double)box[0] + (double)box[2]);
    const double y = 0.5 * ((double)box[1] + (double)box[3]);
    if (!(left < x && x < right && top < y && y < bottom)) {
        return -1;
    }
    const double width = fmin(right, (double)box[2]) - fmax(left, (double)box[0]);
    const double height = fmin(bottom, (double)box[3]) - fmax(top, (double)box[1]);
    const double both = ((double)box[2] - (double)box[0]) * ((double)box[3] - (double)box[1]) +
                        (right - left) * (bottom - top);
    return width * height / (both - width * height);
}

static double largest_iou(const sl_drawing *drawing, const sl_rect *window)
{
    double largest = -1;
    for (uint32_t i = 0; i < drawing->box_count; i++) {
        float box[4];
        if (sl_drawing_box(drawing, drawing->boxes[i], box)) {
            largest = fmax(largest, window_iou(window, box));
        }
    }
    return largest;
}

static double draw_option(const double *arguments, sl_random *random)
{
    const uint32_t count = sl_draw_list_count(arguments + IOU_OPTIONS, IOU_OPTIONS_MOST);
    return arguments[IOU_OPTIONS + sl_random_below(random, count)];
}

static sluice_status draw_random_iou_crop(const double *arguments, sl_drawing *drawing)
{
    uint32_t looks = LOOKS;
    for (uint32_t round = 0; round < ROUNDS && drawing->box_count > 0; round++) {
        const double option = draw_option(arguments, &drawing->random);
        if (option >= 1) {
            return SLUICE_OK;
        }
        for (uint32_t trial = 0; trial < (uint32_t)arguments[IOU_TRIALS]; trial++) {
            sl_rect window;
            if (!draw_window(arguments, drawing, &window)) {
                continue;
            }
            if (looks < drawing->box_count) {
                return SLUICE_OK;
            }
            looks -= drawing->box_count;
            if (largest_iou(drawing, &window) >= option) {
                static const uint8_t unused[3] = {0, 0, 0};
                return sl_draw_crop(drawing, window.x, window.y, window.width, window.height,
                                    unused);
            }
        }
    }
    return SLUICE_OK;
}

static const char *random_iou_crop_mismatch(const double *arguments)
{
    if (arguments[IOU_SCALE_MIN] > arguments[IOU_SCALE_MAX]) {
        return "scale_min must be at most scale_max";
    }
    return arguments[IOU_ASPECT_MIN] > arguments[IOU_ASPECT_MAX]
               ? "ratio_min must be at most ratio_max"
               : NULL;
}

/* Bounds the unchanged image, and all windows of the right shape. */
static uint32_t random_iou_crop_largest(const double *arguments, const sl_bound *from,
                                        sl_bound to[SL_STEP_BOUNDS])
{
    if (from == NULL) {
        return 0;
    }
    const double least = arguments[IOU_SCALE_MIN];
    const double most = arguments[IOU_SCALE_MAX];
    to[0] = *from;
    to[1] = sl_bound_tighten(
        (sl_bound){.width = floor(from->width * most + SL_SIDE_SLACK),
                   .height = floor(from->height * most + SL_SIDE_SLACK),
                   .least_width = floor(from->least_width * least - SL_SIDE_SLACK),
                   .least_height = floor(from->least_height * least - SL_SIDE_SLACK),
                   .wide = arguments[IOU_ASPECT_MAX],
                   .tall = 1 / arguments[IOU_ASPECT_MIN]});
    return 2;
}

SL_STEP(random_iou_crop) = {
    .name = "random_iou_crop",
    .text = "a random window that overlaps one box enough; images without boxes stay unchanged",
    .stage = SL_STAGE_GEOMETRY,
    .cuts = true,
    .stream = 38,
    .arguments = {{SL_ARG_SCALE("scale_min", 0.3)},
                  {SL_ARG_SCALE("scale_max", 1)},
                  {SL_ARG_RATIO("ratio_min", 0.5)},
                  {SL_ARG_RATIO("ratio_max", 2)},
                  {SL_ARG_WHOLE("trials", 1, TRIALS_MAX, 40)},
                  {"options", SL_NUMBER_REAL, false, 0, 1, 0, NULL, IOU_OPTIONS_MOST,
                   preset_options, sizeof(preset_options) / sizeof(preset_options[0])}},
    .mismatch = random_iou_crop_mismatch,
    .size = sl_step_size_unknown,
    .largest = random_iou_crop_largest,
    .looks = true,
    .draw = draw_random_iou_crop};
