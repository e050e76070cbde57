/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_format.h"

#include "little_endian.h"
#include "shard_pages.h"

#include <stdbool.h>

#define HEADER_USED 144

void sl_shard_header_encode(sl_shard_header *header, uint8_t page[SL_PAGE_BYTES])
{
    sl_page_begin(page, SL_PAGE_SHARD);
    sl_store64(page + 24, header->file_bytes);
    sl_store64(page + 32, header->samples);
    sl_store64(page + 40, header->data_bytes);
    sl_store64(page + 48, header->index_offset);
    sl_store64(page + 56, header->index_bytes);
    sl_store64(page + 64, header->index_checksum);
    sl_store64(page + 72, header->meta_offset);
    sl_store64(page + 80, header->meta_bytes);
    sl_store64(page + 88, header->meta_checksum);
    sl_store64(page + 96, header->identity);
    sl_store32(page + 104, header->entry_bytes);
    sl_store32(page + 108, header->entries_per_block);
    sl_store32(page + 112, header->number);
    sl_store32(page + 116, header->record_bytes);
    sl_store64(page + 120, header->source_first);
    sl_store64(page + 128, header->source_next);
    sl_store64(page + 136, header->pack_id);
    header->checksum = sl_page_seal(page);
}

static void shard_header_load(sl_shard_header *header, const uint8_t page[SL_PAGE_BYTES])
{
    header->file_bytes = sl_load64(page + 24);
    header->samples = sl_load64(page + 32);
    header->data_bytes = sl_load64(page + 40);
    header->index_offset = sl_load64(page + 48);
    header->index_bytes = sl_load64(page + 56);
    header->index_checksum = sl_load64(page + 64);
    header->meta_offset = sl_load64(page + 72);
    header->meta_bytes = sl_load64(page + 80);
    header->meta_checksum = sl_load64(page + 88);
    header->identity = sl_load64(page + 96);
    header->entry_bytes = sl_load32(page + 104);
    header->entries_per_block = sl_load32(page + 108);
    header->version = sl_load32(page + 8);
    header->number = sl_load32(page + 112);
    header->record_bytes = sl_load32(page + 116);
    header->source_first = sl_load64(page + 120);
    header->source_next = sl_load64(page + 128);
    header->pack_id = sl_load64(page + 136);
    header->checksum = sl_load64(page + SL_PAGE_BYTES - 8);
}

/* Checks bounds first, so that no sum below can overflow: all values are below 2^62. */
static sl_refusal shard_header_check_sizes(const sl_shard_header *h)
{
    if (h->file_bytes > INT64_MAX / 2) {
        return sl_refuse("the file size in the header is out of range", 24);
    }
    if (h->samples == 0 || h->samples > h->data_bytes) {
        return sl_refuse("the number of samples is out of range", 32);
    }
    if (h->data_bytes > h->file_bytes) {
        return sl_refuse("the samples do not fit in the file", 40);
    }
    if (h->meta_bytes < SL_META_BYTES_MIN || h->meta_bytes > SL_META_BYTES_MAX) {
        return sl_refuse("the size of the metadata is out of range", 80);
    }
    if (h->source_next < h->source_first || h->source_next - h->source_first < h->samples) {
        return sl_refuse("the range of source positions is not valid", 120);
    }
    return sl_accept();
}

static sl_refusal check_entries(const sl_shard_header *h)
{
    if (h->entry_bytes <= SL_ENTRY_FIXED_BYTES || h->entry_bytes > SL_ENTRY_BYTES_MAX ||
        h->entries_per_block != SL_BLOCK_ENTRY_ROOM / h->entry_bytes) {
        return sl_refuse("the size of an index entry is out of range", 104);
    }
    return h->record_bytes == 0 ? sl_accept()
                                : sl_refuse("reserved bytes of the header are not zero", 116);
}

static sl_refusal check_index_kind(const sl_shard_header *h)
{
    const bool uniform = h->record_bytes != 0;
    if (h->entry_bytes != (uniform ? 0 : SL_FENCE_BYTES) ||
        h->entries_per_block != (uniform ? 0 : SL_BLOCK_SAMPLES)) {
        return sl_refuse("the index is of the wrong kind", 104);
    }
    if (h->record_bytes > SL_RECORD_BYTES_MAX ||
        (uniform &&
         (h->data_bytes % h->record_bytes != 0 || h->data_bytes / h->record_bytes != h->samples))) {
        return sl_refuse("the size of a sample does not match the total", 116);
    }
    return uniform && h->index_checksum != 0
               ? sl_refuse("the checksum of an absent index is not zero", 64)
               : sl_accept();
}

uint64_t sl_index_blocks(uint64_t samples, uint32_t record_bytes, uint32_t per_block)
{
    return record_bytes != 0 ? 0 : (samples - 1) / per_block + 1;
}

static sl_refusal shard_header_check_places(const sl_shard_header *h)
{
    const uint64_t blocks = sl_index_blocks(h->samples, h->record_bytes, h->entries_per_block);
    const uint64_t index_offset = sl_page_round_up(SL_SHARD_DATA_OFFSET + h->data_bytes);
    if (h->index_offset != index_offset || blocks > h->file_bytes / SL_PAGE_BYTES ||
        h->index_bytes != blocks * SL_PAGE_BYTES) {
        return sl_refuse("the index is at the wrong offset", 48);
    }
    if (h->meta_offset != h->index_offset + h->index_bytes) {
        return sl_refuse("the metadata are at the wrong offset", 72);
    }
    if (h->file_bytes != h->meta_offset + h->meta_bytes) {
        return sl_refuse("the sizes of the file's sections do not add up", 24);
    }
    return sl_accept();
}

sl_refusal sl_shard_header_decode(sl_shard_header *header, const uint8_t page[SL_PAGE_BYTES])
{
    sl_refusal refusal = sl_page_check(page, SL_PAGE_SHARD, HEADER_USED, 0);
    if (refusal.text != NULL) {
        return refusal;
    }
    shard_header_load(header, page);
    refusal = shard_header_check_sizes(header);
    if (refusal.text == NULL) {
        refusal = header->version == 1 ? check_entries(header) : check_index_kind(header);
    }
    return refusal.text != NULL ? refusal : shard_header_check_places(header);
}

sl_shard_row sl_shard_row_of(const sl_shard_header *header)
{
    return (sl_shard_row){.samples = header->samples,
                          .file_bytes = header->file_bytes,
                          .data_bytes = header->data_bytes,
                          .index_offset = header->index_offset,
                          .header_checksum = header->checksum,
                          .identity = header->identity,
                          .number = header->number,
                          .record_bytes = header->record_bytes};
}

bool sl_shard_row_matches(const sl_shard_row *row, const sl_shard_header *header)
{
    return row->header_checksum == header->checksum && row->samples == header->samples &&
           row->file_bytes == header->file_bytes && row->data_bytes == header->data_bytes &&
           row->index_offset == header->index_offset && row->identity == header->identity &&
           row->number == header->number && row->record_bytes == header->record_bytes;
}
