/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_fields: encodes and decodes the metadata of shards and manifests: fields and class names.
 */
#include "dtype.h"
#include "field_choice.h"
#include "little_endian.h"
#include "meaning.h"
#include "memory.h"
#include "shard_pages.h"
#include "shard_schema.h"

#include <string.h>

#define HEAD_BYTES  64u
#define ROW_BYTES   128u
#define ROW_BYTES_1 64u /* version 1 */
#define SHAPE_AT    48u
#define MEANING_AT  112u /* after the longest shape */
#define FIELDS_1    16u  /* version 1: at most */

enum { FLAG_PLAIN = 1, FLAG_MEANING = 2 };

/* Offsets in a row from MEANING_AT on; the bytes after them are zero. */
enum { AT_ROLE, AT_BOX_FORMAT, AT_COORDINATES, AT_ORIENTATION, AT_PER_BOX, AT_OF, MEANING_USED };

static size_t shard_fields_row_bytes(uint32_t version)
{
    return version == 1 ? ROW_BYTES_1 : ROW_BYTES;
}

static uint64_t names_bytes(const sl_schema *schema)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < schema->class_count; i++) {
        bytes += strlen(schema->classes[i]) + 1;
    }
    return bytes;
}

/* ---- to bytes ---- */

uint64_t sl_schema_bytes(const sl_schema *schema)
{
    return HEAD_BYTES + (uint64_t)ROW_BYTES * schema->field_count + names_bytes(schema);
}

static uint32_t shard_fields_number(const sl_schema *schema, const char *name)
{
    uint32_t i = 0;
    while (strcmp(schema->fields[i].name, name) !=
           0) { /* the name exists: sl_meaning_refuse checked it */
        i++;
    }
    return i;
}

static void encode_meaning(const sl_schema *schema, const sl_meaning *meaning, uint8_t *to)
{
    to[AT_ROLE] = (uint8_t)meaning->role;
    to[AT_BOX_FORMAT] = (uint8_t)meaning->box_format;
    to[AT_COORDINATES] = (uint8_t)meaning->coordinates;
    to[AT_ORIENTATION] = (uint8_t)meaning->orientation;
    to[AT_PER_BOX] = meaning->per_box ? 1 : 0;
    if (meaning->of[0] != '\0') {
        to[AT_OF] = (uint8_t)(shard_fields_number(schema, meaning->of) + 1);
    }
}

static void encode_field(const sl_schema *schema, uint32_t number, uint8_t row[ROW_BYTES])
{
    const sl_field *field = &schema->fields[number];
    const bool known = !sl_meaning_is_empty(&field->meaning);
    memcpy(row, field->name, SL_FIELD_NAME_BYTES);
    sl_store32(row + 32, (uint32_t)field->type);
    sl_store32(row + 36, (uint32_t)field->dtype);
    sl_store32(row + 40, field->dims);
    sl_store32(row + 44, (field->compression == SLUICE_COMPRESSION_NEVER ? FLAG_PLAIN : 0U) |
                             (known ? FLAG_MEANING : 0U));
    for (uint32_t i = 0; i < field->dims; i++) {
        sl_store64(row + SHAPE_AT + (size_t)8 * i, field->shape[i]);
    }
    if (known) {
        encode_meaning(schema, &field->meaning, row + MEANING_AT);
    }
}

void sl_schema_encode(const sl_schema *schema, uint8_t *bytes)
{
    const size_t names_at = HEAD_BYTES + (size_t)ROW_BYTES * schema->field_count;
    const uint64_t names = names_bytes(schema);
    memset(bytes, 0, names_at);
    sl_store32(bytes, schema->field_count);
    sl_store32(bytes + 4, schema->class_count);
    sl_store64(bytes + 8, names);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        encode_field(schema, i, bytes + HEAD_BYTES + (size_t)ROW_BYTES * i);
    }
    if (names > 0) {
        memcpy(bytes + names_at, schema->names, names);
    }
}

/* ---- from bytes ---- */

