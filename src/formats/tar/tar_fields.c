/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_fields.h"

#include "tar_walk.h"

#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

/* ---- fields ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Number of the field of that name, a new one if need be; NONE: there are too many. */
static uint32_t field_of(sl_tar_fields *fields, const char *name, sluice_field_type type)
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

/* What fields are made of. */
typedef struct extensions {
    char names[SL_INDEX_NAMES_MAX][SL_TAR_EXTENSION_BYTES]; /* sorted */
    uint32_t count;
    bool one_picture;
} extensions;

static bool has(const extensions *all, const char *name)
{
    return bsearch(name, all->names, all->count, SL_TAR_EXTENSION_BYTES, compare_names) != NULL;
}

static sluice_status collect(extensions *all, const sl_file_index *const *indexes, uint32_t count,
                             sluice_error *error)
{
    sl_file_index *together = &(sl_file_index){0};
    all->one_picture = true;
    for (uint32_t i = 0; i < count; i++) {
        all->one_picture = all->one_picture && (indexes[i]->facts & SL_TAR_TWO_PICTURES) == 0;
        for (uint32_t k = 0; k < indexes[i]->name_count; k++) {
            if (sl_file_index_name(together, indexes[i]->names[k]) == SL_FIELD_NONE) {
                return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                                    "the archives' members have more than %u extensions",
                                    SL_INDEX_NAMES_MAX);
            }
        }
    }
    all->count = together->name_count;
    memcpy(all->names, together->names, sizeof(all->names));
    qsort(all->names, all->count, SL_TAR_EXTENSION_BYTES, compare_names);
    return SLUICE_OK;
}

/* What the field of an extension is called. */
static const char *name_of(const extensions *all, const char *extension)
{
    if (all->one_picture && sl_tar_is_picture(extension) && !has(all, "image")) {
        return "image";
    }
    if (strcmp(extension, "cls") == 0 && !has(all, "label")) {
        return "label";
    }
    return extension;
}

/* Pictures first, then the label, then the others by their names. */
static uint32_t rank_of(const char *name, sluice_field_type type)
{
    if (strcmp(name, "label") == 0) {
        return 1;
    }
    return type == SLUICE_FIELD_IMAGE ? 0 : 2;
}

static void add_extensions(sl_tar_fields *fields, const extensions *all, uint32_t rank)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const char *extension = all->names[i];
        const char *name = name_of(all, extension);
        const sluice_field_type type = sl_tar_type(extension);
        if (rank_of(name, type) == rank) {
            const uint32_t number = fields->extension_count++;
            memcpy(fields->extensions[number].name, extension, SL_TAR_EXTENSION_BYTES);
            fields->extensions[number].field = field_of(fields, name, type);
        }
    }
}

sluice_status sl_tar_fields_make(sl_tar_fields *fields, const sl_file_index *const *indexes,
                                 uint32_t count, sluice_error *error)
{
    extensions all = {.count = 0};
    memset(fields, 0, sizeof(*fields));
    const sluice_status status = collect(&all, indexes, count, error);
    if (status < 0) {
        return status;
    }
    if (has(&all, "key")) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the archives have members called \"*.key\", and a sample's key is its "
                            "field \"key\"");
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        add_extensions(fields, &all, rank);
    }
    fields->key = field_of(fields, "key", SLUICE_FIELD_TEXT);
    return SLUICE_OK;
}

/* ---- values ---- */

/* A sample while it is taken apart. */
typedef struct parts {
    const sl_tar_fields *fields;
    sl_bytes bytes;
    sl_values *values;
    sl_tar_walk walk;
    char key[SL_TAR_NAME_MAX + 1];
    size_t key_bytes;
    uint32_t count;
} parts;

static sl_refusal refuse_field(const parts *p, uint32_t field, const char *text)
{
    sl_refusal refusal = sl_refuse(text, (size_t)p->walk.member.begin);
    refusal.field = p->fields->fields[field].name;
    return refusal;
}

/* A whole number in ASCII, blanks around it. */
static bool read_integer(sl_bytes text, int64_t *value)
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

