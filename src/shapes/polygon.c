/* SPDX-License-Identifier: Apache-2.0 */
/* Crossings are bits of a plane: each bit flips the pixels of its column from there down. Rows are
 * then summed from the top, 64 columns at a time. Pure. */
#include "polygon.h"

#include "minmax.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "shapes"

/* The boundary is walked in fifths of a pixel; the step between two of them counts. */
enum { FIFTHS = 5, STEP_FROM = 2, STEP_TO = 3, WORD_BITS = 64 };

#define WORK_TIMES UINT64_C(64)
#define WORK_LEAST (UINT64_C(1) << 20)

/* Pixels of a polygon's bounding box that are filled in the time of checking one. */
enum { PIXELS_A_UNIT = 8 };

/* A vertex, in fifths. */
typedef struct corner {
    int32_t u, v;
} corner;

/* From one vertex to another, directed so that its longer direction ascends. */
typedef struct edge {
    int32_t u, v;
    int32_t steps; /* in the longer direction */
    double slope;  /* of the shorter direction */
} edge;

/* The part of the mask that a polygon may change, and its crossings. */
typedef struct plane {
    int32_t left, right, top, bottom; /* in pixels; right and bottom are after the last one */
    uint32_t words;                   /* per row */
    uint64_t *bits;
    uint64_t work; /* that is left */
} plane;

static corner corner_of(const double point[2])
{
    return (corner){(int32_t)(FIFTHS * point[0] + .5), (int32_t)(FIFTHS * point[1] + .5)};
}

/* The first column whose step is not before `u`; the first one that is crossed at or below `v`. */
static int32_t column_from(int32_t u)
{
    return u <= STEP_FROM ? 0 : (u - STEP_FROM + FIFTHS - 1) / FIFTHS;
}

/* Returns the end (exclusive) of the columns whose step is not after `u`. */
static int32_t column_to(int32_t u)
{
    return u < STEP_TO ? 0 : (u - STEP_TO) / FIFTHS + 1;
}

/* Returns the first row that a crossing at `v` counts for. */
static int32_t row_from(int32_t v)
{
    return column_from(v);
}

static void cross(plane *p, int32_t column, int32_t v)
{
    const int32_t row = sl_max_i32(row_from(v), p->top);
    if (row < p->bottom) {
        const uint32_t x = (uint32_t)(column - p->left);
        p->bits[(size_t)(row - p->top) * p->words + x / WORD_BITS] ^= UINT64_C(1) << x % WORD_BITS;
    }
}

/* Returns the other coordinate at a step, beginning at `from`. */
static int32_t at_step(const edge *e, int32_t from, int32_t step)
{
    return (int32_t)(from + e->slope * step + .5);
}

/* Handles an edge whose longer direction is along rows: the column gives the step. */
static void cross_along(plane *p, const edge *e, int32_t first, int32_t last)
{
    for (int32_t column = first; column < last; column++) {
        const int32_t step = FIFTHS * column + STEP_FROM - e->u;
        cross(p, column, sl_min_i32(at_step(e, e->v, step), at_step(e, e->v, step + 1)));
    }
}

/* Returns whether a steep edge is past the column's step. */
static bool is_past(const edge *e, int32_t column, int32_t step)
{
    const int32_t u = at_step(e, e->u, step);
    return e->slope > 0 ? u >= FIFTHS * column + STEP_TO : u <= FIFTHS * column + STEP_FROM;
}

/* Handles an edge whose longer direction is along columns: the step is searched for. */
static void cross_steep(plane *p, const edge *e, int32_t first, int32_t last)
{
    for (int32_t column = first; column < last; column++) {
        const double guess = ceil((FIFTHS * column + STEP_FROM + .5 - e->u) / e->slope);
        int32_t step = (int32_t)fmin(fmax(guess, 1), e->steps);
        while (step > 1 && is_past(e, column, step - 1)) {
            step--;
        }
        while (step < e->steps && !is_past(e, column, step)) {
            step++;
        }
        cross(p, column, e->v + step - 1);
    }
}

static bool add_edge(plane *p, corner from, corner to)
{
    const int32_t du = abs(to.u - from.u);
    const int32_t dv = abs(to.v - from.v);
    const bool turned = du >= dv ? from.u > to.u : from.v > to.v;
    const corner a = turned ? to : from;
    const corner b = turned ? from : to;
    const int32_t first = sl_max_i32(column_from(sl_min_i32(a.u, b.u)), p->left);
    const int32_t last = sl_min_i32(column_to(sl_max_i32(a.u, b.u)), p->right);
    const uint64_t crossed = last > first ? (uint64_t)(last - first) : 0;
    if (crossed == 0 || crossed > p->work) {
        return crossed == 0;
    }
    p->work -= crossed;
    const edge e = {a.u, a.v, sl_max_i32(du, dv),
                    du >= dv ? (double)(b.v - a.v) / du : (double)(b.u - a.u) / dv};
    (du >= dv ? cross_along : cross_steep)(p, &e, first, last);
    return true;
}

