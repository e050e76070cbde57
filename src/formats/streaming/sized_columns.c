/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized_columns: splits a sample of MDS or LitData into its columns. Pure, called by workers.
 *
 * Sizes in a sample are untrusted: the columns must fill it exactly.
 */
#include "sized_columns.h"

#include "checksum.h"
#include "dtype.h"
#include "little_endian.h"
#include "memory.h"
#include "stored_number.h"

#include <string.h>

#define STAGE "dataset"

static const char unknown[] = "an array whose dtype and dimensions are unknown, since the first "
                              "samples do not have them: choose the other fields";

void sl_sized_columns_close(sl_sized_columns *columns)
{
    sl_free(columns->of);
    sl_free(columns->sources);
    columns->of = NULL;
    columns->sources = NULL;
}

sluice_status sl_sized_columns_add(sl_sized_columns *columns, const char *path, sluice_error *error)
{
    if (columns->count == SL_SOURCE_COLUMNS_MAX) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                             "it has more than %u columns", SL_SOURCE_COLUMNS_MAX);
    }
    if (columns->count == columns->capacity) {
        const uint32_t capacity = columns->capacity == 0 ? 16 : 2 * columns->capacity;
        sl_sized_column *of = sl_realloc_array(columns->of, capacity, sizeof(*of));
        columns->of = of != NULL ? of : columns->of;
        sl_source_column *sources = sl_realloc_array(columns->sources, capacity, sizeof(*sources));
        columns->sources = sources != NULL ? sources : columns->sources;
        if (of == NULL || sources == NULL) {
            return sl_no_memory_file(error, STAGE, path, "for columns");
        }
        columns->capacity = capacity;
    }
    columns->of[columns->count] = (sl_sized_column){0};
    memset(&columns->sources[columns->count], 0, sizeof(*columns->sources));
    columns->count++;
    return SLUICE_OK;
}

/* ---- where each column is ---- */

/* begins[i + 1] is the end of column i. */
typedef struct column_extents {
    uint32_t begins[SL_SOURCE_COLUMNS_MAX + 1];
} column_extents;

static sl_refusal sized_columns_measure(const sl_sized_columns *columns, sl_bytes sample,
                                        column_extents *extents)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < columns->count; i++) {
        at += columns->of[i].bytes == 0 ? 4 : 0;
    }
    if (at > sample.size) {
        return sl_refuse("the sample is shorter than the sizes of its columns", 0);
    }
    uint32_t told = 0;
    for (uint32_t i = 0; i < columns->count; i++) {
        uint32_t bytes = columns->of[i].bytes;
        extents->begins[i] = (uint32_t)at;
        if (bytes == 0) {
            bytes = sl_load32(sample.data + told);
            told += 4;
        }
        if (bytes > sample.size - at) {
            return sl_refuse("a column extends beyond its sample", told > 0 ? told - 4 : 0);
        }
        at += bytes;
    }
    extents->begins[columns->count] = (uint32_t)at;
    return at == sample.size ? sl_accept()
                             : sl_refuse("the sample is longer than its columns together", at);
}

static sl_bytes sized_columns_part(sl_bytes sample, const column_extents *extents, uint32_t column)
{
    const uint32_t begin = extents->begins[column];
    return (sl_bytes){sample.data + begin, extents->begins[column + 1] - begin};
}

/* Sizes of the columns before and after one. */
typedef struct column_sizes {
    uint64_t fixed_before, fixed_behind;
    uint32_t varying, varying_before; /* number of columns whose size is in each sample */
} column_sizes;

static column_sizes sizes_around(const sl_sized_columns *columns, uint32_t column)
{
    column_sizes sizes = {0};
    for (uint32_t i = 0; i < columns->count; i++) {
        const uint32_t bytes = columns->of[i].bytes;
        sizes.varying += bytes == 0;
        sizes.varying_before += bytes == 0 && i < column;
        sizes.fixed_before += i < column ? bytes : 0;
        sizes.fixed_behind += i > column ? bytes : 0;
    }
    return sizes;
}

static sl_refusal place_column(const sl_sized_columns *columns, uint32_t column,
                               uint32_t sample_bytes, sl_sized_extent *extent)
{
    const column_sizes sizes = sizes_around(columns, column);
    const uint32_t own = columns->of[column].bytes;
    const uint64_t known =
        4 * (uint64_t)sizes.varying + sizes.fixed_before + own + sizes.fixed_behind;
    if (sample_bytes < known || (sizes.varying == 0 && sample_bytes > known)) {
        return sl_refuse("the size of the sample does not match its columns", 0);
    }
    const bool is_rest = own == 0 && sizes.varying == 1;
    const uint64_t begin = 4 * (uint64_t)sizes.varying + sizes.fixed_before;
    *extent = (sl_sized_extent){(uint32_t)begin, is_rest ? (uint32_t)(sample_bytes - known) : own};
    if (is_rest || (own > 0 && sizes.varying_before == 0)) {
        return sl_accept();
    }
    extent->begin = (uint32_t)(sample_bytes - sizes.fixed_behind - own);
    return own > 0 && sizes.varying_before == sizes.varying
               ? sl_accept()
               : sl_refuse_unknown("its byte range is only known from each sample, since other "
                                   "columns vary in size: pack it alone for windows",
                                   0);
}

