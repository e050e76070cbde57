/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_writer.h"

#include "checksum.h"
#include "dataset.h"
#include "error.h"
#include "file.h"
#include "little_endian.h"
#include "memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define STAGE        "pack"
#define BUFFER_BYTES ((size_t)1 << 20)

static sl_file_name name_of(const sl_shard_writer *writer)
{
    return (sl_file_name){STAGE, writer->path};
}

sluice_status sl_shard_writer_open(sl_shard_writer *writer, const sl_shard_plan *plan,
                                   sluice_error *error)
{
    *writer = (sl_shard_writer){.plan = plan, .fd = -1, .buffer = sl_malloc(BUFFER_BYTES)};
    if (!writer->buffer) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a shard writer");
    }
    return SLUICE_OK;
}

void sl_shard_writer_close(sl_shard_writer *writer)
{
    if (writer->fd >= 0) {
        sl_file_close(writer->fd);
        sl_output_discard(writer->plan->output, writer->name);
    }
    sl_free(writer->entries);
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
    writer->buffered = 0;
    sluice_status status =
        sl_output_name(writer->plan->output, writer->name, true, writer->path, error);
    return status == SLUICE_OK
               ? sl_output_create(writer->plan->output, writer->name, &writer->fd, error)
               : status;
}

static uint64_t index_bytes(const sl_shard_writer *writer, uint64_t samples)
{
    return ((samples - 1) / writer->plan->schema->entries_per_block + 1) * SL_PAGE_BYTES;
}

uint64_t sl_shard_writer_bytes_with(const sl_shard_writer *writer, uint64_t bytes)
{
    return sl_page_round_up(SL_SHARD_DATA_OFFSET + writer->data_bytes + bytes) +
           index_bytes(writer, writer->samples + 1) + writer->plan->meta_bytes;
}

/* The buffer ends where the data end. */
static sluice_status flush(sl_shard_writer *writer, sluice_error *error)
{
    uint64_t offset = SL_SHARD_DATA_OFFSET + writer->data_bytes - writer->buffered;
    sluice_status status =
        sl_file_write(writer->fd, name_of(writer), writer->buffer, writer->buffered, offset, error);
    writer->buffered = 0;
    return status;
}

static sluice_status append(sl_shard_writer *writer, sl_bytes bytes, sluice_error *error)
{
    if (bytes.size > BUFFER_BYTES - writer->buffered) {
        sluice_status status = flush(writer, error);
        if (status < 0) {
            return status;
        }
    }
    uint64_t offset = SL_SHARD_DATA_OFFSET + writer->data_bytes;
    writer->data_bytes += bytes.size;
    if (bytes.size > BUFFER_BYTES) {
        return sl_file_write(writer->fd, name_of(writer), bytes.data, bytes.size, offset, error);
    }
    if (bytes.size > 0) {
        memcpy(writer->buffer + writer->buffered, bytes.data, bytes.size);
        writer->buffered += bytes.size;
    }
    return SLUICE_OK;
}

static sluice_status reserve_entry(sl_shard_writer *writer, sluice_error *error)
{
    if (writer->samples < writer->room) {
        return SLUICE_OK;
    }
    uint64_t room = writer->room < 1024 ? 1024 : writer->room * 2;
    uint8_t *grown = sl_realloc_array(writer->entries, room, writer->plan->schema->entry_bytes);
    if (!grown) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for %llu index entries",
                            (unsigned long long)room);
    }
    writer->entries = grown;
    writer->room = room;
    return SLUICE_OK;
}

