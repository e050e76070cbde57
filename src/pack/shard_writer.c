/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_writer: writes one shard through a buffer. One owner.
 *
 * The header, which makes the shard valid, is written last.
 */
#include "shard_writer.h"

#include "checksum.h"
#include "dataset.h"
#include "error.h"
#include "file.h"
#include "little_endian.h"
#include "memory.h"
#include "shard_record.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define STAGE        "pack"
#define BUFFER_BYTES ((size_t)1 << 20)
#define BEHIND_BYTES ((uint64_t)8 << 20)

static sl_file_name shard_writer_name_of(const sl_shard_writer *writer)
{
    return (sl_file_name){STAGE, writer->path};
}

sluice_status sl_shard_writer_open(sl_shard_writer *writer, const sl_shard_plan *plan,
                                   sluice_error *error)
{
    *writer = (sl_shard_writer){.plan = plan, .fd = -1, .buffer = sl_malloc(BUFFER_BYTES)};
    if (writer->buffer == NULL) {
        return sl_no_memory(error, STAGE, "for a shard writer");
    }
    return SLUICE_OK;
}

void sl_shard_writer_close(sl_shard_writer *writer)
{
    if (writer->fd >= 0) {
        sl_file_close(writer->fd);
        sl_output_discard(writer->plan->output, writer->name);
    }
    sl_free(writer->sizes);
    sl_free(writer->buffer);
    *writer = (sl_shard_writer){.fd = -1};
}

sluice_status sl_shard_writer_begin(sl_shard_writer *writer, uint32_t number, sluice_error *error)
{
    assert(writer->fd < 0);
    (void)snprintf(writer->name, sizeof(writer->name), SL_SHARD_NAME_FORMAT, number);
    writer->number = number;
    writer->data_bytes = 0;
    writer->samples = 0;
    writer->identity = 0;
    writer->record_bytes = 0;
    writer->buffered = 0;
    writer->behind = 0;
    sluice_status status =
        sl_output_name(writer->plan->output, writer->name, true, writer->path, error);
    return status == SLUICE_OK
               ? sl_output_create(writer->plan->output, writer->name, &writer->fd, error)
               : status;
}

/* Returns the size common to all samples including one more; 0: they differ. */
static uint32_t common_size(const sl_shard_writer *writer, const sl_record *record)
{
    const bool same = writer->samples == 0 || writer->record_bytes == record->bytes;
    return same ? (uint32_t)record->bytes : 0;
}

uint64_t sl_shard_writer_bytes_with(const sl_shard_writer *writer, const sl_record *record)
{
    const uint64_t blocks =
        sl_index_blocks(writer->samples + 1, common_size(writer, record), SL_BLOCK_SAMPLES);
    return sl_page_round_up(SL_SHARD_DATA_OFFSET + writer->data_bytes + record->bytes) +
           blocks * SL_PAGE_BYTES + writer->plan->meta_bytes;
}

/*
 * Starts the write-back of the data so far, so that syncing the shard takes little time. Advice
 * only.
 */
static void write_behind(sl_shard_writer *writer, uint64_t end)
{
    if (end - writer->behind >= BEHIND_BYTES) {
        (void)sync_file_range(writer->fd, (off_t)writer->behind, (off_t)(end - writer->behind),
                              SYNC_FILE_RANGE_WRITE);
        writer->behind = end;
    }
}

/* the buffer ends where the data end */
static sluice_status shard_writer_flush(sl_shard_writer *writer, sluice_error *error)
{
    const uint64_t end = SL_SHARD_DATA_OFFSET + writer->data_bytes;
    sluice_status status = sl_file_write(writer->fd, shard_writer_name_of(writer), writer->buffer,
                                         writer->buffered, end - writer->buffered, error);
    writer->buffered = 0;
    write_behind(writer, end);
    return status;
}

static sluice_status shard_writer_append(sl_shard_writer *writer, sl_bytes bytes,
                                         sluice_error *error)
{
    if (bytes.size > BUFFER_BYTES - writer->buffered) {
        sluice_status status = shard_writer_flush(writer, error);
        if (status < 0) {
            return status;
        }
    }
    uint64_t offset = SL_SHARD_DATA_OFFSET + writer->data_bytes;
    writer->data_bytes += bytes.size;
    if (bytes.size > BUFFER_BYTES) {
        return sl_file_write(writer->fd, shard_writer_name_of(writer), bytes.data, bytes.size,
                             offset, error);
    }
    if (bytes.size > 0) {
        memcpy(writer->buffer + writer->buffered, bytes.data, bytes.size);
        writer->buffered += bytes.size;
    }
    return SLUICE_OK;
}

static sluice_status reserve_size(sl_shard_writer *writer, sluice_error *error)
{
    const uint64_t needed = writer->samples + 1;
    return sl_grow(&writer->sizes, &writer->capacity, needed, sizeof(*writer->sizes))
               ? SLUICE_OK
               : sl_no_memory(error, STAGE, "for the sizes of %llu samples",
                              (unsigned long long)needed);
}

