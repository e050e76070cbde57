/* SPDX-License-Identifier: Apache-2.0 */
/* Moves polygons, and cuts off the parts behind the camera. Pure. */
#include "moved_polygon.h"

#include <float.h>
#include <math.h>

/* How far a perspective moves the point nearest to the camera: half the reach. */
#define PERSPECTIVE_REACH (SL_POLYGON_REACH / 2)

static double depth_of(const double m[9], const double point[2])
{
    return m[6] * point[0] + m[7] * point[1] + m[8];
}

static double within_reach(double coordinate)
{
    return fmin(fmax(coordinate, -SL_POLYGON_REACH), SL_POLYGON_REACH);
}

static void move_point(const double m[9], const double from[2], double depth, double to[2])
{
    to[0] = within_reach((m[0] * from[0] + m[1] * from[1] + m[2]) / depth);
    to[1] = within_reach((m[3] * from[0] + m[4] * from[1] + m[5]) / depth);
}

/* Returns how near to the camera a point may be, so that no point within reach is moved out of it.
 * With an affine matrix all points have the same depth. */
static double least_depth(const sl_polygon *polygons, uint32_t count, const double m[9])
{
    double most = 0;
    for (uint32_t i = 0; i < count && (m[6] != 0 || m[7] != 0); i++) {
        for (uint32_t k = 0; k < polygons[i].count; k++) {
            const double *p = polygons[i].points + 2 * (size_t)k;
            most = fmax(most, fabs(m[0] * p[0] + m[1] * p[1] + m[2]));
            most = fmax(most, fabs(m[3] * p[0] + m[4] * p[1] + m[5]));
        }
    }
    return fmax(most / PERSPECTIVE_REACH, DBL_MIN);
}

/* Finds where an edge has that depth. */
static void move_crossing(const sl_mover *mover, const double a[2], const double b[2], double to[2])
{
    const double *m = mover->matrix;
    const double part = (mover->least - depth_of(m, a)) / (depth_of(m, b) - depth_of(m, a));
    const double point[2] = {a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])};
    move_point(m, point, mover->least, to);
}

sl_mover sl_mover_of(const sl_polygon *polygons, uint32_t count, const double matrix[9])
{
    return (sl_mover){matrix, least_depth(polygons, count, matrix)};
}

sl_polygon sl_polygon_move(const sl_polygon *polygon, const sl_mover *mover, double *to)
{
    uint32_t count = 0;
    const double *m = mover->matrix;
    if (polygon->count == 0) {
        return *polygon;
    }
    const double *last = polygon->points + 2 * ((size_t)polygon->count - 1);
    for (uint32_t i = 0; i < polygon->count; i++) {
        const double *point = polygon->points + 2 * (size_t)i;
        const bool seen = depth_of(m, point) >= mover->least;
        if (seen != (depth_of(m, last) >= mover->least)) {
            move_crossing(mover, last, point, to + 2 * (size_t)count++);
        }
        if (seen) {
            move_point(m, point, depth_of(m, point), to + 2 * (size_t)count++);
        }
        last = point;
    }
    return (sl_polygon){to, count};
}

sl_polygon *sl_polygons_move(const sl_polygon *polygons, uint32_t count, const double matrix[9],
                             sl_scratch *scratch)
{
    uint64_t points = 0;
    for (uint32_t i = 0; i < count; i++) {
        points += polygons[i].count;
    }
    sl_polygon *moved = sl_scratch_take(scratch, (count + (size_t)1) * sizeof(*moved));
    double *to = sl_scratch_take(scratch, (points + 1) * 4 * sizeof(*to));
    if (moved == NULL || to == NULL) {
        return NULL;
    }
    const sl_mover mover = sl_mover_of(polygons, count, matrix);
    for (uint32_t i = 0; i < count; i++) {
        moved[i] = sl_polygon_move(&polygons[i], &mover, to);
        to += 2 * (size_t)moved[i].count;
    }
    return moved;
}
