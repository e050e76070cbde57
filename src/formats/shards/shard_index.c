/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_format.h"

#include "checksum.h"
#include "dataset.h"
#include "little_endian.h"
#include "shard_pages.h"

#include <string.h>

#define CHECKSUM_AT (SL_PAGE_BYTES - 8)

static sl_refusal load_image(sl_blob *blob, const uint8_t *column)
{
    *blob = (sl_blob){.bytes = sl_load32(column),
                      .encoding = column[4],
                      .codec = column[5],
                      .width = sl_load32(column + 8),
                      .height = sl_load32(column + 12)};
    if (sl_load16(column + 6) != 0 || blob->encoding > SL_BLOB_ZSTD) {
        return sl_refuse("the column of an image is not valid", 0);
    }
    if (blob->codec == SL_CODEC_BY_BYTES) {
        return sl_refuse_unknown("an image has no codec", 0);
    }
    if (blob->bytes == 0 || blob->width == 0 || blob->height == 0) {
        return sl_refuse("an image is empty", 0);
    }
    uint64_t pixels = (uint64_t)blob->width * blob->height;
    bool plain_pixels = blob->codec == SL_CODEC_RAW && blob->encoding == SL_BLOB_PLAIN;
    if (plain_pixels && (pixels > SL_RECORD_BYTES_MAX || pixels * 3 != blob->bytes)) {
        return sl_refuse("the size of raw pixels does not match the image's width and height", 0);
    }
    return sl_accept();
}

static sl_refusal load_other(sl_blob *blob, const uint8_t *column)
{
    *blob = (sl_blob){.bytes = sl_load32(column),
                      .encoding = column[4],
                      .unpacked = sl_load32(column + 8),
                      .check = sl_load32(column + 12)};
    if (column[5] != 0 || sl_load16(column + 6) != 0 || blob->encoding > SL_BLOB_ZSTD) {
        return sl_refuse("the column of a blob is not valid", 0);
    }
    if (blob->encoding == SL_BLOB_PLAIN && blob->unpacked != blob->bytes) {
        return sl_refuse("a plain blob has two sizes", 0);
    }
    return sl_accept();
}

/* Adds the stored size of field `number` to `*used` if it is a blob. */
static sl_refusal load_column(const sl_schema *schema, uint32_t number, const uint8_t *bytes,
                              sl_entry *entry, uint64_t *used)
{
    const uint8_t *column = bytes + schema->cells[number];
    sl_blob blob = {0};
    sl_refusal refusal = sl_accept();
    switch (schema->fields[number].type) {
    case SLUICE_FIELD_INT:
        entry->label = number == schema->label ? (int64_t)sl_load64(column) : entry->label;
        break;
    case SLUICE_FIELD_FLOAT:
    case SLUICE_FIELD_TENSOR: /* already rejected with the schema */
        break;
    case SLUICE_FIELD_IMAGE:
        refusal = load_image(&blob, column);
        break;
    case SLUICE_FIELD_BYTES:
    case SLUICE_FIELD_TEXT:
        refusal = load_other(&blob, column);
        break;
    }
    if (number == schema->image) {
        entry->image = blob;
        entry->image_offset = (uint32_t)*used;
    } else if (number == schema->key) {
        entry->key = blob;
        entry->key_offset = (uint32_t)*used;
    }
    *used += blob.bytes;
    refusal.offset = schema->cells[number];
    return refusal;
}

sl_refusal sl_entry_decode(const sl_schema *schema, sl_entry *entry, const uint8_t *bytes,
                           uint64_t data_bytes)
{
    *entry = (sl_entry){.offset = sl_load64(bytes),
                        .bytes = sl_load32(bytes + 8),
                        .checksum = sl_load64(bytes + 16),
                        .label = -1};
    if (entry->bytes == 0 || entry->bytes > SL_RECORD_BYTES_MAX || sl_load32(bytes + 12) != 0) {
        return sl_refuse("the size in an index entry is out of range", 8);
    }
    if (entry->offset < SL_SHARD_DATA_OFFSET || entry->bytes > data_bytes ||
        entry->offset - SL_SHARD_DATA_OFFSET > data_bytes - entry->bytes) {
        return sl_refuse("an index entry points outside the samples", 0);
    }
    uint64_t used = 0;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        sl_refusal refusal = load_column(schema, i, bytes, entry, &used);
        if (refusal.text != NULL) {
            return refusal;
        }
        if (used > entry->bytes) {
            break;
        }
    }
    if (used != entry->bytes) {
        return sl_refuse("the fields of a sample do not add up to its size", 8);
    }
    return sl_accept();
}

/* ---- version 2 ---- */

sl_refusal sl_fences_decode(const uint8_t fences[2 * SL_FENCE_BYTES], uint64_t data_bytes,
                            uint64_t *offset, uint32_t *bytes)
{
    const uint64_t begin = sl_load64(fences);
    const uint64_t end = sl_load64(fences + SL_FENCE_BYTES);
    if (begin < SL_SHARD_DATA_OFFSET || end <= begin || end - SL_SHARD_DATA_OFFSET > data_bytes) {
        return sl_refuse("the index points outside the samples", 0);
    }
    if (end - begin > SL_RECORD_BYTES_MAX) {
        return sl_refuse("the size of a sample is out of range", 0);
    }
    *offset = begin;
    *bytes = (uint32_t)(end - begin);
    return sl_accept();
}

/* ---- blocks of both ---- */

void sl_block_seal(uint8_t block[SL_PAGE_BYTES], const sl_block_tail *tail)
{
    uint8_t *at = block + SL_BLOCK_ENTRY_ROOM;
    sl_store64(at, tail->first);
    sl_store32(at + 8, tail->count);
    sl_store32(at + 12, 0);
    sl_store64(at + 16, tail->identity);
    sl_store64(block + CHECKSUM_AT, sl_checksum(block, CHECKSUM_AT));
}

sl_refusal sl_block_check(const uint8_t block[SL_PAGE_BYTES], const sl_block_tail *tail,
                          const sl_schema *schema)
{
    const uint8_t *at = block + SL_BLOCK_ENTRY_ROOM;
    if (sl_checksum(block, CHECKSUM_AT) != sl_load64(block + CHECKSUM_AT)) {
        return sl_refuse("an index block does not match its checksum", CHECKSUM_AT);
    }
    if (sl_load64(at) != tail->first || sl_load32(at + 8) != tail->count ||
        sl_load64(at + 16) != tail->identity) {
        return sl_refuse("an index block is misplaced", SL_BLOCK_ENTRY_ROOM);
    }
    const size_t last_fence = schema->version == 1 ? 0 : SL_FENCE_BYTES;
    const size_t used = (size_t)tail->count * schema->entry_bytes + last_fence;
    if (!sl_all_zero(block + used, SL_BLOCK_ENTRY_ROOM - used) || sl_load32(at + 12) != 0 ||
        !sl_all_zero(at + 24, 32)) {
        return sl_refuse("reserved bytes of an index block are not zero", used);
    }
    return sl_accept();
}
