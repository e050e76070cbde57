/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths of rows; on the opener's thread, then on the worker that makes the row. */
#include "lengths.h"

#include "elements.h"
#include "error.h"

#include <assert.h>
#include <string.h>

/* Default number of a sample's boxes or points: more than images of common datasets have. */
#define LENGTH_DEFAULT UINT64_C(1024)

/* ---- once ---- */

/* Finds a step of the length: an element, or everything after the first dimension. */
static sluice_status find_step(sl_column *column, sluice_error *error)
{
    sl_field *field = &column->field;
    if (field->type != SLUICE_FIELD_TENSOR) { /* as a tensor of bytes */
        field->dtype = SLUICE_U8;
        field->dims = 1;
        field->shape[0] = 0;
    }
    if (field->dims == 0) {
        return sl_column_refuse(column, error, "a tensor without dimensions has no length");
    }
    if (field->dims >= SLUICE_TENSOR_DIMS_MAX) {
        return sl_column_refuse(column, error,
                                "it would have more than 8 dimensions, including that of its rows");
    }
    int64_t inner[SLUICE_TENSOR_DIMS_MAX] = {0};
    for (uint32_t i = 1; i < field->dims; i++) {
        if (field->shape[i] == 0) {
            return sl_column_refuse(
                column, error, "only the first dimension of its tensor may vary between samples");
        }
        inner[i - 1] = (int64_t)field->shape[i];
    }
    const sluice_status status = sl_column_elements(column, error);
    return status == SLUICE_OK
               ? sl_column_capacity(column, inner, field->dims - 1, &column->elements, error)
               : status;
}

/* Adds the part of the values: `dims` dimensions before those of a step. */
static sl_part *column_ragged_add_values(sl_column *column, sl_column_set *set, uint32_t dims,
                                         sluice_error *error)
{
    const uint64_t length = column->request.length;
    uint64_t elements = 0;
    if (length == 0 || __builtin_mul_overflow(length, column->elements, &elements) ||
        elements > SL_ROW_ELEMENTS_MAX) {
        sl_column_refuse(
            column, error,
            "it needs a length of at least 1, and a row can have at most 2^40 elements");
        return NULL;
    }
    sl_part *part = sl_column_add_part(set, column, "", error);
    if (part == NULL) {
        return NULL;
    }
    part->dtype = (sluice_dtype)column->request.dtype;
    part->dims = column->field.dims - 1 + dims;
    part->shape[0] = (int64_t)length;
    for (uint32_t i = 1; i < column->field.dims; i++) {
        part->shape[i - 1 + dims] = (int64_t)column->field.shape[i];
    }
    part->row_bytes = elements * column->made_bytes;
    return part;
}

static sluice_status default_length(sl_column *column, sluice_error *error)
{
    sl_column_request *request = &column->request;
    const sl_column_set *set = column->set;
    const sl_column *owner = column->owner != SL_COLUMN_NONE ? &set->columns[column->owner] : NULL;
    if (request->length != 0) {
        return SLUICE_OK;
    }
    if (owner != NULL && (owner->request.padded || !request->padded)) {
        request->length = owner->request.length;
    } else if (column->kind->places && !request->padded) {
        request->length = LENGTH_DEFAULT * column->members;
    } else {
        return sl_column_refuse(column, error,
                                "it needs a " SL_OPTION("length") ": the most elements of a row");
    }
    return SLUICE_OK;
}

sluice_status sl_column_join_parts(const sl_column *column, sl_column_set *set, sl_part *values,
                                   sl_part *offsets, sluice_error *error)
{
    if (set->ragged_count == SL_RAGGED_MAX) {
        return sl_column_refuse(column, error, "a batch can have at most 16 ragged columns");
    }
    values->role = SL_PART_RAGGED;
    values->ragged = set->ragged_count++;
    offsets->role = SL_PART_OFFSETS;
    offsets->dtype = SLUICE_I64;
    offsets->row_bytes = sizeof(int64_t);
    return SLUICE_OK;
}

