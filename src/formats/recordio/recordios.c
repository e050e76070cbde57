/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordios: the record reader (records.h) of MXNet's RecordIO files.
 *
 * recordio_index.h handles framing and indexes, recordio_fields.h the contents of records.
 */
#include "file.h"
#include "look_around.h"
#include "recordio_fields.h"
#include "records.h"

#include <stdio.h>

typedef struct recordio {
    sl_records records;
    sl_recordio_fields fields;
} recordio;

static sl_refusal recordio_unpack(const sl_records *records, const sl_raw_record *record,
                                  sl_values *values)
{
    const recordio *self = (const recordio *)(const void *)records;
    sl_recordio opened;
    const sl_refusal why = sl_recordio_open(&opened, record->bytes);
    return why.text != NULL ? why : sl_recordio_fields_unpack(&self->fields, &opened, values);
}

static sl_refusal recordio_look(void *ctx, const sl_sample *sample, sl_bytes bytes)
{
    sl_recordio record;
    (void)sample;
    const sl_refusal why = sl_recordio_open(&record, bytes);
    if (why.text == NULL) {
        sl_recordio_look(ctx, &record);
    }
    return why;
}

/* ---- insightface ---- */

/* A record that may be a header. */
typedef struct header_look {
    bool is_header, is_empty;
    uint64_t end;
} header_look;

static sl_refusal look_for_header(void *ctx, const sl_sample *sample, sl_bytes bytes)
{
    header_look *look = ctx;
    sl_recordio record;
    (void)sample;
    *look = (header_look){.end = 0};
    if (sl_recordio_open(&record, bytes).text == NULL) {
        look->is_header = sl_recordio_is_file_header(&record, &look->end);
        look->is_empty = sl_recordio_is_empty(&record);
    }
    return sl_accept();
}

/*
 * Finds a file header that describes the other records correctly: the first record after the images
 * and the last one are empty, and the last image is not. `*end`: as from
 * sl_recordio_is_file_header; 0: no such header.
 */
static sluice_status find_header(const sl_dataset *base, uint64_t first, uint64_t records,
                                 uint64_t *end, sluice_error *error)
{
    header_look look = {.end = 0};
    *end = 0;
    sluice_status status = sl_look_at_sample(base, first, look_for_header, &look, error);
    const uint64_t claimed = look.end;
    if (status < 0 || !look.is_header || claimed > records) {
        return status;
    }
    const uint64_t places[] = {claimed - 1, claimed < records ? claimed : records - 1, records - 1};
    bool good = true;
    for (size_t i = 0; status == SLUICE_OK && good && i < 3; i++) {
        status = sl_look_at_sample(base, first + places[i], look_for_header, &look, error);
        good = look.is_empty == (places[i] >= claimed);
    }
    *end = good ? claimed : 0;
    return status;
}

/* Leaves out the records of a file that are headers. */
static sluice_status leave_out_headers(sl_records *records, uint32_t file, sluice_error *error)
{
    sl_file_set *set = &records->set;
    const uint64_t all = set->indexes[file].samples;
    uint64_t end = 0;
    const sluice_status status =
        all > 0 ? find_header(&records->base, set->list.files[file].first, all, &end, error)
                : SLUICE_OK;
    if (status == SLUICE_OK && end > 0) {
        sl_omit_many(&records->base.omissions, SL_OMITTED_THINGS,
                     "header records (insightface), which have no image",
                     set->list.files[file].path, all - (end - 1));
        sl_file_set_keep(set, file, 1, end - 1);
        sl_file_set_describe(set, &records->base.info);
    }
    return status == SLUICE_IO || status == SLUICE_NOMEM ? status : SLUICE_OK;
}

static sluice_status recordio_find_fields(sl_records *records,
                                          const sluice_dataset_options *options,
                                          sluice_error *error)
{
    recordio *self = (recordio *)(void *)records;
    sl_dataset *base = &records->base;
    const sl_file_list *list = &records->set.list;
    sl_recordio_looks looks = {0};
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < list->count; i++) {
        status = leave_out_headers(records, i, error);
    }
    if (status == SLUICE_OK) {
        status = sl_look_around(base, recordio_look, &looks, error);
    }
    if (status == SLUICE_OK) {
        status =
            sl_recordio_fields_find(&self->fields, &looks, options, list->files[0].path, error);
    }
    base->info.fields = self->fields.source.count;
    base->fields = self->fields.source.fields;
    sl_unchecked_add(&base->unchecked, "RecordIO has no checksums");
    (void)snprintf(base->kind, sizeof(base->kind), "%s, each of whose records is a sample%s",
                   list->count == 1 ? "a RecordIO file" : "RecordIO files",
                   self->fields.headers ? " (MXNet's IRHeader, and what follows)"
                                        : " (plain, without MXNet's IRHeader)");
    return status;
}

static bool recordio_is_named(const char *name)
{
    return sl_ends_with(name, ".rec");
}

static bool recordio_begins(sl_bytes head)
{
    return head.size >= SL_RECORDIO_HEAD && sl_recordio_begins(head.data);
}

static const sl_record_reader recordio_reader = {
    .format = "recordio",
    .empty = "the file is empty",
    .files = {.index = SL_INDEX_RECORDIO,
              .plural = "RecordIO files",
              .suffix = ".rec",
              .is_named = recordio_is_named,
              .begins = recordio_begins,
              .load = sl_recordio_idx_load,
              .walk = sl_recordio_walk},
    .bytes = sizeof(recordio),
    .find_fields = recordio_find_fields,
    .unpack = recordio_unpack,
};

static bool recordio_probe(sl_look *look)
{
    return sl_file_set_probe(&recordio_reader.files, look);
}

static sluice_status recordio_open(sl_dataset **dataset, const char *const *paths, size_t count,
                                   const sluice_dataset_options *options, sluice_error *error)
{
    return sl_records_open(dataset, &recordio_reader, paths, count, options, error);
}

SL_FORMAT(recordio) = {
    .name = "recordio",
    .files = "RecordIO files",
    .known = "RecordIO (.rec)",
    .takes_fields = true,
    .takes_split = true,
    .probe = recordio_probe,
    .is_named = recordio_is_named,
    .open = recordio_open,
};
