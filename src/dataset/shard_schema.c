/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_format.h"

#include "error.h"
#include "little_endian.h"
#include "memory.h"
#include "shard_pages.h"

#include <string.h>

#define HEAD_BYTES 64u
#define ROW_BYTES  64u

static uint32_t column_width(sluice_field_type type)
{
    switch (type) {
    case SLUICE_FIELD_IMAGE:
    case SLUICE_FIELD_BYTES:
    case SLUICE_FIELD_TEXT:
        return 16;
    case SLUICE_FIELD_INT:
    case SLUICE_FIELD_FLOAT:
        return 8;
    case SLUICE_FIELD_TENSOR: /* not in shards yet: decode_fields refuses it */
        break;
    }
    return 0;
}

static uint32_t find_field(const sl_schema *schema, sluice_field_type type, const char *name)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const sl_field *field = &schema->fields[i];
        if (field->type == type && (!name || strcmp(field->name, name) == 0)) {
            return i;
        }
    }
    return SL_FIELD_NONE;
}

/* Places the columns and finds the fields that the library reads. */
static void complete(sl_schema *schema)
{
    uint32_t column = SL_ENTRY_FIXED_BYTES;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        schema->columns[i] = column;
        column += column_width(schema->fields[i].type);
    }
    schema->entry_bytes = column;
    schema->entries_per_block = SL_BLOCK_ENTRY_ROOM / column;
    schema->image = find_field(schema, SLUICE_FIELD_IMAGE, NULL);
    schema->label = find_field(schema, SLUICE_FIELD_INT, "label");
    schema->key = find_field(schema, SLUICE_FIELD_TEXT, "key");
}

sluice_status sl_schema_standard(sl_schema *schema, const char *const *classes, uint32_t count,
                                 sluice_error *error)
{
    *schema = (sl_schema){
        .fields = {{.name = "image", .type = SLUICE_FIELD_IMAGE},
                   {.name = "label", .type = SLUICE_FIELD_INT},
                   {.name = "key", .type = SLUICE_FIELD_TEXT}},
        .field_count = 3,
    };
    complete(schema);
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += strlen(classes[i]) + 1;
    }
    if (bytes > SL_META_BYTES_MAX - 4096) {
        return sl_error_set(error, SLUICE_INVALID, "dataset",
                            "the class names need %zu bytes: too many", bytes);
    }
    if (count == 0) {
        return SLUICE_OK;
    }
    schema->names = sl_malloc(bytes);
    schema->classes = sl_calloc(count, sizeof(*schema->classes));
    if (!schema->names || !schema->classes) {
        sl_schema_close(schema);
        return sl_error_set(error, SLUICE_NOMEM, "dataset", "no memory for the class names");
    }
    char *to = schema->names;
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(classes[i]) + 1;
        memcpy(to, classes[i], length);
        schema->classes[i] = to;
        to += length;
    }
    schema->class_count = count;
    return SLUICE_OK;
}

static uint64_t names_bytes(const sl_schema *schema)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < schema->class_count; i++) {
        bytes += strlen(schema->classes[i]) + 1;
    }
    return bytes;
}

uint64_t sl_schema_bytes(const sl_schema *schema)
{
    return HEAD_BYTES + (uint64_t)ROW_BYTES * schema->field_count + names_bytes(schema);
}

void sl_schema_encode(const sl_schema *schema, uint8_t *bytes)
{
    memset(bytes, 0, HEAD_BYTES + (size_t)ROW_BYTES * schema->field_count);
    uint64_t names = names_bytes(schema);
    sl_store32(bytes, schema->field_count);
    sl_store32(bytes + 4, schema->class_count);
    sl_store64(bytes + 8, names);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        uint8_t *row = bytes + HEAD_BYTES + (size_t)ROW_BYTES * i;
        memcpy(row, schema->fields[i].name, SL_FIELD_NAME_BYTES);
        sl_store32(row + 32, (uint32_t)schema->fields[i].type);
        sl_store32(row + 36, schema->columns[i]);
    }
    if (names > 0) {
        memcpy(bytes + HEAD_BYTES + (size_t)ROW_BYTES * schema->field_count, schema->names, names);
    }
}

static bool name_ok(const uint8_t name[SL_FIELD_NAME_BYTES])
{
    size_t length = strnlen((const char *)name, SL_FIELD_NAME_BYTES);
    if (length == 0 || length == SL_FIELD_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        bool letter = name[i] >= 'a' && name[i] <= 'z';
        bool digit = name[i] >= '0' && name[i] <= '9';
        if (!letter && !digit && name[i] != '_') {
            return false;
        }
    }
    return sl_all_zero(name + length, SL_FIELD_NAME_BYTES - length);
}

