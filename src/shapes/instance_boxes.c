/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boxes of the visible part of instances: edges are clipped to the convex part of the output that
 * is visible, and that part's corners count if a polygon covers them. For run lengths, rectangles
 * take the place of polygons: a column of pixels, or many. Pure.
 */
#include "instances.h"
#include "moved_polygon.h"

#include <math.h>
#include <string.h>

#define STAGE "shapes"

/* The visible part, as lines, a x + b y + c >= 0 inside, between its corners. */
typedef struct seen_part {
    uint32_t corners;
    double (*corner)[2];
    double (*line)[3];
    double bounds[4];
} seen_part;

static const double nothing[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};

static void widen_box(double box[4], double x, double y)
{
    box[0] = fmin(box[0], x);
    box[1] = fmin(box[1], y);
    box[2] = fmax(box[2], x);
    box[3] = fmax(box[3], y);
}

static void widen_to_polygon(double box[4], const sl_polygon *polygon)
{
    for (uint32_t i = 0; i < polygon->count; i++) {
        widen_box(box, polygon->points[2 * (size_t)i], polygon->points[2 * (size_t)i + 1]);
    }
}

/* ---- the visible part ---- */

static double twice_area(const seen_part *seen)
{
    double twice = 0;
    for (uint32_t i = 0; i < seen->corners; i++) {
        const double *a = seen->corner[i];
        const double *b = seen->corner[(i + 1) % seen->corners];
        twice += a[0] * b[1] - a[1] * b[0];
    }
    return twice;
}

static void find_lines(seen_part *seen)
{
    const double sign = twice_area(seen) < 0 ? -1 : 1;
    memcpy(seen->bounds, nothing, sizeof(nothing));
    for (uint32_t i = 0; i < seen->corners; i++) {
        const double *a = seen->corner[i];
        const double *b = seen->corner[(i + 1) % seen->corners];
        double *line = seen->line[i];
        line[0] = sign * (a[1] - b[1]);
        line[1] = sign * (b[0] - a[0]);
        line[2] = -(line[0] * a[0] + line[1] * a[1]);
        widen_box(seen->bounds, a[0], a[1]);
    }
}

/* Returns false when there is no space. */
static bool find_seen(const sl_shape_view *view, sl_scratch *scratch, seen_part *seen)
{
    const double all[4][2] = {
        {0, 0}, {view->width, 0}, {view->width, view->height}, {0, view->height}};
    const bool part = view->seen != NULL;
    seen->corners = part ? view->seen_corners : 4;
    seen->corner = sl_scratch_take(scratch, (seen->corners + (size_t)1) * sizeof(*seen->corner));
    seen->line = sl_scratch_take(scratch, (seen->corners + (size_t)1) * sizeof(*seen->line));
    if (seen->corner == NULL || seen->line == NULL) {
        return false;
    }
    memcpy(seen->corner, part ? view->seen : all, seen->corners * sizeof(*seen->corner));
    find_lines(seen);
    return true;
}

/* ---- clipping a polygon to it ---- */

/* Clips the part [*from, *to] of a line at one border; the line's distance from it is `away` at its
 * beginning and greater by `change` at its end, and not negative inside. Returns false when nothing
 * is left. */
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

