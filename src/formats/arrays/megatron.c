/* SPDX-License-Identifier: Apache-2.0 */
/*
 * megatron: Megatron-LM's indexed datasets, NAME.bin with NAME.idx: each sequence is a sample, a
 * tensor of tokens of any length.
 *
 * Empty sequences are left out, since they contain nothing to read. Memory keeps the contents of
 * the indexes (megatron_places.h). Several datasets of one dtype are joined.
 */
#include "checksum.h"
#include "dataset.h"
#include "dtype.h"
#include "file_list.h"
#include "megatron_places.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

typedef struct megatron {
    sl_dataset base;
    sl_field field;
    sl_file_list list; /* the .bin files */
    sl_megatron_places places;
    sl_checksum_stream sum; /* checksum over all indexes */
} megatron;

static const megatron *megatron_of(const sl_dataset *dataset)
{
    return (const megatron *)(const void *)dataset;
}

/* ---- ops ---- */

static sluice_status megatron_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                     sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    const megatron *own = megatron_of(dataset);
    const uint32_t file = sl_file_list_find(&own->list, index);
    const sl_extent at = sl_megatron_places_at(&own->places, file, index);
    *sample =
        (sl_sample){.place = {.offset = at.offset, .bytes = (uint32_t)at.bytes, .object = file}};
    return SLUICE_OK;
}

static sluice_status megatron_locate_field(const sl_dataset *dataset, uint64_t index,
                                           uint32_t field, sl_place *place, sl_place *lookup,
                                           sl_refusal *why)
{
    (void)field;
    sl_sample sample;
    const sluice_status status = megatron_locate(dataset, index, &sample, lookup, why);
    *place = sample.place;
    return status;
}

static void megatron_kept_bytes(const sl_dataset *dataset, uint32_t field, const uint64_t *samples,
                                uint32_t count, uint64_t *bytes)
{
    const uint32_t *sizes = megatron_of(dataset)->places.sizes;
    (void)field;
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] = sizes[samples[i]];
    }
}

static bool megatron_range(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    (void)dataset;
    (void)index;
    *count = 1;
    return false;
}

static sl_refusal megatron_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                  sl_bytes bytes, sl_values *values)
{
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the sequence is truncated", 0);
    }
    values->of[0] = (sl_value){.present = true, .bytes = bytes};
    values->of[0].shape[0] = bytes.size / sl_dtype_bytes(megatron_of(dataset)->field.dtype);
    return sl_accept();
}

static void close_megatron(sl_dataset *dataset)
{
    megatron *own = (megatron *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_file_list_close(&own->list);
    sl_megatron_places_close(&own->places);
    sl_free(own);
}

static const sl_dataset_ops megatron_ops = {
    .locate = megatron_locate,
    .unpack = megatron_unpack,
    .close = close_megatron,
};

static const sl_tensor_ops megatron_tensors = {.locate_field = megatron_locate_field,
                                               .range = megatron_range,
                                               .kept_bytes = megatron_kept_bytes};

/* ---- paths ---- */

/*
 * Writes the name of the pair's other file: NAME.idx for NAME.bin and the reverse. False: `path`
 * has neither extension.
 */
static bool megatron_name_file(char *name, const char *path, const char *suffix)
{
    const size_t length = strlen(path);
    if (length < 5 || length >= SL_PATH_BYTES ||
        (strcmp(path + length - 4, ".bin") != 0 && strcmp(path + length - 4, ".idx") != 0)) {
        return false;
    }
    (void)snprintf(name, SL_PATH_BYTES, "%.*s%s", (int)(length - 4), path, suffix);
    return true;
}

static bool is_index(sl_look *look)
{
    const sl_bytes head = sl_look_head(look, SL_MEGATRON_HEAD_BYTES);
    return sl_megatron_is(head.data, head.size);
}

/* Does the same for a file beside the one that is being looked at. */
static bool is_index_beside(const char *path)
{
    uint8_t head[SL_MEGATRON_HEAD_BYTES];
    return sl_megatron_is(head, sl_store_look(path, head, sizeof(head)));
}

static bool megatron_probe(sl_look *look)
{
    char name[SL_PATH_BYTES];
    if (!megatron_name_file(name, look->path, ".idx")) {
        return false;
    }
    return strcmp(name, look->path) == 0 ? is_index(look) : is_index_beside(name);
}

/* Returns whether one of the two files has the format's content and the other is beside it. */
static bool megatron_is_file(const char *name)
{
    return sl_ends_with(name, ".idx");
}

static bool is_pair(sl_look *look)
{
    char name[SL_PATH_BYTES];
    sl_store_facts facts;
    return megatron_name_file(name, look->path, ".bin") && sl_store_stat(name, &facts) == 0 &&
           megatron_probe(look);
}

/* ---- opening ---- */

/* Adds a whole index. */
static sluice_status take_index(megatron *own, const uint8_t *bytes, uint64_t size,
                                const char *path, sluice_error *error)
{
    sl_megatron_head head;
    const sl_refusal refusal = sl_megatron_parse(&head, bytes, size);
    if (refusal.text != NULL) {
        return sl_error_file(error, refusal.status, STAGE, 0, path, refusal.offset, "%s",
                             refusal.text);
    }
    if (own->list.count > 1 && head.dtype != own->field.dtype) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, 0,
                             "its dtype differs from that of the files before it");
    }
    own->field.dtype = head.dtype;
    sl_checksum_add(&own->sum, bytes, size);
    const uint64_t bin_bytes = own->list.files[own->list.count - 1].file.bytes;
    const sluice_status status = sl_megatron_places_add(
        &own->places, &head, bytes + SL_MEGATRON_HEAD_BYTES, bin_bytes, path, error);
    own->base.info.bytes = own->places.bytes;
    own->base.info.samples = own->places.count;
    return status;
}

