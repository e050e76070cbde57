/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp: affine and perspective maps of 8-bit RGB, without antialiasing.
 *
 * Purpose: rotations, shears, translations, perspectives and their compositions. An output pixel
 * shows the input at the map of its centre, or `fill` if that is outside the input. Interpolation
 * across an edge repeats the pixels on the edge.
 *
 * Arithmetic: that of Pillow 9.4's Image.transform on x86-64 (libImaging/Geometry.c), bit for bit,
 * in every kernel: AFFINE for an affine matrix, else PERSPECTIVE, with the matrix's numbers.
 * - Nearest, affine: without a shear or turn, coordinates are running sums of doubles. Else they
 *   are in 16.16 fixed point, steps and start rounded, where the corners are within +-32768, and
 *   running sums of doubles where they are not.
 * - Everything else: doubles, computed for each pixel in the order (m0 x + m1 y) + m2, both divided
 *   by w' for a perspective. A pixel is inside when its coordinates are in [0, width) x
 *   [0, height). Interpolation is along rows first, from a pixel and its difference to the next
 *   (bicubic: by Horner's rule, a = -1), and truncated to an integer, not rounded.
 * Where Pillow's result is undefined (NaN, or outside int's range), pixels are filled.
 * A pixel is inside a frame when its coordinates there, in doubles as above, are.
 *
 * Where w' is below 0, the input appears mirrored, as in Pillow: see sl_warp_is_proper.
 * Threads: pure; memory from the caller's scratch.
 */
#ifndef SL_WARP_H
#define SL_WARP_H

#include "scratch.h"
#include "simd.h"
#include "view.h"
#include "warp_need.h"

/*
 * `in` covers its need, of a picture of picture_width x picture_height, not scaled (denominator 1);
 * its other pixels change nothing. `out`: height x width x 3 bytes, not overlapping `in`. The
 * scratch is restored. NOMEM when it is too small: 20 bytes for each pixel of a row.
 */
sluice_status sl_warp_apply(sl_simd simd, const sl_warp *warp, const sl_image *in, uint8_t *out,
                            sl_scratch *scratch, sluice_error *error);

#endif
