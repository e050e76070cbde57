/* SPDX-License-Identifier: Apache-2.0 */
/* Moves shapes, then draws them, or finds what of them is inside. Pure. */
#include "instances.h"

#include "matrix.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define STAGE "shapes"

/* How far a perspective moves what it has nearest to the camera: half the reach. */
#define PERSPECTIVE_REACH (SL_POLYGON_REACH / 2)

/* ---- moving ---- */

typedef struct moving {
    const double *matrix;
    double least; /* depth of what is not cut off */
} moving;

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

/* How near to the camera a point may be: so that no point in reach is moved out of it. An affine
 * matrix has them all at one depth. */
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

/* Where an edge is that near. */
static void move_crossing(const moving *view, const double a[2], const double b[2], double to[2])
{
    const double *m = view->matrix;
    const double part = (view->least - depth_of(m, a)) / (depth_of(m, b) - depth_of(m, a));
    const double point[2] = {a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])};
    move_point(m, point, view->least, to);
}

/* At most two points for each that there is. */
static sl_polygon move_polygon(const sl_polygon *polygon, const moving *view, double *to)
{
    uint32_t count = 0;
    const double *m = view->matrix;
    const double *last = polygon->points + 2 * ((size_t)polygon->count - 1);
    for (uint32_t i = 0; i < polygon->count; i++) {
        const double *point = polygon->points + 2 * (size_t)i;
        const bool seen = depth_of(m, point) >= view->least;
        if (seen != (depth_of(m, last) >= view->least)) {
            move_crossing(view, last, point, to + 2 * (size_t)count++);
        }
        if (seen) {
            move_point(m, point, depth_of(m, point), to + 2 * (size_t)count++);
        }
        last = point;
    }
    return (sl_polygon){to, count};
}

/* All parts of an instance, moved, in scratch; NULL: there is no space. */
static sl_polygon *move_all(const sl_polygon *polygons, uint32_t count, const double m[9],
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
    const moving view = {m, least_depth(polygons, count, m)};
    for (uint32_t i = 0; i < count; i++) {
        moved[i] = polygons[i].count > 0 ? move_polygon(&polygons[i], &view, to) : polygons[i];
        to += 2 * (size_t)moved[i].count;
    }
    return moved;
}

static sluice_status shapes_no_memory(sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for the shapes of a picture");
}

/* ---- drawing ---- */

static sluice_status draw_runs(const sl_run_lengths *runs, const double matrix[9],
                               const sl_mask *mask, sluice_error *error)
{
    double inverse[9];
    if (!sl_matrix_invert(matrix, inverse)) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "a mask cannot follow a transform that flattens the picture");
    }
    sl_run_lengths_sample(runs, inverse, mask);
    return SLUICE_OK;
}

sluice_status sl_instances_rasterise(const sl_instances *instances, uint32_t number,
                                     const double matrix[9], const sl_mask *mask,
                                     sl_scratch *scratch, sluice_error *error)
{
    const sl_instance *instance = &instances->of[number];
    if (instance->runs.width > 0) {
        return draw_runs(&instance->runs, matrix, mask, error);
    }
    const size_t mark = sl_scratch_mark(scratch);
    const sl_polygon *moved =
        move_all(instances->polygons + instance->first, instance->polygons, matrix, scratch);
    const sluice_status status =
        moved != NULL ? sl_polygons_fill(moved, instance->polygons, mask, scratch, error)
                      : shapes_no_memory(error);
    sl_scratch_release(scratch, mark);
    return status;
}

/* ---- boxes ---- */

static void widen_box(double box[4], double x, double y)
{
    box[0] = fmin(box[0], x);
    box[1] = fmin(box[1], y);
    box[2] = fmax(box[2], x);
    box[3] = fmax(box[3], y);
}

/* Cuts the part [*from, *to] of a line at one border, from which it is `away` at its beginning and
 * `change` more at its end; what is inside has 0 or more. False: nothing is left. */
static bool cut_part(double away, double change, double *from, double *to)
{
    if (change == 0) {
        return away >= 0;
    }
    const double at = -away / change;
    if (change > 0) {
        *from = fmax(*from, at);
    } else {
        *to = fmin(*to, at);
    }
    return *from <= *to;
}

/* What of an edge is inside. */
static void add_edge_inside(const double a[2], const double b[2], const double size[2],
                            double box[4])
{
    double from = 0;
    double to = 1;
    for (int i = 0; i < 2; i++) {
        if (!cut_part(a[i], b[i] - a[i], &from, &to) ||
            !cut_part(size[i] - a[i], a[i] - b[i], &from, &to)) {
            return;
        }
    }
    for (int i = 0; i < 2; i++) {
        const double part = i == 0 ? from : to;
        const double x = a[0] + part * (b[0] - a[0]);
        const double y = a[1] + part * (b[1] - a[1]);
        widen_box(box, fmin(fmax(x, 0), size[0]), fmin(fmax(y, 0), size[1]));
    }
}

static bool covers_point(const sl_polygon *polygon, double x, double y)
{
    bool inside = false;
    const double *last = polygon->points + 2 * ((size_t)polygon->count - 1);
    for (uint32_t i = 0; i < polygon->count; i++) {
        const double *point = polygon->points + 2 * (size_t)i;
        const double part = (y - last[1]) / (point[1] - last[1]);
        inside ^= (point[1] > y) != (last[1] > y) && x < last[0] + part * (point[0] - last[0]);
        last = point;
    }
    return inside;
}

/* Where a polygon ends inside, and corners of the output that it has. */
static void add_inside(const sl_polygon *polygon, const double size[2], double box[4])
{
    if (polygon->count < 3) {
        return;
    }
    const double *last = polygon->points + 2 * ((size_t)polygon->count - 1);
    for (uint32_t i = 0; i < polygon->count; i++) {
        const double *point = polygon->points + 2 * (size_t)i;
        add_edge_inside(last, point, size, box);
        last = point;
    }
    for (int i = 0; i < 4; i++) {
        const double x = i % 2 == 0 ? 0 : size[0];
        const double y = i / 2 == 0 ? 0 : size[1];
        if (covers_point(polygon, x, y)) {
            widen_box(box, x, y);
        }
    }
}

sluice_status sl_instances_box(const sl_instances *instances, uint32_t number,
                               const sl_shape_view *view, sl_scratch *scratch, double box[4],
                               sluice_error *error)
{
    const sl_instance *instance = &instances->of[number];
    const double size[2] = {view->width, view->height};
    const sl_rect r = sl_run_lengths_box(&instance->runs);
    const double x[2] = {r.x, (double)r.x + r.width};
    const double y[2] = {r.y, (double)r.y + r.height};
    const double corners[8] = {x[0], y[0], x[1], y[0], x[1], y[1], x[0], y[1]};
    const sl_polygon hull = {corners, r.width > 0 ? 4 : 0};
    const bool runs = instance->runs.width > 0;
    const uint32_t count = runs ? 1 : instance->polygons;
    const size_t mark = sl_scratch_mark(scratch);
    const sl_polygon *moved = move_all(runs ? &hull : instances->polygons + instance->first, count,
                                       view->matrix, scratch);
    double found[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (uint32_t i = 0; moved != NULL && i < count; i++) {
        add_inside(&moved[i], size, found);
    }
    sl_scratch_release(scratch, mark);
    const bool some = found[2] > found[0] && found[3] > found[1];
    for (int i = 0; i < 4; i++) {
        box[i] = some ? found[i] : 0;
    }
    return moved != NULL ? SLUICE_OK : shapes_no_memory(error);
}
