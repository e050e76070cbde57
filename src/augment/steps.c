/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of steps. A new step is a row and what it draws (steps_draw.h) or converts. Constant.
 */
#include "steps.h"

#include "blur.h"
#include "operations.h"
#include "policy_timm.h"
#include "steps_draw.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SIDE_MAX = 16384, MOSAIC_MAX = SIDE_MAX / 2 };

/* ---- sizes behind steps ---- */

/* Of steps whose first two arguments are width and height. */
static void size_given(const double *arguments, uint32_t *width, uint32_t *height)
{
    *width = (uint32_t)arguments[0];
    *height = (uint32_t)arguments[1];
}

static void size_given_second(const double *arguments, uint32_t *width, uint32_t *height)
{
    size_given(arguments + 1, width, height);
}

static void size_unknown(const double *arguments, uint32_t *width, uint32_t *height)
{
    (void)arguments;
    *width = *height = 0;
}

static void size_of_batch(const double *arguments, uint32_t *width, uint32_t *height)
{
    (void)arguments;
    *width = *height = SL_SIZE_OF_BATCH;
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

/* In the order of sl_interpolation, sl_pad_mode, sl_auto_policy, sl_timm_kind, sl_timm_set,
 * sl_mixing_partner and sl_mixing_mode. */
static const char *const resize_words[] = {"nearest", "bilinear", "bicubic", "lanczos", NULL};
static const char *const pad_words[] = {"constant", "edge", "reflect", "symmetric", NULL};
static const char *const position_words[] = {"center", "top-left", NULL};
static const char *const window_words[] = {"random", "center", NULL};
static const char *const policy_words[] = {"imagenet", "cifar10", "svhn", NULL};
static const char *const timm_words[] = {"rand", "auto", "augmix", NULL};
static const char *const timm_interpolation_words[] = {"nearest", "bilinear", "bicubic", "random",
                                                       NULL};
static const char *const timm_sets[] = {"all",
                                        "increasing",
                                        "3a",
                                        "weights",
                                        "3a-weights",
                                        "old-weights",
                                        "old-weights-increasing",
                                        "original",
                                        "original-r",
                                        "v0",
                                        "v0-r",
                                        "3-augment",
                                        NULL};

static const char *const partner_words[] = {"reversed", "previous", NULL};
static const char *const mix_modes[] = {"batch", "pair", "elem", NULL};

/* Of an sl_argument. */
#define GIVEN                            ((double)NAN)
#define SIDE(name)                       name, SL_NUMBER_WHOLE, false, 1, SIDE_MAX, GIVEN
#define BORDER(name)                     name, SL_NUMBER_WHOLE, false, 0, SIDE_MAX, 0
#define SCALE(name, preset)              name, SL_NUMBER_REAL, true, 0, 1, preset
#define RATIO(name, preset)              name, SL_NUMBER_REAL, true, 0, DBL_MAX, preset
#define PROBABILITY(preset)              "probability", SL_NUMBER_REAL, false, 0, 1, preset
#define WHOLE(name, least, most, preset) name, SL_NUMBER_WHOLE, false, least, most, preset
#define REAL(name, least, most, preset)  name, SL_NUMBER_REAL, false, least, most, preset
#define FLAG(name)                       name, SL_NUMBER_WHOLE, false, 0, 1, 0
#define DEGREES(name, preset)            name, SL_NUMBER_REAL, false, -360, 360, preset
#define SHEAR(name)                      name, SL_NUMBER_REAL, false, -89, 89, 0
/* Factors above this would be no picture any more, and must fit in a float. */
#define STRENGTH(name)            name, SL_NUMBER_REAL, false, 0, 1000, 0
#define FACTOR(name, preset)      name, SL_NUMBER_REAL, false, 0, 1000, preset
#define MEAN(name)                name, SL_NUMBER_FLOAT, false, -FLT_MAX, FLT_MAX, GIVEN
#define DEVIATION(name)           name, SL_NUMBER_FLOAT, true, 0, FLT_MAX, GIVEN
#define WORDS_LAST(words)         (double)(int)(sizeof(words) / sizeof((words)[0]) - 2)
#define WORD(name, words, preset) name, SL_NUMBER_WORD, false, 0, WORDS_LAST(words), preset, words
#define RESIZED(preset)           WORD("interpolation", resize_words, preset)
/* A warp has no Lanczos. */
#define WARPED(preset) "interpolation", SL_NUMBER_WORD, false, 0, SL_BICUBIC, preset, resize_words
#define FILL(preset)                                     \
    {"fill_r", SL_NUMBER_WHOLE, false, 0, 255, preset},  \
        {"fill_g", SL_NUMBER_WHOLE, false, -1, 255, -1}, \
    {                                                    \
        "fill_b", SL_NUMBER_WHOLE, false, -1, 255, -1    \
    }
/* Beyond this a beta distribution is 1/2. */
#define ALPHA(preset)            "alpha", SL_NUMBER_REAL, true, 0, 1e9, preset
#define ALPHA_OR_0(name, preset) name, SL_NUMBER_REAL, false, 0, 1e9, preset
#define PARTNER                  WORD("partner", partner_words, SL_PARTNER_REVERSED)
#define WEIGHT(name)             name, SL_NUMBER_REAL, false, 0, 1e9, 1
/* -1: none */
#define OPTION(name, preset) name, SL_NUMBER_REAL, false, -1, 1, preset

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
                   {RATIO("ratio_max", 4.0 / 3)},
                   {RESIZED(SL_BILINEAR)}},
     .mismatch = sl_random_resized_crop_mismatch,
     .size = size_given,
     .draw = sl_draw_random_resized_crop,
     .operations = sl_crop_and_resize_operations},
    {.name = "resize_center_crop",
     .text = "the shorter side is resized, then the centre cut out",
     .stage = SL_STAGE_GEOMETRY,
     .arguments =
         {{SIDE("shorter_side")}, {SIDE("width")}, {SIDE("height")}, {RESIZED(SL_BILINEAR)}},
     .mismatch = sl_resize_center_crop_mismatch,
     .size = size_given_second,
     .draw = sl_draw_resize_center_crop,
     .operations = sl_crop_and_resize_operations},
    {.name = "random_crop",
     .text = "a random window of the padded picture, not resized",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 1,
     .arguments = {{SIDE("width")},
                   {SIDE("height")},
                   {BORDER("padding")},
                   {WORD("padding_mode", pad_words, SL_PAD_CONSTANT)},
                   {FLAG("pad_if_needed")},
                   FILL(0)},
     .size = size_given,
     .draw = sl_draw_random_crop,
     .operations = sl_random_crop_operations},
    {.name = "random_grid_crop",
     .text = "a window at a random place of a grid, as DINOv3 cuts small views out of large ones",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 46,
     .arguments = {{SIDE("width")}, {SIDE("height")}, {SIDE("grid")}},
     .size = size_given,
     .draw = sl_draw_random_grid_crop},
    {.name = "center_crop",
     .text = "the middle; black around a smaller picture",
     .stage = SL_STAGE_GEOMETRY,
     .arguments = {{SIDE("width")}, {SIDE("height")}},
     .size = size_given,
     .draw = sl_draw_center_crop},
    {.name = "resize",
     .text = "resized to one size, whatever its aspect ratio",
     .stage = SL_STAGE_GEOMETRY,
     .arguments = {{SIDE("width")}, {SIDE("height")}, {RESIZED(SL_BILINEAR)}},
     .size = size_given,
     .draw = sl_draw_resize_step},
    {.name = "resize_shorter",
     .text = "the shorter side is resized, the longer one in proportion, up to a limit",
     .stage = SL_STAGE_GEOMETRY,
     .arguments = {{SIDE("size")}, {BORDER("max_size")}, {RESIZED(SL_BILINEAR)}},
     .mismatch = sl_resize_shorter_mismatch,
     .size = sl_resize_shorter_size,
     .draw = sl_draw_resize_shorter},
    {.name = "random_resize",
     .text = "the shorter side is resized to a random size",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 5,
     .arguments = {{SIDE("size_min")}, {SIDE("size_max")}, {RESIZED(SL_BILINEAR)}},
     .mismatch = sl_random_resize_mismatch,
     .size = size_unknown,
     .draw = sl_draw_random_resize},
    {.name = "pad",
     .text = "pixels are added around the picture",
     .stage = SL_STAGE_GEOMETRY,
     .arguments = {{BORDER("left")},
                   {BORDER("top")},
                   {BORDER("right")},
                   {BORDER("bottom")},
                   {WORD("padding_mode", pad_words, SL_PAD_CONSTANT)},
                   FILL(0)},
     .size = sl_pad_size,
     .draw = sl_draw_pad},
    {.name = "random_shortest_size",
     .text =
         "the shorter side is resized to one of several sizes, the longer one at most to a limit",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 34,
     .arguments = {{WHOLE("max_size", 0, SIDE_MAX, GIVEN)},
                   {SIDE("min_size_1")},
                   {BORDER("min_size_2")},
                   {BORDER("min_size_3")},
                   {BORDER("min_size_4")},
                   {BORDER("min_size_5")},
                   {BORDER("min_size_6")},
                   {BORDER("min_size_7")},
                   {BORDER("min_size_8")},
                   {BORDER("min_size_9")},
                   {BORDER("min_size_10")},
                   {BORDER("min_size_11")},
                   {BORDER("min_size_12")},
                   {BORDER("min_size_13")},
                   {BORDER("min_size_14")},
                   {RESIZED(SL_BILINEAR)}},
     .size = size_unknown,
     .draw = sl_draw_random_shortest_size},
    {.name = "scale_jitter",
     .text = "resized to fit into one size, times a random factor",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 35,
     .arguments = {{SIDE("width")},
                   {SIDE("height")},
                   {"scale_min", SL_NUMBER_REAL, true, 0, 1000, 0.1},
                   {"scale_max", SL_NUMBER_REAL, true, 0, 1000, 2},
                   {RESIZED(SL_BILINEAR)}},
     .mismatch = sl_scale_jitter_mismatch,
     .size = size_unknown,
     .draw = sl_draw_scale_jitter},
    {.name = "fixed_size_crop",
     .text = "a random window of a larger picture; a smaller one is padded right and below",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 36,
     .arguments = {{SIDE("width")},
                   {SIDE("height")},
                   {WORD("padding_mode", pad_words, SL_PAD_CONSTANT)},
                   FILL(0)},
     .size = size_given,
     .draw = sl_draw_fixed_size_crop,
     .operations = sl_fixed_size_crop_operations},
    {.name = "letter_box",
     .text = "resized to fit into one size, whose rest is filled",
     .stage = SL_STAGE_GEOMETRY,
     .arguments = {{SIDE("width")},
                   {SIDE("height")},
                   FILL(114),
                   {WHOLE("enlarge", 0, 1, 1)},
                   {WORD("position", position_words, 0)},
                   {RESIZED(SL_BILINEAR)}},
     .size = size_given,
     .draw = sl_draw_letter_box,
     .operations = sl_crop_and_resize_operations},
    {.name = "mosaic",
     .text = "pictures of several samples around a random point, on a canvas of twice the size",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 40,
     .arguments = {{WHOLE("size", 1, MOSAIC_MAX, GIVEN)},
                   {WHOLE("grid", 2, 3, 2)},
                   FILL(114),
                   {PROBABILITY(1)},
                   {WHOLE("end_epoch", 0, 4294967295.0, 0)},
                   {RESIZED(SL_BILINEAR)}},
     .size = sl_mosaic_size,
     .members = sl_mosaic_members,
     .draw = sl_draw_mosaic,
     .operations = sl_crop_and_resize_operations},
    {.name = "bucket_crop",
     .text = "resized to cover the size of the batch's bucket, then a window of that size",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 44,
     .arguments = {{WORD("position", window_words, 0)}, {RESIZED(SL_BILINEAR)}},
     .size = size_of_batch,
     .draw = sl_draw_bucket_crop,
     .operations = sl_crop_and_resize_operations},
    {.name = "random_zoom_out",
     .text = "the picture at a random place of a larger canvas",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 37,
     .arguments = {{REAL("side_min", 1, 1000, 1)},
                   {REAL("side_max", 1, 1000, 4)},
                   {PROBABILITY(0.5)},
                   FILL(0)},
     .mismatch = sl_random_zoom_out_mismatch,
     .size = size_unknown,
     .draw = sl_draw_random_zoom_out},
    {.name = "random_iou_crop",
     .text = "a random window that has enough of one box; without boxes the picture as it is",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 38,
     .arguments = {{SCALE("scale_min", 0.3)},
                   {SCALE("scale_max", 1)},
                   {RATIO("ratio_min", 0.5)},
                   {RATIO("ratio_max", 2)},
                   {WHOLE("trials", 1, SL_IOU_TRIALS_MAX, 40)},
                   {OPTION("option_1", 0)},
                   {OPTION("option_2", 0.1)},
                   {OPTION("option_3", 0.3)},
                   {OPTION("option_4", 0.5)},
                   {OPTION("option_5", 0.7)},
                   {OPTION("option_6", 0.9)},
                   {OPTION("option_7", 1)},
                   {OPTION("option_8", -1)},
                   {OPTION("option_9", -1)},
                   {OPTION("option_10", -1)},
                   {OPTION("option_11", -1)}},
     .mismatch = sl_random_iou_crop_mismatch,
     .size = size_unknown,
     .looks = true,
     .draw = sl_draw_random_iou_crop},
    {.name = "random_rotation",
     .text = "turned about its centre, counterclockwise",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 6,
     .arguments = {{DEGREES("degrees_min", GIVEN)},
                   {DEGREES("degrees_max", GIVEN)},
                   {WARPED(SL_NEAREST)},
                   FILL(0)},
     .mismatch = sl_random_rotation_mismatch,
     .draw = sl_draw_random_rotation},
    {.name = "random_affine",
     .text = "turned, moved, scaled and sheared about its centre",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 7,
     .arguments = {{DEGREES("degrees_min", GIVEN)},
                   {DEGREES("degrees_max", GIVEN)},
                   {REAL("translate_x", 0, 1, 0)},
                   {REAL("translate_y", 0, 1, 0)},
                   {"scale_min", SL_NUMBER_REAL, true, 0, 1000, 1},
                   {"scale_max", SL_NUMBER_REAL, true, 0, 1000, 1},
                   {SHEAR("shear_x_min")},
                   {SHEAR("shear_x_max")},
                   {SHEAR("shear_y_min")},
                   {SHEAR("shear_y_max")},
                   {WARPED(SL_NEAREST)},
                   FILL(0)},
     .mismatch = sl_random_affine_mismatch,
     .draw = sl_draw_random_affine},
    {.name = "random_perspective",
     .text = "seen from a random direction",
     .stage = SL_STAGE_GEOMETRY,
     .stream = 8,
     .arguments =
         {{REAL("distortion", 0, 1, 0.5)}, {PROBABILITY(0.5)}, {WARPED(SL_BILINEAR)}, FILL(0)},
     .draw = sl_draw_random_perspective},
    {.name = "random_flip",
     .text = "mirrored left to right",
     .stage = SL_STAGE_FLIP,
     .stream = 2,
     .arguments = {{PROBABILITY(0.5)}},
     .draw = sl_draw_random_flip},
    {.name = "random_vertical_flip",
     .text = "mirrored top to bottom",
     .stage = SL_STAGE_FLIP,
     .stream = 4,
     .arguments = {{PROBABILITY(0.5)}},
     .draw = sl_draw_random_vertical_flip},
    {.name = "color_jitter",
     .text = "brightness, contrast, saturation and hue by random factors, in a random order",
     .stage = SL_STAGE_COLOR,
     .stream = 3,
     .arguments = {{STRENGTH("brightness")},
                   {STRENGTH("contrast")},
                   {STRENGTH("saturation")},
                   {REAL("hue", 0, 0.5, 0)}},
     .draw = sl_draw_color_jitter,
     .operations = sl_color_jitter_operations},
    {.name = "color_jitter_ranges",
     .text = "the same, with the ends of the factors' ranges",
     .stage = SL_STAGE_COLOR,
     .stream = 9,
     .arguments = {{FACTOR("brightness_min", 1)},
                   {FACTOR("brightness_max", 1)},
                   {FACTOR("contrast_min", 1)},
                   {FACTOR("contrast_max", 1)},
                   {FACTOR("saturation_min", 1)},
                   {FACTOR("saturation_max", 1)},
                   {REAL("hue_min", -0.5, 0.5, 0)},
                   {REAL("hue_max", -0.5, 0.5, 0)}},
     .mismatch = sl_color_jitter_ranges_mismatch,
     .draw = sl_draw_color_jitter_ranges,
     .operations = sl_color_jitter_operations},
    {.name = "random_grayscale",
     .text = "grey, in three equal channels",
     .stage = SL_STAGE_COLOR,
     .stream = 10,
     .arguments = {{PROBABILITY(0.1)}},
     .draw = sl_draw_random_grayscale},
    {.name = "random_invert",
     .text = "255 minus each value",
     .stage = SL_STAGE_COLOR,
     .stream = 11,
     .arguments = {{PROBABILITY(0.5)}},
     .draw = sl_draw_random_invert},
    {.name = "random_posterize",
     .text = "only the upper bits of each value are kept",
     .stage = SL_STAGE_COLOR,
     .stream = 12,
     .arguments = {{WHOLE("bits", 0, 8, GIVEN)}, {PROBABILITY(0.5)}},
     .draw = sl_draw_random_posterize},
    {.name = "random_solarize",
     .text = "values from a threshold on are inverted",
     .stage = SL_STAGE_COLOR,
     .stream = 13,
     .arguments = {{REAL("threshold", 0, 256, GIVEN)}, {PROBABILITY(0.5)}},
     .draw = sl_draw_random_solarize},
    {.name = "random_solarize_add",
     .text = "values below a threshold get brighter",
     .stage = SL_STAGE_COLOR,
     .stream = 14,
     .arguments = {{WHOLE("add", 0, 255, GIVEN)},
                   {WHOLE("threshold", 0, 256, 128)},
                   {PROBABILITY(0.5)}},
     .draw = sl_draw_random_solarize_add},
    {.name = "random_autocontrast",
     .text = "each channel is spread over 0 to 255",
     .stage = SL_STAGE_COLOR,
     .stream = 15,
     .arguments = {{PROBABILITY(0.5)}},
     .draw = sl_draw_random_autocontrast},
    {.name = "random_equalize",
     .text = "each channel's histogram becomes flat",
     .stage = SL_STAGE_COLOR,
     .stream = 16,
     .arguments = {{PROBABILITY(0.5)}},
     .draw = sl_draw_random_equalize},
    {.name = "random_channel_permutation",
     .text = "the channels in a random order",
     .stage = SL_STAGE_COLOR,
     .stream = 17,
     .draw = sl_draw_random_channel_permutation},
    {.name = "random_hsv",
     .text = "hue turned, saturation and value scaled, by random parts: the YOLO family's",
     .stage = SL_STAGE_COLOR,
     .stream = 41,
     .arguments = {{REAL("hue", 0, 1, 0.015)},
                   {REAL("saturation", 0, 1, 0.7)},
                   {REAL("value", 0, 1, 0.4)}},
     .draw = sl_draw_random_hsv},
    {.name = "gaussian_blur",
     .text = "torchvision's blur: a kernel of that many pixels, a random sigma",
     .stage = SL_STAGE_FILTER,
     .stream = 18,
     .arguments = {{WHOLE("kernel_x", 1, SL_BLUR_KERNEL_MAX, GIVEN)},
                   {WHOLE("kernel_y", 1, SL_BLUR_KERNEL_MAX, GIVEN)},
                   {"sigma_min", SL_NUMBER_REAL, true, 0, 1000, 0.1},
                   {"sigma_max", SL_NUMBER_REAL, true, 0, 1000, 2}},
     .mismatch = sl_gaussian_blur_mismatch,
     .draw = sl_draw_gaussian_blur},
    {.name = "pillow_blur",
     .text = "Pillow's GaussianBlur, which is three box blurs, of a random radius",
     .stage = SL_STAGE_FILTER,
     .stream = 19,
     .arguments = {{REAL("radius_min", 0, 1000, 0.1)}, {REAL("radius_max", 0, 1000, 2)}},
     .mismatch = sl_pillow_blur_mismatch,
     .draw = sl_draw_pillow_blur},
    {.name = "random_sharpness",
     .text = "smoothed below a factor of 1, sharpened above it",
     .stage = SL_STAGE_FILTER,
     .stream = 20,
     .arguments = {{FACTOR("factor", GIVEN)}, {PROBABILITY(0.5)}},
     .draw = sl_draw_random_sharpness},
    {.name = "jpeg",
     .text = "compressed as a JPEG of a random quality, and decoded",
     .stage = SL_STAGE_FILTER,
     .stream = 21,
     .arguments = {{WHOLE("quality_min", 1, 100, GIVEN)}, {WHOLE("quality_max", 1, 100, GIVEN)}},
     .mismatch = sl_jpeg_mismatch,
     .draw = sl_draw_jpeg},
    {.name = "mixup_partner",
     .text = "the picture and that of other samples, drawn like it, in random shares",
     .stage = SL_STAGE_FILTER,
     .stream = 42,
     .arguments = {{ALPHA(32)}, {PROBABILITY(1)}, {WHOLE("end_epoch", 0, 4294967295.0, 0)}},
     .layers = sl_mixup_partner_layers,
     .draw = sl_draw_mixup_partner},
    {.name = "copy_paste",
     .text = "objects of another picture, drawn like it, over this one; by the shapes of its boxes",
     .stage = SL_STAGE_FILTER,
     .stream = 45,
     .arguments = {{PROBABILITY(1)},
                   {SCALE("share", 0.5)},
                   {WHOLE("end_epoch", 0, 4294967295.0, 0)}},
     .layers = sl_copy_paste_layers,
     .pastes = true,
     .draw = sl_draw_copy_paste},
    {.name = "random_erasing",
     .text = "random rectangles become a colour (-1: what normalizes to 0) or noise about it",
     .stage = SL_STAGE_FILTER,
     .stream = 22,
     .arguments = {{PROBABILITY(0.5)},
                   {SCALE("scale_min", 0.02)},
                   {SCALE("scale_max", 0.33)},
                   {RATIO("ratio_min", 0.3)},
                   {RATIO("ratio_max", 3.3)},
                   {WHOLE("value_r", -1, 255, -1)},
                   {WHOLE("value_g", -1, 255, -1)},
                   {WHOLE("value_b", -1, 255, -1)},
                   {FLAG("noise")},
                   {WHOLE("count_min", 1, 8, 1)},
                   {WHOLE("count_max", 1, 8, 1)}},
     .mismatch = sl_random_erasing_mismatch,
     .draw = sl_draw_random_erasing,
     .operations = sl_random_erasing_operations},
    {.name = "rand_augment",
     .text = "torchvision's RandAugment: some of 14 operations, all at one magnitude",
     .stage = SL_STAGE_POLICY,
     .stream = 23,
     .arguments = {{WHOLE("num_ops", 1, SL_POLICY_CHOICES_MAX, 2)},
                   {WHOLE("magnitude", 0, SL_POLICY_BINS_MAX - 1, 9)},
                   {WHOLE("num_magnitude_bins", 2, SL_POLICY_BINS_MAX, 31)},
                   {WARPED(SL_NEAREST)},
                   FILL(0)},
     .mismatch = sl_rand_augment_mismatch,
     .draw = sl_draw_rand_augment,
     .operations = sl_rand_augment_operations},
    {.name = "trivial_augment_wide",
     .text = "torchvision's TrivialAugmentWide: one of 14 operations, at a random magnitude",
     .stage = SL_STAGE_POLICY,
     .stream = 24,
     .arguments = {{WHOLE("num_magnitude_bins", 2, SL_POLICY_BINS_MAX, 31)},
                   {WARPED(SL_NEAREST)},
                   FILL(0)},
     .draw = sl_draw_trivial_augment_wide},
    {.name = "auto_augment",
     .text = "torchvision's AutoAugment: one of 25 pairs that were learnt",
     .stage = SL_STAGE_POLICY,
     .stream = 25,
     .arguments = {{WORD("policy", policy_words, SL_AUTO_IMAGENET)}, {WARPED(SL_NEAREST)}, FILL(0)},
     .draw = sl_draw_auto_augment,
     .operations = sl_auto_augment_operations},
    {.name = "aug_mix",
     .text = "torchvision's AugMix: chains of operations, mixed with the picture",
     .stage = SL_STAGE_POLICY,
     .stream = 26,
     .arguments = {{WHOLE("severity", 1, 10, 3)},
                   {WHOLE("mixture_width", 1, SL_POLICY_WIDTH_MAX, 3)},
                   {WHOLE("chain_depth", -1, SL_POLICY_DEPTH_MAX, -1)},
                   {REAL("alpha", SL_POLICY_ALPHA_MIN, SL_POLICY_ALPHA_MAX, 1)},
                   {WHOLE("all_ops", 0, 1, 1)},
                   {WARPED(SL_BILINEAR)},
                   FILL(0)},
     .draw = sl_draw_aug_mix,
     .operations = sl_aug_mix_operations},
    {.name = "timm_augment",
     .text = "timm's policies; sluice_augment_timm makes the arguments of a string",
     .stage = SL_STAGE_POLICY,
     .stream = 27,
     .arguments = {{WORD("kind", timm_words, SL_TIMM_RAND)},
                   {WORD("set", timm_sets, SL_TIMM_ALL)},
                   {WHOLE("num_ops", 1, SL_POLICY_CHOICES_MAX, 2)},
                   {WHOLE("magnitude", 0, 100, 10)},
                   {WHOLE("magnitude_max", 1, 100, 10)},
                   {"deviation", SL_NUMBER_REAL, false, 0, INFINITY, 0},
                   {PROBABILITY(0.5)},
                   {WHOLE("width", 1, SL_POLICY_WIDTH_MAX, 3)},
                   {WHOLE("depth", 0, SL_POLICY_DEPTH_MAX, 0)},
                   {REAL("alpha", SL_POLICY_ALPHA_MIN, SL_POLICY_ALPHA_MAX, 1)},
                   {FLAG("blended")},
                   {REAL("translation", 0, 1, 0.45)},
                   {WORD("interpolation", timm_interpolation_words, SL_POLICY_RANDOM)},
                   FILL(124)},
     .mismatch = sl_timm_mismatch,
     .draw = sl_draw_timm,
     .operations = sl_timm_operations},
    {.name = "sequence",
     .text = "the steps in it, as one",
     .stage = SL_STAGE_GROUP,
     .group = SL_GROUP_SEQUENCE},
    {.name = "shared",
     .text = "the steps in it, which draw alike in all columns that have such a group, by a key",
     .stage = SL_STAGE_GROUP,
     .group = SL_GROUP_SEQUENCE,
     .shares = true,
     .arguments = {{WHOLE("key", 0, 255, 0)}}},
    {.name = "random_apply",
     .text = "the steps in it, or none of them",
     .stage = SL_STAGE_GROUP,
     .group = SL_GROUP_APPLY,
     .stream = 28,
     .arguments = {{PROBABILITY(0.5)}}},
    {.name = "random_choice",
     .text = "one of the steps in it",
     .stage = SL_STAGE_GROUP,
     .group = SL_GROUP_CHOICE,
     .stream = 29,
     .arguments = {{WEIGHT("weight_1")},
                   {WEIGHT("weight_2")},
                   {WEIGHT("weight_3")},
                   {WEIGHT("weight_4")},
                   {WEIGHT("weight_5")},
                   {WEIGHT("weight_6")},
                   {WEIGHT("weight_7")},
                   {WEIGHT("weight_8")},
                   {WEIGHT("weight_9")},
                   {WEIGHT("weight_10")},
                   {WEIGHT("weight_11")},
                   {WEIGHT("weight_12")},
                   {WEIGHT("weight_13")},
                   {WEIGHT("weight_14")},
                   {WEIGHT("weight_15")},
                   {WEIGHT("weight_16")}}},
    {.name = "random_order",
     .text = "the steps in it, in a random order",
     .stage = SL_STAGE_GROUP,
     .group = SL_GROUP_ORDER,
     .stream = 30},
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
    {.name = "mixup",
     .text = "each row of a batch and another one, in random shares",
     .stage = SL_STAGE_BATCH,
     .stream = 31,
     .arguments = {{ALPHA(1)}, {PROBABILITY(1)}, {PARTNER}},
     .mix = sl_mixup},
    {.name = "cutmix",
     .text = "a random box of each row of a batch is another row's",
     .stage = SL_STAGE_BATCH,
     .stream = 32,
     .arguments = {{ALPHA(1)}, {PROBABILITY(1)}, {PARTNER}},
     .mix = sl_cutmix},
    {.name = "timm_mix",
     .text = "timm's mixup and cutmix, for batches, pairs or rows by themselves",
     .stage = SL_STAGE_BATCH,
     .stream = 33,
     .arguments = {{ALPHA_OR_0("mixup_alpha", 1)},
                   {ALPHA_OR_0("cutmix_alpha", 0)},
                   {REAL("cutmix_min", 0, 1, 0)},
                   {REAL("cutmix_max", 0, 1, 0)},
                   {PROBABILITY(1)},
                   {REAL("switch_probability", 0, 1, 0.5)},
                   {WORD("mode", mix_modes, SL_MIX_BATCH)},
                   {WHOLE("correct_lambda", 0, 1, 1)},
                   {PARTNER}},
     .mismatch = sl_timm_mix_mismatch,
     .mix = sl_timm_mix},
};

const uint32_t sl_step_kind_count = sizeof(sl_step_kinds) / sizeof(sl_step_kinds[0]);

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
    static const char *const names[SL_STAGES] = {"geometry", "flip",  "color",     "filter",
                                                 "policy",   "group", "normalize", "batch"};
    return names[stage];
}
