/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_draw: what the rows of the table of steps (steps.c) draw. Arguments are in the order of
 * their row. Threads: pure.
 */
#ifndef SL_STEPS_DRAW_H
#define SL_STEPS_DRAW_H

#include "operations.h"
#include "steps.h"

/* steps_crop.c: which part of the picture, in which size */
sl_step_draw sl_draw_random_resized_crop, sl_draw_resize_center_crop, sl_draw_random_crop,
    sl_draw_random_grid_crop, sl_draw_center_crop, sl_draw_resize_step, sl_draw_resize_shorter,
    sl_draw_random_resize, sl_draw_pad, sl_draw_bucket_crop;
const char *sl_random_resized_crop_mismatch(const double *arguments);
const char *sl_resize_center_crop_mismatch(const double *arguments);
const char *sl_resize_shorter_mismatch(const double *arguments);
const char *sl_random_resize_mismatch(const double *arguments);
void sl_resize_shorter_size(const double *arguments, uint32_t *width, uint32_t *height);
void sl_pad_size(const double *arguments, uint32_t *width, uint32_t *height);
uint32_t sl_crop_and_resize_operations(const double *arguments);
uint32_t sl_random_crop_operations(const double *arguments);

/* Pixels around the picture that is there. */
typedef struct sl_padding {
    uint32_t left, top, right, bottom;
    sl_pad_mode mode;
    uint8_t fill[3];
} sl_padding;

/* One operation. UNSUPPORTED: too large. */
sluice_status sl_draw_padding(sl_drawing *drawing, const sl_padding *padding);

/* steps_detection.c, steps_iou_crop.c: the same, of recipes for detection and segmentation */
sl_step_draw sl_draw_random_shortest_size, sl_draw_letter_box, sl_draw_scale_jitter,
    sl_draw_fixed_size_crop, sl_draw_random_zoom_out, sl_draw_random_iou_crop;
const char *sl_scale_jitter_mismatch(const double *arguments);
const char *sl_random_zoom_out_mismatch(const double *arguments);
const char *sl_random_iou_crop_mismatch(const double *arguments);
uint32_t sl_fixed_size_crop_operations(const double *arguments);
enum { SL_IOU_TRIALS_MAX = 500 };

/* steps_mosaic.c: rows of several samples */
sl_step_draw sl_draw_mosaic;
uint32_t sl_mosaic_members(const double *arguments, uint64_t epoch);
void sl_mosaic_size(const double *arguments, uint32_t *width, uint32_t *height);

/* steps_blend.c: rows of two layers */
sl_step_draw sl_draw_mixup_partner, sl_draw_copy_paste;
uint32_t sl_mixup_partner_layers(const double *arguments, uint64_t epoch);
uint32_t sl_copy_paste_layers(const double *arguments, uint64_t epoch);

/* steps_warp.c: flips, rotations, affine maps, perspectives */
sl_step_draw sl_draw_random_flip, sl_draw_random_vertical_flip, sl_draw_random_rotation,
    sl_draw_random_affine, sl_draw_random_perspective;
const char *sl_random_rotation_mismatch(const double *arguments);
const char *sl_random_affine_mismatch(const double *arguments);
/* Of a canvas of that size, from output to input, as Pillow's and torchvision's. Degrees
 * counterclockwise about the centre; shears are in degrees. */
void sl_rotation_matrix(double degrees, uint32_t width, uint32_t height, double matrix[9]);

/* steps_color.c: pixels by themselves */
sl_step_draw sl_draw_color_jitter, sl_draw_color_jitter_ranges, sl_draw_random_grayscale,
    sl_draw_random_invert, sl_draw_random_posterize, sl_draw_random_solarize,
    sl_draw_random_solarize_add, sl_draw_random_autocontrast, sl_draw_random_equalize,
    sl_draw_random_channel_permutation, sl_draw_random_hsv;
const char *sl_color_jitter_ranges_mismatch(const double *arguments);
uint32_t sl_color_jitter_operations(const double *arguments);

/* steps_filter.c: pixels by their neighbours, and what is put in their place */
sl_step_draw sl_draw_gaussian_blur, sl_draw_pillow_blur, sl_draw_random_sharpness, sl_draw_jpeg,
    sl_draw_random_erasing;
const char *sl_gaussian_blur_mismatch(const double *arguments);
const char *sl_pillow_blur_mismatch(const double *arguments);
const char *sl_jpeg_mismatch(const double *arguments);
const char *sl_random_erasing_mismatch(const double *arguments);
uint32_t sl_random_erasing_operations(const double *arguments);

/* steps_policy.c: several of these, as a published rule has them */
sl_step_draw sl_draw_rand_augment, sl_draw_trivial_augment_wide, sl_draw_auto_augment,
    sl_draw_aug_mix, sl_draw_timm;
const char *sl_rand_augment_mismatch(const double *arguments);
const char *sl_timm_mismatch(const double *arguments);
uint32_t sl_rand_augment_operations(const double *arguments);
uint32_t sl_auto_augment_operations(const double *arguments);
uint32_t sl_aug_mix_operations(const double *arguments);
uint32_t sl_timm_operations(const double *arguments);

/* steps_mix.c: over a batch */
void sl_mixup(const double *arguments, sl_mixing *mixing);
void sl_cutmix(const double *arguments, sl_mixing *mixing);
void sl_timm_mix(const double *arguments, sl_mixing *mixing);
const char *sl_timm_mix_mismatch(const double *arguments);

/* Whether it happens. */
static inline bool sl_draw_happens(sl_drawing *drawing, double probability)
{
    return sl_random_unit(&drawing->random) < probability;
}

/* Three arguments, 0 to 255; the second and third may be -1: as the first. */
static inline void sl_draw_fill(const double *arguments, uint8_t fill[3])
{
    for (int c = 0; c < 3; c++) {
        const double value = arguments[c] < 0 ? arguments[0] : arguments[c];
        fill[c] = value > 0 ? (uint8_t)value : 0;
    }
}

#endif
