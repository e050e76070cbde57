/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_schema: creates and closes the schema of a dataset, and derives values from its fields.
 * shard_fields.c encodes it.
 */
#include "shard_schema.h"

#include "dtype.h"
#include "field_choice.h"
#include "meaning.h"
#include "memory.h"
#include "shard_record.h"

#include <string.h>

#define STAGE "dataset"

static uint32_t shard_schema_find_field(const sl_schema *schema, sluice_field_type type,
                                        const char *name)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const sl_field *field = &schema->fields[i];
        if (field->type == type && (name == NULL || strcmp(field->name, name) == 0)) {
            return i;
        }
    }
    return SL_FIELD_NONE;
}

/* Returns the width in an index entry of version 1. */
static uint32_t column_width(const sl_field *field)
{
    return field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT ? 8 : 16;
}

/* Returns the width in a record. */
static uint32_t cell_width(const sl_field *field, uint32_t varying)
{
    if (sl_type_is_media(field->type)) {
        return SL_CELL_IMAGE_BYTES;
    }
    return field->type == SLUICE_FIELD_TENSOR ? SL_CELL_BYTES + varying * SL_CELL_DIMENSION_BYTES
                                              : SL_CELL_BYTES;
}

static void measure_tensor(sl_schema *schema, uint32_t number)
{
    const sl_field *field = &schema->fields[number];
    uint64_t bytes = sl_dtype_bytes(field->dtype);
    schema->varying[number] = 0;
    for (uint32_t i = 0; i < field->dims; i++) {
        schema->varying[number] += field->shape[i] == 0;
        bytes *= field->shape[i] == 0 ? 1 : field->shape[i]; /* cannot overflow: sl_tensor_fits */
    }
    schema->fixed_bytes[number] = bytes;
}

/* Finds the only blob of every record, if it is a tensor that is never compressed. */
static uint32_t find_tail(const sl_schema *schema)
{
    uint32_t tail = SL_FIELD_NONE;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const sl_field *field = &schema->fields[i];
        if (field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT) {
            continue;
        }
        if (tail != SL_FIELD_NONE || field->type != SLUICE_FIELD_TENSOR ||
            field->compression != SLUICE_COMPRESSION_NEVER) {
            return SL_FIELD_NONE;
        }
        tail = i;
    }
    return tail;
}

void sl_schema_complete(sl_schema *schema)
{
    const bool old = schema->version == 1;
    uint32_t at = old ? SL_ENTRY_FIXED_BYTES : SL_RECORD_FIXED_BYTES;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const sl_field *field = &schema->fields[i];
        if (field->type == SLUICE_FIELD_TENSOR) {
            measure_tensor(schema, i);
        }
        schema->cells[i] = at;
        at += old ? column_width(field) : cell_width(field, schema->varying[i]);
    }
    schema->head_bytes = at;
    schema->entry_bytes = old ? at : SL_FENCE_BYTES;
    schema->entries_per_block = old ? SL_BLOCK_ENTRY_ROOM / at : SL_BLOCK_SAMPLES;
    schema->image = shard_schema_find_field(schema, SLUICE_FIELD_IMAGE, old ? NULL : "image");
    schema->label = shard_schema_find_field(schema, SLUICE_FIELD_INT, "label");
    schema->key = shard_schema_find_field(schema, SLUICE_FIELD_TEXT, "key");
    schema->tail = old ? SL_FIELD_NONE : find_tail(schema);
}

