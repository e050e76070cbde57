/* SPDX-License-Identifier: Apache-2.0 */
#include "field_choice.h"

#include "dtype.h"
#include "error.h"
#include "names.h"

#include <string.h>

#define STAGE "dataset"

enum { DIMENSION_MAX = 0x7fffffff, DTYPES = 32 };

static const struct {
    const char *word;
    sluice_field_type type;
} types[] = {
    {"image", SLUICE_FIELD_IMAGE}, {"int", SLUICE_FIELD_INT},   {"float", SLUICE_FIELD_FLOAT},
    {"bytes", SLUICE_FIELD_BYTES}, {"text", SLUICE_FIELD_TEXT},
};

static bool field_choice_read_dtype(const char *text, size_t bytes, sluice_dtype *dtype)
{
    for (int i = 0; i < DTYPES; i++) {
        const char *name = sl_dtype_name((sluice_dtype)i);
        if (sl_dtype_bytes((sluice_dtype)i) > 0 && strlen(name) == bytes &&
            memcmp(name, text, bytes) == 0) {
            *dtype = (sluice_dtype)i;
            return true;
        }
    }
    return false;
}

/* Parses "4,3]" after the bracket; "]" is one variable dimension. */
static bool field_choice_read_shape(sl_field *field, const char *text)
{
    uint64_t size = 0;
    bool digits = false;
    for (;; text++) {
        if (*text >= '0' && *text <= '9') {
            size = size * 10 + (uint64_t)(*text - '0');
            digits = true;
            if (size > DIMENSION_MAX) {
                return false;
            }
            continue;
        }
        /* only the first of several dimensions can be computed from the others */
        if ((*text != ',' && *text != ']') || field->dims == SLUICE_TENSOR_DIMS_MAX ||
            (field->dims > 0 && size == 0) || (digits && size == 0 && field->dims > 0)) {
            return false;
        }
        field->shape[field->dims++] = size;
        if (*text == ']') {
            return text[1] == '\0' && sl_tensor_fits(field);
        }
        size = 0;
        digits = false;
    }
}

static bool read_type(sl_field *field, const char *text)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].word, text) == 0) {
            field->type = types[i].type;
            return true;
        }
    }
    const char *bracket = strchr(text, '[');
    if (bracket == NULL ||
        !field_choice_read_dtype(text, (size_t)(bracket - text), &field->dtype)) {
        return false;
    }
    field->type = SLUICE_FIELD_TENSOR;
    return field_choice_read_shape(field, bracket + 1);
}

static sluice_status field_choice_refuse(const char *text, const char *why, sluice_error *error)
{
    return sl_error_set(error, SLUICE_INVALID, STAGE, "field \"%.300s\": %s", text, why);
}

sluice_status sl_field_choice_parse(sl_field_choice *choice, const char *text, sluice_error *error)
{
    memset(choice, 0, sizeof(*choice));
    const char *key = strchr(text, '=');
    if (key == NULL || (size_t)(key - text) >= sizeof(choice->field.name)) {
        return field_choice_refuse(text, "expected NAME=KEY or NAME=KEY:TYPE", error);
    }
    memcpy(choice->field.name, text, (size_t)(key - text));
    choice->field.compression = SLUICE_COMPRESSION_NEVER;
    if (!sl_field_name_ok(choice->field.name)) {
        return field_choice_refuse(text, "its name must be 1 to 31 ASCII characters without spaces",
                                   error);
    }
    const size_t bytes = strlen(++key);
    if (bytes == 0 || bytes >= sizeof(choice->key)) {
        return field_choice_refuse(text, "its key must be 1 to 255 bytes", error);
    }
    memcpy(choice->key, key, bytes + 1);
    char *colon = strrchr(choice->key, ':');
    sl_field typed = choice->field;
    if (colon != NULL && colon != choice->key && read_type(&typed, colon + 1)) {
        choice->field = typed;
        choice->typed = true;
        *colon = '\0';
    } else if (colon != NULL && strchr(colon, '[') != NULL) {
        return field_choice_refuse(
            text, "a tensor must be DTYPE[SHAPE], such as f32[4], i64[] or u8[28,28]", error);
    }
    return SLUICE_OK;
}

/* ---- of any field ---- */

bool sl_field_name_ok(const char name[SL_FIELD_NAME_BYTES])
{
    const size_t length = strnlen(name, SL_FIELD_NAME_BYTES);
    for (size_t i = 0; i < length; i++) {
        if (name[i] <= ' ' || name[i] > '~') {
            return false;
        }
    }
    return length > 0 && length < SL_FIELD_NAME_BYTES;
}

bool sl_tensor_fits(const sl_field *field)
{
    uint64_t bytes = sl_dtype_bytes(field->dtype);
    for (uint32_t i = 0; i < field->dims; i++) {
        const uint64_t size = field->shape[i] == 0 ? 1 : field->shape[i];
        if (size > SL_RECORD_BYTES_MAX || bytes * size > SL_RECORD_BYTES_MAX) {
            return false;
        }
        bytes *= size;
    }
    return true;
}
