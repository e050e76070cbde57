/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: checks the values of a sample and lays them out as a record. Pure; the caller owns the
 * memory.
 */
#include "record.h"

#include "checksum.h"
#include "codecs.h"
#include "dataset.h"
#include "dtype.h"
#include "error.h"
#include "frame.h"
#include "little_endian.h"
#include "memory.h"
#include "shard_record.h"

#include <string.h>

#define STAGE "pack"

/* ---- checks ---- */

static sluice_status check_raw(const sl_value *value, sluice_error *error)
{
    const uint64_t pixels = (uint64_t)value->width * value->height;
    if (pixels == 0 || pixels > SL_RECORD_IMAGE_MAX / 3 || pixels * 3 != value->bytes.size) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "size does not match the raw image: %zu bytes for %u x %u x 3",
                            value->bytes.size, value->width, value->height);
    }
    return SLUICE_OK;
}

static sluice_status measure_encoded(sl_value *value, sluice_error *error)
{
    const sl_codec_source source = {.bytes = value->bytes, .max_pixels = SL_RECORD_PIXELS_MAX};
    sl_picture picture = {0, 0};
    uint32_t row = 0;
    sluice_status status = sl_codec_find(value->codec, value->bytes, &row, error);
    if (status == SLUICE_OK) {
        status = sl_codec_size(sl_codecs[row], &source, &picture, error);
    }
    if (status == SLUICE_OK && sl_codecs[row]->check_sums != NULL) {
        status = sl_codecs[row]->check_sums(value->bytes, error);
    }
    if (status < 0) {
        return status;
    }
    value->codec = sl_codecs[row]->number;
    value->width = picture.width;
    value->height = picture.height;
    return SLUICE_OK;
}

static sluice_status check_image(sl_value *value, sluice_error *error)
{
    if (value->bytes.size == 0) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE, "the image is empty");
    }
    if (value->bytes.size > SL_RECORD_IMAGE_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the image has %zu bytes: more than 1 GiB", value->bytes.size);
    }
    return value->codec == SL_CODEC_RAW ? check_raw(value, error) : measure_encoded(value, error);
}

static sluice_status check_tensor(const sl_field *field, const sl_value *value, sluice_error *error)
{
    uint64_t bytes = sl_dtype_bytes(field->dtype);
    for (uint32_t i = 0; i < field->dims; i++) {
        if (value->shape[i] > UINT32_MAX ||
            (field->shape[i] != 0 && value->shape[i] != field->shape[i])) {
            return sl_error_set(error, SLUICE_INVALID, STAGE,
                                "field \"%s\": dimension %u is %llu, expected %llu", field->name, i,
                                (unsigned long long)value->shape[i],
                                (unsigned long long)field->shape[i]);
        }
        bytes = bytes > SL_RECORD_BYTES_MAX ? bytes : bytes * value->shape[i];
    }
    if (bytes != value->bytes.size) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "field \"%s\": size does not match the tensor's shape (%zu bytes)",
                            field->name, value->bytes.size);
    }
    return SLUICE_OK;
}

static sluice_status check_key(sl_bytes key, sluice_error *error)
{
    if (key.size > SL_KEY_MAX || (key.size > 0 && memchr(key.data, 0, key.size) != NULL)) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "the key has more than %d bytes, or contains NUL", SL_KEY_MAX);
    }
    return SLUICE_OK;
}

static sluice_status record_check_value(const sl_schema *schema, uint32_t number, sl_value *value,
                                        sluice_error *error)
{
    const sl_field *field = &schema->fields[number];
    if (sl_type_is_media(field->type)) {
        return check_image(value, error);
    }
    if (field->type == SLUICE_FIELD_TENSOR) {
        return check_tensor(field, value, error);
    }
    return number == schema->key ? check_key(value->bytes, error) : SLUICE_OK;
}

static sluice_status record_check_label(const sl_schema *schema, const sl_values *values,
                                        sluice_error *error)
{
    if (schema->label == SL_FIELD_NONE || !values->of[schema->label].present ||
        sl_schema_has_label(schema, values->of[schema->label].integer)) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_INVALID, STAGE,
                        "label %lld is out of range: there are %u classes",
                        (long long)values->of[schema->label].integer, schema->class_count);
}

static bool record_is_number(const sl_field *field)
{
    return field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT;
}