/* Checks a name of version 1: letters, digits and _ only. */
static bool name_was_ok(const char *name)
{
    for (; *name; name++) {
        const bool letter = *name >= 'a' && *name <= 'z';
        const bool digit = *name >= '0' && *name <= '9';
        if (!letter && !digit && *name != '_') {
            return false;
        }
    }
    return true;
}

static sl_refusal decode_name(sl_schema *schema, const uint8_t *row, sl_field *field)
{
    memcpy(field->name, row, SL_FIELD_NAME_BYTES);
    const size_t length = strnlen(field->name, SL_FIELD_NAME_BYTES);
    if (!sl_field_name_ok(field->name) || sl_field_name_taken(schema, field->name) ||
        !sl_all_zero(row + length, SL_FIELD_NAME_BYTES - length) ||
        (schema->version == 1 && !name_was_ok(field->name))) {
        return sl_refuse("a field's name is not valid", 0);
    }
    const uint32_t type = sl_load32(row + 32);
    const uint32_t last = schema->version == 1 ? SLUICE_FIELD_TEXT : SLUICE_FIELD_TENSOR;
    if (type < SLUICE_FIELD_IMAGE || type > last) {
        return sl_refuse_unknown("unknown field type", 32);
    }
    field->type = (sluice_field_type)type;
    return sl_accept();
}

static sl_refusal decode_row_1(const sl_schema *schema, const uint8_t *row)
{
    uint32_t column = SL_ENTRY_FIXED_BYTES;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const sluice_field_type type = schema->fields[i].type;
        column += type == SLUICE_FIELD_INT || type == SLUICE_FIELD_FLOAT ? 8 : 16;
    }
    return sl_load32(row + 36) == column && sl_all_zero(row + 40, ROW_BYTES_1 - 40)
               ? sl_accept()
               : sl_refuse("a field's row is not valid", 36);
}

static sl_refusal decode_shape(const uint8_t *row, sl_field *field)
{
    if (field->dims > SLUICE_TENSOR_DIMS_MAX) {
        return sl_refuse_unknown("a tensor has too many dimensions", 40);
    }
    for (uint32_t i = 0; i < field->dims; i++) {
        field->shape[i] = sl_load64(row + SHAPE_AT + (size_t)8 * i);
    }
    if (sl_dtype_bytes(field->dtype) == 0) {
        return sl_refuse_unknown("unknown dtype", 36);
    }
    return sl_tensor_fits(field) ? sl_accept()
                                 : sl_refuse("a tensor's shape is out of range", SHAPE_AT);
}

static sl_refusal decode_row(const uint8_t *row, sl_field *field)
{
    const uint32_t flags = sl_load32(row + 44);
    field->dtype = (sluice_dtype)sl_load32(row + 36);
    field->dims = sl_load32(row + 40);
    field->compression = flags & FLAG_PLAIN ? SLUICE_COMPRESSION_NEVER : SLUICE_COMPRESSION_ALWAYS;
    if (flags & ~(uint32_t)(FLAG_PLAIN | FLAG_MEANING)) {
        return sl_refuse_unknown("unknown encoding of a field", 44);
    }
    if (field->type != SLUICE_FIELD_TENSOR && !sl_all_zero(row + 36, 8)) {
        return sl_refuse("a field's row is not valid", 36);
    }
    const sl_refusal refusal = decode_shape(row, field);
    if (refusal.text != NULL) {
        return refusal;
    }
    const size_t used = SHAPE_AT + (size_t)8 * field->dims;
    const size_t end = flags & FLAG_MEANING ? MEANING_AT : ROW_BYTES;
    return sl_all_zero(row + used, end - used)
               ? sl_accept()
               : sl_refuse("reserved bytes of a field's row are not zero", used);
}

/*
 * Decodes the bytes that exist and checks their ranges; their combination is checked once all
 * fields are known.
 */
