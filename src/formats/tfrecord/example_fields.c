/* SPDX-License-Identifier: Apache-2.0 */
#include "example_fields.h"

#include "dtype.h"
#include "number_list.h"

#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

/* ---- what a key is ---- */

static const char *last_part(const char *key)
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

/* By the key's last part: bytes that happen to be UTF-8 are not all meant to be read. */
static bool is_text_name(const char *key)
{
    static const char *const names[] = {
        "text",     "caption",   "txt",    "transcript", "sentence",   "title",     "description",
        "label",    "filename",  "format", "synset",     "colorspace", "source_id", "human",
        "name",     "file_name", "url",    "sha256",     "id",         "key",       "image_id",
        "question", "answer",    "class",  "path",       "language",   "lang",      "json",
    };
    return IS_ONE_OF(last_part(key), names);
}

static sluice_field_type type_of_bytes(const sl_example_key *key)
{
    if (key->any && key->all_pictures) {
        return SLUICE_FIELD_IMAGE;
    }
    return key->all_text && is_text_name(key->name) ? SLUICE_FIELD_TEXT : SLUICE_FIELD_BYTES;
}

/* False: nothing that a field could be: lists of bytes, or no list at all. */
static bool type_of(const sl_example_key *key, sl_field *field)
{
    const bool one = key->least == 1 && key->most == 1;
    *field = (sl_field){.compression = SLUICE_COMPRESSION_NEVER};
    switch (key->kind) {
    case SL_FEATURE_BYTES:
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
    field->dims = one ? 0 : 1; /* of any length: the next sample's may be another */
    field->dtype = one ? 0 : field->dtype;
    return true;
}

/* ---- fields that are found ---- */

static bool has(const sl_example_keys *keys, const char *name)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        if (strcmp(keys->of[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The first of the names that is a key of the type; NULL: none, or `name` is taken. */
static const char *usual_key(const sl_example_keys *keys, const char *name, sluice_field_type type,
                             const char *const *names, size_t count)
{
    if (has(keys, name)) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < keys->count; k++) {
            sl_field field;
            if (strcmp(keys->of[k].name, names[i]) == 0 && type_of(&keys->of[k], &field) &&
                field.type == type) {
                return keys->of[k].name;
            }
        }
    }
    return NULL;
}

typedef struct usual {
    const char *image, *label; /* keys */
} usual;

static usual find_usual(const sl_example_keys *keys)
{
    static const char *const images[] = {"image/encoded", "image_raw", "jpg",         "jpeg",
                                         "png",           "webp",      "image_bytes", "img"};
    static const char *const labels[] = {"image/class/label", "class", "cls"};
    return (usual){
        usual_key(keys, "image", SLUICE_FIELD_IMAGE, images, sizeof(images) / sizeof(images[0])),
        usual_key(keys, "label", SLUICE_FIELD_INT, labels, sizeof(labels) / sizeof(labels[0]))};
}

/* A longer key without what it begins with: from a slash on, if one is near enough. */
static const char *short_name(const char *key)
{
    while (strlen(key) >= SL_FIELD_NAME_BYTES && strchr(key, '/') != NULL) {
        key = strchr(key, '/') + 1;
    }
    const size_t bytes = strlen(key);
    return bytes < SL_FIELD_NAME_BYTES ? key : key + bytes - (SL_FIELD_NAME_BYTES - 1);
}

static void add_field(sl_example_fields *fields, const sl_field *field, const char *key,
                      sl_feature_kind kind)
{
    sl_example_field *of = &fields->of[fields->count];
    fields->fields[fields->count++] = *field;
    *of = (sl_example_field){.kind = kind, .step = 1};
    of->key_bytes = (uint32_t)strlen(key);
    memcpy(of->key, key, of->key_bytes);
    for (uint32_t i = 1; i < field->dims; i++) {
        of->step *= field->shape[i];
    }
}

static bool is_taken(const sl_example_fields *fields, const char *name)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        if (strcmp(fields->fields[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Pictures first, then the label, then the others by their names. */
static uint32_t rank_of(const sl_field *field)
{
    if (strcmp(field->name, "label") == 0) {
        return 1;
    }
    return field->type == SLUICE_FIELD_IMAGE ? 0 : 2;
}

static sluice_status add_key(sl_example_fields *fields, const sl_example_key *key, usual names,
                             uint32_t rank, sluice_error *error)
{
    sl_field field;
    if (!type_of(key, &field)) {
        return SLUICE_OK;
    }
    const char *name = key->name == names.image ? "image" : short_name(key->name);
    name = key->name == names.label ? "label" : name;
    memcpy(field.name, name, strlen(name) + 1);
    if (rank_of(&field) != rank) {
        return SLUICE_OK;
    }
    if (key->mixed) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the key \"%.256s\" has values of several kinds: name the fields that "
                            "are meant (the option fields)",
                            key->name);
    }
    if (is_taken(fields, name)) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "two keys, one of them \"%.256s\", would be the field \"%s\": name "
                            "the fields that are meant (the option fields)",
                            key->name, name);
    }
    add_field(fields, &field, key->name, key->kind);
    return SLUICE_OK;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const sl_example_key *)a)->name, ((const sl_example_key *)b)->name);
}

