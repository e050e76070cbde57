/* SPDX-License-Identifier: Apache-2.0 */
/* Ints and floats: as numbers, or one-hot. */
#include "dtype.h"
#include "error.h"
#include "kinds.h"
#include "names.h"
#include "row.h"

#include <string.h>

/* Parts of a ONE_HOT that follows a column. */
enum { SL_ONE_HOT_ROWS, SL_ONE_HOT_CLASS /* u32 */ };
#define SL_CLASS_NONE UINT32_MAX

/* Returns the requested dtype, or the default one. */
static sluice_dtype column_number_dtype_of(const sl_column *column)
{
    if (column->request.dtype != SLUICE_U8) {
        return (sluice_dtype)column->request.dtype;
    }
    return column->field.type == SLUICE_FIELD_INT ? SLUICE_I64 : SLUICE_F64;
}

static sluice_status column_number_refuse_dtype(const sl_column *column, sluice_dtype dtype,
                                                sluice_error *error)
{
    return sl_error_set(error, SLUICE_INVALID, "columns",
                        "column \"%s\": %s is not a dtype for a column of kind %s",
                        column->request.name, sl_dtype_name(dtype), column->kind->name);
}

static bool column_number_is_number(sluice_dtype dtype, bool floats_only)
{
    const bool floating = dtype == SLUICE_F32 || dtype == SLUICE_F64;
    return floating || (!floats_only && (dtype == SLUICE_I64 || dtype == SLUICE_I32));
}

static sluice_status column_number_bind(sl_column *column, sl_column_set *set, sluice_error *error)
{
    const sluice_dtype dtype = column_number_dtype_of(column);
    if (!column_number_is_number(dtype, column->field.type == SLUICE_FIELD_FLOAT)) {
        return column_number_refuse_dtype(column, dtype, error);
    }
    column->request.dtype = (int32_t)dtype;
    column->elements = 1;
    column->made_bytes = (uint32_t)sl_dtype_bytes(dtype);
    return sl_column_add_asked(set, column, error);
}

static void column_number_put(void *to, sluice_dtype dtype, int64_t integer, double number)
{
    const int32_t narrow = (int32_t)integer;
    const float single = (float)number;
    switch (dtype) {
    case SLUICE_I64:
        memcpy(to, &integer, sizeof(integer));
        break;
    case SLUICE_I32:
        memcpy(to, &narrow, sizeof(narrow));
        break;
    case SLUICE_F32:
        memcpy(to, &single, sizeof(single));
        break;
    case SLUICE_F64:
        memcpy(to, &number, sizeof(number));
        break;
    default:
        *(uint8_t *)to = (uint8_t)integer;
        break;
    }
}

static sluice_status column_number_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                        sluice_error *error)
{
    const sl_value *value = &row->values.of[column->field_number];
    const sluice_dtype dtype = column->set->parts[column->first_part].dtype;
    const bool integer = column->field.type == SLUICE_FIELD_INT;
    if (dtype == SLUICE_I32 && (value->integer < INT32_MIN || value->integer > INT32_MAX)) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                            "\"%s\" is %lld, which does not fit i32", column->field.name,
                            (long long)value->integer);
    }
    column_number_put(sl_column_row(column, parts, 0, row->at.number), dtype, value->integer,
                      integer ? (double)value->integer : value->number);
    return SLUICE_OK;
}

static void column_number_blank(const sl_column *column, const sl_row_place *at, sl_part_view parts)
{
    const sluice_dtype dtype = column->set->parts[column->first_part].dtype;
    const bool integer = column->field.type == SLUICE_FIELD_INT;
    const int64_t ignore = column->set->ignore;
    column_number_put(sl_column_row(column, parts, 0, at->number), dtype, ignore,
                      integer ? (double)ignore : 0);
}

const sl_column_kind sl_column_number = {.name = "number",
                                         .takes = SL_TAKES(INT) | SL_TAKES(FLOAT),
                                         .bind = column_number_bind,
                                         .make = column_number_make,
                                         .blank = column_number_blank};

/* ---- one-hot ---- */

typedef struct one_hot_state {
    double on, off; /* at the class, and elsewhere */
} one_hot_state;

static one_hot_state *one_hot_of(const sl_column *column)
{
    return column->state;
}

/* Checks the dtype: soft labels need a floating one. */
static sluice_status check_soft(const sl_column *column, sluice_error *error)
{
    const sl_column_request *request = &column->request;
    const sluice_dtype dtype = (sluice_dtype)request->dtype;
    const bool floating = dtype == SLUICE_F32 || dtype == SLUICE_F64;
    if (floating || (request->smoothing == 0 && request->mixes[0] == '\0')) {
        return SLUICE_OK;
    }
    return sl_error_set(
        error, SLUICE_INVALID, "columns",
        "column \"%s\": \"%s\" makes labels that %s cannot represent: choose f32 or f64",
        request->name, request->smoothing != 0 ? "smoothing" : "mixes", sl_dtype_name(dtype));
}

/* Sets the label values like timm. */
static void smooth(sl_column *column)
{
    const double smoothing = column->request.smoothing;
    one_hot_of(column)->off = smoothing / (double)column->request.length;
    one_hot_of(column)->on = 1 - smoothing + one_hot_of(column)->off;
}

