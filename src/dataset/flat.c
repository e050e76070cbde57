/* SPDX-License-Identifier: Apache-2.0 */
#include "flat.h"

#include "checksum.h"
#include "dtype.h"
#include "error.h"
#include "file.h"
#include "memory.h"
#include "shard_format.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

typedef struct flat_file {
    char *path; /* owned */
    uint64_t file_bytes;
    uint64_t begin, bytes; /* of the records in it */
    uint64_t first;        /* number of its first sample */
} flat_file;

typedef struct flat {
    sl_dataset base;
    sl_field field;
    uint32_t record_bytes, element_bytes;
    flat_file *files;
    uint32_t count;
} flat;

static const flat *flat_of(const sl_dataset *dataset)
{
    return (const flat *)(const void *)dataset;
}

static uint32_t find_file(const flat *own, uint64_t index)
{
    uint32_t low = 0;
    uint32_t high = own->count - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (own->files[middle].first <= index) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    const flat *own = flat_of(dataset);
    const uint32_t number = find_file(own, index);
    const flat_file *file = &own->files[number];
    const uint64_t offset = (index - file->first) * own->record_bytes;
    const uint64_t left = file->bytes - offset;
    *sample = (sl_sample){
        .place = {.offset = file->begin + offset,
                  .bytes = left < own->record_bytes ? (uint32_t)left : own->record_bytes,
                  .object = number}};
    return SLUICE_OK;
}

static sluice_status locate_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                  sl_place *place, sl_place *lookup, sl_refusal *why)
{
    (void)field;
    sl_sample sample;
    const sluice_status status = locate(dataset, index, &sample, lookup, why);
    *place = sample.place;
    return status;
}

static bool stretch(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    const flat *own = flat_of(dataset);
    const flat_file *file = &own->files[find_file(own, index)];
    const uint64_t whole = file->bytes / own->record_bytes;
    const uint64_t local = index - file->first;
    *count = local < whole ? whole - local : 1;
    return true;
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    const flat *own = flat_of(dataset);
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the record is cut short", 0);
    }
    values->of[0] = (sl_value){.present = true, .bytes = bytes};
    memcpy(values->of[0].shape, own->field.shape, sizeof(own->field.shape));
    if (own->field.dims == 1) {
        values->of[0].shape[0] = bytes.size / own->element_bytes;
    }
    return sl_accept();
}

static void close_flat(sl_dataset *dataset)
{
    flat *own = (flat *)(void *)dataset;
    sl_objects_close(own->base.objects);
    for (uint32_t i = 0; i < own->count; i++) {
        sl_free(own->files[i].path);
    }
    sl_free(own->files);
    sl_free(own);
}

static const sl_dataset_ops flat_ops = {
    .locate = locate,
    .locate_field = locate_field,
    .stretch = stretch,
    .unpack = unpack,
    .close = close_flat,
};

static sluice_status path_of(void *ctx, uint32_t number, char *path, size_t bytes)
{
    const flat *own = ctx;
    const int length = snprintf(path, bytes, "%s", own->files[number].path);
    return length >= 0 && (size_t)length < bytes ? SLUICE_OK : SLUICE_INVALID;
}

static uint64_t bytes_of(void *ctx, uint32_t number)
{
    const flat *own = ctx;
    return own->files[number].file_bytes;
}

/* ---- opening ---- */

static sluice_status measure_record(flat *own, sluice_error *error)
{
    const sl_field *field = &own->field;
    uint64_t bytes = sl_dtype_bytes(field->dtype);
    own->element_bytes = (uint32_t)bytes;
    for (uint32_t i = 0; i < field->dims; i++) {
        if (field->shape[i] == 0 || field->shape[i] > SL_RECORD_BYTES_MAX / bytes) {
            return sl_error_set(error, SLUICE_INVALID, STAGE,
                                "dimension %u of a record is %llu: each must be 1 or more, and a "
                                "record has 2^31 - 1 bytes at most",
                                i, (unsigned long long)field->shape[i]);
        }
        bytes *= field->shape[i];
    }
    own->record_bytes = (uint32_t)bytes;
    return SLUICE_OK;
}

/* Whether the part is a whole number of records, or of elements where that is enough. */
static sluice_status check_size(const flat *own, const flat_file *file, sluice_error *error)
{
    const uint32_t unit = own->field.dims == 1 ? own->element_bytes : own->record_bytes;
    const uint64_t rest = file->bytes % unit;
    if (rest == 0) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, file->path, (int64_t)(file->bytes - rest),
                         "the file has %llu bytes, which is no whole number of %s of %u bytes: "
                         "%llu are left over",
                         (unsigned long long)file->bytes,
                         own->field.dims == 1 ? "elements" : "records", unit,
                         (unsigned long long)rest);
}

