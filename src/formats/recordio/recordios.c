/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MXNet's RecordIO files: the reader of their records (records.h). Framing and indexes are in
 * recordio_index.h, what records hold in recordio_fields.h.
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

static sl_refusal recordio_unpack(const sl_records *records, const sl_record *record,
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

static sluice_status recordio_find_fields(sl_records *records,
                                          const sluice_dataset_options *options,
                                          sluice_error *error)
{
    recordio *self = (recordio *)(void *)records;
    sl_dataset *base = &records->base;
    const sl_file_list *list = &records->set.list;
    sl_recordio_looks looks = {0};
    sluice_status status = sl_look_around(base, recordio_look, &looks, error);
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

static bool recordio_probe(const char *path)
{
    return sl_file_set_probe(&recordio_reader.files, path);
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