/* Checks the values of all blobs, in unpacked form. */
static sluice_status check_values(sl_record *record, const sl_schema *schema, sl_values *values,
                                  sluice_error *error)
{
    record->bytes = schema->head_bytes;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        sl_value *value = &values->of[i];
        if (!value->present || record_is_number(&schema->fields[i])) {
            value->bytes = (sl_bytes){NULL, 0};
            continue;
        }
        const sluice_status status = record_check_value(schema, i, value, error);
        if (status < 0) {
            record->failed = i;
            return status;
        }
        const bool encoded =
            sl_type_is_media(schema->fields[i].type) && value->codec != SL_CODEC_RAW;
        record->pictures |= (uint64_t)encoded << i;
        record->bytes += value->bytes.size;
        if (record->bytes > SL_RECORD_BYTES_MAX) {
            return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                                "the sample has more than 2^31 - 1 bytes");
        }
    }
    return SLUICE_OK;
}

/* ---- frames ---- */

static bool is_to_be_framed(const sl_record *record, const sl_record_plan *plan,
                            const sl_values *values, uint32_t number)
{
    return plan->levels[number] != 0 && (record->pictures >> number & 1) == 0 &&
           values->of[number].bytes.size >= SL_RECORD_FRAME_MIN;
}

/* Allocates the head and all frames. */
static sluice_status reserve(sl_record *record, const sl_record_plan *plan, const sl_values *values,
                             sluice_error *error)
{
    size_t bytes = plan->schema->head_bytes;
    for (uint32_t i = 0; i < plan->schema->field_count; i++) {
        if (is_to_be_framed(record, plan, values, i)) {
            bytes += sl_frame_bound(values->of[i].bytes.size);
        }
    }
    record->memory = sl_malloc(bytes);
    return record->memory != NULL ? SLUICE_OK
                                  : sl_no_memory(error, STAGE, "for a sample of %zu bytes", bytes);
}

/* Replaces values by frames if that makes them smaller. */
static sluice_status pack_frames(sl_record *record, const sl_record_plan *plan, sl_values *values,
                                 sluice_error *error)
{
    uint8_t *to = (uint8_t *)record->memory + plan->schema->head_bytes;
    for (uint32_t i = 0; i < plan->schema->field_count; i++) {
        sl_value *value = &values->of[i];
        value->packing = NULL;
        if (!is_to_be_framed(record, plan, values, i)) {
            continue;
        }
        size_t packed = 0;
        const sluice_status status =
            sl_frame_pack(value->bytes, plan->levels[i], to, &packed, error);
        if (status < 0) {
            return status;
        }
        if (packed < value->bytes.size) {
            record->bytes -= value->bytes.size - packed;
            value->bytes = (sl_bytes){to, packed};
            value->packing = &sl_value_packing_zstd;
            to += packed;
        }
    }
    return SLUICE_OK;
}

static void record_sum_up(sl_record *record, const sl_schema *schema, const sl_values *values)
{
    uint8_t *head = record->memory;
    sl_record_head_encode(schema, values, head);
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, head + 8, schema->head_bytes - 8);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        record->blobs[i] = values->of[i].bytes;
        if (record->blobs[i].size > 0) {
            sl_checksum_add(&stream, record->blobs[i].data, record->blobs[i].size);
        }
    }
    record->checksum = sl_checksum_value(&stream);
    sl_store64(head, record->checksum);
    record->head = (sl_bytes){head, schema->head_bytes};
    record->fields = schema->field_count;
}

sluice_status sl_record_make(sl_record *record, const sl_record_plan *plan, sl_values *values,
                             sluice_error *error)
{
    *record = (sl_record){.failed = SL_FIELD_NONE};
    sluice_status status = record_check_label(plan->schema, values, error);
    if (status == SLUICE_OK) {
        status = check_values(record, plan->schema, values, error);
    }
    if (status == SLUICE_OK) {
        status = reserve(record, plan, values, error);
    }
    if (status == SLUICE_OK) {
        status = pack_frames(record, plan, values, error);
    }
    if (status < 0) {
        const uint32_t failed = record->failed;
        sl_record_close(record);
        record->failed = failed;
        return status;
    }
    record_sum_up(record, plan->schema, values);
    return SLUICE_OK;
}

void sl_record_copy(const sl_record *record, uint8_t *to)
{
    memcpy(to, record->head.data, record->head.size);
    to += record->head.size;
    for (uint32_t i = 0; i < record->fields; i++) {
        if (record->blobs[i].size > 0) {
            memcpy(to, record->blobs[i].data, record->blobs[i].size);
            to += record->blobs[i].size;
        }
    }
}

void sl_record_close(sl_record *record)
{
    sl_free(record->memory);
    *record = (sl_record){0};
}
