/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz_rows: the rows of one .npz file as samples.
 *
 * The array with the largest rows is the main one; its rows are the locations of the samples. A
 * file with a single array is opened like a .npy file (flat.h).
 */
#include "dtype.h"
#include "flat.h"
#include "memory.h"
#include "npz.h"
#include "side_columns.h"

#include <stdio.h>
#include <string.h>

#define STAGE  "dataset"
#define SERIES ((uint64_t)1 << 20)

typedef struct rows {
    sl_dataset base;
    sl_file_list list;
    sl_source_fields fields;
    bool is_main[SL_FIELDS_MAX]; /* true for fields of the main array */
    sl_zip_member main;          /* its name is no longer valid */
    sluice_dtype main_dtype;
    uint64_t begin; /* offset of its first row in the file */
    uint32_t row_bytes;
    sl_side_columns
        sides; /* values of the fields in memory; fields of the main array have no rows here */
} rows;

static const rows *npz_rows_of(const sl_dataset *dataset)
{
    return (const rows *)(const void *)dataset;
}

/* ---- ops ---- */

static sluice_status npz_rows_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                     sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    const rows *own = npz_rows_of(dataset);
    *sample = (sl_sample){
        .place = {.offset = own->begin + index * own->row_bytes, .bytes = own->row_bytes}};
    return SLUICE_OK;
}

static sluice_status npz_rows_locate_field(const sl_dataset *dataset, uint64_t index,
                                           uint32_t field, sl_place *place, sl_place *lookup,
                                           sl_refusal *why)
{
    sl_sample sample;
    (void)npz_rows_locate(dataset, index, &sample, lookup, why);
    *place = sample.place;
    if (npz_rows_of(dataset)->is_main[field]) {
        return SLUICE_OK;
    }
    *lookup = sample.place;
    *why = sl_refuse_unknown("windows can only be taken from the array with the largest rows", 0);
    return SLUICE_UNSUPPORTED;
}

static bool npz_rows_range(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    *count = dataset->info.samples - index;
    return true;
}

static sl_refusal take_row(const rows *own, const sl_field *field, sl_bytes row, sl_value *value)
{
    *value = (sl_value){.present = true};
    if (field->type != SLUICE_FIELD_TENSOR) {
        return sl_npz_number(own->main_dtype, row.data, value);
    }
    value->bytes = row;
    memcpy(value->shape, field->shape, sizeof(value->shape));
    return sl_accept();
}

static sl_refusal npz_rows_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                  sl_bytes bytes, sl_values *values)
{
    const rows *own = npz_rows_of(dataset);
    if (bytes.size != own->row_bytes) {
        return sl_refuse("the row is truncated", 0);
    }
    for (uint32_t i = 0; i < own->fields.count; i++) {
        sl_refusal refusal = sl_accept();
        if (sl_values_want(values, i)) {
            refusal = own->is_main[i]
                          ? take_row(own, &own->fields.fields[i], bytes, &values->of[i])
                          : sl_side_columns_get(&own->sides, i, sample->index, &values->of[i]);
        }
        if (refusal.text != NULL) {
            refusal.field = own->fields.fields[i].name;
            return refusal;
        }
    }
    return sl_accept();
}

/*
 * Checks the whole main array, since single rows have no checksum. Arrays in memory were checked
 * when opening.
 */
static sluice_status npz_rows_check_object(const sl_dataset *dataset, uint32_t object,
                                           sl_findings *findings)
{
    const rows *own = npz_rows_of(dataset);
    sl_npz_file_check(&own->main, &own->list.files[object], findings);
    return SLUICE_OK;
}

static void close_rows(sl_dataset *dataset)
{
    rows *own = (rows *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_file_list_close(&own->list);
    sl_side_columns_close(&own->sides);
    sl_free(own);
}

static const sl_dataset_ops rows_ops = {
    .locate = npz_rows_locate,
    .unpack = npz_rows_unpack,
    .close = close_rows,
};

static const sl_tensor_ops rows_tensors = {.locate_field = npz_rows_locate_field,
                                           .range = npz_rows_range};

static const sl_check_ops rows_checks = {.check_object = npz_rows_check_object};

/* ---- which arrays ---- */

bool sl_npz_has_rows(const sl_npz_file *file, const sl_source_fields *fields)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        const sl_npy *npy = &file->entries[fields->column[i]].npy;
        const sl_npy *first = &file->entries[fields->column[0]].npy;
        if (npy->dims == 0 || npy->shape[0] < 2 || npy->shape[0] != first->shape[0]) {
            return false;
        }
    }
    return fields->count > 0;
}

