/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drawing_box: where a box of the picture is by now, while a program is drawn.
 *
 * Purpose: a step that looks at what is in the picture (random_iou_crop) looks at it as the steps
 * before it have left it. Crops, resizes, flips and padding move a box as they move pixels; of what
 * a warp turns it to, it is the hull of the four corners. Each canvas on the way cuts it off.
 * Threads: pure.
 */
#ifndef SL_DRAWING_BOX_H
#define SL_DRAWING_BOX_H

#include "geometry.h"

/* `in` and `out`: x1, y1, x2, y2 in pixels, of the picture and of the drawing as it is. False:
 * nothing of it is there (also of one that is none: NaN, x2 < x1), or a perspective has a corner of
 * it behind the eye. */
bool sl_drawing_box(const sl_drawing *drawing, const float in[4], float out[4]);

#endif