static sluice_status bind_one_hot(sl_column *column, sl_column_set *set, sluice_error *error)
{
    const sluice_dtype dtype = (sluice_dtype)column->request.dtype;
    const uint64_t classes = column->request.length;
    if (dtype != SLUICE_U8 && !column_number_is_number(dtype, false)) {
        return column_number_refuse_dtype(column, dtype, error);
    }
    if (classes == 0 || classes > UINT32_MAX) {
        return sl_column_refuse(
            column, error,
            "a one-hot column needs a length, the number of classes: expected 1 to 2^32 - 1");
    }
    column->request.dims = 1;
    column->request.shape[0] = (int64_t)classes;
    column->elements = classes;
    column->made_bytes = (uint32_t)sl_dtype_bytes(dtype);
    smooth(column);
    sluice_status status = check_soft(column, error);
    if (status == SLUICE_OK) {
        status = sl_column_add_asked(set, column, error);
    }
    if (status != SLUICE_OK || column->request.mixes[0] == '\0') {
        return status;
    }
    sl_part *class = sl_column_add_part(set, column, ".class", error);
    if (class == NULL) {
        return SLUICE_INVALID;
    }
    class->role = SL_PART_LOCAL;
    class->row_bytes = sizeof(uint32_t);
    return SLUICE_OK;
}

/* Fills an array of F32 or F64. */
static void put_all(void *to, sluice_dtype dtype, uint64_t count, double value)
{
    float *singles = to;
    double *doubles = to;
    for (uint64_t i = 0; i < count && dtype == SLUICE_F32; i++) {
        singles[i] = (float)value;
    }
    for (uint64_t i = 0; i < count && dtype == SLUICE_F64; i++) {
        doubles[i] = value;
    }
}

/* Returns a row's value at a class, for a label that may be missing. */
static double label_at(const sl_column *column, uint32_t label, uint32_t class)
{
    if (label == SL_CLASS_NONE) {
        return 0;
    }
    return label == class ? one_hot_of(column)->on : one_hot_of(column)->off;
}

/* Returns the value of two mixed labels at a class; exact if both are the same. */
static double shares_at(const sl_column *column, const uint32_t labels[2], double weight,
                        uint32_t class)
{
    const double own = label_at(column, labels[0], class);
    const double other = label_at(column, labels[1], class);
    return own == other ? own : weight * own + (1 - weight) * other;
}

static uint32_t class_of(const sl_column *column, sl_part_view parts, uint32_t row)
{
    uint32_t class;
    memcpy(&class, sl_column_row(column, parts, SL_ONE_HOT_CLASS, row), sizeof(class));
    return class;
}

static void soft_label(const sl_column *column, sl_part_view parts, uint32_t row,
                       const sl_mixing_row *how)
{
    const sl_part *part = &column->set->parts[column->first_part];
    const size_t bytes = sl_dtype_bytes(part->dtype);
    uint8_t *to = sl_column_row(column, parts, SL_ONE_HOT_ROWS, row);
    const double weight = (double)how->weight;
    const uint32_t labels[2] = {class_of(column, parts, row),
                                class_of(column, parts, how->partner)};
    put_all(to, part->dtype, column->elements,
            shares_at(column, labels, weight, SL_CLASS_NONE)); /* a class of neither */
    for (int i = 0; i < 2; i++) {
        if (labels[i] != SL_CLASS_NONE) {
            column_number_put(to + labels[i] * bytes, part->dtype, 0,
                              shares_at(column, labels, weight, labels[i]));
        }
    }
}

static sluice_status make_one_hot(const sl_column *column, sl_row *row, sl_part_view parts,
                                  sluice_error *error)
{
    const int64_t class = row->values.of[column->field_number].integer;
    const sl_part *part = &column->set->parts[column->first_part];
    uint8_t *to = sl_column_row(column, parts, 0, row->at.number);
    if (class < 0 || class >= part->shape[0]) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                            "\"%s\" is %lld, which is out of range: there are %lld classes",
                            column->field.name, (long long)class, (long long)part->shape[0]);
    }
    if (column->follows != SL_COLUMN_NONE) { /* the row is made when its partner is ready */
        const uint32_t kept = (uint32_t) class;
        memcpy(sl_column_row(column, parts, SL_ONE_HOT_CLASS, row->at.number), &kept, sizeof(kept));
        return SLUICE_OK;
    }
    if (one_hot_of(column)->off > 0) {
        put_all(to, part->dtype, column->elements, one_hot_of(column)->off);
    } else {
        memset(to, 0, part->row_bytes);
    }
    column_number_put(to + (size_t) class * sl_dtype_bytes(part->dtype), part->dtype, 1,
                      one_hot_of(column)->on);
    return SLUICE_OK;
}

/* All zero, and no class. */
static void blank_one_hot(const sl_column *column, const sl_row_place *at, sl_part_view parts)
{
    const uint32_t none = SL_CLASS_NONE;
    const sl_part *part = &column->set->parts[column->first_part];
    memset(sl_column_row(column, parts, SL_ONE_HOT_ROWS, at->number), 0, part->row_bytes);
    if (column->follows != SL_COLUMN_NONE) {
        memcpy(sl_column_row(column, parts, SL_ONE_HOT_CLASS, at->number), &none, sizeof(none));
    }
}

const sl_column_kind sl_column_one_hot = {.name = "one_hot",
                                          .state_bytes = sizeof(one_hot_state),
                                          .takes = SL_TAKES(INT),
                                          .bind = bind_one_hot,
                                          .make = make_one_hot,
                                          .blank = blank_one_hot,
                                          .mix = soft_label};