static sluice_status npz_rows_refuse(const char *path, const sl_npz_entry *entry, const char *why,
                                     sluice_error *error)
{
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, (int64_t)entry->member.data,
                         "array \"%.256s\": %s", entry->name, why);
}

/* Finds the array with the largest rows, which must be readable row by row. */
static sluice_status find_main(const char *path, const sl_npz_file *file,
                               const sl_source_fields *fields, const sl_npz_entry **main,
                               sluice_error *error)
{
    *main = &file->entries[fields->column[0]];
    for (uint32_t i = 0; i < fields->count; i++) {
        const sl_npz_entry *entry = &file->entries[fields->column[i]];
        if (entry->npy.bytes == 0) {
            return npz_rows_refuse(
                path, entry,
                "its rows have no elements: leave it out (" SL_OPTION("the option fields") ")",
                error);
        }
        *main = entry->npy.bytes > (*main)->npy.bytes ? entry : *main;
    }
    if ((*main)->member.method != SL_ZIP_STORED) {
        return npz_rows_refuse(
            path, *main,
            "it is compressed, so its rows (the samples) cannot be read one by one: save "
            "it with numpy.savez",
            error);
    }
    return (*main)->npy.bytes / (*main)->npy.shape[0] <= SL_RECORD_BYTES_MAX
               ? SLUICE_OK
               : npz_rows_refuse(path, *main, "a row has more than 2^31 - 1 bytes", error);
}

/* ---- arrays in memory ---- */

static sluice_status npz_rows_keep_rows(rows *own, uint32_t number, const sl_npz_entry *entry,
                                        const uint8_t *data, sluice_error *error)
{
    const sl_field *field = &own->fields.fields[number];
    const size_t bytes = (size_t)(entry->npy.bytes / entry->npy.shape[0]);
    for (uint64_t i = 0; i < entry->npy.shape[0]; i++) {
        sl_value value = {.present = true, .bytes = {data + i * bytes, bytes}};
        const sl_refusal refusal = field->type == SLUICE_FIELD_TENSOR
                                       ? sl_accept()
                                       : sl_npz_number(entry->npy.dtype, value.bytes.data, &value);
        if (refusal.text != NULL) {
            return sl_error_set(error, refusal.status, STAGE, "array \"%.256s\", row %llu: %s",
                                entry->name, (unsigned long long)i, refusal.text);
        }
        const sluice_status status = sl_side_columns_put(&own->sides, number, &value, error);
        if (status < 0) {
            return status;
        }
    }
    return SLUICE_OK;
}

static sluice_status npz_rows_load(rows *own, uint32_t number, const sl_npz_file *file,
                                   const sl_npz_entry *entry, sluice_error *error)
{
    uint8_t *data;
    const char *path = own->list.files[0].path;
    sluice_status status = sl_npz_file_load(file, entry, &data, error);
    if (status == SLUICE_OK) {
        status = npz_rows_keep_rows(own, number, entry, data, error);
        if (status < 0 && error != NULL) {
            sl_error_set_path(error, path);
        }
        sl_free(data);
    }
    return status;
}

/* Checks the memory needed by the directory, before an array is unpacked. */
static sluice_status npz_rows_check_memory(const rows *own, const sl_npz_file *file,
                                           const sl_npz_entry *main, sluice_error *error)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < own->fields.count; i++) {
        const sl_npz_entry *entry = &file->entries[own->fields.column[i]];
        const uint64_t more = entry != main ? entry->member.bytes : 0;
        bytes = more < UINT64_MAX - bytes ? bytes + more : UINT64_MAX;
    }
    return sl_memory_has_space(bytes)
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_NOMEM, STAGE, 0, own->list.files[0].path, -1,
                               "the arrays kept in memory (all but the one with the largest rows) "
                               "need %llu MiB; with one file per sample, none are kept",
                               (unsigned long long)(bytes >> 20));
}

