/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parquet files, each of whose rows is a sample. Columns of large values, such as those of
 * pictures, are read sample by sample, by an index (parquet_reads.h); the others are read at open
 * and kept in memory (side_columns.h).
 *
 * Walk of a sample: locate finds the row's values, and with them the bytes that they are in, with
 * their lengths in front, or the pages; unpack checks the lengths, or unpacks the pages in the
 * values' room, and adds the row of each column in memory.
 */
#include "file.h"
#include "memory.h"
#include "parquet_check.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

/* Of the file's first bytes, that are read for a sample of which there is nothing to read. */
enum { NO_BYTES = 4 };

static const sl_parquets *parquets_of(const sl_dataset *dataset)
{
    return (const sl_parquets *)(const void *)dataset;
}

/* ---- ops ---- */

/* The bytes that a sample's values of a column are in. */
static sl_piece place_of(const sl_parquets *own, uint64_t row, uint32_t read)
{
    const sl_parquet_reach reach = sl_parquet_read_find(&own->reads[read], row);
    return reach.bytes > 0 ? (sl_piece){reach.offset, (uint32_t)reach.bytes, 1, 0}
                           : (sl_piece){0, NO_BYTES, 1, 0};
}

static sl_piece piece(const sl_dataset *dataset, const sl_sample *sample, uint32_t number)
{
    return place_of(parquets_of(dataset), sample->index, number);
}

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    const sl_parquets *own = parquets_of(dataset);
    uint64_t bytes = 0;
    *sample = (sl_sample){.index = index, .place = {.bytes = NO_BYTES}, .pieces = own->base.pieces};
    sample->place.object = sl_file_list_find(&own->set.list, index);
    for (uint32_t i = 0; i < own->read_count; i++) {
        const sl_parquet_reach reach = sl_parquet_read_find(&own->reads[i], index);
        sample->place.offset = i == 0 ? reach.offset : sample->place.offset;
        bytes += reach.bytes > 0 ? reach.bytes : (uint64_t)NO_BYTES;
    }
    if (bytes > SL_RECORD_BYTES_MAX) {
        *lookup = sample->place;
        *why = sl_refuse_unknown("the sample has more than 2^31 - 1 bytes", 0);
        return SLUICE_UNSUPPORTED;
    }
    sample->place.bytes = bytes > 0 ? (uint32_t)bytes : NO_BYTES;
    return SLUICE_OK;
}

/* A field out of the bytes that its column has of the sample, which begin at `at`. */
static sl_refusal unpack_field(const sl_parquets *own, uint32_t field, const sl_sample *sample,
                               sl_bytes bytes, sl_values *values)
{
    sl_value *value = &values->of[field];
    const uint32_t read = own->read_of[field];
    sl_refusal why = sl_parquet_read_value(&own->reads[read], sample->index, own->element[field],
                                           bytes, &values->rooms, value);
    if (why.text == NULL && value->present) {
        why = sl_source_value(&own->fields.fields[field], value);
    }
    why.field = own->fields.fields[field].name;
    return why;
}

static sl_refusal unpack_reads(const sl_parquets *own, const sl_sample *sample, sl_bytes bytes,
                               sl_values *values)
{
    uint32_t at = 0;
    for (uint32_t read = 0; read < own->read_count; read++) {
        const uint32_t size = place_of(own, sample->index, read).bytes;
        for (uint32_t i = 0; i < own->fields.count; i++) {
            if (own->read_of[i] != read || !sl_values_want(values, i)) {
                continue;
            }
            sl_refusal why =
                unpack_field(own, i, sample, (sl_bytes){bytes.data + at, size}, values);
            values->of[i].offset += at;
            if (why.text != NULL) {
                why.offset += at;
                return why;
            }
        }
        at += size;
    }
    return sl_accept();
}

static sl_refusal check_label(const sl_parquets *own, const sl_value *value)
{
    return value->present && value->integer != -1 &&
                   sl_features_class_name(&own->features, own->label_column, value->integer) == NULL
               ? sl_refuse("the label is none of the classes", 0)
               : sl_accept();
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    const sl_parquets *own = parquets_of(dataset);
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the sample is cut short", 0);
    }
    sl_refusal why = unpack_reads(own, sample, bytes, values);
    for (uint32_t i = 0; why.text == NULL && i < own->fields.count; i++) {
        if (!sl_values_want(values, i) || own->read_of[i] != SL_FIELD_NONE) {
            continue;
        }
        why = sl_side_columns_get(&own->side, own->side_of[i], sample->index, &values->of[i]);
        if (why.text == NULL && i == own->label) {
            why = check_label(own, &values->of[i]);
        }
    }
    return why;
}

static sluice_status check_object(const sl_dataset *dataset, uint32_t object, sl_findings *findings)
{
    return sl_parquet_check(parquets_of(dataset), object, findings);
}

static const char *class_name(const sl_dataset *dataset, int64_t label)
{
    const sl_parquets *own = parquets_of(dataset);
    return own->label != SL_FIELD_NONE
               ? sl_features_class_name(&own->features, own->label_column, label)
               : NULL;
}

static void close_parquets(sl_dataset *dataset)
{
    sl_parquets *own = (sl_parquets *)(void *)dataset;
    sl_objects_close(own->base.objects);
    for (uint32_t i = 0; i < own->read_count; i++) {
        sl_parquet_index_close(&own->reads[i].index);
    }
    sl_side_columns_close(&own->side);
    sl_features_close(&own->features);
    sl_file_set_close(&own->set);
    sl_free(own);
}

static const sl_dataset_ops parquets_ops = {
    .locate = locate,
    .piece = piece,
    .unpack = unpack,
    .class_name = class_name,
    .close = close_parquets,
};

static const sl_check_ops parquets_checks = {.check_object = check_object};

/* ---- what is one ---- */

static bool is_named(const char *name)
{
    return sl_ends_with(name, ".parquet");
}

static bool begins(sl_bytes head)
{
    return head.size >= 4 && sl_parquet_is(head.data);
}

static const sl_file_kind parquet_files = {
    .plural = "Parquet files",
    .suffix = ".parquet",
    .is_named = is_named,
    .begins = begins,
};

static bool probe(const char *path)
{
    return sl_file_set_probe(&parquet_files, path);
}

static sluice_status open_parquets(sl_dataset **dataset, const char *const *paths, size_t count,
                                   const sluice_dataset_options *options, sluice_error *error)
{
    sl_parquets *own = sl_calloc(1, sizeof(*own));
    if (own == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    own->base.ops = &parquets_ops;
    own->base.checks = &parquets_checks;
    atomic_init(&own->base.references, 1);
    const sluice_status status =
        sl_parquets_open(own, &parquet_files, paths, count, options, error);
    if (status < 0) {
        sl_dataset_close(&own->base);
        return status;
    }
    *dataset = &own->base;
    return SLUICE_OK;
}

SL_FORMAT(parquet) = {
    .name = "parquet",
    .files = "Parquet files",
    .known = "Parquet",
    .note_suffix = ".parquet",
    .takes_fields = true,
    .is_named = is_named,
    .probe = probe,
    .open = open_parquets,
};