/* Adds the part of an edge that is inside. */
static void add_edge_inside(const double a[2], const double b[2], const seen_part *seen,
                            double box[4])
{
    const double *bounds = seen->bounds;
    double from = 0;
    double to = 1;
    for (uint32_t i = 0; i < seen->corners; i++) {
        const double *line = seen->line[i];
        const double away = line[0] * a[0] + line[1] * a[1] + line[2];
        if (!cut_part(away, line[0] * (b[0] - a[0]) + line[1] * (b[1] - a[1]), &from, &to)) {
            return;
        }
    }
    for (int i = 0; i < 2; i++) {
        const double part = i == 0 ? from : to;
        const double x = a[0] + part * (b[0] - a[0]);
        const double y = a[1] + part * (b[1] - a[1]);
        widen_box(box, fmin(fmax(x, bounds[0]), bounds[2]), fmin(fmax(y, bounds[1]), bounds[3]));
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

/* Adds the ends of a polygon's edges inside, and the corners of the visible part that it covers. */
static void add_inside(const sl_polygon *polygon, const seen_part *seen, sl_shape_box *box)
{
    if (polygon->count < 3) {
        return;
    }
    widen_to_polygon(box->whole, polygon);
    const double *last = polygon->points + 2 * ((size_t)polygon->count - 1);
    for (uint32_t i = 0; i < polygon->count; i++) {
        const double *point = polygon->points + 2 * (size_t)i;
        add_edge_inside(last, point, seen, box->seen);
        last = point;
    }
    for (uint32_t i = 0; i < seen->corners; i++) {
        const double *corner = seen->corner[i];
        if (covers_point(polygon, corner[0], corner[1])) {
            widen_box(box->seen, corner[0], corner[1]);
        }
    }
}

/* ---- instances ---- */

static bool add_polygons(const sl_instances *instances, const sl_instance *instance,
                         const double matrix[9], const seen_part *seen, sl_scratch *scratch,
                         sl_shape_box *box)
{
    const sl_polygon *moved = sl_polygons_move(instances->polygons + instance->first,
                                               instance->polygons, matrix, scratch);
    for (uint32_t i = 0; moved != NULL && i < instance->polygons; i++) {
        add_inside(&moved[i], seen, box);
    }
    return moved != NULL;
}

static sl_polygon polygon_of_rect(const sl_rect *rect, double corners[8])
{
    const double right = (double)rect->x + rect->width;
    const double bottom = (double)rect->y + rect->height;
    const double at[8] = {rect->x, rect->y, right, rect->y, right, bottom, rect->x, bottom};
    memcpy(corners, at, sizeof(at));
    return (sl_polygon){corners, 4};
}

static bool box_has(const double box[4], const double other[4])
{
    return other[0] >= box[0] && other[1] >= box[1] && other[2] <= box[2] && other[3] <= box[3];
}

static void add_rect(const sl_rect *rect, const sl_mover *mover, const seen_part *seen,
                     sl_shape_box *box)
{
    double corners[8];
    double to[16];
    double bounds[4];
    const sl_polygon polygon = polygon_of_rect(rect, corners);
    const sl_polygon moved = sl_polygon_move(&polygon, mover, to);
    memcpy(bounds, nothing, sizeof(bounds));
    widen_to_polygon(bounds, &moved);
    if (rect->width > 0 && rect->height > 0 && !box_has(box->seen, bounds)) {
        add_inside(&moved, seen, box);
    }
}

/* A run is the end of a column, whole columns, and the beginning of a column. */
static void add_run_inside(const sl_run_lengths *runs, uint32_t run, const sl_mover *mover,
                           const seen_part *seen, sl_shape_box *box)
{
    const uint32_t height = runs->height;
    const uint32_t from = runs->ends[run - 1];
    const uint32_t to = runs->ends[run];
    const uint32_t x = from / height;
    const uint32_t last = to / height;
    if (x == last) {
        add_rect(&(sl_rect){x, from % height, 1, to - from}, mover, seen, box);
        return;
    }
    const uint32_t first = x + (from % height != 0);
    add_rect(&(sl_rect){x, from % height, first - x, height - from % height}, mover, seen, box);
    add_rect(&(sl_rect){first, 0, last - first, height}, mover, seen, box);
    add_rect(&(sl_rect){last, 0, 1, to % height}, mover, seen, box);
}

static void add_runs(const sl_run_lengths *runs, const sl_shape_view *view, const seen_part *seen,
                     sl_shape_box *box)
{
    double corners[8];
    const sl_rect rect = sl_run_lengths_box(runs);
    const sl_polygon hull = polygon_of_rect(&rect, corners);
    const sl_mover mover = sl_mover_of(&hull, 1, view->matrix);
    for (uint32_t i = 1; i < runs->count; i += 2) {
        if (i % SL_WORK_TURNS == 1 && sl_work_is_stopped(view->work)) {
            return; /* the caller reports it */
        }
        add_run_inside(runs, i, &mover, seen, box);
    }
}

static void take_box(const double found[4], double box[4])
{
    const bool some = found[2] > found[0] && found[3] > found[1];
    for (int i = 0; i < 4; i++) {
        box[i] = some ? found[i] : 0;
    }
}

sluice_status sl_instances_box(const sl_instances *instances, uint32_t number,
                               const sl_shape_view *view, sl_scratch *scratch, sl_shape_box *box,
                               sluice_error *error)
{
    const sl_instance *instance = &instances->of[number];
    const size_t mark = sl_scratch_mark(scratch);
    const uint64_t points = sl_instance_points(instances, number);
    seen_part seen;
    sl_shape_box found;
    sluice_status status = sl_work_take(view->work, SL_WORK_POINT * (1 + points), error);
    if (status != SLUICE_OK) {
        return status;
    }
    memcpy(found.seen, nothing, sizeof(nothing));
    memcpy(found.whole, nothing, sizeof(nothing));
    bool fine = find_seen(view, scratch, &seen);
    sl_shape_view own = *view;
    if (!sl_turn_is_none(&instance->turn)) {
        sl_turn_before(&instance->turn, view->matrix, own.matrix);
    }
    if (fine && instance->runs.width > 0) {
        add_runs(&instance->runs, &own, &seen, &found);
    } else if (fine) {
        fine = add_polygons(instances, instance, own.matrix, &seen, scratch, &found);
    }
    sl_scratch_release(scratch, mark);
    status = sl_work_take(view->work, 0, error);
    take_box(found.seen, box->seen);
    take_box(found.whole, box->whole);
    return fine ? status : sl_no_memory(error, STAGE, "for the shapes of an image");
}