sluice_status sl_shard_writer_add(sl_shard_writer *writer, const sl_record *record,
                                  sluice_error *error)
{
    assert(writer->fd >= 0 && record->bytes <= SL_RECORD_BYTES_MAX);
    const uint32_t common = common_size(writer, record);
    sluice_status status = reserve_size(writer, error);
    if (status == SLUICE_OK) {
        status = shard_writer_append(writer, record->head, error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < record->fields; i++) {
        status = shard_writer_append(writer, record->blobs[i], error);
    }
    if (status < 0) {
        return status;
    }
    writer->record_bytes = common;
    writer->identity += sl_record_identity(writer->samples, record->checksum);
    writer->sizes[writer->samples++] = (uint32_t)record->bytes;
    return SLUICE_OK;
}

/* Fills in one block's fences; returns where its last sample ends. */
static uint64_t put_fences(const sl_shard_writer *writer, const sl_block_tail *tail, uint64_t at,
                           uint8_t block[SL_PAGE_BYTES])
{
    for (uint32_t i = 0; i < tail->count; i++) {
        sl_store64(block + (size_t)i * SL_FENCE_BYTES, at);
        at += writer->sizes[tail->first + i];
    }
    sl_store64(block + (size_t)tail->count * SL_FENCE_BYTES, at);
    return at;
}

static sluice_status write_index(sl_shard_writer *writer, sl_shard_header *header,
                                 sluice_error *error)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    uint64_t offset = header->index_offset;
    uint64_t at = SL_SHARD_DATA_OFFSET;
    for (uint64_t first = 0; first < writer->samples; first += SL_BLOCK_SAMPLES) {
        uint8_t block[SL_PAGE_BYTES] = {0};
        const uint64_t left = writer->samples - first;
        const sl_block_tail tail = {.first = first,
                                    .identity = header->identity,
                                    .count = left < SL_BLOCK_SAMPLES ? (uint32_t)left
                                                                     : SL_BLOCK_SAMPLES};
        at = put_fences(writer, &tail, at, block);
        sl_block_seal(block, &tail);
        sl_checksum_add(&stream, block, sizeof(block));
        sluice_status status = sl_file_write(writer->fd, shard_writer_name_of(writer), block,
                                             sizeof(block), offset, error);
        if (status < 0) {
            return status;
        }
        offset += sizeof(block);
    }
    header->index_checksum = sl_checksum_value(&stream);
    return SLUICE_OK;
}

static void shard_writer_describe(const sl_shard_writer *writer, sl_shard_header *header)
{
    const sl_shard_plan *plan = writer->plan;
    const uint64_t blocks =
        sl_index_blocks(writer->samples, writer->record_bytes, SL_BLOCK_SAMPLES);
    *header = (sl_shard_header){
        .samples = writer->samples,
        .data_bytes = writer->data_bytes,
        .index_offset = sl_page_round_up(SL_SHARD_DATA_OFFSET + writer->data_bytes),
        .index_bytes = blocks * SL_PAGE_BYTES,
        .meta_bytes = plan->meta_bytes,
        .meta_checksum = plan->meta_checksum,
        .identity = writer->identity,
        .entry_bytes = blocks > 0 ? SL_FENCE_BYTES : 0,
        .entries_per_block = blocks > 0 ? SL_BLOCK_SAMPLES : 0,
        .record_bytes = writer->record_bytes,
        .number = writer->number,
        .pack_id = plan->pack_id,
    };
    header->meta_offset = header->index_offset + header->index_bytes;
    header->file_bytes = header->meta_offset + header->meta_bytes;
}

/*
 * Writes everything after the samples, then the header. The padding is a hole, which reads as
 * zeros.
 */
static sluice_status write_rest(sl_shard_writer *writer, sl_shard_header *header,
                                sluice_error *error)
{
    uint8_t page[SL_PAGE_BYTES];
    sluice_status status = shard_writer_flush(writer, error);
    if (status == SLUICE_OK && header->index_bytes > 0) {
        status = write_index(writer, header, error);
    }
    if (status == SLUICE_OK) {
        status = sl_file_write(writer->fd, shard_writer_name_of(writer), writer->plan->metadata,
                               writer->plan->meta_bytes, header->meta_offset, error);
    }
    if (status == SLUICE_OK) {
        sl_shard_header_encode(header, page);
        status =
            sl_file_write(writer->fd, shard_writer_name_of(writer), page, sizeof(page), 0, error);
    }
    return status;
}

sluice_status sl_shard_writer_finish(sl_shard_writer *writer, uint64_t source_first,
                                     uint64_t source_next, sl_shard_row *row, sluice_error *error)
{
    assert(writer->fd >= 0 && writer->samples > 0);
    sl_shard_header header;
    shard_writer_describe(writer, &header);
    header.source_first = source_first;
    header.source_next = source_next;
    sluice_status status = write_rest(writer, &header, error);
    if (status == SLUICE_OK) {
        status = sl_output_sync(writer->plan->output, writer->name, writer->fd, error);
    }
    if (status < 0) {
        return status;
    }
    sl_file_close(writer->fd);
    writer->fd = -1;
    status = sl_output_publish(writer->plan->output, writer->name, error);
    if (status < 0) {
        sl_output_discard(writer->plan->output, writer->name);
    }
    *row = sl_shard_row_of(&header);
    return status;
}