static sluice_status add_part(flat *own, const sl_flat_part *part, sluice_error *error)
{
    flat_file *file = &own->files[own->count];
    sluice_dataset_info *info = &own->base.info;
    *file = (flat_file){.path = sl_strdup(part->path),
                        .file_bytes = part->file_bytes,
                        .begin = part->begin,
                        .bytes = part->bytes,
                        .first = info->samples};
    if (file->path == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    own->count++;
    sluice_status status = check_size(own, file, error);
    if (status == SLUICE_OK && file->bytes > INT64_MAX - info->bytes) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, file->path, 0,
                               "the files have more than 2^63 bytes in all");
    }
    if (status == SLUICE_OK && file->bytes > 0) {
        info->samples += (file->bytes - 1) / own->record_bytes + 1;
        info->bytes += file->bytes;
        if (file->bytes % own->record_bytes != 0) {
            own->field.shape[0] = 0; /* the last record is shorter */
        }
    }
    return status;
}

/* Over what a record is, and names and sizes of the files. */
static uint64_t fingerprint(const flat *own, uint32_t record_bytes)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, own->field.name, sizeof(own->field.name));
    sl_checksum_add_u64(&stream, (uint64_t)own->field.dtype);
    sl_checksum_add_u64(&stream, record_bytes);
    for (uint32_t i = 0; i < own->field.dims; i++) {
        sl_checksum_add_u64(&stream, own->field.shape[i]);
    }
    for (uint32_t i = 0; i < own->count; i++) {
        const char *slash = strrchr(own->files[i].path, '/');
        const char *name = slash != NULL ? slash + 1 : own->files[i].path;
        sl_checksum_add(&stream, name, strlen(name) + 1);
        sl_checksum_add_u64(&stream, own->files[i].file_bytes);
    }
    return sl_checksum_value(&stream);
}

static sluice_status open_parts(flat *own, const sl_flat_part *parts, size_t count,
                                const sl_flat_kind *kind, sluice_error *error)
{
    own->files = sl_calloc(count, sizeof(*own->files));
    if (own->files == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    sluice_status status = measure_record(own, error);
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = add_part(own, &parts[i], error);
    }
    if (status < 0) {
        return status;
    }
    sluice_dataset_info *info = &own->base.info;
    info->struct_size = sizeof(*info);
    info->fingerprint = fingerprint(own, own->record_bytes);
    info->fields = 1;
    (void)snprintf(own->base.kind, sizeof(own->base.kind), "%s", kind->kind);
    (void)snprintf(info->format, sizeof(info->format), "%s", kind->format);
    own->base.fields = &own->field;
    const sl_object_names names = {
        .ctx = own, .count = own->count, .path = path_of, .bytes = bytes_of};
    return sl_objects_open(&own->base.objects, &names, error);
}

sluice_status sl_flat_open_parts(sl_dataset **dataset, const sl_flat_part *parts, size_t count,
                                 const sl_field *field, const sl_flat_kind *kind,
                                 sluice_error *error)
{
    *dataset = NULL;
    flat *own = sl_calloc(1, sizeof(*own));
    if (own == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    own->base.ops = &flat_ops;
    own->field = *field;
    own->field.type = SLUICE_FIELD_TENSOR;
    own->field.compression = SLUICE_COMPRESSION_NEVER;
    atomic_init(&own->base.references, 1);
    const sluice_status status = open_parts(own, parts, count, kind, error);
    if (status < 0) {
        sl_dataset_close(&own->base);
        return status;
    }
    *dataset = &own->base;
    return SLUICE_OK;
}

/* All of a file. */
static sluice_status measure_file(sl_flat_part *part, const char *path, sluice_error *error)
{
    int fd;
    *part = (sl_flat_part){.path = path};
    const sluice_status status =
        sl_file_open((sl_file_name){STAGE, path}, &fd, &part->file_bytes, error);
    if (status < 0) {
        return status;
    }
    sl_file_close(fd);
    part->bytes = part->file_bytes;
    return part->bytes > 0
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, 0, "the file is empty");
}

sluice_status sl_flat_open(sl_dataset **dataset, const char *const *paths, size_t count,
                           const sl_field *field, sluice_error *error)
{
    static const sl_flat_kind kind = {
        "flat", "files of tensors and nothing else, as was said when they were opened"};
    *dataset = NULL;
    if (count == 0 || count > UINT32_MAX - 1) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "no path was given, or too many");
    }
    sl_flat_part *parts = sl_calloc(count, sizeof(*parts));
    if (parts == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    sluice_status status = SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = measure_file(&parts[i], paths[i], error);
    }
    if (status == SLUICE_OK) {
        status = sl_flat_open_parts(dataset, parts, count, field, &kind, error);
    }
    sl_free(parts);
    return status;
}
