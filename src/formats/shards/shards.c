/* SPDX-License-Identifier: Apache-2.0 */
#include "shards.h"

#include "memory.h"
#include "search.h"
#include "store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

sluice_status sl_shards_refuse(sluice_error *error, sl_refusal refusal, const char *path,
                               uint64_t offset)
{
    return sl_error_file(error, refusal.status, STAGE, 0, path, (int64_t)(offset + refusal.offset),
                         "%s", refusal.text);
}

sluice_status sl_shards_path(void *ctx, uint32_t shard, char *path, size_t bytes)
{
    const sl_shards *shards = ctx;
    const sl_shard *own = &shards->shards[shard];
    const sl_shard_source *source = &shards->sources[own->source];
    int length = source->lone ? snprintf(path, bytes, "%s", source->path)
                              : snprintf(path, bytes, "%s/" SL_SHARD_NAME_FORMAT, source->path,
                                         own->row.number);
    return length >= 0 && (size_t)length < bytes ? SLUICE_OK : SLUICE_INVALID;
}

uint64_t sl_shards_bytes(void *ctx, uint32_t shard)
{
    const sl_shards *shards = ctx;
    return shards->shards[shard].row.file_bytes;
}

/* ---- headers ---- */

sluice_status sl_shard_read_header(const sl_handle *from, uint64_t file_bytes,
                                   sl_shard_header *header, sluice_error *error)
{
    uint8_t page[SL_PAGE_BYTES];
    const char *path = from->name.path;
    sluice_status status = sl_handle_read(from, page, sizeof(page), 0, error);
    if (status < 0) {
        return status;
    }
    sl_refusal refusal = sl_shard_header_decode(header, page);
    if (refusal.text != NULL) {
        return sl_shards_refuse(error, refusal, path, 0);
    }
    if (header->file_bytes != file_bytes) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, (int64_t)file_bytes,
                             "the file has %llu bytes, but its header says %llu",
                             (unsigned long long)file_bytes,
                             (unsigned long long)header->file_bytes);
    }
    return SLUICE_OK;
}

sl_refusal sl_shard_header_fits(const sl_shard_header *header, const sl_schema *schema)
{
    return header->record_bytes == 0 && header->entry_bytes != schema->entry_bytes
               ? sl_refuse("the size in an index entry does not match its fields", 104)
               : sl_accept();
}

/*
 * Returns whether the metadata are the dataset's, or older ones with fewer classes, for which the
 * row vouches.
 */
static bool has_metadata(const sl_shards *shards, const sl_shard_header *header)
{
    return header->meta_bytes == shards->meta_bytes
               ? header->meta_checksum == shards->meta_checksum
               : shards->grown && header->meta_bytes < shards->meta_bytes;
}

sl_refusal sl_shard_header_trust(const sl_shards *shards, const sl_shard *shard,
                                 const uint8_t page[SL_PAGE_BYTES], sl_shard_header *header)
{
    const sl_refusal refusal = sl_shard_header_decode(header, page);
    if (refusal.text != NULL) {
        return refusal;
    }
    if (!sl_shard_row_matches(&shard->row, header) || header->version != shards->schema.version ||
        !has_metadata(shards, header)) {
        return sl_refuse("not the shard that the manifest describes", 0);
    }
    return sl_shard_header_fits(header, &shards->schema);
}

/* ---- locating ---- */

uint32_t sl_shards_find(const sl_shards *shards, uint64_t index)
{
    return (uint32_t)sl_last_at_or_before(&shards->shards->row.first, sizeof(*shards->shards),
                                          shards->count, index);
}

sl_block_tail sl_shards_tail(const sl_shards *shards, const sl_shard_row *row, uint64_t block)
{
    const uint32_t per_block = shards->schema.entries_per_block;
    const uint64_t first = block * per_block;
    const uint64_t left = row->samples - first;
    return (sl_block_tail){.first = first,
                           .identity = row->identity,
                           .count = left < per_block ? (uint32_t)left : per_block};
}

static sl_refusal learn_block(const sl_shards *shards, const sl_shard *shard, uint64_t block,
                              const uint8_t bytes[SL_PAGE_BYTES])
{
    const sl_block_tail tail = sl_shards_tail(shards, &shard->row, block);
    const sl_refusal refusal = sl_block_check(bytes, &tail, &shards->schema);
    if (refusal.text == NULL) {
        sl_index_cache_put(shards->cache, sl_shards_tag(shard, block), bytes);
    }
    return refusal;
}

sl_refusal sl_shards_learn(const sl_dataset *dataset, const sl_place *lookup, sl_bytes bytes)
{
    const sl_shards *shards = sl_shards_of(dataset);
    sl_shard *shard = &shards->shards[lookup->object];
    assert(bytes.size == SL_PAGE_BYTES);
    if (lookup->offset != 0) {
        const uint64_t block = (lookup->offset - shard->row.index_offset) / SL_PAGE_BYTES;
        return learn_block(shards, shard, block, bytes.data);
    }
    sl_shard_header header;
    const sl_refusal refusal = sl_shard_header_trust(shards, shard, bytes.data, &header);
    if (refusal.text == NULL) {
        /* relaxed: the flag publishes only itself; rows do not change */
        atomic_store_explicit(&shard->trusted, true, memory_order_relaxed);
    }
    return refusal;
}

uint64_t sl_shards_first_of_object(const sl_dataset *dataset, uint32_t object)
{
    return sl_shards_of(dataset)->shards[object].row.first;
}

const char *sl_shards_class_name(const sl_dataset *dataset, int64_t label)
{
    const sl_schema *schema = &sl_shards_of(dataset)->schema;
    return label >= 0 && label < (int64_t)schema->class_count ? schema->classes[label] : NULL;
}

void sl_shards_close(sl_dataset *dataset)
{
    sl_shards *shards = (sl_shards *)(void *)dataset;
    sl_objects_close(shards->base.objects);
    if (shards->cache != NULL) {
        sl_index_cache_close(shards->cache);
        sl_free(shards->cache);
    }
    sl_schema_close(&shards->schema);
    for (uint32_t i = 0; i < shards->source_count; i++) {
        sl_free(shards->sources[i].path);
    }
    sl_free(shards->sources);
    sl_free(shards->shards);
    sl_free(shards);
}