static bool name_taken(const sl_schema *schema, const char *name)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        if (strcmp(schema->fields[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static sl_refusal decode_fields(sl_schema *schema, const uint8_t *bytes, uint32_t count)
{
    uint32_t column = SL_ENTRY_FIXED_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        size_t at = HEAD_BYTES + (size_t)ROW_BYTES * i;
        const uint8_t *row = bytes + at;
        if (!name_ok(row) || name_taken(schema, (const char *)row)) {
            return sl_refuse("a field has no valid name", at);
        }
        uint32_t type = sl_load32(row + 32);
        if (type < SLUICE_FIELD_IMAGE || type > SLUICE_FIELD_TEXT) {
            return (sl_refusal){"a field has a type that this library does not know",
                                SLUICE_UNSUPPORTED, (uint32_t)at + 32};
        }
        if (sl_load32(row + 36) != column || !sl_all_zero(row + 40, ROW_BYTES - 40)) {
            return sl_refuse("a field's row is not as it must be", at + 36);
        }
        sl_field *field = &schema->fields[schema->field_count++];
        memcpy(field->name, row, SL_FIELD_NAME_BYTES);
        field->type = (sluice_field_type)type;
        column += column_width(field->type);
    }
    complete(schema);
    return sl_accept();
}

/* `names` has exactly `count` strings, the last byte being a NUL. */
static sl_refusal decode_names(sl_schema *schema, sl_bytes names, uint32_t count, size_t at)
{
    if (count == 0) {
        return names.size == 0 ? sl_accept() : sl_refuse("there are names but no classes", at);
    }
    if (names.size < count || names.data[names.size - 1] != 0) {
        return sl_refuse("the class names are cut short", at);
    }
    schema->names = sl_malloc(names.size);
    schema->classes = sl_calloc(count, sizeof(*schema->classes));
    if (!schema->names || !schema->classes) {
        return (sl_refusal){"no memory for the class names", SLUICE_NOMEM, (uint32_t)at};
    }
    memcpy(schema->names, names.data, names.size);
    uint32_t found = 0;
    for (size_t i = 0; i < names.size; i += strlen(schema->names + i) + 1) {
        if (found == count) {
            return sl_refuse("there are more class names than classes", at + i);
        }
        schema->classes[found++] = schema->names + i;
    }
    if (found != count) {
        return sl_refuse("there are fewer class names than classes", at);
    }
    schema->class_count = count;
    return sl_accept();
}

/* No writer ever made others in this version of the format. */
static bool is_standard(const sl_schema *schema)
{
    return schema->field_count == 3 && schema->image == 0 && schema->label == 1 &&
           schema->key == 2 && strcmp(schema->fields[0].name, "image") == 0;
}

sl_refusal sl_schema_decode(sl_schema *schema, sl_bytes bytes)
{
    *schema = (sl_schema){0};
    if (bytes.size < HEAD_BYTES) {
        return sl_refuse("the metadata are too short", 0);
    }
    uint32_t fields = sl_load32(bytes.data);
    uint32_t classes = sl_load32(bytes.data + 4);
    uint64_t names = sl_load64(bytes.data + 8);
    if (fields == 0 || fields > SL_SHARD_FIELDS_MAX ||
        !sl_all_zero(bytes.data + 16, HEAD_BYTES - 16)) {
        return sl_refuse("the metadata's head is not as it must be", 0);
    }
    size_t names_at = HEAD_BYTES + (size_t)ROW_BYTES * fields;
    if (bytes.size < names_at || bytes.size - names_at != names) {
        return sl_refuse("the parts of the metadata do not add up to their size", 8);
    }
    sl_refusal refusal = decode_fields(schema, bytes.data, fields);
    if (!refusal.text) {
        sl_bytes text = {bytes.data + names_at, bytes.size - names_at};
        refusal = decode_names(schema, text, classes, names_at);
    }
    if (!refusal.text && !is_standard(schema)) {
        refusal = (sl_refusal){"has other fields than image, label and key", SLUICE_UNSUPPORTED,
                               HEAD_BYTES};
    }
    if (refusal.text) {
        sl_schema_close(schema);
    }
    return refusal;
}

void sl_schema_close(sl_schema *schema)
{
    sl_free(schema->names);
    sl_free(schema->classes);
    *schema = (sl_schema){0};
}