static sl_refusal decode_meaning(const uint8_t *row, uint32_t fields, sl_meaning *meaning)
{
    const uint8_t *from = row + MEANING_AT;
    if ((sl_load32(row + 44) & FLAG_MEANING) == 0) {
        return sl_accept();
    }
    if (sl_all_zero(from, MEANING_USED) ||
        !sl_all_zero(from + MEANING_USED, ROW_BYTES - MEANING_AT - MEANING_USED) ||
        from[AT_PER_BOX] > 1 || from[AT_OF] > fields) {
        return sl_refuse("the meaning of a field is not valid", MEANING_AT);
    }
    if (from[AT_ROLE] > SLUICE_ROLE_HEIGHT || from[AT_BOX_FORMAT] > SLUICE_BOX_CXCYWH ||
        from[AT_COORDINATES] > SLUICE_COORDINATES_INDICES ||
        from[AT_ORIENTATION] > SLUICE_ORIENTATION_BY_SIZE) {
        return sl_refuse_unknown("unknown meaning of a field", MEANING_AT);
    }
    *meaning = (sl_meaning){.role = (sluice_role)from[AT_ROLE],
                            .box_format = (sluice_box_format)from[AT_BOX_FORMAT],
                            .coordinates = (sluice_coordinates)from[AT_COORDINATES],
                            .orientation = (sluice_orientation)from[AT_ORIENTATION],
                            .per_box = from[AT_PER_BOX] == 1};
    return sl_accept();
}

/* Resolves references to other fields, once all names are known. */
static sl_refusal decode_targets(sl_schema *schema, const uint8_t *bytes)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const uint8_t of = bytes[HEAD_BYTES + (size_t)ROW_BYTES * i + MEANING_AT + AT_OF];
        if (of > 0) { /* the row has a meaning, or would have been rejected */
            memcpy(schema->fields[i].meaning.of, schema->fields[of - 1].name, SL_FIELD_NAME_BYTES);
        }
    }
    for (uint32_t i = 0; i < schema->field_count; i++) {
        if (sl_meaning_refuse(schema->fields, schema->field_count, i) != NULL) {
            return sl_refuse("the meaning of a field does not fit it",
                             HEAD_BYTES + (size_t)ROW_BYTES * i + MEANING_AT);
        }
    }
    return sl_accept();
}

static sl_refusal shard_fields_decode_fields(sl_schema *schema, const uint8_t *bytes,
                                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const size_t at = HEAD_BYTES + shard_fields_row_bytes(schema->version) * i;
        sl_field field = {.type = SLUICE_FIELD_IMAGE};
        sl_refusal refusal = decode_name(schema, bytes + at, &field);
        if (refusal.text == NULL) {
            refusal = schema->version == 1 ? decode_row_1(schema, bytes + at)
                                           : decode_row(bytes + at, &field);
        }
        if (refusal.text == NULL && schema->version > 1) {
            refusal = decode_meaning(bytes + at, count, &field.meaning);
        }
        if (refusal.text != NULL) {
            refusal.offset += (uint32_t)at;
            return refusal;
        }
        schema->fields[schema->field_count++] = field;
    }
    sl_schema_complete(schema);
    return schema->version > 1 ? decode_targets(schema, bytes) : sl_accept();
}

/* Decodes `count` names, which were surveyed before. */
static sl_refusal shard_fields_decode_names(sl_schema *schema, sl_bytes names, uint32_t count,
                                            size_t at)
{
    if (count == 0) {
        return sl_accept();
    }
    schema->names = sl_malloc(names.size);
    schema->classes = sl_calloc(count, sizeof(*schema->classes));
    if (schema->names == NULL || schema->classes == NULL) {
        return (sl_refusal){.text = "out of memory for the class names",
                            .status = SLUICE_NOMEM,
                            .offset = (uint32_t)at};
    }
    memcpy(schema->names, names.data, names.size);
    char *name = schema->names;
    for (uint32_t i = 0; i < count; i++) {
        schema->classes[i] = name;
        name += strlen(name) + 1;
    }
    schema->class_count = count;
    return sl_accept();
}

/* Returns whether the fields are those that all writers of version 1 produced. */
static bool is_standard(const sl_schema *schema)
{
    return schema->field_count == 3 && schema->image == 0 && schema->label == 1 &&
           schema->key == 2 && strcmp(schema->fields[0].name, "image") == 0;
}

