/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp: affine and perspective maps of 8-bit RGB, without antialiasing.
 *
 * Purpose: rotations, shears, translations, perspectives, and whatever several of them come to. An
 * output pixel is what the input has at the map of its centre; where that is outside of the input,
 * it is `fill`. Pixels that interpolation needs beyond an edge are those on the edge.
 *
 * Arithmetic: that of Pillow 9.4's Image.transform on x86-64 (libImaging/Geometry.c), bit for bit,
 * in every kernel: AFFINE for an affine matrix, else PERSPECTIVE, with the matrix's numbers.
 * - Nearest, affine: without a shear or turn, coordinates are running sums of doubles. Else they
 *   are in 16.16 fixed point, steps and start rounded, where the corners are within +-32768, and
 *   running sums of doubles where they are not.
 * - Everything else: doubles, for each pixel anew, in the order (m0 x + m1 y) + m2, both divided by
 *   w' if it is a perspective. A pixel is inside when its coordinates are in [0, width) x
 *   [0, height). Interpolation is along rows first, from a pixel and its difference to the next
 *   (bicubic: by Horner's rule, a = -1), and cut to an integer, not rounded.
 * Where Pillow's result is undefined (numbers that are none, or no int) pixels are filled.
 * A pixel is inside a frame when its coordinates there, in doubles as above, are.
 *
 * Where w' is below 0 Pillow shows what is there, mirrored; so does this: see sl_warp_is_proper.
 * Threads: pure; memory from the caller's scratch.
 */
#ifndef SL_WARP_H
#define SL_WARP_H

#include "interpolation.h"
#include "scratch.h"
#include "simd.h"
#include "view.h"

#include <stdbool.h>

enum { SL_WARP_FRAMES = 4 };

/* A canvas of width x height, and where in it output pixels are: coordinates as in sl_warp. */
typedef struct sl_warp_frame {
    double matrix[9];
    uint32_t width, height;
} sl_warp_frame;

typedef struct sl_warp {
    /* (x', y', w') = matrix * (x, y, 1): continuous coordinates of the output (the centre of pixel
     * i is i + 0.5) to those of the input. Row-major; affine when [6] = [7] = 0 and [8] = 1. */
    double matrix[9];
    uint32_t width, height;         /* of the output */
    sl_interpolation interpolation; /* not SL_LANCZOS */
    uint8_t fill[3];
    /* Output pixels whose centre is outside of any of these are filled, too: canvases that earlier
     * steps of a composed chain cut at. 0: the input is the only frame. */
    uint32_t frame_count;
    sl_warp_frame frames[SL_WARP_FRAMES];
    bool keeps; /* instead of being filled, they are left as they are */
} sl_warp;

/* What part of a width x height input the output shows, interpolation's support included: at least
 * a pixel; the whole input if the map folds. Frames are not looked at. */
sl_rect sl_warp_need(const sl_warp *warp, uint32_t width, uint32_t height);

/* Whether w' > 0 on the whole output: false for a perspective that folds. */
bool sl_warp_is_proper(const sl_warp *warp);

/*
 * `in` covers its need, of a picture of picture_width x picture_height, not scaled (denominator 1);
 * what it has besides changes nothing. `out`: height x width x 3 bytes, apart from `in`. The
 * scratch is left as it was. NOMEM when it is too small: 20 bytes for each pixel of a row.
 */
sluice_status sl_warp_apply(sl_simd simd, const sl_warp *warp, const sl_image *in, uint8_t *out,
                            sl_scratch *scratch, sluice_error *error);

#endif
