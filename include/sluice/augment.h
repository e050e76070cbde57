/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/augment.h: what happens to each picture between its file and its row of a batch.
 *
 * A recipe is made of one geometry step (random_resized_crop, resize_center_crop or random_crop)
 * and any of random_flip, color_jitter and normalize. They are applied in that order whatever the
 * order of the calls: geometry, flip, jitter, normalise, cast, layout.
 *
 * Random numbers are a pure function of (seed, epoch, sample index, operation): Philox4x32-10
 * (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The number of threads,
 * ranks or retries cannot change them.
 *
 * Resampling is the antialiased triangle filter that Pillow and torchvision call BILINEAR, equal to
 * Pillow's 8-bit result within 1. A JPEG whose crop is 4 times the output or more on both sides is
 * decoded at 1/2, 1/4 or 1/8 of its size first, never to less than twice the output, as Pillow does
 * with a reducing_gap of 2; sluice_loader_options.exact turns that off. The PSNR against the exact
 * result is 50 dB on average over real photos, and 36 dB or more but for hard black lines on white.
 *
 * Threads: a recipe is built by one thread; once given to a loader it is copied and may be changed
 * or destroyed.
 */
#ifndef SLUICE_AUGMENT_H
#define SLUICE_AUGMENT_H

#include <sluice/common.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_augment sluice_augment;

/* An empty recipe. Destroy it with sluice_augment_destroy (NULL is fine there). */
SLUICE_API sluice_status sluice_augment_create(sluice_augment **recipe);
SLUICE_API void sluice_augment_destroy(sluice_augment *recipe);

/*
 * The first call on this recipe that was refused, with its name and what its arguments have to be;
 * returns its status, OK when there was none. It stays, and sluice_loader_open refuses the recipe
 * with it: so a program may look at none of the calls below and still not train with a recipe that
 * it did not ask for.
 */
SLUICE_API sluice_status sluice_augment_get_error(const sluice_augment *recipe,
                                                  sluice_error *error);

/*
 * Training: a random part of the picture, resized to width x height (pixels, 1..16384).
 * The part has scale_min..scale_max of the area (0 < min <= max <= 1) and an aspect ratio of
 * ratio_min..ratio_max (width/height, > 0), log-uniform; the draw is torchvision's
 * RandomResizedCrop, ten tries and then the central fallback.
 * Errors: INVALID; STATE when the recipe has a geometry step already.
 */
SLUICE_API sluice_status sluice_augment_random_resized_crop(sluice_augment *recipe, uint32_t width,
                                                            uint32_t height, double scale_min,
                                                            double scale_max, double ratio_min,
                                                            double ratio_max);

/*
 * Evaluation: the shorter side is resized to `shorter_side` pixels (the longer one by torchvision's
 * rounding) and the centre width x height is kept. `shorter_side` >= max(width, height), or
 * INVALID.
 */
SLUICE_API sluice_status sluice_augment_resize_center_crop(sluice_augment *recipe,
                                                           uint32_t shorter_side, uint32_t width,
                                                           uint32_t height);

/*
 * Training on small pictures (CIFAR): `padding` black pixels on each side, then a random
 * width x height window, no resizing. A picture smaller than the window after padding is a bad
 * sample.
 */
SLUICE_API sluice_status sluice_augment_random_crop(sluice_augment *recipe, uint32_t width,
                                                    uint32_t height, uint32_t padding);

/* Mirrors left to right with the given probability, 0..1. */
SLUICE_API sluice_status sluice_augment_random_flip(sluice_augment *recipe, double probability);

/*
 * Factors drawn from [max(0, 1-x), 1+x] for brightness, contrast and saturation (each 0 or more;
 * 0 turns that one off), applied in a random order, on 8-bit pixels, with the arithmetic of
 * Pillow's ImageEnhance (Brightness, Contrast, Color).
 */
SLUICE_API sluice_status sluice_augment_color_jitter(sluice_augment *recipe, double brightness,
                                                     double contrast, double saturation);

/*
 * (value/255 - mean[c]) / stddev[c] for channels = 3; stddev > 0. Needs a floating dtype: with
 * SLUICE_U8 the loader refuses the recipe. Without this step floating output is value/255.
 */
SLUICE_API sluice_status sluice_augment_normalize(sluice_augment *recipe, const float *mean,
                                                  const float *stddev, uint32_t channels);

#ifdef __cplusplus
}
#endif
#endif
