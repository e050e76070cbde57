/* SPDX-License-Identifier: Apache-2.0 */
#include "shards.h"

#include "checksum.h"
#include "file.h"
#include "memory.h"

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

sluice_status sl_shard_read_header(int fd, const char *path, uint64_t file_bytes,
                                   sl_shard_header *header, sluice_error *error)
{
    uint8_t page[SL_PAGE_BYTES];
    sluice_status status =
        sl_file_read(fd, (sl_file_name){STAGE, path}, page, sizeof(page), 0, error);
    if (status < 0) {
        return status;
    }
    sl_refusal refusal = sl_shard_header_decode(header, page);
    if (refusal.text != NULL) {
        return sl_shards_refuse(error, refusal, path, 0);
    }
    if (header->file_bytes != file_bytes) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, (int64_t)file_bytes,
                             "the file has %llu bytes and its header says %llu",
                             (unsigned long long)file_bytes,
                             (unsigned long long)header->file_bytes);
    }
    return SLUICE_OK;
}

sl_refusal sl_shard_header_trust(const sl_shards *shards, const sl_shard *shard,
                                 const uint8_t page[SL_PAGE_BYTES], sl_shard_header *header)
{
    const sl_refusal refusal = sl_shard_header_decode(header, page);
    if (refusal.text != NULL) {
        return refusal;
    }
    if (!sl_shard_row_matches(&shard->row, header) ||
        header->meta_checksum != shards->meta_checksum ||
        header->meta_bytes != shards->meta_bytes) {
        return sl_refuse("this is not the shard that the manifest describes", 0);
    }
    return sl_accept();
}

/* ---- locating ---- */

static uint32_t find_shard(const sl_shards *shards, uint64_t index)
{
    uint32_t low = 0;
    uint32_t high = shards->count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (shards->shards[middle].row.first <= index) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* Samples of a dataset are fewer than 2^62, so that first + block names a block uniquely. */
static uint64_t tag_of(const sl_shard *shard, uint64_t block)
{
    return shard->row.first + block;
}

/* What unpack needs of an entry. */
enum { FACT_CHECKSUM, FACT_LABEL, FACT_IMAGE, FACT_SIZE };

typedef struct entry_facts {
    uint32_t image_bytes;
    uint8_t raw, image_zstd, key_zstd;
} entry_facts;

static void set_facts(sl_sample *sample, const sl_entry *entry)
{
    const entry_facts facts = {.image_bytes = entry->image.bytes,
                               .raw = entry->image.codec == SL_CODEC_RAW,
                               .image_zstd = entry->image.encoding == SL_BLOB_ZSTD,
                               .key_zstd = entry->key.encoding == SL_BLOB_ZSTD};
    _Static_assert(sizeof(facts) <= sizeof(sample->facts[0]), "the facts of an entry are a word");
    sample->facts[FACT_CHECKSUM] = entry->checksum;
    sample->facts[FACT_LABEL] = (uint64_t)entry->label;
    sample->facts[FACT_IMAGE] = 0;
    memcpy(&sample->facts[FACT_IMAGE], &facts, sizeof(facts));
    sample->facts[FACT_SIZE] = (uint64_t)entry->image.height << 32 | entry->image.width;
}

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    const sl_shards *shards = sl_shards_of(dataset);
    const sl_schema *schema = &shards->schema;
    const uint32_t number = find_shard(shards, index);
    const sl_shard *shard = &shards->shards[number];
    const uint64_t local = index - shard->row.first;
    const uint64_t block = local / schema->entries_per_block;
    const size_t at = (size_t)(local % schema->entries_per_block) * schema->entry_bytes;
    uint8_t bytes[SL_ENTRY_BYTES_MAX];
    sl_entry entry;
    *lookup = (sl_place){.bytes = SL_PAGE_BYTES, .object = number};
    /* relaxed: nothing but the flag is published; rows do not change */
    if (!atomic_load_explicit(&shard->trusted, memory_order_relaxed)) {
        return SLUICE_AGAIN;
    }
    lookup->offset = shard->row.index_offset + block * SL_PAGE_BYTES;
    if (!sl_index_cache_get(shards->cache, tag_of(shard, block), at, bytes, schema->entry_bytes)) {
        return SLUICE_AGAIN;
    }
    *why = sl_entry_decode(schema, &entry, bytes, shard->row.data_bytes);
    if (why->text != NULL) {
        why->offset += (uint32_t)at;
        return why->status;
    }
    *sample =
        (sl_sample){.place = {.offset = entry.offset, .bytes = entry.bytes, .object = number}};
    set_facts(sample, &entry);
    return SLUICE_OK;
}

static sl_refusal learn_block(const sl_shards *shards, const sl_shard *shard, uint64_t block,
                              const uint8_t bytes[SL_PAGE_BYTES])
{
    const uint32_t per_block = shards->schema.entries_per_block;
    const uint64_t first = block * per_block;
    const uint64_t left = shard->row.samples - first;
    const sl_block_tail tail = {.first = first,
                                .identity = shard->row.identity,
                                .count = left < per_block ? (uint32_t)left : per_block};
    const sl_refusal refusal = sl_block_check(bytes, &tail, shards->schema.entry_bytes);
    if (refusal.text == NULL) {
        sl_index_cache_put(shards->cache, tag_of(shard, block), bytes);
    }
    return refusal;
}

static sl_refusal learn(const sl_dataset *dataset, const sl_place *lookup, sl_bytes bytes)
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
        atomic_store_explicit(&shard->trusted, true, memory_order_relaxed);
    }
    return refusal;
}

/* ---- unpacking ---- */

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    const sl_schema *schema = &sl_shards_of(dataset)->schema;
    entry_facts facts;
    memcpy(&facts, &sample->facts[FACT_IMAGE], sizeof(facts));
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the sample is not as long as its index entry says", 0);
    }
    if (sl_checksum(bytes.data, bytes.size) != sample->facts[FACT_CHECKSUM]) {
        return sl_refuse("the sample does not match its checksum", 0);
    }
    const sl_bytes key = {bytes.data + facts.image_bytes, bytes.size - facts.image_bytes};
    if (!facts.key_zstd && memchr(key.data, 0, key.size) != NULL) {
        return sl_refuse("the sample's key is damaged", facts.image_bytes);
    }
    values->of[schema->image] = (sl_value){.present = true,
                                           .zstd = facts.image_zstd != 0,
                                           .raw = facts.raw != 0,
                                           .width = (uint32_t)sample->facts[FACT_SIZE],
                                           .height = (uint32_t)(sample->facts[FACT_SIZE] >> 32),
                                           .bytes = {bytes.data, facts.image_bytes}};
    values->of[schema->label] =
        (sl_value){.present = true, .integer = (int64_t)sample->facts[FACT_LABEL]};
    values->of[schema->key] = (sl_value){
        .present = true, .zstd = facts.key_zstd != 0, .offset = facts.image_bytes, .bytes = key};
    return sl_accept();
}

static const char *class_name(const sl_dataset *dataset, int64_t label)
{
    const sl_schema *schema = &sl_shards_of(dataset)->schema;
    return label >= 0 && label < (int64_t)schema->class_count ? schema->classes[label] : NULL;
}

static void close_shards(sl_dataset *dataset)
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

const sl_dataset_ops sl_shards_ops = {
    .locate = locate,
    .learn = learn,
    .unpack = unpack,
    .check_object = sl_shards_check,
    .class_name = class_name,
    .close = close_shards,
};