static sl_refusal shard_fields_check_head(const uint8_t *bytes, uint32_t version)
{
    const uint32_t fields = sl_load32(bytes);
    if (fields > (version == 1 ? FIELDS_1 : SL_FIELDS_MAX)) {
        return sl_refuse_unknown("too many fields", 0);
    }
    if (fields == 0 || !sl_all_zero(bytes + 16, HEAD_BYTES - 16)) {
        return sl_refuse("the header of the metadata is not valid", 0);
    }
    return sl_accept();
}

sl_refusal sl_names_survey_begin(sl_names_survey *survey, uint32_t version, uint64_t bytes,
                                 const uint8_t *head)
{
    const sl_refusal refusal = shard_fields_check_head(head, version);
    if (refusal.text != NULL) {
        return refusal;
    }
    const uint64_t names_at = HEAD_BYTES + shard_fields_row_bytes(version) * sl_load32(head);
    *survey = (sl_names_survey){.names_at = names_at, .classes = sl_load32(head + 4)};
    if (bytes < names_at || bytes - names_at != sl_load64(head + 8)) {
        return sl_refuse("the sizes in the metadata do not add up", 8);
    }
    if (survey->classes == 0 && bytes > names_at) {
        return sl_refuse("there are class names but no classes", names_at);
    }
    return survey->classes > SL_CLASSES_MAX ? sl_refuse_unknown("too many classes", 4)
                                            : sl_accept();
}

sl_refusal sl_names_survey_add(sl_names_survey *survey, sl_bytes piece)
{
    const uint64_t before = survey->names_at - survey->at;
    size_t i = survey->at >= survey->names_at ? 0 : before < piece.size ? before : piece.size;
    while (i < piece.size) {
        const uint8_t *nul = memchr(piece.data + i, 0, piece.size - i);
        if (nul == NULL) {
            survey->in_name = true;
            break;
        }
        if (survey->found == survey->classes) {
            return sl_refuse("there are more class names than classes", survey->at + i);
        }
        survey->found++;
        survey->empty += nul == piece.data + i && !survey->in_name;
        if (survey->empty > SL_EMPTY_NAMES_MAX) {
            return sl_refuse_unknown("too many classes without a name", survey->at + i);
        }
        survey->in_name = false;
        i = (size_t)(nul - piece.data) + 1;
    }
    survey->at += piece.size;
    return sl_accept();
}

sl_refusal sl_names_survey_end(const sl_names_survey *survey)
{
    if (survey->in_name) {
        return sl_refuse("the class names are truncated", survey->names_at);
    }
    return survey->found == survey->classes
               ? sl_accept()
               : sl_refuse("there are fewer class names than classes", survey->names_at);
}

static sl_refusal survey_all(uint32_t version, sl_bytes bytes)
{
    sl_names_survey survey;
    sl_refusal refusal = sl_names_survey_begin(&survey, version, bytes.size, bytes.data);
    if (refusal.text == NULL) {
        refusal = sl_names_survey_add(&survey, bytes);
    }
    return refusal.text == NULL ? sl_names_survey_end(&survey) : refusal;
}

sl_refusal sl_schema_decode(sl_schema *schema, uint32_t version, sl_bytes bytes)
{
    *schema = (sl_schema){.version = version};
    if (bytes.size < HEAD_BYTES) {
        return sl_refuse("the metadata are truncated", 0);
    }
    sl_refusal refusal = survey_all(version, bytes);
    if (refusal.text != NULL) {
        return refusal;
    }
    const uint32_t fields = sl_load32(bytes.data);
    const size_t names_at = HEAD_BYTES + shard_fields_row_bytes(version) * fields;
    refusal = shard_fields_decode_fields(schema, bytes.data, fields);
    if (refusal.text == NULL) {
        const sl_bytes text = {bytes.data + names_at, bytes.size - names_at};
        refusal = shard_fields_decode_names(schema, text, sl_load32(bytes.data + 4), names_at);
    }
    if (refusal.text == NULL && version == 1 && !is_standard(schema)) {
        refusal = sl_refuse_unknown("has fields other than image, label and key", HEAD_BYTES);
    }
    if (refusal.text != NULL) {
        sl_schema_close(schema);
    }
    return refusal;
}
