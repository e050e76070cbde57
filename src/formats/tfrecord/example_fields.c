/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example_fields: chooses the fields of Examples, by the keys seen or as the user requested; runs
 * on the opener's thread. example_values.c reads values.
 */
#include "example_fields.h"

#include "media.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

/* ---- fields that are found ---- */

static const sl_example_key *find_key(const sl_example_keys *keys, const char *name, bool in_lists)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        if (keys->of[i].in_lists == in_lists && strcmp(keys->of[i].name, name) == 0) {
            return &keys->of[i];
        }
    }
    return NULL;
}

/* Returns the first of the names that is a key of the type; NULL: none, or `name` is taken. */
static const char *usual_key(const sl_example_keys *keys, const char *name, sluice_field_type type,
                             const char *const *names, size_t count)
{
    if (find_key(keys, name, false) != NULL || find_key(keys, name, true) != NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const sl_example_key *key = find_key(keys, names[i], false);
        sl_field field;
        if (key != NULL && sl_example_type(key, &field) && field.type == type) {
            return key->name;
        }
    }
    return NULL;
}

typedef struct usual {
    const char *image, *label; /* keys */
} usual;

static usual example_fields_find_usual(const sl_example_keys *keys)
{
    enum { IMAGES_MAX = 32 };
    static const char *const labels[] = {"image/class/label", "class", "cls"};
    const char *images[IMAGES_MAX] = {"image/encoded", "image_raw"};
    const uint32_t traits = SL_MEDIA_PICTURE | SL_MEDIA_HAS_CODEC;
    size_t count = 2;
    const char *extension;
    for (uint32_t i = 0;
         count < IMAGES_MAX - 2 && (extension = sl_media_extension(i, traits)) != NULL; i++) {
        images[count++] = extension;
    }
    images[count++] = "image_bytes";
    images[count++] = "img";
    return (usual){
        usual_key(keys, "image", SLUICE_FIELD_IMAGE, images, count),
        usual_key(keys, "label", SLUICE_FIELD_INT, labels, sizeof(labels) / sizeof(labels[0]))};
}

/* Returns the end of a key that is too long, from a slash on, if one is near enough. */
static const char *short_name(const char *key)
{
    while (strlen(key) >= SL_FIELD_NAME_BYTES && strchr(key, '/') != NULL) {
        key = strchr(key, '/') + 1;
    }
    const size_t bytes = strlen(key);
    return bytes < SL_FIELD_NAME_BYTES ? key : key + bytes - (SL_FIELD_NAME_BYTES - 1);
}

static sl_example_field *example_fields_add_field(sl_example_fields *fields, const sl_field *field,
                                                  const sl_example_key *key, sl_feature_kind kind)
{
    sl_example_field *of = &fields->of[fields->count];
    fields->fields[fields->count++] = *field;
    *of = (sl_example_field){
        .in_lists = key->in_lists, .kind = kind, .step = 1, .element = SL_FIELD_NONE};
    of->key_bytes = (uint32_t)strlen(key->name);
    memcpy(of->key, key->name, of->key_bytes);
    for (uint32_t i = 1; i < field->dims; i++) {
        of->step *= field->shape[i];
    }
    of->width = of->step;
    return of;
}

static bool example_fields_is_taken(const sl_example_fields *fields, const char *name)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        if (strcmp(fields->fields[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status example_fields_refuse_key(const sl_example_key *key, const char *why,
                                               sluice_error *error)
{
    return sl_error_set(
        error, SLUICE_UNSUPPORTED, STAGE,
        "the key \"%.256s\" %s: choose the fields to read (" SL_OPTION("the option fields") ")",
        key->name, why);
}

static sluice_status add_one(sl_example_fields *fields, const sl_example_key *key,
                             const sl_field *given, const char *name, sluice_error *error)
{
    sl_field field = *given;
    name = short_name(name);
    memcpy(field.name, name, strlen(name) + 1);
    if (fields->count == SL_FIELDS_MAX) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, STAGE,
            "the samples have more than %u fields, with those of \"%.256s\": choose the fields to "
            "read (" SL_OPTION("the option fields") "), those of a list of images by position, "
                                                    "NAME.0, NAME.1, ...",
            SL_FIELDS_MAX, key->name);
    }
    if (example_fields_is_taken(fields, name)) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "two keys, one of them \"%.256s\", map to field \"%s\": choose the "
                            "fields to read (" SL_OPTION("the option fields") ")",
                            key->name, name);
    }
    (void)example_fields_add_field(fields, &field, key, key->kind);
    return SLUICE_OK;
}

