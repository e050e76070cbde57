/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include "checksum.h"
#include "dataset.h"
#include "decoder.h"
#include "error.h"
#include "frame.h"
#include "jpeg_codec.h"
#include "jpeg_retile.h"
#include "memory.h"

#include <string.h>

#define STAGE "pack"

static sluice_status describe_raw(sl_blob *blob, const sl_record_input *input, sluice_error *error)
{
    uint64_t pixels = (uint64_t)input->width * input->height;
    if (pixels == 0 || pixels > SL_RECORD_IMAGE_MAX / 3 || pixels * 3 != input->image.size) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "%zu bytes are no raw picture of %u x %u x 3", input->image.size,
                            input->width, input->height);
    }
    *blob = (sl_blob){.codec = SL_CODEC_RAW, .width = input->width, .height = input->height};
    return SLUICE_OK;
}

static sluice_status describe_encoded(sl_blob *blob, const sl_record_input *input,
                                      sluice_error *error)
{
    sl_picture picture;
    sluice_status status =
        sl_jpeg_begins(input->image)
            ? sl_jpeg_size(input->image, SL_RECORD_PIXELS_MAX, &picture, error)
            : sl_picture_probe(input->image, SL_RECORD_PIXELS_MAX, &picture, error);
    if (status < 0) {
        return status;
    }
    if (!sl_jpeg_begins(input->image)) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the picture is no JPEG: shards of this version hold JPEG and pixels");
    }
    *blob = (sl_blob){.codec = SL_CODEC_JPEG, .width = picture.width, .height = picture.height};
    return SLUICE_OK;
}

/* Replaces record->image by a zstd frame when that is smaller. */
static sluice_status compress(sl_record *record, int level, sluice_error *error)
{
    size_t packed = 0;
    record->memory = sl_malloc(sl_frame_bound(record->image.size));
    if (!record->memory) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for compressing %zu bytes",
                            record->image.size);
    }
    sluice_status status = sl_frame_pack(record->image, level, record->memory, &packed, error);
    if (status < 0) {
        return status;
    }
    if (packed < record->image.size) {
        record->image = (sl_bytes){record->memory, packed};
        record->entry.image.encoding = SL_BLOB_ZSTD;
    }
    return SLUICE_OK;
}

static sluice_status check_input(const sl_record_input *input, sluice_error *error)
{
    if (input->image.size == 0) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE, "the picture is empty");
    }
    if (input->image.size > SL_RECORD_IMAGE_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the picture has %zu bytes: more than 1 GiB", input->image.size);
    }
    if (strlen(input->key) > SL_KEY_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "the key has more than %d bytes",
                            SL_KEY_MAX);
    }
    if (input->label < -1) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "label %lld is negative",
                            (long long)input->label);
    }
    return SLUICE_OK;
}

static void sum_up(sl_record *record)
{
    sl_entry *entry = &record->entry;
    entry->image.bytes = (uint32_t)record->image.size;
    entry->key.bytes = (uint32_t)record->key.size;
    entry->key.unpacked = entry->key.bytes;
    entry->key.check = (uint32_t)sl_checksum(record->key.data, record->key.size);
    entry->bytes = entry->image.bytes + entry->key.bytes;
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, record->image.data, record->image.size);
    sl_checksum_add(&stream, record->key.data, record->key.size);
    entry->checksum = sl_checksum_value(&stream);
}

sluice_status sl_record_make(sl_record *record, const sl_record_input *input, sluice_error *error)
{
    *record = (sl_record){.image = input->image, .entry.label = input->label};
    sluice_status status = check_input(input, error);
    if (status == SLUICE_OK) {
        status = input->raw ? describe_raw(&record->entry.image, input, error)
                            : describe_encoded(&record->entry.image, input, error);
    }
    if (status == SLUICE_OK && input->raw && input->zstd_level != 0) {
        status = compress(record, input->zstd_level, error);
    }
    if (status < 0) {
        sl_record_close(record);
        return status;
    }
    record->key = (sl_bytes){(const uint8_t *)input->key, strlen(input->key)};
    sum_up(record);
    return SLUICE_OK;
}

void sl_record_close(sl_record *record)
{
    sl_free(record->memory);
    *record = (sl_record){0};
}