sluice_status sl_column_bind_lengths(sl_column *column, sl_column_set *set, bool padded,
                                     sluice_error *error)
{
    sluice_status status = find_step(column, error);
    if (status == SLUICE_OK) {
        status = default_length(column, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    sl_part *values = column_ragged_add_values(column, set, padded ? 1 : 0, error);
    sl_part *sizes = values == NULL
                         ? NULL
                         : sl_column_add_part(set, column, padded ? ".lengths" : ".offsets", error);
    if (sizes == NULL) {
        return SLUICE_INVALID;
    }
    if (padded) {
        sizes->dtype = SLUICE_I64;
        sizes->row_bytes = sizeof(int64_t);
        return SLUICE_OK;
    }
    values->element_bytes = column->elements * column->made_bytes;
    return sl_column_join_parts(column, set, values, sizes, error);
}

/* ---- each row ---- */

const sl_box_list *sl_column_owner(const sl_column *column, const sl_row *row)
{
    return &row->boxes[column->set->columns[column->owner].box_list];
}

sluice_status sl_column_check_owned(const sl_column *column, const sl_box_list *list,
                                    uint64_t length, sluice_error *error)
{
    if (length == list->stored) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_CORRUPT, "columns",
                        "\"%s\" has length %llu, but there are %llu boxes", column->field.name,
                        (unsigned long long)length, (unsigned long long)list->stored);
}

sluice_status sl_column_limit_length(const sl_column *column, uint64_t *length, sluice_error *error)
{
    if (*length <= column->request.length) {
        return SLUICE_OK;
    }
    if (!column->request.truncates) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, "columns",
            "\"%s\" is too long: length %llu, the column holds at most %llu: give it "
            "more " SL_OPTION("length") ", or " SL_OPTION("too_long") " truncate",
            column->field.name, (unsigned long long)*length,
            (unsigned long long)column->request.length);
    }
    *length = column->request.length;
    return SLUICE_OK;
}

uint64_t sl_column_length(const sl_column *column, sl_part_view parts, uint32_t number)
{
    const int64_t *at = sl_column_row(column, parts, 1, (uint64_t)number + !column->request.padded);
    return (uint64_t)*at;
}

uint64_t sl_column_given(const sl_column *column, const sl_row *row, sl_part_view parts)
{
    return row->member == column->member ? 0 : sl_column_length(column, parts, row->at.number);
}

void sl_column_set_length(const sl_column *column, sl_part_view parts, uint32_t number, bool padded,
                          uint64_t length)
{
    const sl_part *part = &column->set->parts[column->first_part];
    const uint64_t used = length * column->elements * column->made_bytes;
    if (padded) {
        memset((uint8_t *)sl_column_row(column, parts, 0, number) + used, 0,
               part->row_bytes - used);
    }
    *(int64_t *)sl_column_row(column, parts, 1, (uint64_t)number + !padded) = (int64_t)length;
}

/* Casts values whose boxes are kept, at most `most` of them. */
static sluice_status cast_owned(const sl_column *column, const sl_box_list *list, void *to,
                                const uint8_t *from, uint64_t most, sluice_error *error)
{
    const uint64_t step = column->elements;
    uint8_t *at = to;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < list->count && most > 0 && status == SLUICE_OK; i++) {
        if (list->kept[i] != 0) {
            status =
                sl_column_cast(column, at, from + i * step * column->stored_bytes, step, error);
            at += step * column->made_bytes;
            most--;
        }
    }
    return status;
}

sluice_status sl_column_take_values(const sl_column *column, const sl_row *row, sl_part_view parts,
                                    const uint8_t *from, uint64_t *length, sluice_error *error)
{
    const sl_box_list *list = column->owner != SL_COLUMN_NONE ? sl_column_owner(column, row) : NULL;
    const uint64_t given = sl_column_given(column, row, parts);
    sluice_status status =
        list != NULL ? sl_column_check_owned(column, list, *length, error) : SLUICE_OK;
    *length = given + (list != NULL ? list->kept_count - list->before : *length);
    if (status == SLUICE_OK) {
        status = sl_column_limit_length(column, length, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    const uint64_t more = *length - given;
    uint8_t *to = sl_column_row(column, parts, 0, row->at.number);
    to += given * column->elements * column->made_bytes;
    return list != NULL ? cast_owned(column, list, to, from, more, error)
                        : sl_column_cast(column, to, from, more * column->elements, error);
}

void sl_column_join_rows(const sl_column *column, uint32_t number, uint32_t rows,
                         sl_part_view parts, uint64_t *sizes)
{
    const sl_part *part = &column->set->parts[column->first_part + number];
    int64_t *offsets = sl_column_row(column, parts, number + 1, 0);
    uint8_t *values = sl_column_row(column, parts, number, 0);
    const uint64_t step_bytes = part->element_bytes;
    offsets[0] = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const int64_t length = offsets[i + 1];
        assert(length >= 0 && (uint64_t)length * step_bytes <= part->row_bytes);
        uint8_t *to = values + (uint64_t)offsets[i] * step_bytes;
        const uint8_t *from = values + i * part->row_bytes;
        if (to != from) {
            memmove(to, from, (uint64_t)length * step_bytes);
        }
        offsets[i + 1] = offsets[i] + length;
    }
    sizes[part->ragged] = (uint64_t)offsets[rows];
}

void sl_column_blank_lengths(const sl_column *column, const sl_row_place *at, sl_part_view parts)
{
    sl_column_set_length(column, parts, at->number, column->request.padded, 0);
}

void sl_column_finish_lengths(const sl_column *column, uint32_t rows, sl_part_view parts,
                              uint64_t *sizes)
{
    if (!column->request.padded) {
        sl_column_join_rows(column, 0, rows, parts, sizes);
    }
}
