/* SPDX-License-Identifier: Apache-2.0 */
#include "shards.h"

#include "checksum.h"
#include "error.h"
#include "file.h"
#include "frame.h"
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

sluice_status sl_shards_path(const sl_dataset *dataset, uint32_t file, char *path, size_t bytes)
{
    const sl_shards *shards = sl_shards_of(dataset);
    const sl_shard *shard = &shards->shards[file];
    const sl_shard_source *source = &shards->sources[shard->source];
    int length = source->lone ? snprintf(path, bytes, "%s", source->path)
                              : snprintf(path, bytes, "%s/" SL_SHARD_NAME_FORMAT, source->path,
                                         shard->row.number);
    return length >= 0 && (size_t)length < bytes ? SLUICE_OK : SLUICE_INVALID;
}

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
    if (refusal.text) {
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

static sluice_status trust(const sl_shards *shards, sl_shard *shard, const char *path, int fd,
                           sluice_error *error)
{
    /* relaxed: nothing but the flag is published; rows do not change */
    if (atomic_load_explicit(&shard->trusted, memory_order_relaxed)) {
        return SLUICE_OK;
    }
    sl_shard_header header;
    sluice_status status = sl_shard_read_header(fd, path, shard->row.file_bytes, &header, error);
    if (status < 0) {
        return status;
    }
    if (!sl_shard_row_matches(&shard->row, &header) ||
        header.meta_checksum != shards->meta_checksum || header.meta_bytes != shards->meta_bytes) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, 0,
                             "this is not the shard that the manifest describes");
    }
    atomic_store_explicit(&shard->trusted, 1, memory_order_relaxed);
    return SLUICE_OK;
}

sluice_status sl_shards_pin(const sl_shards *shards, uint32_t file, char *path, int *fd,
                            sluice_error *error)
{
    if (sl_shards_path(&shards->base, file, path, SL_PATH_BYTES) < 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "the path of shard %u is too long", file);
    }
    sluice_status status = sl_descriptors_pin(&shards->access->descriptors, file, path,
                                              shards->shards[file].row.file_bytes, fd, error);
    if (status < 0) {
        return status;
    }
    status = trust(shards, &shards->shards[file], path, *fd, error);
    if (status < 0) {
        sl_shards_unpin(shards, file);
    }
    return status;
}

void sl_shards_unpin(const sl_shards *shards, uint32_t file)
{
    sl_descriptors_unpin(&shards->access->descriptors, file);
}

static sluice_status read_block(const sl_shards *shards, uint32_t file, uint64_t block,
                                uint8_t bytes[SL_PAGE_BYTES], sluice_error *error)
{
    char path[SL_PATH_BYTES];
    int fd = -1;
    sluice_status status = sl_shards_pin(shards, file, path, &fd, error);
    if (status < 0) {
        return status;
    }
    const sl_shard_row *row = &shards->shards[file].row;
    uint64_t offset = row->index_offset + block * SL_PAGE_BYTES;
    status = sl_file_read(fd, (sl_file_name){STAGE, path}, bytes, SL_PAGE_BYTES, offset, error);
    sl_shards_unpin(shards, file);
    if (status < 0) {
        return status;
    }
    uint64_t first = block * shards->schema.entries_per_block;
    uint64_t left = row->samples - first;
    sl_block_tail tail = {.first = first,
                          .identity = row->identity,
                          .count = left < shards->schema.entries_per_block
                                       ? (uint32_t)left
                                       : shards->schema.entries_per_block};
    sl_refusal refusal = sl_block_check(bytes, &tail, shards->schema.entry_bytes);
    return refusal.text ? sl_shards_refuse(error, refusal, path, offset) : SLUICE_OK;
}

static uint32_t find_shard(const sl_shards *shards, uint64_t index)
{
    uint32_t low = 0;
    uint32_t high = shards->base.files - 1;
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

static sluice_status read_entry(const sl_shards *shards, uint32_t file, uint64_t local,
                                sl_entry *entry, sluice_error *error)
{
    const sl_schema *schema = &shards->schema;
    uint64_t block = local / schema->entries_per_block;
    size_t at = (size_t)(local % schema->entries_per_block) * schema->entry_bytes;
    /* Samples of a dataset are fewer than 2^62, so that first + block names a block uniquely. */
    uint64_t tag = shards->shards[file].row.first + block;
    uint8_t bytes[SL_ENTRY_BYTES_MAX];
    if (!sl_index_cache_get(&shards->access->cache, tag, at, bytes, schema->entry_bytes)) {
        uint8_t page[SL_PAGE_BYTES];
        sluice_status status = read_block(shards, file, block, page, error);
        if (status < 0) {
            return status;
        }
        sl_index_cache_put(&shards->access->cache, tag, page);
        memcpy(bytes, page + at, schema->entry_bytes);
    }
    const sl_shard_row *row = &shards->shards[file].row;
    sl_refusal refusal = sl_entry_decode(schema, entry, bytes, row->data_bytes);
    if (!refusal.text) {
        return SLUICE_OK;
    }
    char path[SL_PATH_BYTES];
    (void)sl_shards_path(&shards->base, file, path, sizeof(path));
    return sl_shards_refuse(error, refusal, path, row->index_offset + block * SL_PAGE_BYTES + at);
}

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sluice_error *error)
{
    const sl_shards *shards = sl_shards_of(dataset);
    uint32_t file = find_shard(shards, index);
    sl_entry entry;
    sluice_status status =
        read_entry(shards, file, index - shards->shards[file].row.first, &entry, error);
    if (status < 0) {
        if (error) {
            error->sample = (int64_t)index;
        }
        return status;
    }
    *sample = (sl_sample){
        .index = index,
        .file = file,
        .bytes = entry.bytes,
        .offset = entry.offset,
        .checksum = entry.checksum,
        .image_offset = entry.image_offset,
        .image_bytes = entry.image.bytes,
        .width = entry.image.width,
        .height = entry.image.height,
        .label = entry.label,
        .checked = 1,
        .encoding = entry.image.codec == SL_CODEC_RAW ? SL_ENCODING_RAW : SL_ENCODING_FILE,
        .zstd = entry.image.encoding == SL_BLOB_ZSTD,
    };
    return SLUICE_OK;
}

