/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: whole, or the same part of larger ones. */
#include "column_tensor.h"

#include "elements.h"
#include "error.h"
#include "kinds.h"

#include <string.h>

/* ---- once ---- */

/* Chooses the shape of a row: that of the request, or the field's. */
static sluice_status choose_shape(sl_column *column, sluice_error *error)
{
    sl_column_request *request = &column->request;
    const sl_field *field = &column->field;
    const bool whole = request->part == SLUICE_PART_WHOLE;
    if (request->dims == 0 && field->dims > 0) {
        request->dims = field->dims;
        for (uint32_t i = 0; i < field->dims; i++) {
            request->shape[i] = (int64_t)field->shape[i];
        }
    }
    if (request->dims != field->dims) {
        return sl_column_refuse(column, error,
                                "its shape and the tensor have different numbers of dimensions");
    }
    if (field->dims >= SLUICE_TENSOR_DIMS_MAX) {
        return sl_column_refuse(column, error,
                                "it would have more than 8 dimensions, including that of its rows");
    }
    for (uint32_t i = 0; i < field->dims; i++) {
        const uint64_t stored = field->shape[i];
        const uint64_t wanted = (uint64_t)request->shape[i];
        if (request->shape[i] <= 0) {
            return sl_column_refuse(column, error,
                                    "the tensor's shape varies between samples: choose the wanted "
                                    "shape, or a ragged column");
        }
        if (stored != 0 && (wanted > stored || (whole && wanted != stored))) {
            return sl_column_refuse(
                column, error,
                wanted > stored
                    ? "its shape is larger than the tensor's"
                    : "its shape must be the tensor's, since it takes the whole tensor");
        }
    }
    return SLUICE_OK;
}

static sluice_status column_tensor_bind(sl_column *column, sl_column_set *set, sluice_error *error)
{
    sl_column_request *request = &column->request;
    sluice_status status = choose_shape(column, error);
    if (status == SLUICE_OK) {
        status = sl_column_elements(column, error);
    }
    if (status == SLUICE_OK) {
        status =
            sl_column_capacity(column, request->shape, request->dims, &column->elements, error);
    }
    if (status == SLUICE_OK) {
        status = sl_column_add_asked(set, column, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    column->is_field = (sluice_dtype)request->dtype == column->field.dtype;
    for (uint32_t i = 0; i < request->dims; i++) {
        column->is_field =
            column->is_field && (uint64_t)request->shape[i] == column->field.shape[i];
    }
    return SLUICE_OK;
}

sl_subvolume sl_column_subvolume(const sl_column *column)
{
    const sl_column_request *request = &column->request;
    sl_subvolume taken = {.field = column->field_number,
                          .dims = request->dims,
                          .element_bytes = column->stored_bytes,
                          .part = request->part};
    for (uint32_t i = 0; i < request->dims; i++) {
        taken.shape[i] = (uint64_t)request->shape[i];
    }
    return taken;
}

/* ---- each row ---- */

/* Finds the beginning of the part in each dimension of the value's bytes. Dimensions that were read
 * partly contain only the part. */
static sluice_status place_part(const sl_column *column, const sl_row *row, const sl_value *value,
                                uint64_t begin[SLUICE_TENSOR_DIMS_MAX], sluice_error *error)
{
    const sl_column_request *request = &column->request;
    const uint64_t *whole = value->whole != NULL ? value->whole : value->shape;
    const sl_subvolume taken = sl_column_subvolume(column);
    for (uint32_t i = 0; i < request->dims; i++) {
        const uint64_t wanted = (uint64_t)request->shape[i];
        if (whole[i] < wanted || (whole[i] != wanted && request->part == SLUICE_PART_WHOLE)) {
            return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                                "dimension %u of \"%s\" is %llu, the column wants %llu", i,
                                column->field.name, (unsigned long long)whole[i],
                                (unsigned long long)wanted);
        }
    }
    sl_subvolume_begin(
        &taken, whole,
        &(sl_subvolume_key){row->seed, row->epoch, (uint64_t)row->at.index + row->repetition},
        begin);
    for (uint32_t i = 0; i < request->dims; i++) {
        begin[i] = value->shape[i] == whole[i] ? begin[i] : 0;
    }
    return SLUICE_OK;
}

/* Copies a part, run by run: a run is a range that is contiguous in both. */
static sluice_status copy_part(const sl_column *column, const sl_value *value,
                               const uint64_t *begin, const uint8_t *from, uint8_t *to,
                               sluice_error *error)
{
    const sl_column_request *request = &column->request;
    const uint32_t dims = request->dims;
    uint64_t run = 1;
    uint32_t outer = dims; /* dimensions to iterate over */
    while (outer > 0) {
        run *= (uint64_t)request->shape[--outer];
        if (value->shape[outer] != (uint64_t)request->shape[outer]) {
            break;
        }
    }
    uint64_t at[SLUICE_TENSOR_DIMS_MAX] = {0};
    const uint64_t runs = run == 0 ? 0 : column->elements / run;
    for (uint64_t i = 0; i < runs; i++) {
        uint64_t element = 0;
        for (uint32_t k = 0; k < dims; k++) {
            element = element * value->shape[k] + begin[k] + at[k];
        }
        const sluice_status status =
            sl_column_cast(column, to + i * run * column->made_bytes,
                           from + element * column->stored_bytes, run, error);
        if (status != SLUICE_OK) {
            return status;
        }
        for (uint32_t k = outer; k > 0 && ++at[k - 1] == (uint64_t)request->shape[k - 1]; k--) {
            at[k - 1] = 0;
        }
    }
    return SLUICE_OK;
}

static sluice_status column_tensor_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                        sluice_error *error)
{
    const sl_value *value = &row->values.of[column->field_number];
    uint64_t begin[SLUICE_TENSOR_DIMS_MAX] = {0};
    uint64_t elements = 0;
    sl_bytes bytes;
    sluice_status status = sl_column_tensor_bytes(column, row, &elements, &bytes, error);
    if (status == SLUICE_OK) {
        status = place_part(column, row, value, begin, error);
    }
    uint8_t *to = sl_column_row(column, parts, 0, row->at.number);
    if (status != SLUICE_OK || bytes.data == to) { /* already written (sl_columns_wish) */
        return status;
    }
    return copy_part(column, value, begin, bytes.data, to, error);
}

const sl_column_kind sl_column_tensor = {.name = "tensor",
                                         .takes = SL_TAKES(TENSOR),
                                         .otherwise = &sl_column_samples,
                                         .part = sl_column_subvolume,
                                         .bind = column_tensor_bind,
                                         .make = column_tensor_make};
