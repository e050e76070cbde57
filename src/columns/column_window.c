/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: a range of a long tensor. The row's sample is a window, and its bytes are read as far
 * as the columns of the set need them (sl_windows), and no more.
 */
#include "elements.h"
#include "error.h"
#include "kinds.h"

/* Makes space for the column in the set's windows, which all have one field and one stride. */
static sluice_status column_window_join(sl_column *column, sl_column_set *set, sluice_error *error)
{
    const sl_column_request *request = &column->request;
    sl_windows *windows = &set->windows;
    const uint64_t stride = request->stride != 0 ? request->stride : request->length;
    uint64_t end = 0;
    if (request->length == 0 || request->length > SL_ROW_ELEMENTS_MAX ||
        __builtin_add_overflow(request->offset, request->length, &end) ||
        end > SL_ROW_ELEMENTS_MAX || stride > SL_ROW_ELEMENTS_MAX) {
        return sl_column_refuse(
            column, error,
            "length, offset and stride of a window must be 1 to 2^40 elements (offset may be 0)");
    }
    if (windows->field == SL_FIELD_NONE) {
        *windows = (sl_windows){
            .field = column->field_number, .stride = stride, .element_bytes = column->stored_bytes};
    }
    if (windows->field != column->field_number || windows->stride != stride) {
        return sl_column_refuse(column, error,
                                "all windows of a loader must have the same field and stride");
    }
    windows->span = end > windows->span ? end : windows->span;
    return SLUICE_OK;
}

static sluice_status column_window_bind(sl_column *column, sl_column_set *set, sluice_error *error)
{
    if (column->field.dims != 1) {
        return sl_column_refuse(column, error, "windows need a one-dimensional tensor");
    }
    sluice_status status = sl_column_elements(column, error);
    if (status == SLUICE_OK) {
        status = column_window_join(column, set, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    column->elements = column->request.length;
    column->request.dims = 1;
    column->request.shape[0] = (int64_t)column->elements;
    return sl_column_add_asked(set, column, error);
}

static sluice_status column_window_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                        sluice_error *error)
{
    const sl_bytes bytes = row->values.of[column->field_number].bytes;
    const uint64_t end = (column->request.offset + column->elements) * column->stored_bytes;
    if (end > bytes.size) {
        return sl_error_set(error, SLUICE_CORRUPT, "columns", "\"%s\" ends before the window does",
                            column->field.name);
    }
    return sl_column_cast(column, sl_column_row(column, parts, 0, row->at.number),
                          bytes.data + column->request.offset * column->stored_bytes,
                          column->elements, error);
}

const sl_column_kind sl_column_window = {.name = "window",
                                         .takes = SL_TAKES(TENSOR),
                                         .windows = true,
                                         .bind = column_window_bind,
                                         .make = column_window_make};
