/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in an image, with COCO's visibility or without: rows of them, which may belong to boxes.
 * On the worker that makes the row, by the group's draw.
 */
#include "elements.h"
#include "error.h"
#include "kinds.h"
#include "lengths.h"
#include "orientation.h"
#include "paste.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { X, Y, VISIBILITY };

#define MIDDLE 0.5 /* of a pixel */

/* ---- once ---- */

static sluice_status check_points(sl_column *column, sluice_error *error)
{
    sl_column_request *request = &column->request;
    if (request->point_values == 0) {
        request->point_values = column->elements % 3 == 0 ? 3 : 2;
    }
    if (column->elements % request->point_values != 0) {
        return sl_error_set(
            error, SLUICE_INVALID, "columns",
            "column \"%s\": a row of \"%s\" has %llu numbers, not a multiple of the %u of a point",
            request->name, column->field.name, (unsigned long long)column->elements,
            request->point_values);
    }
    if (request->mirror_count > 0 &&
        request->mirror_count != column->elements / request->point_values) {
        return sl_error_set(
            error, SLUICE_INVALID, "columns",
            "column \"%s\": mirror has %u numbers, but a row of \"%s\" has %llu points",
            request->name, request->mirror_count, column->field.name,
            (unsigned long long)(column->elements / request->point_values));
    }
    return SLUICE_OK;
}

static sluice_status column_points_bind(sl_column *column, sl_column_set *set, sluice_error *error)
{
    if (column->request.dtype != 0 && column->request.dtype != SLUICE_F32) {
        return sl_column_refuse(column, error, "the dtype of points must be f32");
    }
    column->request.dtype = SLUICE_F32;
    sluice_status status = sl_column_follow(set, column, true, error);
    if (status == SLUICE_OK) {
        status = sl_column_bind_lengths(column, set, column->request.padded, error);
    }
    return status == SLUICE_OK ? check_points(column, error) : status;
}

/* ---- each row ---- */

/* Units of the numbers before and after the move: `in` times a number, plus `middle`, is its
 * position in the image as annotated. */
typedef struct point_sides {
    double in[2], out[2];
    double middle, out_middle; /* middle of a pixel, if numbers are pixel indices */
    sl_turn turn;
} point_sides;

static point_sides sides_of(const sl_column *column, const sl_row *row)
{
    const sl_params *params = &row->draws[column->group].params;
    const sl_box_rule *rule = &column->request.boxes;
    const bool indices = column->request.coordinates == SLUICE_COORDINATES_INDICES;
    point_sides sides = {.in = {1, 1}, .out = {1, 1}, .turn = sl_column_turn(column, row)};
    if (rule->relative) {
        sides.in[0] = sides.turn.width;
        sides.in[1] = sides.turn.height;
    }
    if (rule->out_relative) {
        sides.out[0] = params->width;
        sides.out[1] = params->height;
    }
    sides.middle = indices ? MIDDLE : 0;
    sides.out_middle = indices && !rule->out_relative ? MIDDLE : 0;
    return sides;
}

/* Moves a point in place. */
static void move_column_point(float *point, uint32_t values, const sl_trail *trail,
                              const point_sides *sides)
{
    const bool flagged = values > VISIBILITY;
    double to[2];
    if (flagged && point[VISIBILITY] == 0) {
        return;
    }
    double from[2] = {(double)point[X] * sides->in[X] + sides->middle,
                      (double)point[Y] * sides->in[Y] + sides->middle};
    if (!sl_turn_is_none(&sides->turn)) {
        sl_turn_point(&sides->turn, from);
    }
    const bool shown = sl_trail_move_point(trail, from, to);
    if (flagged && !shown) {
        memset(point, 0, values * sizeof(*point));
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        const double out = to[i] / sides->out[i] - sides->out_middle;
        point[i] = (float)fmax(-FLT_MAX, fmin(out, FLT_MAX));
    }
}

