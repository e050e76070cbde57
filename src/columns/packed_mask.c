/* SPDX-License-Identifier: Apache-2.0 */
/* Masks are read some numbers at a time, so that a long document needs no memory of its own. */
#include "packed_mask.h"

#include "cast.h"
#include "dtype.h"
#include "error.h"
#include "minmax.h"

#include <string.h>

enum { AT_ONCE = 256 };

static bool is_of_runs(const sl_field *field)
{
    return field->dims == 2;
}

static bool mask_is_ints(const sl_field *field)
{
    return field->type == SLUICE_FIELD_TENSOR && !sl_dtype_is_float(field->dtype) &&
           sl_cast_find(field->dtype, SLUICE_I64) != NULL;
}

sluice_status sl_packed_mask_bind(const sl_column *column, sluice_error *error)
{
    const sl_field *field = &column->mask.field;
    const bool fits =
        field->dims == 1 || (field->dims == 2 && (field->shape[1] == 2 || field->shape[1] == 0));
    if (mask_is_ints(field) && fits) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_INVALID, "columns",
                        "column \"%s\": mask \"%s\" must be a tensor of ints or bools with one per "
                        "token, or one of shape [any, 2] with runs",
                        column->request.name, field->name);
}

/* ---- numbers ---- */

static sluice_status load_numbers(const sl_packed_mask *mask, uint64_t first, uint64_t count,
                                  int64_t *to, sluice_error *error)
{
    const sl_field *field = &mask->field->field;
    const uint8_t *from = mask->numbers + first * sl_dtype_bytes(field->dtype);
    return sl_cast_find(field->dtype, SLUICE_I64)(to, from, count)
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                              "\"%s\" contains a number that is not an i64", field->name);
}

/* Loads some runs, from number `first` on; their number is in `*count`. */
static sluice_status load_runs(const sl_packed_mask *mask, uint64_t first, int64_t runs[AT_ONCE][2],
                               uint64_t *count, sluice_error *error)
{
    *count = sl_min_u64(AT_ONCE, mask->runs - first);
    return load_numbers(mask, 2 * first, 2 * *count, &runs[0][0], error);
}

/* ---- the field ---- */

static sluice_status check_run(const sl_packed_mask *mask, uint64_t number, const int64_t run[2],
                               int64_t before, uint64_t stored, sluice_error *error)
{
    const char *why = NULL;
    int64_t limit = 0;
    if (run[0] > run[1]) {
        why = "it ends before";
        limit = run[0];
    } else if (run[0] < before) {
        why = number > 0 ? "the previous run ends at" : "elements are numbered from";
        limit = before;
    } else if ((uint64_t)run[1] > stored) {
        why = "the document's length is";
        limit = (int64_t)stored;
    }
    return why == NULL ? SLUICE_OK
                       : sl_error_set(error, SLUICE_CORRUPT, "columns",
                                      "run %llu of \"%s\" is [%lld, %lld): %s %lld",
                                      (unsigned long long)number, mask->field->field.name,
                                      (long long)run[0], (long long)run[1], why, (long long)limit);
}

static sluice_status check_runs(const sl_packed_mask *mask, uint64_t stored, sluice_error *error)
{
    int64_t runs[AT_ONCE][2];
    int64_t before = 0;
    uint64_t count = 0;
    sluice_status status = SLUICE_OK;
    for (uint64_t first = 0; first < mask->runs && status == SLUICE_OK; first += count) {
        status = load_runs(mask, first, runs, &count, error);
        for (uint64_t i = 0; i < count && status == SLUICE_OK; i++) {
            status = check_run(mask, first + i, runs[i], before, stored, error);
            before = runs[i][1];
        }
    }
    return status;
}

