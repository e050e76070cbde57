/* SPDX-License-Identifier: Apache-2.0 */
#include "field_text.h"

#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *field_type_name(const sluice_field *field)
{
    switch ((sluice_field_type)field->type) {
    case SLUICE_FIELD_IMAGE:
        return "image";
    case SLUICE_FIELD_INT:
        return "int";
    case SLUICE_FIELD_FLOAT:
        return "float";
    case SLUICE_FIELD_BYTES:
        return "bytes";
    case SLUICE_FIELD_TEXT:
        return "text";
    case SLUICE_FIELD_TENSOR:
        return "tensor";
    }
    return "unknown";
}

const char *field_stored_name(const sluice_field *field)
{
    if (field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT) {
        return "";
    }
    switch ((sluice_compression)field->compression) {
    case SLUICE_COMPRESSION_NEVER:
        return "plain";
    case SLUICE_COMPRESSION_ALWAYS:
        return "zstd";
    case SLUICE_COMPRESSION_AUTO:
        break;
    }
    return "";
}

void field_describe(const sluice_field *field, char *text, size_t bytes)
{
    char shape[128] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < field->dims && field->type == SLUICE_FIELD_TENSOR; i++) {
        const char *before = i == 0 ? "" : "x";
        const int written = field->shape[i] == 0
                                ? snprintf(shape + length, sizeof shape - length, "%s?", before)
                                : snprintf(shape + length, sizeof shape - length, "%s%" PRId64,
                                           before, field->shape[i]);
        length += written > 0 && (size_t)written < sizeof shape - length ? (size_t)written : 0;
    }
    const char *stored = field_stored_name(field);
    snprintf(text, bytes, "%s%s%s%s%s%s%s", field_type_name(field),
             field->type == SLUICE_FIELD_TENSOR ? " " : "",
             field->type == SLUICE_FIELD_TENSOR ? sluice_dtype_name((sluice_dtype)field->dtype)
                                                : "",
             shape[0] != '\0' ? ":" : "", shape, stored[0] != '\0' ? ", " : "", stored);
}

static bool parse_dtype(const char *text, size_t length, int32_t *dtype)
{
    for (int32_t i = 0; sluice_dtype_bytes((sluice_dtype)i) > 0; i++) {
        const char *name = sluice_dtype_name((sluice_dtype)i);
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            *dtype = i;
            return true;
        }
    }
    return false;
}

/* Parses 3x32x32. */
static bool parse_shape(const char *text, sluice_field *field)
{
    for (field->dims = 0; field->dims < SLUICE_TENSOR_DIMS_MAX; text++) {
        char *end;
        errno = 0;
        const long long size = strtoll(text, &end, 10);
        if (*text < '0' || *text > '9' || errno != 0 || size <= 0) {
            return false;
        }
        field->shape[field->dims++] = size;
        text = end;
        if (*text == '\0') {
            return true;
        }
        if (*text != 'x') {
            return false;
        }
    }
    return false;
}

bool field_parse_tensor(const char *text, sluice_field *field)
{
    const char *equals = strchr(text, '=');
    const char *type = equals != NULL ? equals + 1 : text;
    const char *colon = strchr(type, ':');
    const size_t name = equals != NULL ? (size_t)(equals - text) : 0;
    *field = (sluice_field)SLUICE_FIELD_INIT;
    field->type = SLUICE_FIELD_TENSOR;
    if (name < sizeof field->name && colon != NULL &&
        parse_dtype(type, (size_t)(colon - type), &field->dtype) && parse_shape(colon + 1, field)) {
        memcpy(field->name, text, name);
        return true;
    }
    report(
        "--tensor %s: must be [NAME=]DTYPE:SHAPE, as in u16:1048576 or pixels=u8:3x32x32; dtypes "
        "are u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64, bool",
        text);
    return false;
}