static sluice_status load_all(rows *own, const sl_npz_file *file, const sl_npz_entry *main,
                              sluice_error *error)
{
    sluice_status status = npz_rows_check_memory(own, file, main, error);
    if (status == SLUICE_OK) {
        status = sl_side_columns_open(&own->sides, own->fields.fields, own->fields.count, error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < own->fields.count; i++) {
        const sl_npz_entry *entry = &file->entries[own->fields.column[i]];
        own->is_main[i] = entry == main;
        if (entry != main) {
            status = npz_rows_load(own, i, file, entry, error);
        }
    }
    return status;
}

/* ---- opening ---- */

static uint64_t npz_rows_fingerprint(const rows *own)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_file_list_sum(&own->list, 0, &stream);
    sl_checksum_add_u64(&stream, own->begin);
    sl_checksum_add_u64(&stream, own->base.info.samples);
    for (uint32_t i = 0; i < own->fields.count; i++) {
        const sl_field *field = &own->fields.fields[i];
        sl_checksum_add(&stream, field->name, sizeof(field->name));
        sl_checksum_add_u64(&stream, own->fields.column[i]);
    }
    return sl_checksum_value(&stream);
}

static sluice_status npz_rows_open_all(rows *own, const char *path, const sl_npz_file *file,
                                       const sl_npz_entry *main, sluice_error *error)
{
    sluice_status status = sl_file_list_add(&own->list, path, error);
    if (status < 0) {
        return status;
    }
    own->list.files[0].file = file->file;
    own->main = main->member;
    own->main.name = (sl_bytes){NULL, 0};
    own->main_dtype = main->npy.dtype;
    own->begin = main->member.data + main->npy.data;
    own->row_bytes = (uint32_t)(main->npy.bytes / main->npy.shape[0]);
    status = load_all(own, file, main, error);
    if (status < 0) {
        return status;
    }
    sluice_dataset_info *info = &own->base.info;
    info->samples = main->npy.shape[0];
    info->bytes = main->npy.bytes;
    info->fields = own->fields.count;
    info->shards = 1;
    info->fingerprint = npz_rows_fingerprint(own);
    own->base.sums_are_of_files = true;
    (void)snprintf(own->base.kind, sizeof(own->base.kind),
                   "one .npz file whose arrays have the same length: each row is a sample");
    own->base.fields = own->fields.fields;
    return sl_file_list_objects(&own->list, &own->base.objects, error);
}

static sluice_status open_several(sl_dataset **dataset, const char *path, const sl_npz_file *file,
                                  const sl_source_fields *fields, sluice_error *error)
{
    const sl_npz_entry *main;
    const sluice_status status = find_main(path, file, fields, &main, error);
    if (status < 0) {
        return status;
    }
    rows *own = sl_dataset_new(sizeof(*own), &rows_ops, "npz", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    own->base.tensors = &rows_tensors;
    own->base.checks = &rows_checks;
    own->fields = *fields;
    return sl_dataset_opened(dataset, &own->base, npz_rows_open_all(own, path, file, main, error));
}

/* Opens a file with a single array: a series if it has one dimension. */
static sluice_status open_single(sl_dataset **dataset, const char *path, const sl_npz_file *file,
                                 const sl_source_fields *fields, sluice_error *error)
{
    static const sl_flat_kind of_rows = {"npz", "one .npz file with one array, one sample per row"};
    static const sl_flat_kind of_series = {
        "npz",
        "one .npz file with one array of one dimension, in runs of 2^20 elements (for windows)"};
    const sl_npz_entry *entry;
    const sluice_status status = find_main(path, file, fields, &entry, error);
    if (status < 0) {
        return status;
    }
    const bool is_series = entry->npy.dims == 1;
    sl_field field = fields->fields[0];
    const sl_flat_part part = {.path = path,
                               .file = file->file,
                               .begin = entry->member.data + entry->npy.data,
                               .bytes = entry->npy.bytes,
                               .member = &entry->member};
    if (is_series) {
        field.dtype = entry->npy.dtype;
        field.dims = 1;
        field.shape[0] = SERIES;
    }
    return sl_flat_open_parts(dataset, &part, 1, &field, is_series ? &of_series : &of_rows, error);
}

sluice_status sl_npz_open_rows(sl_dataset **dataset, const char *path, const sl_npz_file *file,
                               const sl_source_fields *fields, sluice_error *error)
{
    return fields->count == 1 ? open_single(dataset, path, file, fields, error)
                              : open_several(dataset, path, file, fields, error);
}