/* Finds the field's numbers, and checks them against its shape. */
static sluice_status open_numbers(const sl_column *column, sl_row *row, sl_packed_mask *mask,
                                  sluice_error *error)
{
    const sl_field *field = &column->mask.field;
    const sl_value *value = &row->values.of[column->mask.number];
    sl_bytes bytes;
    const sluice_status status = sl_row_bytes(row, column->mask.number, &bytes, error);
    if (status != SLUICE_OK) {
        return status;
    }
    const uint64_t each = sl_dtype_bytes(field->dtype) * (is_of_runs(field) ? 2 : 1);
    const uint64_t items = value->shape[0];
    if (items > bytes.size / each || items * each != bytes.size ||
        (is_of_runs(field) && items > 0 && value->shape[1] != 2)) {
        return sl_error_set(error, SLUICE_CORRUPT, "columns",
                            "\"%s\" has %zu bytes, which does not match a mask of its shape",
                            field->name, bytes.size);
    }
    mask->numbers = bytes.data;
    mask->runs = is_of_runs(field) ? items : 0;
    return SLUICE_OK;
}

static sluice_status read_mask(const sl_column *column, sl_row *row, uint64_t stored,
                               sl_packed_mask *mask, sluice_error *error)
{
    const sl_value *value = &row->values.of[column->mask.number];
    const sluice_status status = open_numbers(column, row, mask, error);
    if (status != SLUICE_OK || is_of_runs(&column->mask.field)) {
        return status == SLUICE_OK ? check_runs(mask, stored, error) : status;
    }
    return value->shape[0] == stored
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_CORRUPT, "columns",
                              "\"%s\" has length %llu, but \"%s\" has %llu",
                              column->mask.field.name, (unsigned long long)value->shape[0],
                              column->field.name, (unsigned long long)stored);
}

sluice_status sl_packed_mask_open(const sl_column *column, sl_row *row, uint64_t stored,
                                  sl_packed_mask *mask, sluice_error *error)
{
    const uint32_t number = column->mask.number;
    *mask = (sl_packed_mask){.field = &column->mask};
    if (!row->values.of[number].present) {
        return sl_row_blame(row, SL_FIELD_NONE,
                            sl_error_set(error, SLUICE_CORRUPT, "columns",
                                         "the sample has no \"%s\"", column->mask.field.name));
    }
    return sl_row_blame(row, number, read_mask(column, row, stored, mask, error));
}

/* ---- elements ---- */

static sluice_status write_numbers(const sl_packed_mask *mask, uint64_t first, uint64_t count,
                                   uint8_t *to, sluice_error *error)
{
    int64_t numbers[AT_ONCE];
    sluice_status status = SLUICE_OK;
    for (uint64_t at = 0; at < count && status == SLUICE_OK; at += AT_ONCE) {
        const uint64_t some = sl_min_u64(AT_ONCE, count - at);
        status = load_numbers(mask, first + at, some, numbers, error);
        for (uint64_t i = 0; i < some && status == SLUICE_OK; i++) {
            to[at + i] = numbers[i] != 0;
        }
    }
    return status;
}

static sluice_status write_runs(const sl_packed_mask *mask, uint64_t first, uint64_t count,
                                uint8_t *to, sluice_error *error)
{
    int64_t runs[AT_ONCE][2];
    uint64_t some = 0;
    sluice_status status = SLUICE_OK;
    memset(to, 0, count);
    for (uint64_t at = 0; at < mask->runs && status == SLUICE_OK; at += some) {
        status = load_runs(mask, at, runs, &some, error);
        for (uint64_t i = 0; i < some && status == SLUICE_OK; i++) {
            const uint64_t begin = sl_max_u64((uint64_t)runs[i][0], first);
            const uint64_t end = sl_min_u64((uint64_t)runs[i][1], first + count);
            if (begin < end) {
                memset(to + (begin - first), 1, end - begin);
            }
        }
    }
    return status;
}

sluice_status sl_packed_mask_write(const sl_packed_mask *mask, sl_row *row, uint64_t first,
                                   uint64_t count, uint8_t *to, sluice_error *error)
{
    return sl_row_blame(row, mask->field->number,
                        is_of_runs(&mask->field->field)
                            ? write_runs(mask, first, count, to, error)
                            : write_numbers(mask, first, count, to, error));
}