bool sl_field_name_taken(const sl_schema *schema, const char *name)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        if (strcmp(schema->fields[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns why a field cannot be stored; NULL: it can. */
static const char *shard_schema_refuse_field(const sl_schema *schema, const sl_field *field)
{
    if (!sl_field_name_ok(field->name)) {
        return "its name must be 1 to 31 printable ASCII characters without spaces";
    }
    if (sl_field_name_taken(schema, field->name)) {
        return "duplicate name";
    }
    if (field->type < SLUICE_FIELD_IMAGE || field->type > SLUICE_FIELD_TENSOR) {
        return "not a sluice_field_type";
    }
    if (field->compression < SLUICE_COMPRESSION_AUTO ||
        field->compression > SLUICE_COMPRESSION_ALWAYS) {
        return "its compression is not a sluice_compression";
    }
    if (field->type != SLUICE_FIELD_TENSOR) {
        return NULL;
    }
    if (sl_dtype_bytes(field->dtype) == 0 || field->dims > SLUICE_TENSOR_DIMS_MAX) {
        return "its dtype is not a sluice_dtype, or it has more than 8 dimensions";
    }
    return sl_tensor_fits(field) ? NULL : "a tensor of that shape has more than 2^31 - 1 bytes";
}

/* Checks meanings once all fields are present, since some refer to others. */
static sluice_status shard_schema_check_meanings(const sl_schema *schema, sluice_error *error)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const char *why = sl_meaning_refuse(schema->fields, schema->field_count, i);
        if (why != NULL) {
            return sl_error_set(error, SLUICE_INVALID, STAGE, "field %u (\"%.31s\"): %s", i,
                                schema->fields[i].name, why);
        }
    }
    return SLUICE_OK;
}

sluice_status sl_schema_make(sl_schema *schema, const sl_field *fields, uint32_t count,
                             sluice_error *error)
{
    *schema = (sl_schema){.version = SL_SHARD_VERSION};
    if (count == 0 || count > SL_FIELDS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "shards must have 1 to %u fields, not %u",
                            SL_FIELDS_MAX, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *why = shard_schema_refuse_field(schema, &fields[i]);
        if (why != NULL) {
            return sl_error_set(error, SLUICE_INVALID, STAGE, "field %u (\"%.31s\"): %s", i,
                                fields[i].name, why);
        }
        sl_field *own = &schema->fields[schema->field_count++];
        (void)strncpy(own->name, fields[i].name, SL_FIELD_NAME_BYTES - 1);
        own->type = fields[i].type;
        own->compression = fields[i].compression;
        if (own->type == SLUICE_FIELD_TENSOR) {
            own->dtype = fields[i].dtype;
            own->dims = fields[i].dims;
            memcpy(own->shape, fields[i].shape, own->dims * sizeof(own->shape[0]));
        }
        own->meaning = fields[i].meaning;
    }
    sl_schema_complete(schema);
    return shard_schema_check_meanings(schema, error);
}

static bool shard_schema_is_same_field(const sl_field *a, const sl_field *b)
{
    return strcmp(a->name, b->name) == 0 && a->type == b->type && a->dtype == b->dtype &&
           a->dims == b->dims && memcmp(a->shape, b->shape, sizeof(a->shape)) == 0 &&
           sl_meaning_is_same(&a->meaning, &b->meaning) &&
           (a->compression == SLUICE_COMPRESSION_NEVER) ==
               (b->compression == SLUICE_COMPRESSION_NEVER);
}

bool sl_schema_extends(const sl_schema *schema, const sl_schema *before)
{
    bool same = schema->version == before->version && schema->field_count == before->field_count &&
                schema->class_count >= before->class_count;
    for (uint32_t i = 0; same && i < before->field_count; i++) {
        same = shard_schema_is_same_field(&schema->fields[i], &before->fields[i]);
    }
    for (uint32_t i = 0; same && i < before->class_count; i++) {
        same = strcmp(schema->classes[i], before->classes[i]) == 0;
    }
    return same;
}

sluice_status sl_schema_add_classes(sl_schema *schema, const char *const *classes, uint32_t count,
                                    sluice_error *error)
{
    size_t bytes = 0;
    uint32_t empty = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += strlen(classes[i]) + 1;
        empty += classes[i][0] == '\0';
    }
    if (count > SL_CLASSES_MAX || empty > SL_EMPTY_NAMES_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "%u classes, %u of them without a name: at most %u and %u are allowed",
                            count, empty, SL_CLASSES_MAX, SL_EMPTY_NAMES_MAX);
    }
    if (bytes > SL_META_BYTES_MAX / 2) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "the class names are too long: %zu bytes",
                            bytes);
    }
    if (count == 0) {
        return SLUICE_OK;
    }
    schema->names = sl_malloc(bytes);
    schema->classes = sl_calloc(count, sizeof(*schema->classes));
    if (schema->names == NULL || schema->classes == NULL) {
        sl_schema_close(schema);
        return sl_no_memory(error, STAGE, "for the class names");
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

void sl_schema_close(sl_schema *schema)
{
    sl_free(schema->names);
    sl_free(schema->classes);
    *schema = (sl_schema){0};
}
