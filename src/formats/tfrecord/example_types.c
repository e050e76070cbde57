/* SPDX-License-Identifier: Apache-2.0 */
/* example_types: determines the field of a key. */
#include "example_fields.h"
#include "field_choice.h"

#include <string.h>

static const char *example_types_last_part(const char *key)
{
    const char *slash = strrchr(key, '/');
    return slash != NULL ? slash + 1 : key;
}

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

#define IS_ONE_OF(word, words) is_one_of(word, words, sizeof(words) / sizeof((words)[0]))

/*
 * Returns whether a key's last part names text: bytes that happen to be UTF-8 are not always meant
 * as text.
 */
static bool is_text_name(const char *key)
{
    static const char *const names[] = {
        "text",     "caption",   "txt",    "transcript", "sentence",   "title",     "description",
        "label",    "filename",  "format", "synset",     "colorspace", "source_id", "human",
        "name",     "file_name", "url",    "sha256",     "id",         "key",       "image_id",
        "question", "answer",    "class",  "path",       "language",   "lang",      "json",
    };
    return IS_ONE_OF(example_types_last_part(key), names);
}

static sluice_field_type type_of_bytes(const sl_example_key *key)
{
    if (key->any && key->all_pictures) {
        return SLUICE_FIELD_IMAGE;
    }
    return key->all_text && is_text_name(key->name) ? SLUICE_FIELD_TEXT : SLUICE_FIELD_BYTES;
}

/* Sets a field with any number of steps of `width` elements each. */
static bool set_steps(sl_field *field, sluice_dtype dtype, uint64_t width)
{
    field->type = SLUICE_FIELD_TENSOR;
    field->dtype = dtype;
    field->dims = width == 1 ? 1 : 2;
    field->shape[1] = width == 1 ? 0 : width;
    return sl_tensor_fits(field);
}

/*
 * Determines the field of steps. Texts per step become one text, since no field type is a list of
 * texts.
 */
static bool type_of_steps(const sl_example_key *key, sl_field *field)
{
    const bool even = key->least == key->most && key->most > 0;
    *field = (sl_field){.compression = SLUICE_COMPRESSION_NEVER};
    if (key->kind == SL_FEATURE_FLOAT || key->kind == SL_FEATURE_INT64) {
        return even &&
               set_steps(field, key->kind == SL_FEATURE_FLOAT ? SLUICE_F32 : SLUICE_I64, key->most);
    }
    if (key->kind == SL_FEATURE_NONE || key->most != 1 || !key->any) {
        return false;
    }
    if (key->all_pictures || key->all_text) {
        field->type = key->all_pictures ? SLUICE_FIELD_IMAGE : SLUICE_FIELD_TEXT;
        return true;
    }
    return even && key->least_bytes == key->most_bytes &&
           set_steps(field, SLUICE_U8, key->most_bytes);
}

bool sl_example_type(const sl_example_key *key, sl_field *field)
{
    const bool one = key->least == 1 && key->most == 1;
    if (key->in_lists) {
        return type_of_steps(key, field);
    }
    *field = (sl_field){.compression = SLUICE_COMPRESSION_NEVER};
    switch (key->kind) {
    case SL_FEATURE_BYTES: /* no field can be a list of these */
        field->type = type_of_bytes(key);
        return key->most <= 1;
    case SL_FEATURE_FLOAT:
        field->type = one ? SLUICE_FIELD_FLOAT : SLUICE_FIELD_TENSOR;
        field->dtype = SLUICE_F32;
        break;
    case SL_FEATURE_INT64:
        field->type = one ? SLUICE_FIELD_INT : SLUICE_FIELD_TENSOR;
        field->dtype = SLUICE_I64;
        break;
    case SL_FEATURE_NONE:
        return false;
    }
    field->dims = one ? 0 : 1; /* variable length: the next sample's may differ */
    field->dtype = one ? 0 : field->dtype;
    return true;
}
