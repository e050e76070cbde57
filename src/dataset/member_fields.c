/* SPDX-License-Identifier: Apache-2.0 */
#include "member_fields.h"

#include "error.h"

#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

static int member_fields_compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Returns the number of the field with a name, adding it if necessary; NONE: too many. */
static uint32_t member_fields_field_of(sl_member_fields *fields, const char *name,
                                       sluice_field_type type)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        if (strcmp(fields->fields[i].name, name) == 0) {
            return i;
        }
    }
    if (fields->count == SL_FIELDS_MAX) {
        return SL_FIELD_NONE;
    }
    sl_field *field = &fields->fields[fields->count];
    *field = (sl_field){.type = type, .compression = SLUICE_COMPRESSION_NEVER};
    memcpy(field->name, name, strlen(name) + 1);
    return fields->count++;
}

/* The extensions from which fields are made. */
typedef struct extensions {
    char names[SL_INDEX_NAMES_MAX][SL_MEMBER_EXTENSION_BYTES]; /* sorted */
    uint32_t count;
    bool one_picture;
} extensions;

static bool member_fields_has(const extensions *all, const char *name)
{
    return bsearch(name, all->names, all->count, SL_MEMBER_EXTENSION_BYTES,
                   member_fields_compare_names) != NULL;
}

static sluice_status collect(extensions *all, const sl_file_index *indexes, uint32_t count,
                             sluice_error *error)
{
    sl_file_index *together = &(sl_file_index){0};
    all->one_picture = true;
    for (uint32_t i = 0; i < count; i++) {
        all->one_picture = all->one_picture && (indexes[i].facts & SL_MEMBER_TWO_PICTURES) == 0;
        for (uint32_t k = 0; k < indexes[i].name_count; k++) {
            if (sl_file_index_name(together, indexes[i].names[k]) == SL_FIELD_NONE) {
                return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                                    "the files of the samples have more than %u extensions",
                                    SL_INDEX_NAMES_MAX);
            }
        }
    }
    all->count = together->name_count;
    memcpy(all->names, together->names, sizeof(all->names));
    qsort(all->names, all->count, SL_MEMBER_EXTENSION_BYTES, member_fields_compare_names);
    return SLUICE_OK;
}

/* Returns the field name of an extension. */
static const char *member_fields_name_of(const extensions *all, const char *extension)
{
    if (all->one_picture && sl_member_is_picture(extension) && !member_fields_has(all, "image")) {
        return "image";
    }
    if (strcmp(extension, "cls") == 0 && !member_fields_has(all, "label")) {
        return "label";
    }
    return extension;
}

static void add_extensions(sl_member_fields *fields, const extensions *all, uint32_t rank)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const char *extension = all->names[i];
        const char *name = member_fields_name_of(all, extension);
        const sluice_field_type type = sl_member_type(extension);
        if (sl_field_rank(name, type) == rank) {
            const uint32_t number = fields->extension_count++;
            memcpy(fields->extensions[number].name, extension, SL_MEMBER_EXTENSION_BYTES);
            fields->extensions[number].field = member_fields_field_of(fields, name, type);
        }
    }
}

sluice_status sl_member_fields_make(sl_member_fields *fields, const sl_file_index *indexes,
                                    uint32_t count, sluice_error *error)
{
    extensions all = {.count = 0};
    memset(fields, 0, sizeof(*fields));
    const sluice_status status = collect(&all, indexes, count, error);
    if (status < 0) {
        return status;
    }
    if (member_fields_has(&all, "key")) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, STAGE,
            "there are files \"*.key\", but the field \"key\" is the key of the sample");
    }
    for (uint32_t rank = 0; rank < SL_FIELD_RANKS; rank++) {
        add_extensions(fields, &all, rank);
    }
    fields->key = member_fields_field_of(fields, "key", SLUICE_FIELD_TEXT);
    return SLUICE_OK;
}

uint32_t sl_member_fields_find(const sl_member_fields *fields, const char *extension)
{
    for (uint32_t i = 0; i < fields->extension_count; i++) {
        if (strcmp(fields->extensions[i].name, extension) == 0) {
            return fields->extensions[i].field;
        }
    }
    return SL_FIELD_NONE;
}

/* ---- values ---- */

/* Reads an ASCII integer with blanks around it. */
static bool member_fields_read_integer(sl_bytes text, int64_t *value)
{
    size_t at = 0;
    size_t end = text.size;
    uint64_t number = 0;
    while (at < end && strchr(" \t\r\n", text.data[at]) != NULL && text.data[at] != '\0') {
        at++;
    }
    while (end > at && strchr(" \t\r\n", text.data[end - 1]) != NULL &&
           text.data[end - 1] != '\0') {
        end--;
    }
    const bool negative = at < end && text.data[at] == '-';
    at += negative || (at < end && text.data[at] == '+');
    if (at == end || end - at > 19) {
        return false;
    }
    for (; at < end; at++) {
        if (text.data[at] < '0' || text.data[at] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(text.data[at] - '0');
    }
    if (number > (uint64_t)INT64_MAX) {
        return false;
    }
    *value = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

bool sl_member_fields_read(const sl_member_fields *fields, uint32_t field, sl_value *value)
{
    return fields->fields[field].type != SLUICE_FIELD_INT ||
           member_fields_read_integer(value->bytes, &value->integer);
}
