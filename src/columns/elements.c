/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by kinds of columns of elements. */
#include "elements.h"

#include "apply.h"
#include "dtype.h"
#include "error.h"
#include "names.h"

#include <math.h>
#include <string.h>

#define HALF_LIMIT     65520.0 /* from here on it rounds to infinity */
#define BFLOAT16_LIMIT 0x1.ffp127

sluice_status sl_column_elements(sl_column *column, sluice_error *error)
{
    const sluice_dtype from = column->field.dtype;
    const sluice_dtype to = column->request.dtype == 0 ? from : (sluice_dtype)column->request.dtype;
    column->cast = sl_cast_find(from, to);
    if (column->cast == NULL) {
        return sl_error_set(error, SLUICE_INVALID, "columns",
                            "column \"%s\": cannot convert to %s from the stored %s",
                            column->request.name, sl_dtype_name(to), sl_dtype_name(from));
    }
    column->request.dtype = (int32_t)to;
    column->stored_bytes = (uint32_t)sl_dtype_bytes(from);
    column->made_bytes = (uint32_t)sl_dtype_bytes(to);
    return SLUICE_OK;
}

sluice_status sl_column_capacity(const sl_column *column, const int64_t *shape, uint32_t dims,
                                 uint64_t *elements, sluice_error *error)
{
    *elements = 1;
    for (uint32_t i = 0; i < dims; i++) {
        if (__builtin_mul_overflow(*elements, (uint64_t)shape[i], elements) ||
            *elements > SL_ROW_ELEMENTS_MAX) {
            return sl_column_refuse(column, error, "a row has more than 2^40 elements");
        }
    }
    return SLUICE_OK;
}

bool sl_beside_is_ints(const sl_beside *beside)
{
    const sl_field *field = &beside->field;
    return field->type == SLUICE_FIELD_TENSOR && field->dims == 1 &&
           !sl_dtype_is_float(field->dtype) && sl_cast_find(field->dtype, SLUICE_I64) != NULL;
}

static sluice_status row_ints(sl_row *row, const sl_beside *beside, uint64_t count,
                              const char *things, const int64_t **ints, sluice_error *error)
{
    const sl_value *value = &row->values.of[beside->number];
    const char *name = beside->field.name;
    sl_bytes bytes;
    if (!value->present) {
        return sl_row_blame(
            row, SL_FIELD_NONE,
            sl_error_set(error, SLUICE_CORRUPT, "columns", "the sample has no \"%s\"", name));
    }
    const sluice_status status = sl_row_bytes(row, beside->number, &bytes, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (value->shape[0] != count || bytes.size != count * sl_dtype_bytes(beside->field.dtype)) {
        return sl_error_set(error, SLUICE_CORRUPT, "columns",
                            "\"%s\" has length %llu, but there are %llu %s", name,
                            (unsigned long long)value->shape[0], (unsigned long long)count, things);
    }
    int64_t *made = sl_scratch_take(sl_decoder_scratch(row->decoder), (count + 1) * sizeof(*made));
    if (made == NULL) {
        return sl_no_memory(error, "columns", "for \"%s\"", name);
    }
    *ints = made;
    return sl_cast_find(beside->field.dtype, SLUICE_I64)(made, bytes.data, count)
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                              "\"%s\" contains a number that is not an i64", name);
}

sluice_status sl_row_ints(sl_row *row, const sl_beside *beside, uint64_t count, const char *things,
                          const int64_t **ints, sluice_error *error)
{
    return sl_row_blame(row, beside->number, row_ints(row, beside, count, things, ints, error));
}

#define AS_INTEGER(type, least, most)                                          \
    if (!(number >= (least) && number <= (most)) || number != floor(number)) { \
        return false;                                                          \
    }                                                                          \
    const type element = (type)number;                                         \
    memcpy(to, &element, sizeof(element));                                     \
    return true

bool sl_column_element(sluice_dtype dtype, double number, uint8_t to[8])
{
    const float single = (float)number;
    switch (dtype) {
    case SLUICE_U8: {
        AS_INTEGER(uint8_t, 0, UINT8_MAX);
    }
    case SLUICE_U16: {
        AS_INTEGER(uint16_t, 0, UINT16_MAX);
    }
    case SLUICE_I8: {
        AS_INTEGER(int8_t, INT8_MIN, INT8_MAX);
    }
    case SLUICE_I16: {
        AS_INTEGER(int16_t, INT16_MIN, INT16_MAX);
    }
    case SLUICE_I32: {
        AS_INTEGER(int32_t, INT32_MIN, INT32_MAX);
    }
    case SLUICE_U32: {
        AS_INTEGER(uint32_t, 0, UINT32_MAX);
    }
    case SLUICE_I64: {
        AS_INTEGER(int64_t, -0x1p53, 0x1p53);
    }
    case SLUICE_U64: {
        AS_INTEGER(uint64_t, 0, 0x1p53);
    }
    case SLUICE_BOOL: {
        AS_INTEGER(uint8_t, 0, 1);
    }
    case SLUICE_F16:
        memcpy(to, &(uint16_t){sl_half_from_float(single)}, 2);
        return fabs(number) < HALF_LIMIT;
    case SLUICE_BF16:
        memcpy(to, &(uint16_t){sl_bfloat16_from_float(single)}, 2);
        return fabs(number) < BFLOAT16_LIMIT;
    case SLUICE_F64:
        memcpy(to, &number, sizeof(number));
        return true;
    default:
        memcpy(to, &single, sizeof(single));
        return dtype == SLUICE_F32 && isfinite(single);
    }
}

/* ---- each row ---- */

sluice_status sl_column_tensor_bytes(const sl_column *column, sl_row *row, uint64_t *elements,
                                     sl_bytes *bytes, sluice_error *error)
{
    const sluice_status status = sl_column_bytes(column, row, bytes, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (column->field.type != SLUICE_FIELD_TENSOR) {
        *elements = bytes->size;
        return SLUICE_OK;
    }
    const sl_value *value = &row->values.of[column->field_number];
    uint64_t size = column->stored_bytes;
    bool fits = true;
    for (uint32_t i = 0; i < column->field.dims; i++) {
        fits = !__builtin_mul_overflow(size, value->shape[i], &size) && fits;
    }
    if (!fits || size != bytes->size) {
        return sl_error_set(error, SLUICE_CORRUPT, "columns",
                            "\"%s\" has %zu bytes, which does not match its shape",
                            column->field.name, bytes->size);
    }
    *elements = size / column->stored_bytes;
    return SLUICE_OK;
}

sluice_status sl_column_cast(const sl_column *column, void *to, const uint8_t *from,
                             uint64_t elements, sluice_error *error)
{
    if (!column->cast(to, from, elements)) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                            "\"%s\" contains a number that %s cannot represent", column->field.name,
                            sl_dtype_name((sluice_dtype)column->request.dtype));
    }
    return SLUICE_OK;
}
