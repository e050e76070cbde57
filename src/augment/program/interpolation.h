/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpolation: names, by Pillow, of interpolations between pixels.
 *
 * Purpose: shared by resizing (mapping.h) and warping (warp.h). Threads: none.
 */
#ifndef SL_INTERPOLATION_H
#define SL_INTERPOLATION_H

typedef enum sl_interpolation {
    SL_NEAREST,
    SL_BILINEAR,
    SL_BICUBIC, /* a = -0.5 */
    SL_LANCZOS  /* three lobes; only for resizing */
} sl_interpolation;

#endif
