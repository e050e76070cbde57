/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized_dataset: the ops common to datasets of MDS and LitData. One thread opens; then it is
 * immutable.
 */
#include "sized_dataset.h"

#include "digest_list.h"
#include "error.h"
#include "look_around.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"
/* Bytes read at once to check a file's hash. */
#define PIECE_BYTES ((size_t)1 << 20)

/* Limit of samples to look at, if earlier ones are bad. */
enum { LOOKS = 16 };

static const sl_sized_dataset *sized_of(const sl_dataset *dataset)
{
    return (const sl_sized_dataset *)(const void *)dataset;
}

/* ---- ops ---- */

static sluice_status sized_dataset_locate(const sl_dataset *dataset, uint64_t index,
                                          sl_sample *sample, sl_place *lookup, sl_refusal *why)
{
    return sl_offset_files_locate(&sized_of(dataset)->files, index, sample, lookup, why);
}

static sluice_status sized_dataset_locate_field(const sl_dataset *dataset, uint64_t index,
                                                uint32_t field, sl_place *place, sl_place *lookup,
                                                sl_refusal *why)
{
    sl_sample sample;
    sl_sized_extent extent;
    const sl_sized_dataset *own = sized_of(dataset);
    const sluice_status status = sl_offset_files_locate(&own->files, index, &sample, lookup, why);
    if (status < 0) {
        return status;
    }
    *why = sl_sized_columns_place(&own->columns, field, sample.place.bytes, &extent);
    *lookup = sample.place;
    *place = (sl_place){.offset = sample.place.offset + extent.begin,
                        .bytes = extent.bytes,
                        .object = sample.place.object};
    return why->text == NULL ? SLUICE_OK : why->status;
}

static bool sized_dataset_range(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    const sl_file_list *list = &sized_of(dataset)->files.list;
    const uint32_t file = sl_file_list_find(list, index);
    *count =
        list->files[file].first + sl_offset_files_samples(&sized_of(dataset)->files, file) - index;
    return *count == 1;
}

static sl_refusal sized_dataset_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                       sl_bytes bytes, sl_values *values)
{
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the sample is truncated", 0);
    }
    return sl_sized_columns_unpack(&sized_of(dataset)->columns, bytes, values);
}

/* The hashes of a file while they are computed. */
typedef struct hashing {
    sl_digest_list list;
    uint8_t piece[PIECE_BYTES];
} hashing;

/* Hashes the data of a file, unpacked if it is compressed. */
static sluice_status hash_data(const sl_dataset *dataset, uint32_t object, hashing *h,
                               sl_findings *findings, sluice_error *error)
{
    const uint64_t size = sl_offset_files_bytes(&sized_of(dataset)->files, object);
    for (uint64_t at = 0; at < size;) {
        if (sl_findings_stopped(findings)) {
            return SLUICE_CANCELED;
        }
        const size_t bytes = size - at < PIECE_BYTES ? (size_t)(size - at) : PIECE_BYTES;
        const sluice_status status =
            sl_objects_read(dataset->objects, object, at, h->piece, bytes, error);
        if (status < 0) {
            return status;
        }
        sl_digest_list_add(&h->list, h->piece, bytes);
        findings->bytes_read += bytes;
        at += bytes;
    }
    return SLUICE_OK;
}

/* Hashes a compressed file as stored. */
static sluice_status hash_packed(const sl_dataset *dataset, uint32_t object, hashing *h,
                                 sl_findings *findings, sluice_error *error)
{
    sl_handle from;
    const sl_listed_file *file = &sized_of(dataset)->files.list.files[object];
    const sl_file_name name = {STAGE, file->path};
    sluice_status status = sl_handle_open_again(&from, name, &file->file, error);
    for (uint64_t at = 0; status == SLUICE_OK && at < file->file.bytes;) {
        const uint64_t left = file->file.bytes - at;
        const size_t bytes = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        status = sl_findings_stopped(findings) ? SLUICE_CANCELED
                                               : sl_handle_read(&from, h->piece, bytes, at, error);
        sl_digest_list_add(&h->list, h->piece, bytes);
        at += bytes;
    }
    sl_handle_close(&from);
    return status;
}

