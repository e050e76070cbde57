/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_format.h"

#include "little_endian.h"
#include "shard_pages.h"

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
    sl_store64(page + 120, header->source_first);
    sl_store64(page + 128, header->source_next);
    sl_store64(page + 136, header->pack_id);
    header->checksum = sl_page_seal(page);
}

static void load(sl_shard_header *header, const uint8_t page[SL_PAGE_BYTES])
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
    header->number = sl_load32(page + 112);
    header->source_first = sl_load64(page + 120);
    header->source_next = sl_load64(page + 128);
    header->pack_id = sl_load64(page + 136);
    header->checksum = sl_load64(page + SL_PAGE_BYTES - 8);
}

/* Bounds first, so that no sum below can wrap: all are below 2^62. */
static sl_refusal check_sizes(const sl_shard_header *h)
{
    if (h->file_bytes > INT64_MAX / 2) {
        return sl_refuse("the file size in the header is impossible", 24);
    }
    if (h->samples == 0 || h->samples > h->data_bytes) {
        return sl_refuse("the number of samples is impossible", 32);
    }
    if (h->data_bytes > h->file_bytes) {
        return sl_refuse("the samples do not fit in the file", 40);
    }
    if (h->meta_bytes < SL_META_BYTES_MIN || h->meta_bytes > SL_META_BYTES_MAX) {
        return sl_refuse("the size of the metadata is impossible", 80);
    }
    if (h->entry_bytes <= SL_ENTRY_FIXED_BYTES || h->entry_bytes > SL_ENTRY_BYTES_MAX ||
        h->entries_per_block != SL_BLOCK_ENTRY_ROOM / h->entry_bytes) {
        return sl_refuse("the size of an index entry is impossible", 104);
    }
    if (h->source_next < h->source_first || h->source_next - h->source_first < h->samples) {
        return sl_refuse("the range of source positions is impossible", 120);
    }
    return sl_accept();
}

sl_refusal sl_shard_header_decode(sl_shard_header *header, const uint8_t page[SL_PAGE_BYTES])
{
    sl_refusal refusal = sl_page_check(page, SL_PAGE_SHARD, HEADER_USED);
    if (refusal.text) {
        return refusal;
    }
    load(header, page);
    if (sl_load32(page + 116) != 0) {
        return sl_refuse("reserved bytes of the header are not zero", 116);
    }
    refusal = check_sizes(header);
    if (refusal.text) {
        return refusal;
    }
    uint64_t blocks = (header->samples - 1) / header->entries_per_block + 1;
    uint64_t index_offset = sl_page_round_up(SL_SHARD_DATA_OFFSET + header->data_bytes);
    if (header->index_offset != index_offset || blocks > header->file_bytes / SL_PAGE_BYTES ||
        header->index_bytes != blocks * SL_PAGE_BYTES) {
        return sl_refuse("the index does not lie where it must", 48);
    }
    if (header->meta_offset != header->index_offset + header->index_bytes) {
        return sl_refuse("the metadata do not lie where they must", 72);
    }
    if (header->file_bytes != header->meta_offset + header->meta_bytes) {
        return sl_refuse("the parts of the file do not add up to its size", 24);
    }
    return sl_accept();
}

sl_shard_row sl_shard_row_of(const sl_shard_header *header)
{
    return (sl_shard_row){.samples = header->samples,
                          .file_bytes = header->file_bytes,
                          .data_bytes = header->data_bytes,
                          .index_offset = header->index_offset,
                          .header_checksum = header->checksum,
                          .identity = header->identity,
                          .number = header->number};
}

int sl_shard_row_matches(const sl_shard_row *row, const sl_shard_header *header)
{
    return row->header_checksum == header->checksum && row->samples == header->samples &&
           row->file_bytes == header->file_bytes && row->data_bytes == header->data_bytes &&
           row->index_offset == header->index_offset && row->identity == header->identity &&
           row->number == header->number;
}