/* Adds a field for each position of the longest list; the last field detects a longer one. */
static sluice_status add_elements(sl_example_fields *fields, const sl_example_key *key,
                                  const sl_field *field, const char *base, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < key->most_steps; i++) {
        char name[sizeof(SL_EXAMPLE_LISTS) + SL_CHOICE_KEY_BYTES + 12];
        (void)snprintf(name, sizeof(name), "%s.%u", base, i);
        status = add_one(fields, key, field, name, error);
        if (status == SLUICE_OK) {
            sl_example_field *of = &fields->of[fields->count - 1];
            of->element = i;
            of->last = i + 1 == key->most_steps;
        }
    }
    return status;
}

static sluice_status add_key(sl_example_fields *fields, const sl_example_keys *keys,
                             const sl_example_key *key, usual names, uint32_t rank,
                             sluice_error *error)
{
    sl_field field;
    char name[sizeof(SL_EXAMPLE_LISTS) + SL_CHOICE_KEY_BYTES];
    const bool twice = key->in_lists && find_key(keys, key->name, false) != NULL;
    if (!sl_example_type(key, &field)) {
        return SLUICE_OK;
    }
    (void)snprintf(name, sizeof(name), "%s%s", twice ? SL_EXAMPLE_LISTS : "",
                   key->name == names.image   ? "image"
                   : key->name == names.label ? "label"
                                              : key->name);
    if (sl_field_rank(name, field.type) != rank) {
        return SLUICE_OK;
    }
    if (key->mixed) {
        return example_fields_refuse_key(key, "has values of several kinds", error);
    }
    return key->in_lists && field.type == SLUICE_FIELD_IMAGE
               ? add_elements(fields, key, &field, name, error)
               : add_one(fields, key, &field, name, error);
}

static int compare_keys(const void *a, const void *b)
{
    const sl_example_key *one = a;
    const sl_example_key *other = b;
    const int order = strcmp(one->name, other->name);
    return order != 0 ? order : (int)one->in_lists - (int)other->in_lists;
}

sluice_status sl_example_fields_find(sl_example_fields *fields, sl_example_keys *keys,
                                     sluice_error *error)
{
    fields->count = 0;
    if (keys->too_many || keys->too_long[0] != '\0') {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the samples have more than %u keys, or one of more than %u bytes: "
                            "choose the fields to read (" SL_OPTION("the option fields") ")",
                            SL_FIELDS_MAX, SL_CHOICE_KEY_BYTES - 1);
    }
    qsort(keys->of, keys->count, sizeof(keys->of[0]), compare_keys);
    const usual names = example_fields_find_usual(keys);
    sluice_status status = SLUICE_OK;
    for (uint32_t rank = 0; rank < SL_FIELD_RANKS; rank++) {
        for (uint32_t i = 0; status == SLUICE_OK && i < keys->count; i++) {
            status = add_key(fields, keys, &keys->of[i], names, rank, error);
        }
    }
    if (status == SLUICE_OK && fields->count == 0) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "its records contain no feature that can be a field: they may be "
                            "messages other than tf.train.Example");
    }
    return status;
}

/* ---- fields that are chosen ---- */

/*
 * Finds a chosen key. The context takes precedence over feature_lists. `*element`: NONE if no
 * element is chosen.
 */
static const sl_example_key *find_chosen(const sl_example_keys *keys, const char *choice,
                                         uint32_t *element)
{
    const sl_example_key *found = NULL;
    uint32_t best = 3;
    for (uint32_t i = 0; i < keys->count; i++) {
        const sl_example_key *key = &keys->of[i];
        const sl_bytes name = {(const uint8_t *)key->name, strlen(key->name)};
        uint32_t at;
        if (!sl_example_key_chosen(choice, name, key->in_lists, &at)) {
            continue;
        }
        const uint32_t rank = !key->in_lists ? 0 : at == SL_FIELD_NONE ? 1 : 2;
        if (rank < best) {
            best = rank;
            found = key;
            *element = at;
        }
    }
    return found;
}

/* Returns why a list of that kind cannot be such a field; NULL: it can. */
static const char *refuse_kind(const sl_field *field, sl_feature_kind kind)
{
    if (sl_type_is_blob(field->type)) {
        return kind == SL_FEATURE_BYTES ? NULL : "it contains numbers";
    }
    if (field->type == SLUICE_FIELD_INT) {
        return kind == SL_FEATURE_INT64 ? NULL : "it does not contain integers";
    }
    if (field->type == SLUICE_FIELD_FLOAT) {
        return kind == SL_FEATURE_FLOAT ? NULL : "it does not contain floats";
    }
    if (kind == SL_FEATURE_INT64) {
        return field->dtype == SLUICE_I64 ? NULL : "it contains integers: its dtype must be i64";
    }
    return kind != SL_FEATURE_FLOAT || field->dtype == SLUICE_F32
               ? NULL
               : "it contains floats: its dtype must be f32";
}

