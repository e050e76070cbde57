/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beton_header: parses the header, fields and rows of a .beton file. Pure.
 *
 * All of it is untrusted and checked before use.
 */
#include "beton_header.h"

#include "dtype.h"
#include "json_file.h"
#include "little_endian.h"
#include "npy_header.h"

#include <string.h>

enum { VERSION = 2, NAME = 1, NAME_BYTES = 16, ARGUMENTS = NAME + NAME_BYTES, DIMS = 32 };
enum { ARRAY_HEAD = DIMS * 8 + 8, ARGUMENT_BYTES = 1024 };
enum { MODE_JPEG = 0, MODE_RAW = 1 };

/* Size and alignment of each part of a row. */
static const struct {
    uint8_t bytes, align;
    sluice_field_type type;
} kinds[] = {
    [SL_BETON_FLOAT] = {8, 8, SLUICE_FIELD_FLOAT},
    [SL_BETON_INT] = {8, 8, SLUICE_FIELD_INT},
    [SL_BETON_PICTURE] = {13, 1, SLUICE_FIELD_IMAGE},
    [SL_BETON_BYTES] = {16, 1, SLUICE_FIELD_BYTES},
    [SL_BETON_ARRAY] = {8, 8, SLUICE_FIELD_TENSOR},
    [SL_BETON_JSON] = {16, 1, SLUICE_FIELD_TEXT},
    [SL_BETON_TENSOR] = {8, 8, SLUICE_FIELD_TENSOR},
};

/* ---- header ---- */

sl_refusal sl_beton_head_parse(sl_beton_head *head, const uint8_t bytes[SL_BETON_HEAD],
                               uint64_t file_bytes)
{
    *head = (sl_beton_head){.columns = sl_load16(bytes + 2),
                            .page_bytes = sl_load32(bytes + 4),
                            .samples = sl_load64(bytes + 8),
                            .table_at = sl_load64(bytes + 16)};
    head->rows_at = SL_BETON_HEAD + (uint64_t)head->columns * SL_BETON_FIELD;
    if (sl_load16(bytes) != VERSION) {
        return sl_refuse_unknown("not a .beton file of version 2", 0);
    }
    if (head->columns == 0 || head->columns > SL_SOURCE_COLUMNS_MAX) {
        return sl_refuse_unknown("the number of fields is not 1 to 1024", 2);
    }
    if (head->page_bytes == 0) {
        return sl_refuse("its page size is 0", 4);
    }
    if (head->samples == 0) {
        return sl_refuse("no samples", 8);
    }
    if (head->table_at == 0) {
        return sl_refuse("the file is incomplete: it has no allocation table", 16);
    }
    if (head->rows_at > file_bytes || head->table_at > file_bytes) {
        return sl_refuse("the file is truncated", 16);
    }
    if (head->rows_at > head->table_at || (file_bytes - head->table_at) % SL_BETON_ALLOCATION) {
        return sl_refuse("its allocation table is truncated, or at an impossible offset", 16);
    }
    head->table_rows = (file_bytes - head->table_at) / SL_BETON_ALLOCATION;
    return sl_accept();
}

/* ---- fields ---- */

/*
 * Reads a dtype in numpy's form: a list of one pair of an empty name and the type. Returns NULL, or
 * why it is not supported.
 */
static const char *beton_header_read_dtype(sluice_dtype *dtype, sl_bytes text)
{
    json_t *descr = sl_json_parse(text);
    const json_t *pair = json_array_get(descr, 0);
    const json_t *type = json_array_get(pair, 1);
    const char *why = "its dtype is not in numpy's form";
    if (json_array_size(descr) == 1 && json_array_size(pair) == 2 && json_is_string(type)) {
        why = sl_npy_dtype(json_string_value(type), json_string_length(type), dtype);
    } else if (json_array_size(descr) > 1) {
        why = "its dtype is structured";
    }
    json_decref(descr);
    return why;
}

static const char *beton_header_read_shape(sl_beton_column *column, const uint8_t *arguments)
{
    sl_field *field = &column->source.field;
    uint32_t dims = DIMS;
    while (dims > 0 && sl_load64(arguments + (size_t)(dims - 1) * 8) == 0) {
        dims--;
    }
    if (dims == 0 || dims > SLUICE_TENSOR_DIMS_MAX) {
        return "the number of dimensions is not 1 to 8";
    }
    column->bytes = sl_dtype_bytes(field->dtype);
    for (uint32_t i = 0; i < dims; i++) {
        field->shape[i] = sl_load64(arguments + (size_t)i * 8);
        column->bytes *= field->shape[i] <= SL_RECORD_BYTES_MAX ? field->shape[i] : 0;
        if (column->bytes == 0 || column->bytes > SL_RECORD_BYTES_MAX) {
            return "the size of its arrays is not 1 to 2^31 - 1 bytes";
        }
    }
    field->dims = dims;
    return NULL;
}

/* Reads the type of an array. Returns NULL, or why it is not supported. */
static const char *read_array(sl_beton_column *column, const uint8_t *arguments)
{
    const uint64_t length = sl_load64(arguments + (size_t)DIMS * 8);
    if (length > ARGUMENT_BYTES - ARRAY_HEAD) {
        return "its dtype is missing";
    }
    const char *why = beton_header_read_dtype(&column->source.field.dtype,
                                              (sl_bytes){arguments + ARRAY_HEAD, length});
    return why == NULL ? beton_header_read_shape(column, arguments) : why;
}