static uint32_t find_extension(const sl_tar_fields *fields, const char *extension)
{
    for (uint32_t i = 0; i < fields->extension_count; i++) {
        if (strcmp(fields->extensions[i].name, extension) == 0) {
            return fields->extensions[i].field;
        }
    }
    return SL_FIELD_NONE;
}

static sl_refusal take_payload(parts *p, uint32_t field)
{
    const sl_tar_member *member = &p->walk.member;
    sl_value *value = &p->values->of[field];
    if (value->present) {
        return refuse_field(p, field, "the sample has it twice");
    }
    if (member->kind == SL_TAR_SPARSE) {
        sl_refusal refusal = refuse_field(p, field, "its file is sparse, which cannot be read");
        refusal.status = SLUICE_UNSUPPORTED;
        return refusal;
    }
    const sl_bytes bytes = {p->bytes.data + member->data, (size_t)member->bytes};
    *value = (sl_value){.present = true, .bytes = bytes, .offset = (uint32_t)member->data};
    if (p->fields->fields[field].type == SLUICE_FIELD_INT &&
        !read_integer(bytes, &value->integer)) {
        return refuse_field(p, field, "it is no whole number");
    }
    return sl_accept();
}

static sl_refusal take_member(parts *p)
{
    const sl_tar_member *member = &p->walk.member;
    sl_tar_part part;
    if (member->data > p->bytes.size || member->bytes > p->bytes.size - member->data) {
        return sl_refuse("a member is longer than its sample: the archive was changed",
                         (size_t)member->begin);
    }
    if (member->kind == SL_TAR_OTHER || sl_tar_split(p->walk.name, &part) != SL_TAR_NAME_GOOD) {
        return sl_accept();
    }
    if (p->count++ == 0) {
        p->key_bytes = part.key_bytes;
        memcpy(p->key, p->walk.name, part.key_bytes);
    } else if (part.key_bytes != p->key_bytes || memcmp(p->walk.name, p->key, p->key_bytes) != 0) {
        return sl_refuse("a member is of another sample: the archive was changed",
                         (size_t)member->begin);
    }
    const uint32_t field = find_extension(p->fields, part.extension);
    if (field == SL_FIELD_NONE) {
        return sl_refuse("a member has another extension than were found: the archive was changed",
                         (size_t)member->begin);
    }
    return sl_values_want(p->values, field) ? take_payload(p, field) : sl_accept();
}

static sl_refusal walk_parts(parts *p)
{
    sl_refusal why;
    sl_tar_begin(&p->walk, 0);
    /* Behind the last payload there is no padding: it is not the sample's. */
    while (p->walk.at < p->bytes.size) {
        if (p->walk.want > p->bytes.size - p->walk.at) {
            return sl_refuse("a member is cut off: the archive was changed", (size_t)p->walk.at);
        }
        const size_t at = (size_t)p->walk.at;
        switch (sl_tar_next(&p->walk, p->bytes.data + at, &why)) {
        case SL_TAR_GO_ON:
            break;
        case SL_TAR_MEMBER:
            why = take_member(p);
            if (why.text != NULL) {
                return why;
            }
            break;
        case SL_TAR_END:
            return sl_refuse("the archive ends within a sample: it was changed", at);
        case SL_TAR_REFUSED:
            why.offset += (uint32_t)at;
            return why;
        }
    }
    return p->count > 0 ? sl_accept() : sl_refuse("there is no sample: the archive was changed", 0);
}

sl_refusal sl_tar_fields_unpack(const sl_tar_fields *fields, sl_bytes bytes, sl_values *values)
{
    parts p;
    p.fields = fields;
    p.bytes = bytes;
    p.values = values;
    p.key_bytes = 0;
    p.count = 0;
    for (uint32_t i = 0; i < fields->count; i++) {
        values->of[i] = (sl_value){.present = false};
    }
    const sl_refusal refusal = walk_parts(&p);
    if (refusal.text == NULL && sl_values_want(values, fields->key)) {
        if (p.key_bytes > sizeof(values->room)) {
            return sl_refuse("its key is too long", 0);
        }
        memcpy(values->room, p.key, p.key_bytes);
        values->of[fields->key] =
            (sl_value){.present = true, .bytes = {(const uint8_t *)values->room, p.key_bytes}};
    }
    return refusal;
}
