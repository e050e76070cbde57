/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moved_polygon: polygons of an image, moved by a view's matrix (see instances.h).
 *
 * What a perspective has behind the camera is cut off, so a moved polygon has up to twice as many
 * points.
 *
 * Memory: the caller's, or from scratch.
 *
 * Threads: pure.
 */
#ifndef SL_MOVED_POLYGON_H
#define SL_MOVED_POLYGON_H

#include "polygon.h"

typedef struct sl_mover {
    const double *matrix;
    double least; /* points of a smaller depth are cut off */
} sl_mover;

/* Returns a mover for polygons that lie in the hull of these. */
sl_mover sl_mover_of(const sl_polygon *polygons, uint32_t count, const double matrix[9]);
/* `to` has space for two points per point of the polygon. */
sl_polygon sl_polygon_move(const sl_polygon *polygon, const sl_mover *mover, double *to);
/* Moves all parts of an instance, in scratch. Returns NULL when there is no space. */
sl_polygon *sl_polygons_move(const sl_polygon *polygons, uint32_t count, const double matrix[9],
                             sl_scratch *scratch);

#endif
