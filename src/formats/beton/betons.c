/* SPDX-License-Identifier: Apache-2.0 */
/*
 * betons: opens FFCV's .beton files, one sample per row.
 *
 * The numbers of a row are in memory (beton_file.h). The data that it points to is adjacent in one
 * page, and is read as one range, from the first to the last field of the dataset. A sample that
 * points to nothing has its row as its bytes. Several files with the same fields are joined.
 */
#include "beton_file.h"
#include "checksum.h"
#include "dataset.h"
#include "file_list.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

typedef struct betons {
    sl_dataset base;
    sl_source_fields fields;
    uint64_t again; /* bit i: field i shares its column with an earlier field */
    sl_file_list list;
    sl_beton_file *files; /* one per file of the list */
    uint32_t opened;
} betons;

static const betons *betons_of(const sl_dataset *dataset)
{
    return (const betons *)(const void *)dataset;
}

/* ---- where a sample is ---- */

static sl_place row_place(const sl_beton_head *head, uint64_t sample)
{
    return (sl_place){.offset = head->rows_at + sample * head->row_bytes,
                      .bytes = (uint32_t)head->row_bytes};
}

/* Finds the extent of a sample of a file; does not set `object`. */
static sl_place betons_find_place(const betons *own, const sl_beton_file *file, uint64_t sample)
{
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    for (uint32_t i = 0; i < own->fields.count; i++) {
        sl_extent piece;
        if (sl_beton_file_piece(file, sample, own->fields.column[i], &piece) && piece.bytes > 0) {
            begin = piece.offset < begin ? piece.offset : begin;
            end = piece.offset + piece.bytes > end ? piece.offset + piece.bytes : end;
        }
    }
    return end == 0 ? row_place(&file->head, sample)
                    : (sl_place){.offset = begin, .bytes = (uint32_t)(end - begin)};
}

/*
 * Checks the location that a row gives. Returns the error, or NULL. An empty item may point
 * anywhere.
 */
static const char *check_piece(const sl_beton_file *file, const sl_beton_column *column,
                               const sl_extent *piece, uint64_t *page)
{
    const sl_beton_head *head = &file->head;
    if (piece->bytes == 0) {
        return column->kind == SL_BETON_PICTURE ? "it has no row in the allocation table" : NULL;
    }
    if (piece->offset < head->rows_at + head->samples * head->row_bytes ||
        piece->offset >= head->table_at || piece->bytes > head->table_at - piece->offset) {
        return "its bytes are outside the pages";
    }
    const uint64_t first = piece->offset / head->page_bytes;
    if ((piece->offset + piece->bytes - 1) / head->page_bytes != first ||
        (*page != UINT64_MAX && *page != first)) {
        return "its sample is not within one page";
    }
    *page = first;
    return NULL;
}

static sluice_status blame(const betons *own, uint32_t number, uint64_t sample, uint32_t column,
                           const char *why, sluice_error *error)
{
    const sl_beton_file *file = &own->files[number];
    return sl_error_file(
        error, SLUICE_CORRUPT, STAGE, 0, own->list.files[number].path,
        (int64_t)(row_place(&file->head, sample).offset + file->columns[column].at),
        "sample %llu, field \"%s\": %s", (unsigned long long)sample,
        file->columns[column].source.name, why);
}

static sluice_status check_sample(const betons *own, uint32_t number, uint64_t sample,
                                  sluice_error *error)
{
    const sl_beton_file *file = &own->files[number];
    uint64_t page = UINT64_MAX;
    uint64_t total = 0; /* less than 64 pages */
    for (uint32_t i = 0; i < own->fields.count; i++) {
        sl_extent piece;
        const uint32_t column = own->fields.column[i];
        if (!sl_beton_file_piece(file, sample, column, &piece)) {
            continue;
        }
        const char *why = check_piece(file, &file->columns[column], &piece, &page);
        if (why != NULL) {
            return blame(own, number, sample, column, why, error);
        }
        total += (own->again >> i & 1) != 0 ? 0 : piece.bytes;
    }
    const uint64_t span = betons_find_place(own, file, sample).bytes;
    if (total > 0 && (total > span || span > SL_RECORD_BYTES_MAX)) {
        return blame(own, number, sample, own->fields.column[0],
                     total > span ? "the fields of its sample overlap"
                                  : "its sample has more than 2^31 - 1 bytes",
                     error);
    }
    return SLUICE_OK;
}

/* ---- ops ---- */

static sluice_status betons_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                   sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    const betons *own = betons_of(dataset);
    const uint32_t number = sl_file_list_find(&own->list, index);
    *sample = (sl_sample){.place = betons_find_place(own, &own->files[number],
                                                     index - own->list.files[number].first)};
    sample->place.object = number;
    return SLUICE_OK;
}

static sl_refusal betons_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                sl_values *values)
{
    const betons *own = betons_of(dataset);
    const sl_place *place = &sample->place;
    const sl_beton_file *file = &own->files[place->object];
    const uint64_t local = sample->index - own->list.files[place->object].first;
    if (bytes.size != place->bytes) {
        return sl_refuse("the sample is truncated", 0);
    }
    for (uint32_t i = 0; i < own->fields.count; i++) {
        sl_value *value = &values->of[i];
        sl_extent piece;
        if (!sl_values_want(values, i)) {
            continue;
        }
        *value = (sl_value){.present = false};
        sl_bytes own_bytes = {bytes.data, 0};
        if (sl_beton_file_piece(file, local, own->fields.column[i], &piece) && piece.bytes > 0) {
            value->offset = (uint32_t)(piece.offset - place->offset);
            own_bytes = (sl_bytes){bytes.data + value->offset, (size_t)piece.bytes};
        }
        sl_refusal refusal =
            sl_beton_value(&file->columns[own->fields.column[i]], &own->fields.fields[i],
                           sl_beton_file_row(file, local), own_bytes, value);
        if (refusal.text != NULL) {
            refusal.field = own->fields.fields[i].name;
            return refusal;
        }
    }
    return sl_accept();
}

