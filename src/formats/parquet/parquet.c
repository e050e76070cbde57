/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet: opens Parquet files as a columnar table (columnar.h).
 *
 * Columns of large values, such as images, are read sample by sample through an index
 * (parquet_reads.h). A read covers a row's values with their lengths in front, which are checked,
 * or the pages, which are unpacked in the values' buffer. Other columns are read at open.
 */
#include "memory.h"
#include "parquet_check.h"

static const sl_parquets *parquets_of(const sl_columnar *table)
{
    return (const sl_parquets *)(const void *)table;
}

/* ---- the reader ---- */

static sl_extent parquet_extent(const sl_columnar *table, const sl_columnar_row *row,
                                uint32_t large)
{
    return sl_parquet_read_find(&parquets_of(table)->reads[large], row->number);
}

static sl_refusal parquet_value(const sl_columnar *table, const sl_columnar_row *row,
                                uint32_t field, const sl_columnar_bytes *read, sl_value *value)
{
    return sl_parquet_read_value(&parquets_of(table)->reads[table->plan.large_of[field]],
                                 row->number, table->plan.element[field], read, value);
}

static bool parquet_value_extent(const sl_columnar *table, const sl_columnar_row *row,
                                 uint32_t field, sl_extent *extent)
{
    return sl_parquet_read_extent(&parquets_of(table)->reads[table->plan.large_of[field]],
                                  row->number, table->plan.element[field], extent);
}

static void parquet_close(sl_columnar *table)
{
    sl_parquets *own = (sl_parquets *)(void *)table;
    for (uint32_t i = 0; own->orders != NULL && i < own->set.list.count; i++) {
        sl_free(own->orders[i]);
    }
    sl_free((void *)own->orders);
    sl_hive_close(&own->hive);
    for (uint32_t i = 0; i < SL_COLUMNAR_LARGE_MAX; i++) {
        sl_parquet_index_close(&own->reads[i].index);
    }
    sl_file_set_close(&own->set);
}

static const sl_columnar_reader parquet_reader = {
    .extent = parquet_extent,
    .value = parquet_value,
    .value_extent = parquet_value_extent,
    .close = parquet_close,
    .nothing_bytes = 4,
};

static sluice_status parquet_check_object(const sl_dataset *dataset, uint32_t object,
                                          sl_findings *findings)
{
    return sl_parquet_check((const sl_parquets *)(const void *)dataset, object, findings);
}

static const sl_check_ops parquet_checks = {.check_object = parquet_check_object};

/* ---- recognising files ---- */

static bool parquet_is_named(const char *name)
{
    return sl_ends_with(name, ".parquet");
}

static bool parquet_is_part(const char *path)
{
    return sl_hive_is_part(path, parquet_is_named);
}

static bool parquet_begins(sl_bytes head)
{
    return head.size >= 4 && sl_parquet_is(head.data);
}

static const sl_file_kind parquet_files = {
    .plural = "Parquet files",
    .suffix = ".parquet",
    .is_named = parquet_is_named,
    .begins = parquet_begins,
};

static bool parquet_probe(sl_look *look)
{
    return sl_file_set_probe(&parquet_files, look);
}

static sluice_status open_parquets(sl_dataset **dataset, const char *const *paths, size_t count,
                                   const sluice_dataset_options *options, sluice_error *error)
{
    sl_parquets *own = sl_dataset_new(sizeof(*own), &sl_columnar_ops, "parquet", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    own->table.reader = &parquet_reader;
    own->table.base.checks = &parquet_checks;
    return sl_dataset_opened(dataset, &own->table.base,
                             sl_parquets_open(own, &parquet_files, paths, count, options, error));
}

SL_FORMAT(parquet) = {
    .name = "parquet",
    .files = "Parquet files",
    .known = "Parquet",
    .note_suffix = ".parquet",
    .takes_fields = true,
    .is_named = parquet_is_named,
    .is_part = parquet_is_part,
    .takes_split = true,
    .probe = parquet_probe,
    .open = open_parquets,
};