sluice_status sl_example_fields_find(sl_example_fields *fields, sl_example_keys *keys,
                                     sluice_error *error)
{
    fields->count = 0;
    if (keys->too_many || keys->too_long[0] != '\0') {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the samples have more than %u keys, or one of more than %u bytes: "
                            "name the fields that are meant (the option fields)",
                            SL_FIELDS_MAX, SL_CHOICE_KEY_BYTES - 1);
    }
    qsort(keys->of, keys->count, sizeof(keys->of[0]), compare_keys);
    const usual names = find_usual(keys);
    sluice_status status = SLUICE_OK;
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (uint32_t i = 0; status == SLUICE_OK && i < keys->count; i++) {
            status = add_key(fields, &keys->of[i], names, rank, error);
        }
    }
    if (status == SLUICE_OK && fields->count == 0) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "its records hold no feature that a field could be: they may be other "
                            "messages than tf.train.Example");
    }
    return status;
}

/* ---- fields that are chosen ---- */

static const sl_example_key *find_key(const sl_example_keys *keys, const char *name)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        if (strcmp(keys->of[i].name, name) == 0) {
            return &keys->of[i];
        }
    }
    return NULL;
}

/* NULL: a list of that kind can be such a field. */
static const char *refuse_kind(const sl_field *field, sl_feature_kind kind)
{
    switch (field->type) {
    case SLUICE_FIELD_IMAGE:
    case SLUICE_FIELD_BYTES:
    case SLUICE_FIELD_TEXT:
        return kind == SL_FEATURE_BYTES ? NULL : "it holds numbers";
    case SLUICE_FIELD_INT:
        return kind == SL_FEATURE_INT64 ? NULL : "it holds no integers";
    case SLUICE_FIELD_FLOAT:
        return kind == SL_FEATURE_FLOAT ? NULL : "it holds no floats";
    case SLUICE_FIELD_TENSOR:
        break;
    }
    if (kind == SL_FEATURE_INT64) {
        return field->dtype == SLUICE_I64 ? NULL : "it holds integers: its dtype is i64";
    }
    return kind != SL_FEATURE_FLOAT || field->dtype == SLUICE_F32
               ? NULL
               : "it holds floats: its dtype is f32";
}

/* Of the lists that a typed field is made of, where samples do not tell. */
static sl_feature_kind kind_of(const sl_field *field)
{
    switch (field->type) {
    case SLUICE_FIELD_INT:
        return SL_FEATURE_INT64;
    case SLUICE_FIELD_FLOAT:
        return SL_FEATURE_FLOAT;
    case SLUICE_FIELD_IMAGE:
    case SLUICE_FIELD_BYTES:
    case SLUICE_FIELD_TEXT:
        return SL_FEATURE_BYTES;
    case SLUICE_FIELD_TENSOR:
        break;
    }
    return field->dtype == SLUICE_I64   ? SL_FEATURE_INT64
           : field->dtype == SLUICE_F32 ? SL_FEATURE_FLOAT
                                        : SL_FEATURE_BYTES;
}

static sluice_status choose(sl_example_fields *fields, const sl_example_keys *keys,
                            const sl_field_choice *choice, sluice_error *error)
{
    const sl_example_key *key = find_key(keys, choice->key);
    const char *why = NULL;
    sl_field field = choice->field;
    sl_feature_kind kind = key != NULL ? key->kind : SL_FEATURE_NONE;
    if (is_taken(fields, field.name)) {
        why = "there are two fields of that name";
    } else if (key == NULL || kind == SL_FEATURE_NONE) {
        why = "none of the samples that were looked at has that key";
    } else if (key->mixed && choice->typed) {
        kind = kind_of(&field);
    } else if (key->mixed) {
        why = "it has values of several kinds";
    } else if (choice->typed) {
        why = refuse_kind(&field, kind);
    } else if (!type_of(key, &field)) {
        why = "it is a list of several bytes values, which no field can hold";
    }
    if (why != NULL) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "field \"%s\", key \"%.256s\": %s",
                            choice->field.name, choice->key, why);
    }
    memcpy(field.name, choice->field.name, sizeof(field.name));
    add_field(fields, &field, choice->key, kind);
    return SLUICE_OK;
}

sluice_status sl_example_fields_choose(sl_example_fields *fields, const sl_example_keys *keys,
                                       const sl_field_choice *choices, uint32_t count,
                                       sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    fields->count = 0;
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = choose(fields, keys, &choices[i], error);
    }
    return status;
}
