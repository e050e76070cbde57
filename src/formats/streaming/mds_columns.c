/* SPDX-License-Identifier: Apache-2.0 */
#include "mds_columns.h"

#include "dtype.h"
#include "field_choice.h"

#include <string.h>

static const struct {
    const char *name;
    sl_sized_kind kind;
    sluice_field_type type;
    sluice_dtype dtype;
} encodings[] = {
    {"int", SL_SIZED_NUMBER, SLUICE_FIELD_INT, SLUICE_I64},
    {"int8", SL_SIZED_NUMBER, SLUICE_FIELD_INT, SLUICE_I8},
    {"int16", SL_SIZED_NUMBER, SLUICE_FIELD_INT, SLUICE_I16},
    {"int32", SL_SIZED_NUMBER, SLUICE_FIELD_INT, SLUICE_I32},
    {"int64", SL_SIZED_NUMBER, SLUICE_FIELD_INT, SLUICE_I64},
    {"uint8", SL_SIZED_NUMBER, SLUICE_FIELD_INT, SLUICE_U8},
    {"uint16", SL_SIZED_NUMBER, SLUICE_FIELD_INT, SLUICE_U16},
    {"uint32", SL_SIZED_NUMBER, SLUICE_FIELD_INT, SLUICE_U32},
    {"uint64", SL_SIZED_NUMBER, SLUICE_FIELD_INT, SLUICE_U64},
    {"float16", SL_SIZED_NUMBER, SLUICE_FIELD_FLOAT, SLUICE_F16},
    {"float32", SL_SIZED_NUMBER, SLUICE_FIELD_FLOAT, SLUICE_F32},
    {"float64", SL_SIZED_NUMBER, SLUICE_FIELD_FLOAT, SLUICE_F64},
    {"str", SL_SIZED_PLAIN, SLUICE_FIELD_TEXT, SLUICE_U8},
    {"str_int", SL_SIZED_PLAIN, SLUICE_FIELD_TEXT, SLUICE_U8},
    {"str_float", SL_SIZED_PLAIN, SLUICE_FIELD_TEXT, SLUICE_U8},
    {"str_decimal", SL_SIZED_PLAIN, SLUICE_FIELD_TEXT, SLUICE_U8},
    {"json", SL_SIZED_PLAIN, SLUICE_FIELD_TEXT, SLUICE_U8},
    {"bytes", SL_SIZED_PLAIN, SLUICE_FIELD_BYTES, SLUICE_U8},
    {"jpeg", SL_SIZED_PLAIN, SLUICE_FIELD_IMAGE, SLUICE_U8},
    {"png", SL_SIZED_PLAIN, SLUICE_FIELD_IMAGE, SLUICE_U8},
    {"pil", SL_SIZED_PIXELS, SLUICE_FIELD_IMAGE, SLUICE_U8},
};

/* Returns whether an encoding is "jpeg", possibly with the quality of its images: "jpeg:90". */
static bool is_jpeg(const char *encoding)
{
    const char *digits = encoding + 5;
    return strncmp(encoding, "jpeg:", 5) == 0 && *digits != '\0' &&
           digits[strspn(digits, "0123456789")] == '\0';
}

static const char *why_refused(const char *encoding)
{
    static const char *const lists[] = {"jpeg_array", "jpegarray", "list[jpeg]", "list[png]",
                                        "list[pil]"};
    if (strcmp(encoding, "pkl") == 0) {
        return "pickled objects, which are never loaded: choose the other fields, or write the "
               "column as json or ndarray";
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (strcmp(encoding, lists[i]) == 0) {
            return "lists of images, which are not supported: choose the other fields, or write "
                   "each image as its own column";
        }
    }
    return "unknown encoding: choose the other fields";
}

static bool parse_shape(sl_field *field, const char *text)
{
    uint64_t size = 0;
    for (;; text++) {
        if (*text >= '0' && *text <= '9') {
            size = size * 10 + (uint64_t)(*text - '0');
            if (size > INT32_MAX) {
                return false;
            }
            continue;
        }
        if ((*text != ',' && *text != '\0') || size == 0 || field->dims == SLUICE_TENSOR_DIMS_MAX) {
            return false;
        }
        field->shape[field->dims++] = size;
        if (*text == '\0') {
            return sl_tensor_fits(field);
        }
        size = 0;
    }
}

/*
 * Parses "ndarray", "ndarray:DTYPE" or "ndarray:DTYPE:SHAPE"; each array has the parts that this
 * omits.
 */
static void mds_columns_take_array(const char *type, sl_sized_column *column,
                                   sl_source_column *source)
{
    const char *shape = strchr(type, ':');
    const size_t bytes = shape != NULL ? (size_t)(shape - type) : strlen(type);
    column->kind = SL_SIZED_ARRAY;
    column->head = SL_ARRAY_MDS;
    if (bytes == 0 && shape == NULL) {
        return;
    }
    column->head = SL_ARRAY_MDS_SHAPE;
    if (!sl_array_mds_dtype(type, bytes, &column->dtype)) {
        column->kind = SL_SIZED_PLAIN;
        source->refused = why_refused(type);
        return;
    }
    if (shape != NULL) {
        column->kind = SL_SIZED_PLAIN;
        source->field.type = SLUICE_FIELD_TENSOR;
        source->field.dtype = column->dtype;
        if (!parse_shape(&source->field, shape + 1)) {
            source->refused = "arrays of an unsupported shape (1 to 8 dimensions are supported): "
                              "choose the other fields";
        }
    }
}

void sl_mds_column(const char *encoding, sl_sized_column *column, sl_source_column *source)
{
    source->field.compression = SLUICE_COMPRESSION_NEVER;
    if (strcmp(encoding, "ndarray") == 0) {
        mds_columns_take_array("", column, source);
        return;
    }
    if (strncmp(encoding, "ndarray:", 8) == 0) {
        mds_columns_take_array(encoding + 8, column, source);
        return;
    }
    if (is_jpeg(encoding)) {
        encoding = "jpeg";
    }
    for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++) {
        if (strcmp(encoding, encodings[i].name) == 0) {
            column->kind = encodings[i].kind;
            column->dtype = encodings[i].dtype;
            source->field.type = encodings[i].type;
            return;
        }
    }
    source->refused = why_refused(encoding);
}