static sluice_status read_range(const sl_shards *shards, uint32_t file, uint64_t offset,
                                sl_buffer to, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    int fd = -1;
    sluice_status status = sl_shards_pin(shards, file, path, &fd, error);
    if (status < 0) {
        return status;
    }
    status = sl_file_read(fd, (sl_file_name){STAGE, path}, to.data, to.capacity, offset, error);
    sl_shards_unpin(shards, file);
    return status;
}

static sluice_status read_sample(const sl_dataset *dataset, const sl_sample *sample,
                                 sl_buffer buffer, size_t *size, sluice_error *error)
{
    *size = sample->bytes;
    if (sample->bytes > buffer.capacity) {
        return SLUICE_AGAIN;
    }
    sl_buffer exact = {buffer.data, sample->bytes};
    sluice_status status =
        read_range(sl_shards_of(dataset), sample->file, sample->offset, exact, error);
    if (status < 0 && error) {
        error->sample = (int64_t)sample->index;
    }
    return status;
}

static sluice_status key_error(const sl_dataset *dataset, const sl_sample *sample,
                               const char *reason, sluice_error *error)
{
    sl_error_set(error, SLUICE_CORRUPT, STAGE, "%s", reason);
    sl_sample_blame(dataset, sample, error);
    return SLUICE_CORRUPT;
}

/* Unpacks the stored key to `text` (at least SL_KEY_MAX bytes); its size, or SIZE_MAX. */
static size_t unpack_key(const sl_blob *blob, const uint8_t *stored, char *text)
{
    if (blob->encoding == SL_BLOB_PLAIN) {
        memcpy(text, stored, blob->bytes);
        return blob->bytes;
    }
    const sl_bytes packed = {stored, blob->bytes};
    uint64_t size = 0;
    if (sl_frame_size(packed, SL_KEY_MAX, &size, NULL) < 0 || size != blob->unpacked ||
        sl_frame_unpack_to(NULL, packed, text, size, NULL) < 0) {
        return SIZE_MAX;
    }
    return size;
}

static sluice_status read_key(const sl_dataset *dataset, const sl_sample *sample, char *key,
                              size_t bytes, sluice_error *error)
{
    const sl_shards *shards = sl_shards_of(dataset);
    assert(bytes > 0);
    key[0] = '\0';
    if (shards->schema.key == SL_NO_FIELD) {
        return SLUICE_OK;
    }
    sl_entry entry;
    uint64_t local = sample->index - shards->shards[sample->file].row.first;
    sluice_status status = read_entry(shards, sample->file, local, &entry, error);
    if (status < 0 || entry.key.bytes == 0) {
        return status;
    }
    uint8_t stored[SL_KEY_MAX];
    if (entry.key.bytes > sizeof(stored)) {
        return key_error(dataset, sample, "the sample's key is too long", error);
    }
    sl_buffer exact = {stored, entry.key.bytes};
    status = read_range(shards, sample->file, entry.offset + entry.key_offset, exact, error);
    if (status < 0) {
        return status;
    }
    if ((uint32_t)sl_checksum(stored, exact.capacity) != entry.key.check) {
        return key_error(dataset, sample, "the sample's key does not match its checksum", error);
    }
    char text[SL_KEY_MAX + 1];
    size_t length = unpack_key(&entry.key, stored, text);
    if (length == SIZE_MAX || memchr(text, 0, length)) {
        return key_error(dataset, sample, "the sample's key is damaged", error);
    }
    if (length >= bytes) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "a key of %zu bytes does not fit",
                            length);
    }
    memcpy(key, text, length);
    key[length] = '\0';
    return SLUICE_OK;
}

static const char *class_name(const sl_dataset *dataset, int64_t label)
{
    const sl_schema *schema = &sl_shards_of(dataset)->schema;
    return label >= 0 && label < (int64_t)schema->class_count ? schema->classes[label] : NULL;
}

static sluice_status field(const sl_dataset *dataset, uint32_t index, const char **name,
                           sluice_field_type *type)
{
    const sl_schema *schema = &sl_shards_of(dataset)->schema;
    if (index >= schema->field_count) {
        return SLUICE_INVALID;
    }
    *name = schema->fields[index].name;
    *type = schema->fields[index].type;
    return SLUICE_OK;
}

static void close_shards(sl_dataset *dataset)
{
    sl_shards *shards = (sl_shards *)(void *)dataset;
    if (shards->access) {
        sl_index_cache_close(&shards->access->cache);
        sl_descriptors_close(&shards->access->descriptors);
        sl_free(shards->access);
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
    .path = sl_shards_path,
    .key = read_key,
    .read = read_sample,
    .check_file = sl_shards_check_file,
    .class_name = class_name,
    .field = field,
    .close = close_shards,
};