/* Reports each hash that differs from the index. */
static void compare_hashes(const sl_dataset *dataset, uint32_t object, hashing *h,
                           sl_findings *findings)
{
    const char *path = sized_of(dataset)->files.list.files[object].path;
    for (uint32_t i = 0; i < h->list.count; i++) {
        char name[16];
        sluice_error finding;
        if (sl_digest_list_differs(&h->list, i, name)) {
            sl_error_file(&finding, SLUICE_CORRUPT, STAGE, 0, path, 0,
                          "the file does not match its hash in index.json (%s)", name);
            findings->report(findings->ctx, &finding);
        }
    }
}

/*
 * Returns whether an error in compressed data is reported after all samples were read (streams.h).
 */
static bool is_told_elsewhere(const sl_dataset *dataset, uint32_t object, sluice_status status)
{
    return sl_objects_packed(dataset->objects, object).packing != SL_PACKING_NONE &&
           (status == SLUICE_CORRUPT || status == SLUICE_UNSUPPORTED);
}

typedef sluice_status hash_function(const sl_dataset *dataset, uint32_t object, hashing *h,
                                    sl_findings *findings, sluice_error *error);

static void check_hashes(const sl_dataset *dataset, uint32_t object, const char *hashes,
                         hash_function *run, sl_findings *findings)
{
    sluice_error error;
    if (hashes == NULL) {
        return;
    }
    hashing *h = sl_calloc(1, sizeof(*h));
    sl_error_clear(&error);
    if (h == NULL) {
        sl_no_memory(&error, STAGE, "checking a file");
        findings->report(findings->ctx, &error);
        return;
    }
    sluice_status status = sl_digest_list_open(&h->list, hashes, &error);
    if (status == SLUICE_OK) {
        status = run(dataset, object, h, findings, &error);
    }
    if (status == SLUICE_OK) {
        compare_hashes(dataset, object, h, findings);
    } else if (status != SLUICE_CANCELED && !is_told_elsewhere(dataset, object, status)) {
        findings->report(findings->ctx, &error);
    }
    sl_digest_list_close(&h->list);
    sl_free(h);
}

static sluice_status sized_dataset_check_object(const sl_dataset *dataset, uint32_t object,
                                                sl_findings *findings)
{
    const sl_sized_hashes *hashes = &sized_of(dataset)->hashes[object];
    check_hashes(dataset, object, hashes->packed, hash_packed, findings);
    check_hashes(dataset, object, hashes->data, hash_data, findings);
    return SLUICE_OK; /* continues, to report which samples are damaged */
}

