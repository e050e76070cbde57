/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat: a dataset of raw records; checks the file sizes against the record when opening.
 *
 * One thread opens; then it is immutable.
 */
#include "flat.h"

#include "checksum.h"
#include "dtype.h"
#include "error.h"
#include "file_list.h"
#include "memory.h"
#include "npz_file.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

/* The extent of the records in a file. */
typedef struct span {
    uint64_t begin, bytes;
    bool in_member; /* true if they are in an archive member: */
    sl_zip_member member;
} span;

typedef struct flat {
    sl_dataset base;
    sl_field field;
    uint32_t record_bytes, element_bytes;
    sl_file_list list;
    span *spans; /* one per file */
} flat;

static const flat *flat_of(const sl_dataset *dataset)
{
    return (const flat *)(const void *)dataset;
}

static sluice_status flat_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                 sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    const flat *own = flat_of(dataset);
    const uint32_t number = sl_file_list_find(&own->list, index);
    const span *records = &own->spans[number];
    const uint64_t offset = (index - own->list.files[number].first) * own->record_bytes;
    const uint64_t left = records->bytes - offset;
    *sample = (sl_sample){
        .place = {.offset = records->begin + offset,
                  .bytes = left < own->record_bytes ? (uint32_t)left : own->record_bytes,
                  .object = number}};
    return SLUICE_OK;
}

static sluice_status flat_locate_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                       sl_place *place, sl_place *lookup, sl_refusal *why)
{
    (void)field;
    sl_sample sample;
    const sluice_status status = flat_locate(dataset, index, &sample, lookup, why);
    *place = sample.place;
    return status;
}

static bool flat_range(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    const flat *own = flat_of(dataset);
    const uint32_t number = sl_file_list_find(&own->list, index);
    const uint64_t whole = own->spans[number].bytes / own->record_bytes;
    const uint64_t local = index - own->list.files[number].first;
    *count = local < whole ? whole - local : 1;
    return true;
}

static sl_refusal flat_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                              sl_values *values)
{
    const flat *own = flat_of(dataset);
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the record is truncated", 0);
    }
    values->of[0] = (sl_value){.present = true, .bytes = bytes};
    memcpy(values->of[0].shape, own->field.shape, sizeof(own->field.shape));
    if (own->field.dims == 1) {
        values->of[0].shape[0] = bytes.size / own->element_bytes;
    }
    return sl_accept();
}

/* Checks the member of an archive that contains the records; records alone have no checksum. */
static sluice_status flat_check_object(const sl_dataset *dataset, uint32_t object,
                                       sl_findings *findings)
{
    const flat *own = flat_of(dataset);
    const span *records = &own->spans[object];
    if (records->in_member) {
        sl_npz_file_check(&records->member, &own->list.files[object], findings);
    }
    return SLUICE_OK;
}

static void close_flat(sl_dataset *dataset)
{
    flat *own = (flat *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_file_list_close(&own->list);
    sl_free(own->spans);
    sl_free(own);
}

static const sl_dataset_ops flat_ops = {
    .locate = flat_locate,
    .unpack = flat_unpack,
    .close = close_flat,
};

static const sl_tensor_ops flat_tensors = {.locate_field = flat_locate_field, .range = flat_range};

static const sl_check_ops flat_checks = {.check_object = flat_check_object};

/* ---- opening ---- */

static sluice_status measure_record(flat *own, sluice_error *error)
{
    const sl_field *field = &own->field;
    uint64_t bytes = sl_dtype_bytes(field->dtype);
    own->element_bytes = (uint32_t)bytes;
    for (uint32_t i = 0; i < field->dims; i++) {
        if (field->shape[i] == 0 || field->shape[i] > SL_RECORD_BYTES_MAX / bytes) {
            return sl_error_set(error, SLUICE_INVALID, STAGE,
                                "dimension %u of a record is %llu: each must be at least 1, and a "
                                "record must have at most 2^31 - 1 bytes",
                                i, (unsigned long long)field->shape[i]);
        }
        bytes *= field->shape[i];
    }
    own->record_bytes = (uint32_t)bytes;
    return SLUICE_OK;
}

/* Checks that the part is a whole number of records, or of elements if that is enough. */
static sluice_status flat_check_size(const flat *own, const sl_flat_part *part, sluice_error *error)
{
    const uint32_t unit = own->field.dims == 1 ? own->element_bytes : own->record_bytes;
    const uint64_t rest = part->bytes % unit;
    if (rest == 0) {
        return SLUICE_OK;
    }
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, part->path, (int64_t)(part->bytes - rest),
        "the file has %llu bytes, not a multiple of %s of %u bytes: %llu are left over",
        (unsigned long long)part->bytes, own->field.dims == 1 ? "elements" : "records", unit,
        (unsigned long long)rest);
}