/* Requires a vertex. Returns false when a vertex is not valid. */
static bool find_bounds(const sl_polygon *polygon, const sl_mask *mask, plane *p)
{
    corner least = {INT32_MAX, INT32_MAX};
    corner most = {INT32_MIN, INT32_MIN};
    for (uint32_t i = 0; i < polygon->count; i++) {
        const double *point = polygon->points + 2 * (size_t)i;
        if (!(fabs(point[0]) <= SL_POLYGON_REACH && fabs(point[1]) <= SL_POLYGON_REACH)) {
            return false;
        }
        const corner c = corner_of(point);
        least = (corner){sl_min_i32(least.u, c.u), sl_min_i32(least.v, c.v)};
        most = (corner){sl_max_i32(most.u, c.u), sl_max_i32(most.v, c.v)};
    }
    const int32_t width = (int32_t)sl_min_u32(mask->width, INT32_MAX);
    const int32_t height = (int32_t)sl_min_u32(mask->height, INT32_MAX);
    p->left = column_from(least.u);
    p->right = sl_min_i32(column_to(most.u), width);
    p->top = row_from(least.v);
    p->bottom = sl_min_i32(row_from(most.v), height);
    return true;
}

static void draw_run(const sl_mask *mask, uint8_t *row, uint64_t bits)
{
    while (bits != 0) {
        const int from = __builtin_ctzll(bits);
        const uint64_t rest = ~(bits >> from);
        const int run = rest != 0 ? __builtin_ctzll(rest) : WORD_BITS;
        memset(row + from, mask->value, (size_t)run);
        bits = from + run < WORD_BITS ? bits & UINT64_MAX << (from + run) : 0;
    }
}

static void draw_plane(const plane *p, const sl_mask *mask)
{
    for (int32_t y = p->top; y < p->bottom; y++) {
        uint64_t *bits = p->bits + (size_t)(y - p->top) * p->words;
        uint8_t *row = mask->pixels + (size_t)y * mask->stride_bytes + p->left;
        for (uint32_t i = 0; i < p->words; i++) {
            bits[i] ^= y > p->top ? *(bits + i - p->words) : 0;
            draw_run(mask, row + (size_t)i * WORD_BITS, bits[i]);
        }
    }
}

static sluice_status too_much(sluice_error *error)
{
    return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                        "its polygons cross or cover the mask too often");
}

static sluice_status cross_edges(plane *p, const sl_polygon *polygon, const sl_mask *mask,
                                 sluice_error *error)
{
    corner from = corner_of(polygon->points + 2 * ((size_t)polygon->count - 1));
    uint64_t charged = p->work;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < polygon->count && status == SLUICE_OK; i++) {
        const corner to = corner_of(polygon->points + 2 * (size_t)i);
        if (!add_edge(p, from, to)) {
            return too_much(error);
        }
        from = to;
        if (charged - p->work > SL_WORK_TURNS || i % SL_WORK_TURNS == 0) {
            status = sl_work_take(mask->work, charged - p->work, error);
            charged = p->work;
        }
    }
    return status == SLUICE_OK ? sl_work_take(mask->work, charged - p->work, error) : status;
}

static void note_plane(const plane *p, sl_rect *drawn)
{
    const uint32_t x = (uint32_t)p->left;
    const uint32_t y = (uint32_t)p->top;
    const uint32_t right = sl_max_u32((uint32_t)p->right, drawn->x + drawn->width);
    const uint32_t bottom = sl_max_u32((uint32_t)p->bottom, drawn->y + drawn->height);
    drawn->x = drawn->width == 0 ? x : sl_min_u32(drawn->x, x);
    drawn->y = drawn->height == 0 ? y : sl_min_u32(drawn->y, y);
    drawn->width = right - drawn->x;
    drawn->height = bottom - drawn->y;
}

static sluice_status fill_one(const sl_polygon *polygon, const sl_mask *mask, uint64_t *work,
                              sl_scratch *scratch, sluice_error *error)
{
    plane p = {.work = *work};
    if (polygon->count == 0) {
        return SLUICE_OK;
    }
    if (!find_bounds(polygon, mask, &p)) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                            "a vertex of a polygon is not a number, or more than 2^20 pixels away");
    }
    if (polygon->count < 3 || p.left >= p.right || p.top >= p.bottom) {
        return SLUICE_OK;
    }
    const size_t rows = (size_t)(p.bottom - p.top);
    p.words = (uint32_t)(p.right - p.left + WORD_BITS - 1) / WORD_BITS;
    const uint64_t area = (uint64_t)rows * (uint32_t)(p.right - p.left);
    if (area > p.work) {
        return too_much(error);
    }
    p.work -= area;
    sluice_status status = sl_work_take(mask->work, area / PIXELS_A_UNIT, error);
    if (status != SLUICE_OK) {
        return status;
    }
    p.bits = sl_scratch_take(scratch, rows * p.words * sizeof(*p.bits));
    if (p.bits == NULL) {
        return sl_no_memory(error, STAGE, "for the mask of a polygon");
    }
    memset(p.bits, 0, rows * p.words * sizeof(*p.bits));
    status = cross_edges(&p, polygon, mask, error);
    if (status != SLUICE_OK) {
        return status;
    }
    draw_plane(&p, mask);
    if (mask->drawn != NULL) {
        note_plane(&p, mask->drawn);
    }
    *work = p.work;
    return SLUICE_OK;
}

sluice_status sl_polygons_fill(const sl_polygon *parts, uint32_t count, const sl_mask *mask,
                               sl_scratch *scratch, sluice_error *error)
{
    uint64_t work = (uint64_t)mask->width * mask->height * WORK_TIMES + WORK_LEAST;
    const size_t mark = sl_scratch_mark(scratch);
    sluice_status status = SLUICE_OK;
    if (mask->drawn != NULL) {
        *mask->drawn = (sl_rect){0, 0, 0, 0};
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = fill_one(&parts[i], mask, &work, scratch, error);
        sl_scratch_release(scratch, mark);
    }
    return status;
}