static sl_refusal read_column(sl_beton_column *column, const uint8_t *field, size_t offset)
{
    *column = (sl_beton_column){.kind = (sl_beton_kind)field[0]};
    memcpy(column->source.name, field + NAME, NAME_BYTES);
    if (field[0] == 255) {
        return sl_refuse_unknown("a field has a custom type (255), whose size within a row is "
                                 "unknown, so that no field can be read",
                                 offset);
    }
    if (field[0] >= sizeof(kinds) / sizeof(kinds[0])) {
        return sl_refuse_unknown("a field has an unknown type", offset);
    }
    column->source.field =
        (sl_field){.type = kinds[field[0]].type, .compression = SLUICE_COMPRESSION_NEVER};
    if (column->source.field.type == SLUICE_FIELD_TENSOR) {
        column->source.refused = read_array(column, field + ARGUMENTS);
    }
    return sl_accept();
}

static uint64_t beton_header_round_up(uint64_t bytes, uint32_t align)
{
    return (bytes + align - 1) / align * align;
}

sl_refusal sl_beton_columns_parse(sl_beton_head *head, sl_beton_column *columns,
                                  const uint8_t *bytes)
{
    uint64_t end = 0;
    uint32_t widest = 1;
    uint32_t pictures = 0;
    for (uint32_t i = 0; i < head->columns; i++) {
        const size_t offset = (size_t)i * SL_BETON_FIELD;
        const sl_refusal refusal = read_column(&columns[i], bytes + offset, SL_BETON_HEAD + offset);
        if (refusal.text != NULL) {
            return refusal;
        }
        columns[i].picture = pictures;
        pictures += columns[i].kind == SL_BETON_PICTURE;
        const uint32_t align = kinds[columns[i].kind].align;
        columns[i].at = (uint32_t)beton_header_round_up(end, align);
        end = columns[i].at + (uint64_t)kinds[columns[i].kind].bytes;
        widest = align > widest ? align : widest;
    }
    head->row_bytes = beton_header_round_up(end, widest);
    return head->row_bytes > 0 &&
                   head->samples <= (head->table_at - head->rows_at) / head->row_bytes
               ? sl_accept()
               : sl_refuse("it has more samples than fit before its allocation table", 8);
}

/* ---- rows ---- */

bool sl_beton_piece_of(const sl_beton_column *column, const uint8_t *row, uint32_t allocated,
                       sl_extent *piece)
{
    const uint8_t *part = row + column->at;
    switch (column->kind) {
    case SL_BETON_PICTURE:
        *piece = (sl_extent){sl_load64(part + 5), allocated};
        return true;
    case SL_BETON_BYTES:
    case SL_BETON_JSON:
        *piece = (sl_extent){sl_load64(part), sl_load64(part + 8)};
        return true;
    case SL_BETON_ARRAY:
    case SL_BETON_TENSOR:
        *piece = (sl_extent){sl_load64(part), column->bytes};
        return true;
    case SL_BETON_FLOAT:
    case SL_BETON_INT:
        break;
    }
    return false;
}

static sl_refusal give_picture(const uint8_t *part, const sl_field *field, sl_value *value)
{
    const uint32_t width = sl_load16(part + 1);
    const uint32_t height = sl_load16(part + 3);
    if (part[0] > MODE_RAW) {
        return sl_refuse("neither a JPEG nor raw pixels", value->offset);
    }
    if (part[0] == MODE_RAW &&
        (value->bytes.size == 0 || value->bytes.size != (uint64_t)width * height * 3)) {
        return sl_refuse("size does not match the image's width and height", value->offset);
    }
    const sl_refusal refusal = sl_source_value(field, value);
    if (sl_type_is_media(field->type)) {
        value->codec = part[0] == MODE_RAW ? SL_CODEC_RAW : SL_CODEC_BY_BYTES;
        value->width = width;
        value->height = height;
    }
    return refusal;
}

sl_refusal sl_beton_value(const sl_beton_column *column, const sl_field *field, const uint8_t *row,
                          sl_bytes bytes, sl_value *value)
{
    const uint8_t *part = row + column->at;
    const uint64_t number = sl_load64(part); /* each part has 8 bytes */
    value->present = true;
    value->bytes = bytes;
    if (column->kind == SL_BETON_INT) {
        value->integer = (int64_t)number;
        return sl_accept();
    }
    if (column->kind == SL_BETON_FLOAT) {
        memcpy(&value->number, &number, sizeof(number));
        return sl_accept();
    }
    if (column->kind == SL_BETON_PICTURE) {
        return give_picture(part, field, value);
    }
    if (column->kind == SL_BETON_JSON) {
        const uint8_t *end = bytes.size > 0 ? memchr(bytes.data, 0, bytes.size) : NULL;
        if (end == NULL) {
            return sl_refuse("its text is not NUL-terminated", value->offset);
        }
        value->bytes.size = (size_t)(end - bytes.data);
    }
    return sl_source_value(field, value);
}