static sluice_status flat_add_part(flat *own, const sl_flat_part *part, sluice_error *error)
{
    sluice_dataset_info *info = &own->base.info;
    const uint32_t number = own->list.count;
    sluice_status status = sl_file_list_add(&own->list, part->path, error);
    if (status == SLUICE_OK) {
        status = flat_check_size(own, part, error);
    }
    if (status < 0) {
        return status;
    }
    if (part->bytes > INT64_MAX - info->bytes) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, part->path, 0,
                             "the files have more than 2^63 bytes in total");
    }
    own->list.files[number].file = part->file;
    own->list.files[number].first = info->samples;
    own->spans[number] = (span){.begin = part->begin, .bytes = part->bytes};
    if (part->member != NULL) {
        own->spans[number].in_member = true;
        own->spans[number].member = *part->member;
        own->spans[number].member.name =
            (sl_bytes){NULL, 0}; /* the name's memory is the caller's */
        own->base.sums_are_of_files = true;
    } else {
        sl_unchecked_add(&own->base.unchecked, "files of arrays have no checksums");
    }
    if (part->bytes > 0) {
        info->samples += (part->bytes - 1) / own->record_bytes + 1;
        info->bytes += part->bytes;
        if (part->bytes % own->record_bytes != 0) {
            own->field.shape[0] = 0; /* the last record is shorter */
        }
    }
    return status;
}

/* Computes the fingerprint of the record type and of the files' names and sizes. */
static uint64_t flat_fingerprint(const flat *own, uint32_t record_bytes)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, own->field.name, sizeof(own->field.name));
    sl_checksum_add_u64(&stream, (uint64_t)own->field.dtype);
    sl_checksum_add_u64(&stream, record_bytes);
    for (uint32_t i = 0; i < own->field.dims; i++) {
        sl_checksum_add_u64(&stream, own->field.shape[i]);
    }
    for (uint32_t i = 0; i < own->list.count; i++) {
        sl_file_list_sum(&own->list, i, &stream);
    }
    return sl_checksum_value(&stream);
}

static sluice_status open_parts(flat *own, const sl_flat_part *parts, size_t count,
                                const sl_flat_kind *kind, sluice_error *error)
{
    own->spans = sl_calloc(count, sizeof(*own->spans));
    if (own->spans == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    sluice_status status = measure_record(own, error);
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = flat_add_part(own, &parts[i], error);
    }
    if (status < 0) {
        return status;
    }
    sluice_dataset_info *info = &own->base.info;
    info->fingerprint = flat_fingerprint(own, own->record_bytes);
    info->fields = 1;
    info->shards = own->list.count;
    (void)snprintf(own->base.kind, sizeof(own->base.kind), "%s", kind->kind);
    own->base.fields = &own->field;
    return sl_file_list_objects(&own->list, &own->base.objects, error);
}

sluice_status sl_flat_open_parts(sl_dataset **dataset, const sl_flat_part *parts, size_t count,
                                 const sl_field *field, const sl_flat_kind *kind,
                                 sluice_error *error)
{
    *dataset = NULL;
    flat *own = sl_dataset_new(sizeof(*own), &flat_ops, kind->format, error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    own->base.tensors = &flat_tensors;
    own->base.checks = &flat_checks;
    own->field = *field;
    own->field.type = SLUICE_FIELD_TENSOR;
    own->field.compression = SLUICE_COMPRESSION_NEVER;
    return sl_dataset_opened(dataset, &own->base, open_parts(own, parts, count, kind, error));
}

/* Takes a file as a whole. */
static sluice_status flat_measure_file(sl_flat_part *part, const char *path, sluice_error *error)
{
    sl_handle from;
    *part = (sl_flat_part){.path = path};
    const sluice_status status =
        sl_handle_open(&from, (sl_file_name){STAGE, path}, &part->file, error);
    if (status < 0) {
        return status;
    }
    sl_handle_close(&from);
    part->bytes = part->file.bytes;
    return part->bytes > 0
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, 0, "the file is empty");
}

sluice_status sl_flat_open(sl_dataset **dataset, const char *const *paths, size_t count,
                           const sl_field *field, sluice_error *error)
{
    static const sl_flat_kind kind = {"flat", "raw files of tensors, as described when opened"};
    *dataset = NULL;
    if (count == 0 || count > UINT32_MAX - 1) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "no path, or too many paths");
    }
    sl_flat_part *parts = sl_calloc(count, sizeof(*parts));
    if (parts == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    sluice_status status = SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = flat_measure_file(&parts[i], paths[i], error);
    }
    if (status == SLUICE_OK) {
        status = sl_flat_open_parts(dataset, parts, count, field, &kind, error);
    }
    sl_free(parts);
    return status;
}
