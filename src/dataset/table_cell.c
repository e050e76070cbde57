/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_cell: finds the kinds a cell can have, then its value. Pure, except for the owner's growing
 * buffer.
 */
#include "table_cell.h"

#include "dtype.h"
#include "memory.h"
#include "number_text.h"
#include "unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "out of memory";

void sl_cell_buffer_close(sl_cell_buffer *buffer)
{
    sl_free(buffer->data);
    *buffer = (sl_cell_buffer){0};
}

static bool table_cell_make_space(sl_cell_buffer *buffer, size_t bytes)
{
    if (bytes <= buffer->bytes) {
        return true;
    }
    uint8_t *data = sl_realloc_array(buffer->data, bytes, 1);
    if (data != NULL) {
        buffer->data = data;
        buffer->bytes = bytes;
    }
    return data != NULL;
}

/* ---- words ---- */

static bool table_cell_read_integer(sl_bytes text, int64_t *integer)
{
    const bool minus = text.size > 0 && text.data[0] == '-';
    size_t at = text.size > 0 && (minus || text.data[0] == '+') ? 1 : 0;
    const uint64_t most = (uint64_t)INT64_MAX + (minus ? 1 : 0);
    uint64_t value = 0;
    if (at == text.size) {
        return false;
    }
    for (; at < text.size; at++) {
        const uint64_t digit = (uint64_t)text.data[at] - '0';
        if (digit > 9 || value > (most - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *integer = (int64_t)(minus ? 0 - value : value);
    return true;
}

static bool is_digits(sl_bytes text)
{
    size_t at = text.size > 0 && (text.data[0] == '-' || text.data[0] == '+') ? 1 : 0;
    while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9') {
        at++;
    }
    return at == text.size;
}

static bool is_number_sign(uint8_t sign)
{
    return (sign >= '0' && sign <= '9') || strchr("+-.eE", sign) != NULL;
}

/*
 * Reads a number. Rejects digits without a point that do not fit int64, since precision would be
 * lost, and numbers too large for binary64.
 */
static bool table_cell_read_number(sl_bytes text, double *number)
{
    const char *words = (const char *)text.data;
    char *end;
    const char *name = words + (text.size > 0 && (*words == '-' || *words == '+') ? 1 : 0);
    const bool is_decimal = strcasecmp(name, "nan") != 0 && strcasecmp(name, "inf") != 0;
    if (is_decimal) {
        for (size_t i = 0; i < text.size; i++) {
            if (text.data[i] == '\0' || !is_number_sign(text.data[i])) {
                return false;
            }
        }
        if (is_digits(text)) {
            return false;
        }
    }
    *number = sl_read_double(words, &end);
    return text.size > 0 && *end == '\0' && (!is_decimal || isfinite(*number));
}

/* ---- lists ---- */

static bool look_at_numbers(const json_t *list, bool *floats)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_number(item)) {
            return false;
        }
        *floats = *floats || json_is_real(item);
    }
    return true;
}

static bool look_at_list(const json_t *list, sl_list_shape *shape)
{
    const json_t *first = json_array_get(list, 0);
    *shape = (sl_list_shape){.inner = json_array_size(first)};
    shape->dims = json_array_size(list) == 0 ? 0 : json_is_array(first) ? 2 : 1;
    if (shape->dims < 2) {
        return look_at_numbers(list, &shape->floats);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        if (!json_is_array(row) || json_array_size(row) != shape->inner || shape->inner == 0 ||
            !look_at_numbers(row, &shape->floats)) {
            return false;
        }
    }
    return true;
}

/* Returns a new reference to the list in a cell; NULL: not a list. */
static json_t *table_cell_open_list(const sl_cell *cell)
{
    if (cell->kind == SL_CELL_LIST) {
        return json_incref(cell->json);
    }
    const bool may_be = cell->kind == SL_CELL_WORDS && cell->text.data[0] == '[';
    return may_be ? sl_json_parse(cell->text) : NULL;
}

static sl_cell_kind look_at_words(const sl_cell *cell, sl_list_shape *shape)
{
    int64_t integer;
    double number;
    if (table_cell_read_integer(cell->text, &integer)) {
        return SL_CELL_INT;
    }
    if (table_cell_read_number(cell->text, &number)) {
        return SL_CELL_FLOAT;
    }
    json_t *list = table_cell_open_list(cell);
    const bool is_list = list != NULL && look_at_list(list, shape);
    json_decref(list);
    return is_list ? SL_CELL_LIST : SL_CELL_TEXT;
}

sl_cell_kind sl_cell_look(const sl_cell *cell, sl_list_shape *shape)
{
    if (cell->kind == SL_CELL_WORDS) {
        return look_at_words(cell, shape);
    }
    if (cell->kind == SL_CELL_LIST && !look_at_list(cell->json, shape)) {
        return SL_CELL_TEXT;
    }
    return cell->kind;
}

/* ---- values ---- */

