/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_format.h"

#include "little_endian.h"
#include "shard_pages.h"

#define HEADER_USED      112
#define FEATURE_NUMBERED UINT64_C(1)
#define FEATURE_GROWN    UINT64_C(2)

void sl_manifest_header_encode(const sl_manifest_header *header, uint8_t page[SL_PAGE_BYTES])
{
    sl_page_begin(page, SL_PAGE_MANIFEST);
    sl_store64(page + 16,
               (header->numbered ? FEATURE_NUMBERED : 0) | (header->grown ? FEATURE_GROWN : 0));
    sl_store64(page + 24, header->file_bytes);
    sl_store64(page + 32, header->samples);
    sl_store64(page + 40, header->data_bytes);
    sl_store64(page + 48, header->shards);
    sl_store64(page + 56, header->rows_bytes);
    sl_store64(page + 64, header->rows_checksum);
    sl_store64(page + 72, header->meta_offset);
    sl_store64(page + 80, header->meta_bytes);
    sl_store64(page + 88, header->meta_checksum);
    sl_store64(page + 96, header->source_samples);
    sl_store64(page + 104, header->pack_id);
    (void)sl_page_seal(page);
}

sl_refusal sl_manifest_header_decode(sl_manifest_header *header, const uint8_t page[SL_PAGE_BYTES])
{
    sl_refusal refusal =
        sl_page_check(page, SL_PAGE_MANIFEST, HEADER_USED, FEATURE_NUMBERED | FEATURE_GROWN);
    if (refusal.text != NULL) {
        return refusal;
    }
    *header = (sl_manifest_header){
        .file_bytes = sl_load64(page + 24),
        .samples = sl_load64(page + 32),
        .data_bytes = sl_load64(page + 40),
        .shards = sl_load64(page + 48),
        .rows_bytes = sl_load64(page + 56),
        .rows_checksum = sl_load64(page + 64),
        .meta_offset = sl_load64(page + 72),
        .meta_bytes = sl_load64(page + 80),
        .meta_checksum = sl_load64(page + 88),
        .source_samples = sl_load64(page + 96),
        .pack_id = sl_load64(page + 104),
        .version = sl_load32(page + 8),
        .numbered = (sl_load64(page + 16) & FEATURE_NUMBERED) != 0,
        .grown = (sl_load64(page + 16) & FEATURE_GROWN) != 0,
    };
    if ((header->shards == 0 && !header->numbered) || header->shards > SL_SHARDS_MAX ||
        header->rows_bytes != header->shards * SL_SHARD_ROW_BYTES) {
        return sl_refuse("the number of shards is out of range", 48);
    }
    if (header->samples < header->shards || header->samples > SL_SAMPLES_MAX ||
        header->source_samples < header->samples || header->source_samples > SL_SAMPLES_MAX) {
        return sl_refuse("the number of samples is out of range", 32);
    }
    if (header->meta_offset != SL_PAGE_BYTES + header->rows_bytes ||
        header->meta_bytes < SL_META_BYTES_MIN || header->meta_bytes > SL_META_BYTES_MAX ||
        header->file_bytes != header->meta_offset + header->meta_bytes) {
        return sl_refuse("the sizes of the file's sections do not add up", 72);
    }
    return sl_accept();
}

void sl_shard_row_encode(const sl_shard_row *row, uint8_t bytes[SL_SHARD_ROW_BYTES])
{
    sl_store64(bytes, row->first);
    sl_store64(bytes + 8, row->samples);
    sl_store64(bytes + 16, row->file_bytes);
    sl_store64(bytes + 24, row->data_bytes);
    sl_store64(bytes + 32, row->index_offset);
    sl_store64(bytes + 40, row->header_checksum);
    sl_store64(bytes + 48, row->identity);
    sl_store32(bytes + 56, row->number);
    sl_store32(bytes + 60, row->record_bytes);
}

/* Checks the size of a shard's metadata, which are all or a part of the manifest's. */
static bool is_meta_size(const sl_manifest_header *header, uint64_t bytes)
{
    return bytes == header->meta_bytes ||
           (header->grown && bytes >= SL_META_BYTES_MIN && bytes < header->meta_bytes);
}

sl_refusal sl_shard_row_decode(sl_shard_row *row, const uint8_t bytes[SL_SHARD_ROW_BYTES],
                               const sl_schema *schema, const sl_manifest_header *header)
{
    *row = (sl_shard_row){.first = sl_load64(bytes),
                          .samples = sl_load64(bytes + 8),
                          .file_bytes = sl_load64(bytes + 16),
                          .data_bytes = sl_load64(bytes + 24),
                          .index_offset = sl_load64(bytes + 32),
                          .header_checksum = sl_load64(bytes + 40),
                          .identity = sl_load64(bytes + 48),
                          .number = sl_load32(bytes + 56),
                          .record_bytes = sl_load32(bytes + 60)};
    if (schema->version == 1 && row->record_bytes != 0) {
        return sl_refuse("reserved bytes of a shard's row are not zero", 60);
    }
    if (row->file_bytes > INT64_MAX / 2 || row->data_bytes > row->file_bytes || row->samples == 0 ||
        row->samples > row->data_bytes) {
        return sl_refuse("the sizes in a shard's row are out of range", 8);
    }
    if (row->record_bytes > SL_RECORD_BYTES_MAX ||
        (row->record_bytes != 0 && (row->data_bytes % row->record_bytes != 0 ||
                                    row->data_bytes / row->record_bytes != row->samples))) {
        return sl_refuse("the size of a sample does not match the total", 60);
    }
    const uint64_t blocks =
        sl_index_blocks(row->samples, row->record_bytes, schema->entries_per_block);
    if (row->index_offset != sl_page_round_up(SL_SHARD_DATA_OFFSET + row->data_bytes) ||
        blocks > row->file_bytes / SL_PAGE_BYTES ||
        row->file_bytes < row->index_offset + blocks * SL_PAGE_BYTES ||
        !is_meta_size(header, row->file_bytes - row->index_offset - blocks * SL_PAGE_BYTES)) {
        return sl_refuse("the parts of a shard's row do not add up", 16);
    }
    return sl_accept();
}