sluice_status sl_shard_writer_add(sl_shard_writer *writer, const sl_record *record,
                                  sluice_error *error)
{
    assert(writer->fd >= 0 && record->image.size > 0);
    sl_entry entry = record->entry;
    entry.offset = SL_SHARD_DATA_OFFSET + writer->data_bytes;
    sluice_status status = reserve_entry(writer, error);
    if (status == SLUICE_OK) {
        status = append(writer, record->image, error);
    }
    if (status == SLUICE_OK) {
        status = append(writer, record->key, error);
    }
    if (status < 0) {
        return status;
    }
    size_t at = (size_t)writer->samples * writer->plan->schema->entry_bytes;
    sl_entry_encode(writer->plan->schema, &entry, writer->entries + at);
    writer->samples++;
    return SLUICE_OK;
}

/* Over the checksums in the encoded entries. */
static uint64_t identity_of(const sl_shard_writer *writer)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint64_t i = 0; i < writer->samples; i++) {
        const uint8_t *entry = writer->entries + i * writer->plan->schema->entry_bytes;
        sl_checksum_add(&stream, entry + 16, 8);
    }
    return sl_checksum_value(&stream);
}

static sluice_status write_index(sl_shard_writer *writer, sl_shard_header *header,
                                 sluice_error *error)
{
    const sl_schema *schema = writer->plan->schema;
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    uint64_t offset = header->index_offset;
    for (uint64_t first = 0; first < writer->samples; first += schema->entries_per_block) {
        uint8_t block[SL_PAGE_BYTES] = {0};
        uint64_t left = writer->samples - first;
        sl_block_tail tail = {.first = first, .identity = header->identity};
        tail.count = left < schema->entries_per_block ? (uint32_t)left : schema->entries_per_block;
        memcpy(block, writer->entries + first * schema->entry_bytes,
               (size_t)tail.count * schema->entry_bytes);
        sl_block_seal(block, &tail);
        sl_checksum_add(&stream, block, sizeof(block));
        sluice_status status =
            sl_file_write(writer->fd, name_of(writer), block, sizeof(block), offset, error);
        if (status < 0) {
            return status;
        }
        offset += sizeof(block);
    }
    header->index_checksum = sl_checksum_value(&stream);
    return SLUICE_OK;
}

static void describe(const sl_shard_writer *writer, sl_shard_header *header)
{
    const sl_shard_plan *plan = writer->plan;
    *header = (sl_shard_header){
        .samples = writer->samples,
        .data_bytes = writer->data_bytes,
        .index_offset = sl_page_round_up(SL_SHARD_DATA_OFFSET + writer->data_bytes),
        .index_bytes = index_bytes(writer, writer->samples),
        .meta_bytes = plan->meta_bytes,
        .meta_checksum = plan->meta_checksum,
        .identity = identity_of(writer),
        .entry_bytes = plan->schema->entry_bytes,
        .entries_per_block = plan->schema->entries_per_block,
        .number = writer->number,
        .pack_id = plan->pack_id,
    };
    header->meta_offset = header->index_offset + header->index_bytes;
    header->file_bytes = header->meta_offset + header->meta_bytes;
}

/* All that follows the samples, then the header. The padding is a hole, which reads as zeros. */
static sluice_status write_rest(sl_shard_writer *writer, sl_shard_header *header,
                                sluice_error *error)
{
    uint8_t page[SL_PAGE_BYTES];
    sluice_status status = flush(writer, error);
    if (status == SLUICE_OK) {
        status = write_index(writer, header, error);
    }
    if (status == SLUICE_OK) {
        status = sl_file_write(writer->fd, name_of(writer), writer->plan->metadata,
                               writer->plan->meta_bytes, header->meta_offset, error);
    }
    if (status == SLUICE_OK) {
        sl_shard_header_encode(header, page);
        status = sl_file_write(writer->fd, name_of(writer), page, sizeof(page), 0, error);
    }
    return status;
}

sluice_status sl_shard_writer_finish(sl_shard_writer *writer, uint64_t source_first,
                                     uint64_t source_next, sl_shard_row *row, sluice_error *error)
{
    assert(writer->fd >= 0 && writer->samples > 0);
    sl_shard_header header;
    describe(writer, &header);
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
