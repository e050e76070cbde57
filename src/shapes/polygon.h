/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polygon: which pixels a polygon covers, as COCO counts them.
 *
 * Purpose: masks with the same bits as those of COCO's tools (rleFrPoly of cocoapi's
 * common/maskApi.c), whose rule is this. Vertices are rounded to fifths of a pixel, (int)(5 x +
 * .5); the boundary is walked on that grid, one step at a time in the longer direction, with the
 * other coordinate rounded; where it passes between the fifths 2 and 3 of a column of pixels, it
 * crosses the column at row ceil((v - 2) / 5), v being the upper one of the two steps; and a pixel
 * is covered if its column is crossed an odd number of times at it or above. Holes and
 * self-intersections follow from that (even-odd). A polygon of fewer than three points covers
 * nothing. Only the steps between the fifths 2 and 3 of columns inside the mask are computed, so
 * that anything far outside costs nothing.
 *
 * Coordinates are continuous: pixel (i, j) covers [i, i + 1) x [j, j + 1).
 *
 * Time: O(points + columns that each edge crosses + pixels of the bounding box / 64); refused when
 * this exceeds 64 times the mask's pixels plus 2^20: no polygon made in earnest comes near that.
 * All of it is charged to the mask's work; a pixel of a bounding box counts as an eighth.
 *
 * Memory: a bit for each pixel of the bounding box, from scratch.
 *
 * Threads: pure.
 */
#ifndef SL_POLYGON_H
#define SL_POLYGON_H

#include "error.h"
#include "mask.h"
#include "scratch.h"

/* How far from the origin a vertex may be, in pixels: up to this the walk has no gaps. */
#define SL_POLYGON_REACH 1048576.0

typedef struct sl_polygon {
    const double *points; /* x and y of each, in pixels; the last one is joined to the first */
    uint32_t count;
} sl_polygon;

/*
 * Draws the pixels that any of the polygons covers: an instance may have several parts, each of
 * which counts by itself. Errors: CORRUPT (a vertex that is not finite, or beyond the reach),
 * UNSUPPORTED (the time above), those of the mask's work, NOMEM (scratch); part of the polygons may
 * be drawn then.
 */
sluice_status sl_polygons_fill(const sl_polygon *parts, uint32_t count, const sl_mask *mask,
                               sl_scratch *scratch, sluice_error *error);

#endif