static void close_sized(sl_dataset *dataset)
{
    sl_sized_dataset *own = (sl_sized_dataset *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_offset_files_close(&own->files);
    sl_sized_columns_close(&own->columns);
    for (uint32_t i = 0; i < own->hash_count; i++) {
        sl_free(own->hashes[i].data);
        sl_free(own->hashes[i].packed);
    }
    sl_free(own->hashes);
    sl_free(own);
}

static const sl_dataset_ops sized_ops = {
    .locate = sized_dataset_locate,
    .unpack = sized_dataset_unpack,
    .close = close_sized,
};

static const sl_tensor_ops sized_tensors = {.locate_field = sized_dataset_locate_field,
                                            .range = sized_dataset_range};

static const sl_check_ops sized_checks = {.check_object = sized_dataset_check_object};

/* ---- opening ---- */

sl_sized_dataset *sl_sized_dataset_new(const char *format, sluice_error *error)
{
    sl_sized_dataset *made = sl_dataset_new(sizeof(*made), &sized_ops, format, error);
    if (made != NULL) {
        made->base.tensors = &sized_tensors;
        made->base.checks = &sized_checks;
    }
    return made;
}

/* Copies a text. False: no memory. */
static bool copy_text(char **copy, const char *text)
{
    *copy = text != NULL ? sl_strdup(text) : NULL;
    return text == NULL || *copy != NULL;
}

sluice_status sl_sized_dataset_add(sl_sized_dataset *own, const sl_sized_file *file,
                                   sluice_error *error)
{
    const uint32_t number = own->files.list.count;
    if (number == own->hash_capacity) {
        const uint32_t capacity = number < 16 ? 16 : number + number / 2;
        sl_sized_hashes *hashes = sl_realloc_array(own->hashes, capacity, sizeof(*hashes));
        if (hashes == NULL) {
            return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for %u files", capacity);
        }
        own->hashes = hashes;
        own->hash_capacity = capacity;
    }
    sl_sized_hashes *hashes = &own->hashes[number];
    *hashes = (sl_sized_hashes){NULL, NULL};
    own->hash_count = number + 1;
    if (!copy_text(&hashes->data, file->hashes.data) ||
        !copy_text(&hashes->packed, file->hashes.packed)) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for the hashes of a file");
    }
    own->base.sums_are_of_files = own->base.sums_are_of_files || hashes->data != NULL;
    return sl_offset_files_add(&own->files, &file->told, error);
}

static sl_refusal sized_dataset_look_at(void *ctx, const sl_sample *sample, sl_bytes bytes)
{
    (void)sample;
    return sl_sized_columns_look(ctx, bytes);
}

/* Looks at samples, skipping bad ones. If all are bad, reading one reports it. */
static void look_around(sl_sized_dataset *own)
{
    for (uint64_t i = 0; i < LOOKS && i < own->files.samples; i++) {
        if (!sl_sized_columns_unknown(&own->columns) ||
            sl_look_at_sample(&own->base, i, sized_dataset_look_at, &own->columns, NULL) ==
                SLUICE_OK) {
            return;
        }
    }
}

static sluice_status sized_dataset_unpack_files(sl_sized_dataset *own, const char *folder,
                                                sluice_error *error)
{
    const uint32_t count = own->files.list.count;
    if (folder == NULL) {
        return SLUICE_OK;
    }
    const char **hashes = (const char **)sl_calloc(count, sizeof(*hashes));
    if (hashes == NULL) {
        return sl_no_memory(error, STAGE, "for %u files", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        hashes[i] = own->hashes[i].data;
    }
    const sluice_status status = sl_offset_files_unpack(&own->files, folder, hashes, error);
    sl_free((void *)hashes);
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        sl_free(own->hashes[i].packed); /* no longer read */
        own->hashes[i].packed = NULL;
    }
    return status;
}

sluice_status sl_sized_dataset_finish(sl_sized_dataset *own, const sluice_dataset_options *options,
                                      const char *path, sluice_error *error)
{
    sluice_dataset_info *info = &own->base.info;
    if (own->files.samples == 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "no samples");
    }
    sluice_status status = sized_dataset_unpack_files(own, options->unpacked_dir, error);
    if (status == SLUICE_OK) {
        status = sl_offset_files_read(&own->files, error);
    }
    if (status == SLUICE_OK) {
        status = sl_file_list_objects(&own->files.list, &own->base.objects, error);
    }
    if (status < 0) {
        return status;
    }
    info->samples = own->files.samples;
    info->bytes = own->files.bytes;
    info->shards = own->files.list.count;
    info->front_to_back = own->files.front_to_back;
    sl_offset_files_tell(&own->files, sl_sized_columns_sum(&own->columns));
    info->fingerprint = sl_offset_files_fingerprint(&own->files);
    look_around(own);
    status = sl_sized_columns_find(&own->columns, options, path, error);
    info->fields = own->columns.fields.count;
    own->base.fields = own->columns.fields.fields;
    return status;
}