/*
 * Skips MDS's header of a one-dimensional array. Its size is stored in as few bytes as possible, so
 * exactly one width fits.
 */
static sl_refusal skip_head(const sl_sized_column *column, sl_sized_extent *extent)
{
    const uint64_t each = sl_dtype_bytes(column->dtype);
    if (column->head != SL_ARRAY_MDS_SHAPE || column->odd_head) {
        return sl_refuse_unknown(
            "its dtype is only known from each sample: pack it alone for windows", 0);
    }
    for (uint32_t width = 1; width <= 4 && extent->bytes > 1 + width; width *= 2) {
        const uint64_t left = extent->bytes - 1 - width;
        const uint64_t least = width == 1 ? 1 : UINT64_C(1) << 4 * width;
        if (left % each == 0 && left / each >= least && left / each < UINT64_C(1) << 8 * width) {
            extent->begin += 1 + width;
            extent->bytes = (uint32_t)left;
            return sl_accept();
        }
    }
    return sl_refuse("size is not a multiple of the element size", 0);
}

sl_refusal sl_sized_columns_place(const sl_sized_columns *columns, uint32_t field,
                                  uint32_t sample_bytes, sl_sized_extent *extent)
{
    const uint32_t number = columns->fields.column[field];
    const sl_sized_column *column = &columns->of[number];
    const sluice_dtype dtype = columns->fields.fields[field].dtype;
    sl_refusal refusal = place_column(columns, number, sample_bytes, extent);
    if (refusal.text == NULL && column->kind == SL_SIZED_ARRAY) {
        refusal = skip_head(column, extent);
    }
    if (refusal.text == NULL && extent->bytes % sl_dtype_bytes(dtype) != 0) {
        refusal = sl_refuse("size is not a multiple of the element size", 0);
    }
    if (refusal.text != NULL) {
        refusal.field = columns->fields.fields[field].name;
    }
    return refusal;
}

/* ---- values ---- */

static sl_refusal sized_columns_take_number(const sl_sized_column *column, sl_value *value)
{
    const sluice_dtype dtype = column->dtype;
    const size_t bytes = sl_dtype_bytes(dtype);
    const uint8_t *from = value->bytes.data;
    if (value->bytes.size != bytes) {
        return sl_refuse("size does not match the number's type", 0);
    }
    if (sl_dtype_is_float(dtype)) {
        value->number = sl_stored_float(from, bytes);
    } else {
        value->integer = sl_stored_integer(from, bytes, sl_dtype_is_signed(dtype));
        if (dtype == SLUICE_U64 && value->integer < 0) {
            return sl_refuse_unknown("its number is above 2^63 - 1", 0);
        }
        value->integer = dtype == SLUICE_BOOL ? value->integer != 0 : value->integer;
    }
    value->bytes = (sl_bytes){NULL, 0};
    return sl_accept();
}

static sl_refusal sized_columns_take_pixels(sl_value *value)
{
    const sl_bytes bytes = value->bytes;
    if (bytes.size < 12) {
        return sl_refuse("its image is truncated", 0);
    }
    const uint32_t mode = sl_load32(bytes.data + 8);
    if (mode > bytes.size - 12) {
        return sl_refuse("its image is truncated", 8);
    }
    if (mode != 3 || memcmp(bytes.data + 12, "RGB", 3) != 0) {
        return sl_refuse_unknown("the mode of its image is not RGB: store it as RGB, or as PNG",
                                 12);
    }
    value->codec = SL_CODEC_RAW;
    value->width = sl_load32(bytes.data);
    value->height = sl_load32(bytes.data + 4);
    value->offset += 15;
    value->bytes = (sl_bytes){bytes.data + 15, bytes.size - 15};
    const uint64_t pixels = (uint64_t)value->width * value->height;
    if (pixels == 0 || value->bytes.size % 3 != 0 || pixels != value->bytes.size / 3) {
        return sl_refuse("size does not match the image's width and height", 0);
    }
    return sl_accept();
}

static sl_refusal sized_columns_take_array(const sl_sized_column *column, const sl_field *field,
                                           sl_value *value)
{
    sl_array array = {.dtype = column->dtype};
    const sl_refusal refusal = sl_array_parse(&array, column->head, value->bytes);
    if (refusal.text != NULL) {
        return refusal;
    }
    if (array.dtype != field->dtype || array.dims != field->dims) {
        return sl_refuse_unknown(
            "the dtype or number of dimensions of its array differs from that of the first samples",
            0);
    }
    memcpy(value->shape, array.shape, array.dims * sizeof(array.shape[0]));
    value->offset += array.data;
    value->bytes.data += array.data;
    value->bytes.size -= array.data;
    return sl_accept();
}

