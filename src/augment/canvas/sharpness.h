/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharpness: Pillow's ImageEnhance.Sharpness.
 *
 * Purpose: a canvas (RGB, 8 bits; of `out` rows without gaps) between its smoothed self (factor 0),
 * itself (1) and beyond. Smoothed is the mean of 3 x 3 pixels of which the middle one counts five
 * times; pixels on the edge are unchanged, and so is a canvas narrower or lower than three pixels.
 * Arithmetic: Pillow's, bit for bit. Its means are made in floats; but thirteenths are never so
 * near to a half that it would matter, so that integers give the same. Its blend is a float sum,
 * cut towards zero. Threads: pure; memory (a row of sums) from the caller's scratch, which is
 * restored.
 */
#ifndef SL_SHARPNESS_H
#define SL_SHARPNESS_H

#include "scratch.h"
#include "simd.h"
#include "view.h"

/* Sharpens all of `in`, which may be a part of an image, to as large a canvas at `out`, which does
 * not overlap it. `factor` is any number. NOMEM. */
sluice_status sl_sharpness(sl_simd simd, const sl_image *in, float factor, uint8_t *out,
                           sl_scratch *scratch, sluice_error *error);

#endif
