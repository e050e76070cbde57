/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures: opened and drawn (columns.c), then just the rectangle that is needed is decoded, and
 * goes straight into the row.
 */
#include "clock.h"
#include "columns.h"
#include "conversion.h"
#include "error.h"

#include <string.h>

static sluice_status column_image_bind(sl_column *column, sl_column_set *set, sluice_error *error)
{
    const sl_column_request *request = &column->request;
    if (request->recipe.error.status != SLUICE_OK) {
        if (error != NULL) {
            *error = request->recipe.error;
        }
        return (sluice_status)request->recipe.error.status;
    }
    if (request->recipe.width == 0) {
        return sl_column_refuse(column, error,
                                "the recipe has no geometry step: add random_resized_crop, "
                                "resize_center_crop or random_crop");
    }
    const sluice_status status = sl_converter_make(
        &column->converter, &request->recipe, (sluice_dtype)request->dtype, request->layout, error);
    if (status != SLUICE_OK) {
        return status;
    }
    sl_part *part = sl_column_add_part(set, column, "", error);
    if (part == NULL) {
        return SLUICE_INVALID;
    }
    const int64_t width = request->recipe.width;
    const int64_t height = request->recipe.height;
    const bool planes = request->layout == SLUICE_NCHW;
    part->dtype = (sluice_dtype)request->dtype;
    part->dims = 3;
    part->shape[0] = planes ? 3 : height;
    part->shape[1] = planes ? height : width;
    part->shape[2] = planes ? width : 3;
    part->row_bytes = sl_converter_row_bytes(&column->converter);
    sl_part *flags = sl_column_add_part(set, column, ".flags", error);
    if (flags == NULL) {
        return SLUICE_INVALID;
    }
    flags->role = SL_PART_HIDDEN;
    column->picture = set->pictures++;
    sl_column_lead(set, column);
    return SLUICE_OK;
}

void sl_columns_leave_bytes(sl_column_set *set, sl_column *picture)
{
    sl_converter_leave_bytes(&picture->converter);
    picture->mirrors_later = true;
    set->parts[picture->first_part].row_bytes = sl_converter_row_bytes(&picture->converter);
    set->parts[picture->first_part].converted = true;
    set->parts[picture->first_part + 1].row_bytes = 1;
}

static sluice_status open_picture(const sl_column *column, sl_row *row, sl_picture *picture,
                                  sluice_error *error)
{
    return sl_decoder_open_picture(row->decoder, &row->values.of[column->field_number], picture,
                                   error);
}

static sluice_status column_image_decode(const sl_row *row, const sl_params *params, sl_image *view,
                                         sluice_error *error)
{
    uint32_t width = 0;
    uint32_t height = 0;
    if (!row->exact) {
        sl_mapping_least(&params->mapping, &params->need, &width, &height);
    }
    return sl_decoder_decode(row->decoder, params->need, width, height, view, error);
}

static sluice_status column_image_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                       sluice_error *error)
{
    const sl_params *params = &row->draws[column->group];
    sl_params left;
    sl_image view;
    const sluice_status status = column_image_decode(row, params, &view, error);
    row->decode_ns += row->timed ? sl_now_ns() - row->opened_ns : 0;
    if (status != SLUICE_OK) {
        return status;
    }
    if (column->mirrors_later) {
        *(uint8_t *)sl_column_row(column, parts, 1, row->at.number) =
            params->mapping.flip_x ? SL_ROW_MIRROR : 0;
        left = *params;
        left.mapping.flip_x = false;
        params = &left;
    }
    return sl_augment_apply(&column->converter, &view, params,
                            sl_column_row(column, parts, 0, row->at.number),
                            sl_decoder_scratch(row->decoder), error);
}

static void column_image_blank(const sl_column *column, uint32_t number, sl_part_view parts)
{
    memset(sl_column_row(column, parts, 0, number), 0,
           column->set->parts[column->first_part].row_bytes);
    if (column->mirrors_later) {
        *(uint8_t *)sl_column_row(column, parts, 1, number) = SL_ROW_ZERO;
    }
}

const sl_column_kind sl_column_image = {.name = "image",
                                        .takes = SL_TAKES(IMAGE),
                                        .bind = column_image_bind,
                                        .open = open_picture,
                                        .make = column_image_make,
                                        .blank = column_image_blank};
