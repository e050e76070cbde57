/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moved_polygon: polygons of a picture where a view's matrix takes them (instances.h says how).
 *
 * What a perspective has behind the camera is cut off, so that a moved polygon has up to twice as
 * many points. Memory: the caller's, or of scratch. Threads: pure.
 */
#ifndef SL_MOVED_POLYGON_H
#define SL_MOVED_POLYGON_H

#include "polygon.h"

typedef struct sl_mover {
    const double *matrix;
    double least; /* depth of what is not cut off */
} sl_mover;

/* For polygons that are all of them in the hull of these. */
sl_mover sl_mover_of(const sl_polygon *polygons, uint32_t count, const double matrix[9]);
/* `to`: space for two points for each that there is. */
sl_polygon sl_polygon_move(const sl_polygon *polygon, const sl_mover *mover, double *to);
/* All parts of an instance, in scratch; NULL: there is no space. */
sl_polygon *sl_polygons_move(const sl_polygon *polygons, uint32_t count, const double matrix[9],
                             sl_scratch *scratch);

#endif
