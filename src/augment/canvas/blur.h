/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blur: the gaussian blur of torchvision (gaussian_blur), separable, in fixed point.
 *
 * Purpose: a canvas (RGB, 8 bits; of `out` rows without gaps) blurred by a kernel of kernel_x x
 * kernel_y taps, exp(-(x / sigma)^2 / 2) on each axis, normalised to a sum of 1. The canvas is
 * mirrored at its first and last pixel, which are not repeated; a kernel wider than the canvas
 * mirrors it repeatedly (torchvision rejects such kernels), so that even one pixel is a canvas.
 *
 * Arithmetic, the same on every machine and in every kernel:
 * - Weights are int16. Those of one side are differences of rounded running sums, from the
 *   outermost on; the middle one is 1 minus the others, so that white stays white. They have as
 *   many bits of fraction as their size allows: 14 to 22 down, 14 to 17 across. Outermost weights
 *   that round to 0 are omitted.
 * - Down first: int32 sums of u8 x int16, less 128, rounded to int16 with 7 bits of fraction.
 * - Across: int32 sums of int16 x int16, rounded to u8. No sum passes 2^31.
 *
 * Results differ from the exact ones by less than 0.5 + 0.27: summing by parts, rounding the
 * running sums costs at most kernel / 2 * 255 / 2^bits a pass. That is 0.25 across and 0.01 down
 * for 255 taps, 0.02 each at most for 23; where the middle weight is above 1/2, and bits are few,
 * no more than about four on a side are above 0: 0.03. Rounding in between costs 2^-8.
 * torchvision's results are sums in floats, less than 0.01 from the exact ones before they are
 * rounded to the nearest. So both are less than 2 apart, and integers: at most 1. They are equal
 * unless the exact value is as near to a half as the error: all but a thousandth of the samples.
 *
 * Threads: pure; memory (a row, and the weights) from the caller's scratch, which is restored.
 */
#ifndef SL_BLUR_H
#define SL_BLUR_H

#include "scratch.h"
#include "simd.h"
#include "view.h"

enum { SL_BLUR_KERNEL_MAX = 255 };

typedef struct sl_gaussian {
    uint32_t kernel_x, kernel_y; /* odd, at most SL_BLUR_KERNEL_MAX */
    double sigma_x, sigma_y;     /* in pixels, above 0 */
} sl_gaussian;

/* Blurs all of `in`, which may be a part of an image, to a canvas of the same size at `out`, which
 * must not overlap it. NOMEM. */
sluice_status sl_blur_gaussian(sl_simd simd, const sl_image *in, const sl_gaussian *blur,
                               uint8_t *out, sl_scratch *scratch, sluice_error *error);

#endif
