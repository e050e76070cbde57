/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_record: encodes and decodes records of version 2. Pure.
 *
 * Decoding takes untrusted bytes: a value is returned only if it is within its record and has the
 * size of its shape.
 */
#include "shard_record.h"

#include "checksum.h"
#include "little_endian.h"
#include "packed_value.h"
#include "shard_pages.h"

#include <assert.h>
#include <string.h>

uint64_t sl_record_identity(uint64_t number_in_shard, uint64_t checksum)
{
    uint8_t both[16];
    sl_store64(both, number_in_shard);
    sl_store64(both + 8, checksum);
    return sl_checksum(both, sizeof(both));
}

/* smaller ones stay in the inner caches anyway */
#define COPY_LEAST ((size_t)16 << 10)

static uint64_t shard_record_bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

static double shard_record_number_of(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

/* ---- encoding ---- */

static void encode_cell(const sl_field *field, const sl_value *value, uint8_t *cell)
{
    if (field->type == SLUICE_FIELD_INT) {
        sl_store64(cell, (uint64_t)value->integer);
        return;
    }
    if (field->type == SLUICE_FIELD_FLOAT) {
        sl_store64(cell, shard_record_bits_of(value->number));
        return;
    }
    sl_store32(cell, (uint32_t)value->bytes.size);
    cell[4] = sl_is_packed(value) ? SL_BLOB_ZSTD : SL_BLOB_PLAIN;
    if (sl_type_is_media(field->type)) {
        assert(value->codec != SL_CODEC_BY_BYTES);
        cell[5] = value->codec;
        sl_store32(cell + 8, value->width);
        sl_store32(cell + 12, value->height);
        return;
    }
    uint8_t *to = cell + SL_CELL_BYTES;
    for (uint32_t i = 0; i < field->dims; i++) {
        if (field->shape[i] == 0) {
            sl_store32(to, (uint32_t)value->shape[i]);
            to += SL_CELL_DIMENSION_BYTES;
        }
    }
}

void sl_record_head_encode(const sl_schema *schema, const sl_values *values, uint8_t *head)
{
    uint64_t presence = 0;
    memset(head, 0, schema->head_bytes);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const sl_value *value = &values->of[i];
        if (value->present) {
            presence |= UINT64_C(1) << i;
            encode_cell(&schema->fields[i], value, head + schema->cells[i]);
        }
    }
    sl_store64(head + 8, presence);
}

/* ---- decoding ---- */

/* State of decoding a record. */
typedef struct walk {
    const sl_schema *schema;
    sl_bytes record;
    size_t at; /* offset of the next blob */
    bool wants_label;
} walk;

/* Decodes what all blobs have: size and encoding. The value's bytes are the stored ones. */
static sl_refusal decode_blob(walk *w, const sl_field *field, const uint8_t *cell, sl_value *value)
{
    const uint32_t bytes = sl_load32(cell);
    if (cell[4] > SL_BLOB_ZSTD) {
        return sl_refuse_unknown("unknown encoding", 4);
    }
    if (cell[4] == SL_BLOB_ZSTD && field->compression == SLUICE_COMPRESSION_NEVER) {
        return sl_refuse("it is a zstd frame, but this field is never compressed", 4);
    }
    if (bytes > w->record.size - w->at) {
        return sl_refuse("it extends beyond its sample", 0);
    }
    value->packing = cell[4] == SL_BLOB_ZSTD ? &sl_value_packing_zstd : NULL;
    value->offset = (uint32_t)w->at;
    value->bytes = (sl_bytes){w->record.data + w->at, bytes};
    w->at += bytes;
    return sl_accept();
}

static sl_refusal decode_image(const uint8_t *cell, sl_value *value)
{
    if (cell[5] == SL_CODEC_BY_BYTES) {
        return sl_refuse_unknown("the image has no codec", 5);
    }
    value->codec = cell[5];
    value->width = sl_load32(cell + 8);
    value->height = sl_load32(cell + 12);
    if (sl_load16(cell + 6) != 0 || value->bytes.size == 0 || value->width == 0 ||
        value->height == 0) {
        return sl_refuse("the image is empty, or its cell is not valid", 0);
    }
    const uint64_t pixels = (uint64_t)value->width * value->height;
    if (value->codec == SL_CODEC_RAW && !sl_is_packed(value) &&
        (pixels > SL_RECORD_BYTES_MAX || pixels * 3 != value->bytes.size)) {
        return sl_refuse("the size of the raw pixels does not match the image's width and height",
                         0);
    }
    return sl_accept();
}

static sl_refusal decode_tensor(const walk *w, uint32_t number, const uint8_t *cell,
                                sl_value *value)
{
    const sl_field *field = &w->schema->fields[number];
    uint64_t bytes = w->schema->fixed_bytes[number];
    const uint8_t *from = cell + SL_CELL_BYTES;
    for (uint32_t i = 0; i < field->dims; i++) {
        value->shape[i] = field->shape[i];
        if (field->shape[i] == 0) {
            value->shape[i] = sl_load32(from);
            from += SL_CELL_DIMENSION_BYTES;
            bytes *= value->shape[i]; /* both below 2^32 */
        }
        if (bytes > SL_RECORD_BYTES_MAX) {
            return sl_refuse("the tensor's shape is out of range", SL_CELL_BYTES);
        }
    }
    if (!sl_is_packed(value) && bytes != value->bytes.size) {
        return sl_refuse("size does not match the tensor's shape", 0);
    }
    return sl_accept();
}

