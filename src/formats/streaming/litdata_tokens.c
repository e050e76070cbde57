/* SPDX-License-Identifier: Apache-2.0 */
#include "litdata_tokens.h"

#include "dtype.h"
#include "memory.h"

#include <stdio.h>

#define STAGE "dataset"

typedef struct tokens {
    sl_dataset base;
    sl_offset_files files;
    sl_source_fields fields;
    uint32_t *chunks; /* file of each sample */
} tokens;

static const tokens *tokens_of(const sl_dataset *dataset)
{
    return (const tokens *)(const void *)dataset;
}

/* Returns the extent of a file's tokens. */
static sl_place litdata_tokens_place_of(const tokens *own, uint32_t file)
{
    const uint32_t *table = own->files.tables[file];
    return (sl_place){.offset = table[1], .bytes = table[1 + table[0]] - table[1], .object = file};
}

/* ---- ops ---- */

static sluice_status litdata_tokens_locate(const sl_dataset *dataset, uint64_t index,
                                           sl_sample *sample, sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    const tokens *own = tokens_of(dataset);
    *sample = (sl_sample){.place = litdata_tokens_place_of(own, own->chunks[index])};
    return SLUICE_OK;
}

static sluice_status litdata_tokens_locate_field(const sl_dataset *dataset, uint64_t index,
                                                 uint32_t field, sl_place *place, sl_place *lookup,
                                                 sl_refusal *why)
{
    (void)field; /* there is only one tensor */
    (void)lookup;
    (void)why;
    const tokens *own = tokens_of(dataset);
    *place = litdata_tokens_place_of(own, own->chunks[index]);
    return SLUICE_OK;
}

static bool litdata_tokens_range(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    (void)dataset;
    (void)index;
    *count = 1;
    return false;
}

static sl_refusal litdata_tokens_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                        sl_bytes bytes, sl_values *values)
{
    const sl_source_fields *fields = &tokens_of(dataset)->fields;
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the chunk is truncated", 0);
    }
    for (uint32_t i = 0; i < fields->count; i++) {
        values->of[i] = (sl_value){.present = true, .bytes = bytes};
        values->of[i].shape[0] = bytes.size / sl_dtype_bytes(fields->fields[i].dtype);
    }
    return sl_accept();
}

static void close_tokens(sl_dataset *dataset)
{
    tokens *own = (tokens *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_offset_files_close(&own->files);
    sl_free(own->chunks);
    sl_free(own);
}

static const sl_dataset_ops tokens_ops = {
    .locate = litdata_tokens_locate,
    .unpack = litdata_tokens_unpack,
    .close = close_tokens,
};

static const sl_tensor_ops tokens_tensors = {.locate_field = litdata_tokens_locate_field,
                                             .range = litdata_tokens_range};

/* ---- opening ---- */

static sluice_status litdata_tokens_take_chunk(tokens *own, uint32_t file, sluice_error *error)
{
    const sl_place place = litdata_tokens_place_of(own, file);
    const char *path = own->files.list.files[file].path;
    if (place.bytes % sl_dtype_bytes(own->fields.fields[0].dtype) != 0) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, (int64_t)place.offset,
                             "size is not a multiple of the token size");
    }
    if (place.bytes > SL_RECORD_BYTES_MAX) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, (int64_t)place.offset,
                             "its tokens have more than 2^31 - 1 bytes");
    }
    if (place.bytes > 0) {
        own->chunks[own->base.info.samples++] = file;
    }
    return SLUICE_OK;
}

static sluice_status take_chunks(tokens *own, const sl_litdata_tokens_from *from,
                                 sluice_error *error)
{
    const uint32_t files = own->files.list.count;
    sluice_status status = sl_offset_files_unpack(&own->files, from->unpacked_dir, NULL, error);
    if (status == SLUICE_OK && files > 0) {
        status = sl_offset_files_read(&own->files, error);
    }
    if (status < 0) {
        return status;
    }
    own->chunks = sl_calloc((size_t)files + 1, sizeof(*own->chunks));
    if (own->chunks == NULL) {
        return sl_no_memory(error, STAGE, "for %u chunks", files);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < files; i++) {
        status = litdata_tokens_take_chunk(own, i, error);
    }
    if (status == SLUICE_OK && own->base.info.samples == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, from->path, -1, "no tokens");
    }
    return status;
}

static sluice_status litdata_tokens_open_all(tokens *own, const sl_litdata_tokens_from *from,
                                             sluice_error *error)
{
    sluice_dataset_info *info = &own->base.info;
    const sluice_status status = take_chunks(own, from, error);
    if (status < 0) {
        return status;
    }
    info->bytes = own->files.bytes;
    info->shards = own->files.list.count;
    info->front_to_back = own->files.front_to_back;
    info->fingerprint = sl_offset_files_fingerprint(&own->files);
    info->fields = own->fields.count;
    own->base.fields = own->fields.fields;
    sl_unchecked_add(&own->base.unchecked, "LitData chunks have no checksums");
    (void)snprintf(own->base.kind, sizeof(own->base.kind),
                   "LitData %schunks of tokens (TokensLoader): each chunk is a sample%s",
                   own->files.front_to_back ? "compressed " : "",
                   own->files.front_to_back ? "; slow to read: pack it" : "");
    return sl_file_list_objects(&own->files.list, &own->base.objects, error);
}

sluice_status sl_litdata_tokens_open(sl_dataset **dataset, sl_offset_files *files,
                                     const sl_source_fields *fields,
                                     const sl_litdata_tokens_from *from, sluice_error *error)
{
    tokens *own = sl_dataset_new(sizeof(*own), &tokens_ops, "litdata", error);
    if (own == NULL) {
        sl_offset_files_close(files);
        return SLUICE_NOMEM;
    }
    own->base.tensors = &tokens_tensors;
    own->files = *files;
    *files = (sl_offset_files){0};
    own->fields = *fields;
    return sl_dataset_opened(dataset, &own->base, litdata_tokens_open_all(own, from, error));
}