static sluice_status megatron_read_index(megatron *own, const char *path, sluice_error *error)
{
    size_t size = 0;
    uint8_t *bytes = NULL;
    sluice_status status =
        sl_store_read_whole((sl_file_name){STAGE, path}, UINT64_MAX, &bytes, &size, error);
    if (status == SLUICE_OK) {
        status = take_index(own, bytes, size, path, error);
    }
    sl_free(bytes);
    return status;
}

static sluice_status add_pair(megatron *own, const char *path, sluice_error *error)
{
    sl_handle from;
    char index[SL_PATH_BYTES];
    char bin[SL_PATH_BYTES];
    if (!megatron_name_file(index, path, ".idx") || !megatron_name_file(bin, path, ".bin")) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "not NAME.bin or NAME.idx, unlike the others");
    }
    sluice_status status = sl_file_list_add(&own->list, bin, error);
    if (status < 0) {
        return status;
    }
    sl_listed_file *file = &own->list.files[own->list.count - 1];
    file->first = own->base.info.samples;
    status = sl_handle_open(&from, (sl_file_name){STAGE, bin}, &file->file, error);
    if (status < 0) {
        return status;
    }
    sl_handle_close(&from);
    return megatron_read_index(own, index, error);
}

static sluice_status megatron_open_all(megatron *own, const char *const *paths, size_t count,
                                       sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    sl_checksum_begin(&own->sum);
    own->places.expected = count;
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = add_pair(own, paths[i], error);
    }
    sluice_dataset_info *info = &own->base.info;
    if (status == SLUICE_OK && info->samples == 0) {
        status =
            sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[0], -1, "all sequences are empty");
    }
    if (status < 0) {
        return status;
    }
    sl_megatron_places_end(&own->places);
    info->fingerprint = sl_checksum_value(&own->sum);
    info->fields = 1;
    info->shards = own->list.count;
    sl_unchecked_add(&own->base.unchecked, "Megatron-LM's files have no checksums");
    (void)snprintf(own->base.kind, sizeof(own->base.kind),
                   "a Megatron-LM indexed dataset (.bin and .idx): each sequence is a sample");
    own->base.fields = &own->field;
    return sl_file_list_objects(&own->list, &own->base.objects, error);
}

static sluice_status open_megatron(sl_dataset **dataset, const char *const *paths, size_t count,
                                   const sluice_dataset_options *options, sluice_error *error)
{
    (void)options;
    megatron *own = sl_dataset_new(sizeof(*own), &megatron_ops, "megatron", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    own->base.tensors = &megatron_tensors;
    own->field = (sl_field){.name = "tokens",
                            .type = SLUICE_FIELD_TENSOR,
                            .dims = 1,
                            .compression = SLUICE_COMPRESSION_NEVER};
    return sl_dataset_opened(dataset, &own->base, megatron_open_all(own, paths, count, error));
}

SL_FORMAT(megatron) = {
    .name = "megatron",
    .files = "Megatron-LM's .bin and .idx files",
    .known = "Megatron's .bin with .idx",
    .probe = megatron_probe,
    .is_file = megatron_is_file,
    .is_sure = is_pair,
    .open = open_megatron,
};
