/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharpness: Pillow's ImageEnhance.Sharpness.
 *
 * Purpose: blends a canvas (RGB, 8 bits; rows of `out` without gaps) with its smoothed self: factor
 * 0 is smoothed, 1 unchanged, above 1 sharpened. A smoothed pixel is the mean of 3 x 3 pixels, the
 * middle one counted five times. Pixels on the edge are unchanged, and so is a canvas below three
 * pixels in width or height.
 * Arithmetic: Pillow's, bit for bit. Pillow computes its means in floats, but thirteenths are never
 * near enough to a half to round differently, so integers give the same. Its blend is a float sum,
 * truncated towards zero. Threads: pure; memory (a row of sums) from the caller's scratch, which is
 * restored.
 */
#ifndef SL_SHARPNESS_H
#define SL_SHARPNESS_H

#include "scratch.h"
#include "simd.h"
#include "view.h"

/* Sharpens all of `in`, which may be a part of an image, to a canvas of the same size at `out`,
 * which must not overlap it. `factor` is any number. NOMEM. */
sluice_status sl_sharpness(sl_simd simd, const sl_image *in, float factor, uint8_t *out,
                           sl_scratch *scratch, sluice_error *error);

#endif
