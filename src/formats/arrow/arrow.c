/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow: opens Arrow files, in particular those of Hugging Face's datasets, as a columnar table
 * (columnar.h).
 *
 * Values that opening (arrow_open.h) does not keep in memory are read with each sample: a column's
 * value, or those of a list, in one read. A table of row numbers may select the rows
 * (arrow_order.h).
 */
#include "arrow_open.h"
#include "memory.h"

static const sl_arrow *arrow_of(const sl_columnar *table)
{
    return (const sl_arrow *)(const void *)table;
}

static const sl_arrow_places *places_of(const sl_columnar *table, const sl_columnar_row *row,
                                        uint32_t large)
{
    return &arrow_of(table)->rows[row->file].large[large];
}

static sl_extent arrow_extent(const sl_columnar *table, const sl_columnar_row *row, uint32_t large)
{
    const sl_columnar_large *of = &table->plan.large[large];
    return sl_arrow_places_reach(places_of(table, row, large), row->in_file, of->low, of->high);
}

static bool arrow_find_value(const sl_columnar *table, const sl_columnar_row *row, uint32_t field,
                             sl_extent *found, sl_arrow_lack *lack)
{
    return sl_arrow_places_have(places_of(table, row, table->plan.large_of[field]), row->in_file,
                                table->plan.element[field], found, lack);
}

static sl_refusal arrow_value(const sl_columnar *table, const sl_columnar_row *row, uint32_t field,
                              const sl_columnar_bytes *read, sl_value *value)
{
    sl_arrow_lack lack;
    sl_extent found = {0, 0};
    *value = (sl_value){.present = arrow_find_value(table, row, field, &found, &lack)};
    if (!value->present) {
        const char *why = sl_arrow_lack_text(lack);
        return why == NULL ? sl_accept() : sl_refuse_unknown(why, 0);
    }
    const uint64_t at = found.bytes > 0 ? found.offset - read->extent.offset : 0;
    value->offset = (uint32_t)at;
    value->bytes = (sl_bytes){read->bytes.data + at, found.bytes};
    return sl_accept();
}

static bool arrow_value_extent(const sl_columnar *table, const sl_columnar_row *row, uint32_t field,
                               sl_extent *extent)
{
    sl_arrow_lack lack;
    *extent = (sl_extent){0, 0};
    (void)arrow_find_value(table, row, field, extent, &lack);
    return true;
}

static void arrow_close(sl_columnar *table)
{
    sl_arrow *own = (sl_arrow *)(void *)table;
    for (uint32_t i = 0; own->rows != NULL && i < own->paths.files.count; i++) {
        sl_arrow_rows_close(&own->rows[i]);
    }
    sl_free(own->rows);
    sl_arrow_paths_close(&own->paths);
}

static const sl_columnar_reader arrow_reader = {
    .extent = arrow_extent,
    .value = arrow_value,
    .value_extent = arrow_value_extent,
    .close = arrow_close,
    .nothing_bytes = 8,
};

static sluice_status open_arrow(sl_dataset **dataset, const char *const *paths, size_t count,
                                const sluice_dataset_options *options, sluice_error *error)
{
    sl_arrow *own = sl_dataset_new(sizeof(*own), &sl_columnar_ops, "arrow", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    own->table.reader = &arrow_reader;
    return sl_dataset_opened(dataset, &own->table.base,
                             sl_arrow_open(own, paths, count, options, error));
}

SL_FORMAT(arrow) = {
    .name = "arrow",
    .files = "Arrow files",
    .takes_fields = true,
    .takes_split = true,
    .probe = sl_arrow_probe,
    .open = open_arrow,
};