/* Decodes the cell of a field that is present. */
static sl_refusal decode_cell(walk *w, uint32_t number, const uint8_t *cell, sl_value *value)
{
    const sl_field *field = &w->schema->fields[number];
    if (field->type == SLUICE_FIELD_INT) {
        value->integer = (int64_t)sl_load64(cell);
        const bool known = number != w->schema->label || !w->wants_label ||
                           sl_schema_has_label(w->schema, value->integer);
        return known ? sl_accept() : sl_refuse("label out of range", 0);
    }
    if (field->type == SLUICE_FIELD_FLOAT) {
        value->number = shard_record_number_of(sl_load64(cell));
        return sl_accept();
    }
    const sl_refusal refusal = decode_blob(w, field, cell, value);
    if (refusal.text != NULL) {
        return refusal;
    }
    if (sl_type_is_media(field->type)) {
        return decode_image(cell, value);
    }
    if (!sl_all_zero(cell + 5, 3)) {
        return sl_refuse("reserved bytes of its cell are not zero", 5);
    }
    if (field->type == SLUICE_FIELD_TENSOR) {
        return decode_tensor(w, number, cell, value);
    }
    if (number == w->schema->key && !sl_is_packed(value) &&
        memchr(value->bytes.data, 0, value->bytes.size) != NULL) {
        return sl_refuse("the key contains NUL", 0);
    }
    return sl_accept();
}

/* Decodes the cell of an image whose blob is elsewhere. */
static sl_refusal decode_head_image(const uint8_t *cell, uint64_t blobs, sl_value *value)
{
    const uint32_t bytes = sl_load32(cell);
    if (cell[4] > SL_BLOB_ZSTD || bytes > blobs) {
        return sl_refuse("the picture's cell is not valid", 0);
    }
    value->packing = cell[4] == SL_BLOB_ZSTD ? &sl_value_packing_zstd : NULL;
    value->bytes = (sl_bytes){NULL, bytes};
    return decode_image(cell, value);
}

sl_refusal sl_record_head_decode(const sl_schema *schema, sl_bytes head, uint64_t bytes,
                                 sl_values *values, uint64_t *sum)
{
    if (head.size < schema->head_bytes || bytes < schema->head_bytes) {
        return sl_refuse("the sample is truncated", 0);
    }
    const uint64_t presence = sl_load64(head.data + 8);
    *sum = sl_load64(head.data);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        sl_value *value = &values->of[i];
        if (!sl_values_want(values, i) || !sl_type_is_media(schema->fields[i].type)) {
            continue;
        }
        *value = (sl_value){.present = (presence >> i & 1) != 0};
        const sl_refusal why = value->present ? decode_head_image(head.data + schema->cells[i],
                                                                  bytes - schema->head_bytes, value)
                                              : sl_accept();
        if (why.text != NULL) {
            return why;
        }
    }
    return sl_accept();
}

static sl_refusal shard_record_decode_fields(walk *w, uint64_t presence, sl_values *values)
{
    const sl_schema *schema = w->schema;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const uint8_t *cell = w->record.data + schema->cells[i];
        const uint32_t end =
            i + 1 < schema->field_count ? schema->cells[i + 1] : w->schema->head_bytes;
        sl_value *value = &values->of[i];
        *value = (sl_value){.present = (presence >> i & 1) != 0};
        sl_refusal refusal = sl_accept();
        if (value->present) {
            refusal = decode_cell(w, i, cell, value);
        } else if (!sl_all_zero(cell, end - schema->cells[i])) {
            refusal = sl_refuse("it is missing, but its cell is not zero", 0);
        }
        if (refusal.text != NULL) {
            refusal.offset += schema->cells[i];
            refusal.field = schema->fields[i].name;
            return refusal;
        }
    }
    return w->at == w->record.size
               ? sl_accept()
               : sl_refuse("the fields of a sample do not add up to its size", w->at);
}

/*
 * Returns whether the field after the head is to be copied, and large enough for a checksum in
 * pieces.
 */
static bool is_to_copy(const sl_schema *schema, sl_bytes record, const sl_copy_wish *copy)
{
    return copy->to != NULL && copy->field == schema->tail &&
           copy->bytes == record.size - schema->head_bytes && copy->bytes >= COPY_LEAST;
}

/* Computes the checksum of a record without its checksum field, and copies if wished. */
static uint64_t sum_and_copy(const sl_schema *schema, sl_bytes record, const sl_copy_wish *copy)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, record.data + 8, schema->head_bytes - 8);
    sl_checksum_add_copy(&stream, copy->to, record.data + schema->head_bytes, copy->bytes);
    return sl_checksum_value(&stream);
}

sl_refusal sl_record_decode(const sl_schema *schema, sl_bytes record, sl_values *values)
{
    if (record.size < schema->head_bytes) {
        return sl_refuse("the sample is truncated", 0);
    }
    const bool copied = is_to_copy(schema, record, &values->copy);
    const uint64_t sum = copied ? sum_and_copy(schema, record, &values->copy)
                                : sl_checksum(record.data + 8, record.size - 8);
    if (sum != sl_load64(record.data)) {
        return sl_refuse("the sample does not match its checksum", 0);
    }
    const uint64_t presence = sl_load64(record.data + 8);
    if (schema->field_count < 64 && presence >> schema->field_count != 0) {
        return sl_refuse("the number of fields is out of range", 8);
    }
    walk w = {.schema = schema,
              .record = record,
              .at = schema->head_bytes,
              .wants_label =
                  schema->label != SL_FIELD_NONE && sl_values_want(values, schema->label)};
    const sl_refusal refusal = shard_record_decode_fields(&w, presence, values);
    if (copied && refusal.text == NULL) {
        values->of[schema->tail].bytes.data = values->copy.to;
    }
    return refusal;
}
