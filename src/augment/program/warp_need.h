/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp_need: a warp, and the part of its input that it shows. warp.h runs warps.
 *
 * Coordinates are continuous: the centre of pixel i is i + 0.5. Plain data. Threads: pure.
 */
#ifndef SL_WARP_NEED_H
#define SL_WARP_NEED_H

#include "interpolation.h"
#include "view.h"

#include <stdbool.h>

enum { SL_WARP_FRAMES = 4 };

/* A canvas of width x height, and the positions of output pixels in it: coordinates as in
 * sl_warp. */
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
    /* Output pixels whose centre is outside any of these are filled, too: canvases that earlier
     * steps of a composed chain cut at. 0: the input is the only frame. */
    uint32_t frame_count;
    sl_warp_frame frames[SL_WARP_FRAMES];
    bool keeps; /* pixels outside are left unchanged, not filled */
} sl_warp;

/* Returns the part of a width x height input that the output shows, interpolation's support
 * included: at least a pixel; the whole input if the map folds. Ignores frames. */
sl_rect sl_warp_need(const sl_warp *warp, uint32_t width, uint32_t height);

/* Returns whether w' > 0 on the whole output: false for a perspective that folds. */
bool sl_warp_is_proper(const sl_warp *warp);

#endif