/* Takes a column's value. Offsets in errors are relative to the column. */
static sl_refusal sized_columns_take(const sl_sized_column *column, const sl_field *field,
                                     sl_value *value)
{
    if (column->kind == SL_SIZED_NUMBER) {
        return sized_columns_take_number(column, value);
    }
    if (column->kind == SL_SIZED_ARRAY) {
        return sized_columns_take_array(column, field, value);
    }
    if (column->kind == SL_SIZED_PIXELS && field->type == SLUICE_FIELD_IMAGE) {
        return sized_columns_take_pixels(value);
    }
    sl_refusal refusal = sl_source_value(field, value); /* as stored, also if chosen explicitly */
    refusal.offset = 0;
    return refusal;
}

sl_refusal sl_sized_columns_unpack(const sl_sized_columns *columns, sl_bytes sample,
                                   sl_values *values)
{
    column_extents extents;
    sl_refusal refusal = sized_columns_measure(columns, sample, &extents);
    for (uint32_t i = 0; refusal.text == NULL && i < columns->fields.count; i++) {
        if (!sl_values_want(values, i)) {
            continue;
        }
        const sl_field *field = &columns->fields.fields[i];
        const uint32_t column = columns->fields.column[i];
        values->of[i] = (sl_value){.present = true,
                                   .bytes = sized_columns_part(sample, &extents, column),
                                   .offset = extents.begins[column]};
        refusal = sized_columns_take(&columns->of[column], field, &values->of[i]);
        if (refusal.text != NULL) {
            refusal.offset += extents.begins[column];
            refusal.field = field->name;
        }
    }
    return refusal;
}

/* ---- fields ---- */

static bool is_unknown(const sl_sized_columns *columns, uint32_t column)
{
    return columns->of[column].kind == SL_SIZED_ARRAY &&
           columns->sources[column].field.type != SLUICE_FIELD_TENSOR;
}

uint64_t sl_sized_columns_sum(const sl_sized_columns *columns)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < columns->count; i++) {
        const sl_sized_column *column = &columns->of[i];
        const sl_source_column *source = &columns->sources[i];
        const sl_field *field = &source->field;
        const uint32_t what[] = {column->kind, column->bytes, column->dtype, column->head,
                                 field->type,  field->dtype,  field->dims};
        sl_checksum_add(&stream, source->name, strlen(source->name) + 1);
        sl_checksum_add(&stream, what, sizeof(what));
        sl_checksum_add(&stream, field->shape, sizeof(field->shape));
    }
    return sl_checksum_value(&stream);
}

bool sl_sized_columns_unknown(const sl_sized_columns *columns)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        if (is_unknown(columns, i)) {
            return true;
        }
    }
    return false;
}

/* Returns the width of the number of elements, as MDS's writers choose it. */
static uint32_t sized_columns_width_of(uint64_t elements)
{
    uint32_t width = 1;
    while (width < 8 && elements >> 8 * width != 0) {
        width *= 2;
    }
    return width;
}

sl_refusal sl_sized_columns_look(sl_sized_columns *columns, sl_bytes sample)
{
    column_extents extents;
    sl_refusal refusal = sized_columns_measure(columns, sample, &extents);
    if (refusal.text != NULL) {
        return refusal;
    }
    for (uint32_t i = 0; i < columns->count; i++) {
        if (!is_unknown(columns, i)) {
            continue;
        }
        sl_array array = {.dtype = columns->of[i].dtype};
        const sl_refusal why =
            sl_array_parse(&array, columns->of[i].head, sized_columns_part(sample, &extents, i));
        if (why.text != NULL) {
            refusal = why;
            refusal.offset += extents.begins[i];
            continue;
        }
        columns->of[i].odd_head =
            array.dims != 1 || array.data != 1 + sized_columns_width_of(array.shape[0]);
        columns->sources[i].refused = NULL;
        columns->sources[i].field = (sl_field){.type = SLUICE_FIELD_TENSOR,
                                               .dtype = array.dtype,
                                               .dims = array.dims,
                                               .compression = SLUICE_COMPRESSION_NEVER};
    }
    return refusal;
}

sluice_status sl_sized_columns_find(sl_sized_columns *columns,
                                    const sluice_dataset_options *options, const char *path,
                                    sluice_error *error)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        if (is_unknown(columns, i)) {
            columns->sources[i].refused = unknown;
        }
    }
    const sluice_status status = sl_source_fields_find(&columns->fields, columns->sources,
                                                       columns->count, options, path, error);
    sl_free(columns->sources);
    columns->sources = NULL;
    return status;
}
