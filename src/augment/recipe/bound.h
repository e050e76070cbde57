/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound: bounds of image sizes before images are drawn.
 *
 * Purpose: sides alone do not bound the result of a resize of the shorter side; their ratio does,
 * and rounding and padding change that of small images the most. A bound therefore has the least
 * and the greatest sides, and the greatest ratios either way. Each holds for every image it bounds:
 * all of them together may be those of none.
 *
 * Units: pixels; `wide` is width / height, `tall` is height / width. Pure.
 */
#ifndef SL_BOUND_H
#define SL_BOUND_H

typedef struct sl_bound {
    double width, height;             /* the greatest; whole, or infinite */
    double least_width, least_height; /* whole, from 1 */
    double wide, tall;                /* the greatest */
} sl_bound;

/* Bounds images of one size. */
sl_bound sl_bound_of_size(double width, double height);
/* Bounds images with these sides, in any combination: sets the ratios. */
sl_bound sl_bound_of_sides(sl_bound sides);
/* Bounds all images: from 1 to infinity. */
sl_bound sl_bound_of_any(void);
/* Returns the least bound of images that either of them bounds. */
sl_bound sl_bound_of_both(sl_bound a, sl_bound b);
/* Makes sides whole and at least 1, and each number as small (the least sides as large) as the
 * others allow. */
sl_bound sl_bound_tighten(sl_bound bound);

#endif