bool sl_cell_text(const sl_cell *cell, sl_cell_buffer *buffer, sl_bytes *text)
{
    const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY;
    *text = cell->text;
    if (cell->text.data != NULL || cell->json == NULL) {
        return true;
    }
    const size_t bytes = json_dumpb(cell->json, NULL, 0, flags);
    if (bytes == 0 || !table_cell_make_space(buffer, bytes + 1)) {
        return false;
    }
    (void)json_dumpb(cell->json, (char *)buffer->data, bytes, flags);
    buffer->data[bytes] = '\0';
    *text = (sl_bytes){buffer->data, bytes};
    return true;
}

static const char *table_cell_put_text(const sl_cell *cell, const sl_field *field,
                                       sl_cell_buffer *buffer, sl_value *value)
{
    if (!sl_cell_text(cell, buffer, &value->bytes)) {
        return no_memory;
    }
    if (field->type == SLUICE_FIELD_TEXT && !sl_is_utf8(value->bytes)) {
        return "not valid UTF-8, or contains NUL";
    }
    return NULL;
}

static const char *put_element(const json_t *item, sluice_dtype dtype, uint8_t *to)
{
    const double number = json_number_value(item);
    const int64_t integer = json_integer_value(item);
    const float narrow = (float)number;
    const int32_t small = (int32_t)integer;
    if (dtype == SLUICE_F32) {
        memcpy(to, &narrow, sizeof(narrow));
        return NULL;
    }
    if (dtype == SLUICE_F64) {
        memcpy(to, &number, sizeof(number));
        return NULL;
    }
    if (!json_is_integer(item) || (dtype == SLUICE_I32 && small != integer)) {
        return "it contains a number that is not an integer of its type";
    }
    memcpy(to, dtype == SLUICE_I32 ? (const void *)&small : &integer, sl_dtype_bytes(dtype));
    return NULL;
}

static const char *put_list(const json_t *list, const sl_field *field, sl_cell_buffer *buffer,
                            sl_value *value)
{
    sl_list_shape shape;
    const size_t step = sl_dtype_bytes(field->dtype);
    const size_t rows = json_array_size(list);
    if (list == NULL || !look_at_list(list, &shape)) {
        return "not a list of numbers";
    }
    if ((shape.dims != 0 && shape.dims != field->dims) ||
        (shape.dims == 2 && shape.inner != field->shape[1]) ||
        (field->shape[0] != 0 && field->shape[0] != rows)) {
        return "the list's shape does not match its field";
    }
    const size_t across = shape.dims == 2 ? (size_t)shape.inner : 1;
    if (!table_cell_make_space(buffer, rows * across * step + 1)) {
        return no_memory;
    }
    const char *why = NULL;
    for (size_t i = 0; why == NULL && i < rows * across; i++) {
        const json_t *item = json_array_get(list, i / across);
        why = put_element(shape.dims == 2 ? json_array_get(item, i % across) : item, field->dtype,
                          buffer->data + i * step);
    }
    value->bytes = (sl_bytes){buffer->data, rows * across * step};
    return why;
}

static const char *put_tensor(const sl_cell *cell, const sl_field *field, sl_cell_buffer *buffer,
                              sl_value *value)
{
    const bool known = field->dtype == SLUICE_F32 || field->dtype == SLUICE_F64 ||
                       field->dtype == SLUICE_I32 || field->dtype == SLUICE_I64;
    if (!known || field->dims < 1 || field->dims > 2 ||
        (field->dims == 2 && field->shape[1] == 0)) {
        return "lists can be tensors of f32, f64, i32 or i64, with one dimension, or two such as "
               "[0,4]";
    }
    json_t *list = table_cell_open_list(cell);
    const char *why = put_list(list, field, buffer, value);
    json_decref(list);
    return why;
}

const char *sl_cell_value(const sl_cell *cell, const sl_field *field, sl_cell_buffer *buffer,
                          sl_value *value)
{
    *value = (sl_value){.present = cell->kind != SL_CELL_ABSENT};
    if (!value->present) {
        return NULL;
    }
    if (field->type == SLUICE_FIELD_TENSOR) {
        return put_tensor(cell, field, buffer, value);
    }
    if (field->type == SLUICE_FIELD_TEXT || field->type == SLUICE_FIELD_BYTES) {
        return table_cell_put_text(cell, field, buffer, value);
    }
    const bool words = cell->kind == SL_CELL_WORDS;
    const bool whole = cell->kind == SL_CELL_INT ||
                       (words && table_cell_read_integer(cell->text, &value->integer));
    value->integer = words ? value->integer : cell->integer;
    if (field->type == SLUICE_FIELD_INT) {
        return whole ? NULL : "not a 64-bit integer";
    }
    value->number = cell->number;
    if (whole) {
        value->number = (double)value->integer;
        return NULL;
    }
    const bool number =
        words ? table_cell_read_number(cell->text, &value->number) : cell->kind == SL_CELL_FLOAT;
    return number ? NULL : "not a number";
}