/* Returns the kind of lists for a typed field, if samples do not show it. */
static sl_feature_kind example_fields_kind_of(const sl_field *field)
{
    const bool tensor = field->type == SLUICE_FIELD_TENSOR;
    if (field->type == SLUICE_FIELD_INT || (tensor && field->dtype == SLUICE_I64)) {
        return SL_FEATURE_INT64;
    }
    return field->type == SLUICE_FIELD_FLOAT || (tensor && field->dtype == SLUICE_F32)
               ? SL_FEATURE_FLOAT
               : SL_FEATURE_BYTES;
}

/* Returns why a list of steps of the right kind cannot be such a field; NULL: it can. */
static const char *refuse_steps(const sl_field *field)
{
    if (field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT) {
        return "it is a list of steps: choose a tensor, as DTYPE[]";
    }
    return sl_type_is_media(field->type) || field->type == SLUICE_FIELD_BYTES
               ? "it is a list of steps: choose steps by position, KEY.0, KEY.1, ..., or a tensor"
               : NULL;
}

/* Determines the type of one of several byte values, if the choice does not give it. */
static const char *type_element(const sl_example_key *key, sl_field *field)
{
    *field = (sl_field){.compression = SLUICE_COMPRESSION_NEVER};
    field->type = key->any && key->all_pictures ? SLUICE_FIELD_IMAGE
                  : key->any && key->all_text   ? SLUICE_FIELD_TEXT
                                                : SLUICE_FIELD_BYTES;
    return key->kind == SL_FEATURE_BYTES ? NULL
                                         : "only elements of byte lists can be chosen by position";
}

static const char *choose_type(const sl_example_key *key, const sl_field_choice *choice,
                               uint32_t element, sl_field *field)
{
    const bool one = element != SL_FIELD_NONE;
    if (choice->typed) {
        const sl_feature_kind kind = key->mixed ? SL_FEATURE_NONE : key->kind;
        const char *why = kind == SL_FEATURE_NONE ? NULL : refuse_kind(field, kind);
        if (why == NULL && one &&
            (key->mixed ? example_fields_kind_of(field) : key->kind) != SL_FEATURE_BYTES) {
            why = "only elements of byte lists can be chosen by position";
        }
        return why == NULL && key->in_lists && !one ? refuse_steps(field) : why;
    }
    if (key->mixed) {
        return "it has values of several kinds";
    }
    if (one) {
        return type_element(key, field);
    }
    if (!sl_example_type(key, field)) {
        return key->in_lists ? "its steps have different numbers of values, or several byte "
                               "values: choose a tensor, as DTYPE[], which has all of them"
                             : "it is a list of several byte values, which no field can represent";
    }
    return key->in_lists ? refuse_steps(field) : NULL;
}

static sluice_status example_fields_choose(sl_example_fields *fields, const sl_example_keys *keys,
                                           const sl_field_choice *choice, sluice_error *error)
{
    const char *why = NULL;
    sl_field field = choice->field;
    uint32_t element = SL_FIELD_NONE;
    const sl_example_key *key = find_chosen(keys, choice->key, &element);
    if (example_fields_is_taken(fields, field.name)) {
        why = "two fields have that name";
    } else if (key == NULL || key->kind == SL_FEATURE_NONE) {
        why = "none of the samples read at opening has that key";
    } else {
        why = choose_type(key, choice, element, &field);
    }
    if (why != NULL) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "field \"%s\", key \"%.256s\": %s",
                            choice->field.name, choice->key, why);
    }
    memcpy(field.name, choice->field.name, sizeof(field.name));
    sl_example_field *of = example_fields_add_field(
        fields, &field, key, key->mixed ? example_fields_kind_of(&field) : key->kind);
    of->element = element;
    of->width = choice->typed && field.dims == 1 ? 0 : of->width;
    return SLUICE_OK;
}

sluice_status sl_example_fields_choose(sl_example_fields *fields, const sl_example_keys *keys,
                                       const sl_field_choice *choices, uint32_t count,
                                       sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    fields->count = 0;
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = example_fields_choose(fields, keys, &choices[i], error);
    }
    return status;
}
