/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MXNet's RecordIO files. Opening needs an index of each (recordio_index.h) and a look at some
 * records, for what they hold (recordio_fields.h); then a sample is a record.
 */
#include "file.h"
#include "file_set.h"
#include "look_around.h"
#include "memory.h"
#include "recordio_fields.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

typedef struct recordios {
    sl_dataset base;
    sl_recordio_fields fields;
    sl_file_set set;
} recordios;

static const recordios *records_of(const sl_dataset *dataset)
{
    return (const recordios *)(const void *)dataset;
}

/* ---- ops ---- */

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    sl_file_set_locate(&records_of(dataset)->set, index, sample);
    return SLUICE_OK;
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    sl_recordio record;
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the record is cut short", 0);
    }
    const sl_refusal refusal = sl_recordio_open(&record, bytes);
    return refusal.text != NULL
               ? refusal
               : sl_recordio_fields_unpack(&records_of(dataset)->fields, &record, values);
}

static void close_records(sl_dataset *dataset)
{
    recordios *own = (recordios *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_file_set_close(&own->set);
    sl_free(own);
}

static const sl_dataset_ops recordio_ops = {
    .locate = locate,
    .unpack = unpack,
    .close = close_records,
};

/* ---- what is one ---- */

static bool is_named(const char *name)
{
    return sl_ends_with(name, ".rec");
}

static bool begins(sl_bytes head)
{
    return head.size >= SL_RECORDIO_HEAD && sl_recordio_begins(head.data);
}

static const sl_file_kind recordio_files = {
    .index = SL_INDEX_RECORDIO,
    .plural = "RecordIO files",
    .suffix = ".rec",
    .is_named = is_named,
    .begins = begins,
    .load = sl_recordio_idx_load,
    .walk = sl_recordio_walk,
};

static bool probe(const char *path)
{
    return sl_file_set_probe(&recordio_files, path);
}

/* ---- fields ---- */

static sl_refusal look_at(void *ctx, const sl_sample *sample, sl_bytes bytes)
{
    sl_recordio record;
    (void)sample;
    const sl_refusal why = sl_recordio_open(&record, bytes);
    if (why.text == NULL) {
        sl_recordio_look(ctx, &record);
    }
    return why;
}

/* ---- opening ---- */

static sluice_status open_set(recordios *own, const char *const *paths, size_t count,
                              sluice_error *error)
{
    sluice_status status = sl_file_set_open(&own->set, &recordio_files, paths, count, NULL, error);
    if (status == SLUICE_OK && own->set.samples == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, own->set.list.files[0].path, -1,
                               "no sample: the file is empty");
    }
    return status == SLUICE_OK ? sl_file_list_objects(&own->set.list, &own->base.objects, error)
                               : status;
}

static sluice_status open_all(recordios *own, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    sl_recordio_looks looks = {0};
    sluice_dataset_info *info = &own->base.info;
    sluice_status status = open_set(own, paths, count, error);
    if (status == SLUICE_OK) {
        sl_file_set_describe(&own->set, info);
        status = sl_look_around(&own->base, look_at, &looks, error);
    }
    if (status == SLUICE_OK) {
        status = sl_recordio_fields_find(&own->fields, &looks, options, own->set.list.files[0].path,
                                         error);
    }
    if (status < 0) {
        return status;
    }
    info->fields = own->fields.source.count;
    sl_unchecked_add(&own->base.unchecked, "RecordIO has no checksums");
    (void)snprintf(own->base.kind, sizeof(own->base.kind),
                   "%s, each of whose records is a sample%s",
                   own->set.list.count == 1 ? "a RecordIO file" : "RecordIO files",
                   own->fields.headers ? " (MXNet's IRHeader, and what follows)"
                                       : " (plain, without MXNet's IRHeader)");
    own->base.fields = own->fields.source.fields;
    return SLUICE_OK;
}

static sluice_status open_records(sl_dataset **dataset, const char *const *paths, size_t count,
                                  const sluice_dataset_options *options, sluice_error *error)
{
    recordios *own = sl_dataset_new(sizeof(*own), &recordio_ops, "recordio", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    return sl_dataset_opened(dataset, &own->base, open_all(own, paths, count, options, error));
}

SL_FORMAT(recordio) = {
    .name = "recordio",
    .files = "RecordIO files",
    .known = "RecordIO (.rec)",
    .takes_fields = true,
    .probe = probe,
    .is_named = is_named,
    .open = open_records,
};
