/* SPDX-License-Identifier: Apache-2.0 */
/* The drawn geometry of an image: a column without a field. On the worker that makes the row. */
#include "group.h"
#include "kinds.h"

#include <string.h>

enum { MATRIX, SIZE, BOX, SCALE, FLIP, PARTS };

static const struct {
    const char *suffix;
    sluice_dtype dtype;
    uint32_t dims;
    int64_t shape[2];
    uint64_t bytes;
} geometry_parts[PARTS] = {
    [MATRIX] = {"", SLUICE_F64, 2, {3, 3}, 9 * sizeof(double)},
    [SIZE] = {".size", SLUICE_I64, 1, {2}, 2 * sizeof(int64_t)},
    [BOX] = {".box", SLUICE_F32, 1, {4}, 4 * sizeof(float)},
    [SCALE] = {".scale", SLUICE_F32, 1, {2}, 2 * sizeof(float)},
    [FLIP] = {".flip", SLUICE_U8, 1, {2}, 2},
};

static sluice_status column_geometry_bind(sl_column *column, sl_column_set *set,
                                          sluice_error *error)
{
    const sluice_status status = sl_column_follow(set, column, false, error);
    if (status != SLUICE_OK) {
        return status;
    }
    column->field_number = set->columns[column->lead].field_number;
    for (uint32_t i = 0; i < PARTS; i++) {
        sl_part *part = sl_column_add_part(set, column, geometry_parts[i].suffix, error);
        if (part == NULL) {
            return SLUICE_INVALID;
        }
        part->dtype = geometry_parts[i].dtype;
        part->dims = geometry_parts[i].dims;
        memcpy(part->shape, geometry_parts[i].shape, sizeof(geometry_parts[i].shape));
        part->row_bytes = geometry_parts[i].bytes;
    }
    return SLUICE_OK;
}

/* Writes the scale in the middle of the visible part; in the middle of the image if none of it is
 * visible. */
static void put_scale(const sl_trail *trail, const double seen[4], float *to)
{
    const bool some = seen[0] < seen[2] && seen[1] < seen[3];
    const double size[2] = {trail->picture_width, trail->picture_height};
    double middle[2];
    double scale[2];
    for (size_t i = 0; i < 2; i++) {
        middle[i] = (some ? seen[i] + seen[i + 2] : size[i]) / 2;
    }
    sl_trail_scale(trail, middle, scale);
    to[0] = (float)scale[0];
    to[1] = (float)scale[1];
}

static sluice_status column_geometry_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                          sluice_error *error)
{
    const sl_params *params = &row->draws[column->group].params;
    const sl_trail *trail = &params->trail;
    const uint32_t number = row->at.number;
    double seen[4];
    (void)error;
    sl_trail_seen(trail, params->width, params->height, seen);
    memcpy(sl_column_row(column, parts, MATRIX, number), trail->matrix, sizeof(trail->matrix));
    int64_t *size = sl_column_row(column, parts, SIZE, number);
    size[0] = trail->picture_height;
    size[1] = trail->picture_width;
    float *box = sl_column_row(column, parts, BOX, number);
    for (size_t i = 0; i < 4; i++) {
        box[i] = (float)seen[i];
    }
    put_scale(trail, seen, sl_column_row(column, parts, SCALE, number));
    uint8_t *flip = sl_column_row(column, parts, FLIP, number);
    flip[0] = trail->flipped[0];
    flip[1] = trail->flipped[1];
    return SLUICE_OK;
}

const sl_column_kind sl_column_geometry = {.name = "geometry",
                                           .of_first = true,
                                           .by_matrix = true,
                                           .bind = column_geometry_bind,
                                           .make = column_geometry_make};