static void close_betons(sl_dataset *dataset)
{
    betons *own = (betons *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_file_list_close(&own->list);
    for (uint32_t i = 0; i < own->opened; i++) {
        sl_beton_file_close(&own->files[i]);
    }
    sl_free(own->files);
    sl_free(own);
}

static const sl_dataset_ops beton_ops = {
    .locate = betons_locate,
    .unpack = betons_unpack,
    .close = close_betons,
};

/* ---- opening ---- */

static bool betons_probe(sl_look *look)
{
    return sl_ends_with(look->path, ".beton") && sl_look_is_file(look);
}

static bool betons_is_file(const char *name)
{
    return sl_ends_with(name, ".beton");
}

static sluice_status betons_add_file(betons *own, const char *path, sluice_error *error)
{
    sl_beton_file *file = &own->files[own->opened];
    sluice_status status = sl_file_list_add(&own->list, path, error);
    if (status < 0) {
        return status;
    }
    own->opened++;
    status = sl_beton_file_open(file, path, error);
    if (status < 0) {
        return status;
    }
    if (!sl_beton_file_alike(file, &own->files[0])) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, SL_BETON_HEAD,
                             "its fields differ from those of the files before it");
    }
    sl_listed_file *listed = &own->list.files[own->opened - 1];
    listed->file = file->file;
    listed->first = own->base.info.samples;
    own->base.info.samples += file->head.samples;
    return SLUICE_OK;
}

static sluice_status betons_find_fields(betons *own, const sluice_dataset_options *options,
                                        sluice_error *error)
{
    const sl_beton_file *file = &own->files[0];
    sl_source_column *columns = sl_calloc(file->head.columns, sizeof(*columns));
    if (columns == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    for (uint32_t i = 0; i < file->head.columns; i++) {
        columns[i] = file->columns[i].source;
    }
    const sluice_status status = sl_source_fields_find(&own->fields, columns, file->head.columns,
                                                       options, own->list.files[0].path, error);
    sl_free(columns);
    for (uint32_t i = 0; status == SLUICE_OK && i < own->fields.count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            own->again |= (uint64_t)(own->fields.column[k] == own->fields.column[i]) << i;
        }
    }
    return status;
}

/* Checks that all samples of all files can be located, and collects the dataset's totals. */
static sluice_status look_at_samples(betons *own, sluice_error *error)
{
    sl_checksum_stream sum;
    sl_checksum_begin(&sum);
    for (uint32_t i = 0; i < own->opened; i++) {
        const sl_beton_file *file = &own->files[i];
        const sl_beton_head *head = &file->head;
        for (uint64_t k = 0; k < head->samples; k++) {
            const sluice_status status = check_sample(own, i, k, error);
            if (status < 0) {
                return status;
            }
            own->base.info.bytes += betons_find_place(own, file, k).bytes;
        }
        sl_file_list_sum(&own->list, i, &sum);
        sl_checksum_add(&sum, file->rows, head->samples * head->row_bytes);
        sl_checksum_add(&sum, file->sizes, head->samples * file->pictures * sizeof(*file->sizes));
    }
    own->base.info.fingerprint = sl_checksum_value(&sum);
    return SLUICE_OK;
}

static sluice_status betons_open_all(betons *own, const char *const *paths, size_t count,
                                     const sluice_dataset_options *options, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    own->files = sl_calloc(count, sizeof(*own->files));
    if (own->files == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = betons_add_file(own, paths[i], error);
    }
    if (status == SLUICE_OK) {
        status = betons_find_fields(own, options, error);
    }
    if (status == SLUICE_OK) {
        status = look_at_samples(own, error);
    }
    if (status < 0) {
        return status;
    }
    sluice_dataset_info *info = &own->base.info;
    info->fields = own->fields.count;
    info->shards = own->list.count;
    sl_unchecked_add(&own->base.unchecked, ".beton files have no checksums");
    (void)snprintf(own->base.kind, sizeof(own->base.kind), "%s, each of whose rows is a sample",
                   own->list.count == 1 ? "FFCV's .beton file" : "FFCV's .beton files");
    own->base.fields = own->fields.fields;
    return sl_file_list_objects(&own->list, &own->base.objects, error);
}

static sluice_status open_betons(sl_dataset **dataset, const char *const *paths, size_t count,
                                 const sluice_dataset_options *options, sluice_error *error)
{
    betons *own = sl_dataset_new(sizeof(*own), &beton_ops, "beton", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    return sl_dataset_opened(dataset, &own->base,
                             betons_open_all(own, paths, count, options, error));
}

SL_FORMAT(beton) = {
    .name = "beton",
    .files = ".beton files",
    .known = "FFCV (.beton)",
    .takes_fields = true,
    .probe = betons_probe,
    .is_file = betons_is_file,
    .is_binary = true,
    .open = open_betons,
};