/* Exchanges left and right points, a row at a time. */
static void mirror_points(const sl_column *column, float *points)
{
    const uint32_t values = column->request.point_values;
    float from[SL_MIRROR_MAX * 3];
    memcpy(from, points, column->elements * sizeof(*points));
    for (uint32_t i = 0; i < column->request.mirror_count; i++) {
        memcpy(points + (size_t)i * values, from + (size_t)column->request.mirror[i] * values,
               values * sizeof(*points));
    }
}

static sluice_status check_finite(const sl_column *column, const float *points, uint64_t count,
                                  sluice_error *error)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!isfinite(points[i])) {
            return sl_error_set(error, SLUICE_CORRUPT, "columns",
                                "number %llu of \"%s\" is not finite", (unsigned long long)i,
                                column->field.name);
        }
    }
    return SLUICE_OK;
}

/* Returns whether left and right are exchanged, as seen in the annotated image. */
static bool are_mirrored(const sl_trail *trail, const sl_turn *turn)
{
    const uint32_t o = turn->orientation;
    return sl_trail_is_mirrored(trail) != (o == 2 || o == 4 || o == 5 || o == 7);
}

static void move_points(const sl_column *column, const sl_row *row_of, float *points, uint64_t rows)
{
    const sl_params *params = &row_of->draws[column->group].params;
    const uint32_t values = column->request.point_values;
    const point_sides sides = sides_of(column, row_of);
    const bool mirrored =
        column->request.mirror_count > 0 && are_mirrored(&params->trail, &sides.turn);
    for (uint64_t row = 0; row < rows; row++, points += column->elements) {
        for (uint64_t i = 0; i < column->elements; i += values) {
            move_column_point(points + i, values, &params->trail, &sides);
        }
        if (mirrored) {
            mirror_points(column, points);
        }
    }
}

static sluice_status column_points_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                        sluice_error *error)
{
    sl_bytes bytes;
    uint64_t elements = 0;
    float *points = sl_column_row(column, parts, 0, row->at.number);
    sluice_status status = sl_column_tensor_bytes(column, row, &elements, &bytes, error);
    if (status != SLUICE_OK) {
        return status;
    }
    uint64_t length = elements / column->elements;
    const uint64_t given = sl_column_given(column, row, parts);
    status = sl_column_take_values(column, row, parts, bytes.data, &length, error);
    points += given * column->elements;
    if (status == SLUICE_OK) {
        status = check_finite(column, points, (length - given) * column->elements, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    move_points(column, row, points, length - given);
    sl_column_set_length(column, parts, row->at.number, column->request.padded, length);
    return SLUICE_OK;
}

/* Marks covered points of the row's own objects as labelled but not visible: COCO's 1. */
static void column_points_cover(const sl_column *column, const sl_row *row, sl_part_view parts,
                                const sl_paste *paste)
{
    const sl_params *params = &row->draws[column->group].params;
    const point_sides sides = sides_of(column, row);
    const uint32_t values = column->request.point_values;
    const uint64_t length = sl_column_length(column, parts, row->at.number);
    const uint64_t own = length < paste->shapes.shape_count ? length : paste->shapes.shape_count;
    float *point = sl_column_row(column, parts, 0, row->at.number);
    for (uint64_t i = 0; values > VISIBILITY && i < own * column->elements; i += values) {
        float *at = point + i;
        const double x = ((double)at[X] + sides.out_middle) * sides.out[X];
        const double y = ((double)at[Y] + sides.out_middle) * sides.out[Y];
        if (at[VISIBILITY] > 1 && x >= 0 && y >= 0 && x < params->width && y < params->height &&
            paste->over[(size_t)y * params->width + (size_t)x] != 0) {
            at[VISIBILITY] = 1;
        }
    }
}

const sl_column_kind sl_column_points = {.name = "points",
                                         .takes = SL_TAKES(TENSOR),
                                         .per_box = true,
                                         .places = true,
                                         .by_matrix = true,
                                         .annotated = true,
                                         .bind = column_points_bind,
                                         .make = column_points_make,
                                         .cover = column_points_cover,
                                         .blank = sl_column_blank_lengths,
                                         .finish = sl_column_finish_lengths};
