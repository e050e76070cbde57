/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_open: performs the steps of opening: footers, fields, row groups.
 *
 * One thread calls; several read groups, each writing only its own group.
 */
#include "parquet_open.h"

#include "memory.h"
#include "open_many.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

const char *sl_parquet_path(const sl_parquet_opening *o, uint32_t file)
{
    return o->own->set.list.files[file].path;
}

sluice_status sl_parquet_open_file(const sl_parquet_opening *o, uint32_t file, sl_handle *from,
                                   sluice_error *error)
{
    const sl_file_name name = {STAGE, sl_parquet_path(o, file)};
    sl_file_identity *own = &o->files[file].file;
    if (o->files[file].kept.store != NULL) {
        *from = o->files[file].kept;
        return SLUICE_OK;
    }
    const sluice_status status = own->changed_ns == 0
                                     ? sl_handle_open(from, name, own, error)
                                     : sl_handle_open_again(from, name, own, error);
    if (status == SLUICE_OK) {
        sl_handle_advise(from, SL_ADVICE_RANDOM, 0, 0); /* most of it is not read */
        sl_handle_advise(from, SL_ADVICE_REMEMBER, 0, 0);
    }
    return status;
}

void sl_parquet_leave_file(const sl_parquet_opening *o, uint32_t file, sl_handle *from)
{
    if (o->files[file].kept.store == NULL) {
        sl_handle_close(from);
    }
}

static sluice_status parquet_open_read_footer(void *ctx, uint32_t number, sluice_error *error)
{
    const sl_parquet_opening *o = ctx;
    sl_handle from;
    sluice_status status = sl_parquet_open_file(o, number, &from, error);
    if (status == SLUICE_OK) {
        status = sl_parquet_read_footer(&o->files[number], &from, error);
        if (status == SLUICE_OK && sl_handle_may_stay(&from, number)) {
            o->files[number].kept = from;
        } else {
            sl_handle_close(&from);
        }
    }
    return status;
}

/* Checks, once at the end, that files which stayed open were not modified meanwhile. */
static sluice_status parquet_open_check_kept(const sl_parquet_opening *o, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < o->own->set.list.count; i++) {
        const sl_open_file file = {o->files[i].kept, o->files[i].file};
        status = file.handle.store != NULL ? sl_open_file_check(&file, error) : SLUICE_OK;
    }
    return status;
}

/* Counts rows over all files. */
static sluice_status count_rows(sl_parquet_opening *o, sluice_error *error)
{
    sl_parquets *own = o->own;
    sl_file_list *list = &own->set.list;
    uint64_t rows = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const sluice_status status =
            sl_parquet_match(&o->files[i], &o->files[0], list->files[i].path, list->files[0].path,
                             &own->orders[i], error);
        if (status < 0) {
            return status;
        }
        list->files[i].first = rows;
        list->files[i].file = o->files[i].file;
        rows += o->files[i].rows;
        if (rows > (uint64_t)INT64_MAX / 64) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, list->files[i].path, -1,
                                 "too many rows");
        }
        o->group_count += o->files[i].group_count;
    }
    own->table.base.info.samples = rows;
    return rows > 0 ? SLUICE_OK
                    : sl_error_file(error, SLUICE_INVALID, STAGE, 0, list->files[0].path, -1,
                                    "no samples: the file has no rows");
}

/* ---- rows ---- */

static sluice_status list_groups(sl_parquet_opening *o, sluice_error *error)
{
    uint32_t number = 0;
    uint64_t first = 0;
    o->groups = sl_calloc((size_t)o->group_count + 1, sizeof(*o->groups));
    if (o->groups == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    for (uint32_t i = 0; i < o->own->set.list.count; i++) {
        for (uint32_t g = 0; g < o->files[i].group_count; g++) {
            o->groups[number++] = (sl_parquet_group){.file = i, .group = g, .row = first};
            first += o->files[i].group_rows[g];
        }
    }
    return SLUICE_OK;
}

/* Adds the value in the folder name of a row group's file, for each of its rows. */
static sluice_status put_folder_name(const sl_parquet_opening *o, sl_parquet_group *group,
                                     uint32_t number, uint32_t column, sluice_error *error)
{
    const sl_hive_key *key = &o->own->hive.keys[number];
    const uint32_t of = key->of[group->file];
    const uint64_t rows = o->files[group->file].group_rows[group->group];
    const bool is_text = !key->is_integer && !key->is_class;
    sl_value value = {.present = of != SL_HIVE_NULL};
    uint32_t entry = 0;
    sluice_status status = SLUICE_OK;
    if (value.present) {
        value.bytes = (sl_bytes){(const uint8_t *)key->values[of], strlen(key->values[of])};
        value.integer = key->is_class ? (int64_t)of : strtoll(key->values[of], NULL, 10);
    }
    if (value.present && is_text) {
        status = sl_side_columns_add_entry(&group->side, column, value.bytes, &entry, error);
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < rows; i++) {
        status = value.present && is_text
                     ? sl_side_columns_put_entry(&group->side, column, entry, error)
                     : sl_side_columns_put(&group->side, column, &value, error);
    }
    return status;
}

/* Reads the columns of a row group that are kept in memory. */
static sluice_status parquet_open_read_columns(const sl_parquet_opening *o, sl_parquet_group *group,
                                               sl_parquet_place *place, sluice_error *error)
{
    const sl_columnar_fields *plan = &o->own->table.plan;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < plan->large_count; i++) {
        sl_parquet_read *read = &o->own->reads[i];
        place->first = o->list_of[i] != SL_FIELD_NONE ? group->slot[o->list_of[i]] : group->row;
        status = sl_parquet_index_fill(&read->index, place, read->leaf, &group->found[i], error);
    }
    if (status == SLUICE_OK) {
        status = sl_side_columns_open(&group->side, plan->side_fields, plan->side_count, error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < plan->side_count; i++) {
        const sl_parquet_column *column = &o->columns.of[plan->side_column[i]];
        status = column->leaf == SL_FIELD_NONE
                     ? put_folder_name(o, group, column->key, i, error)
                     : sl_parquet_side_read(place, column->leaf, &group->side, i, error);
    }
    return status;
}

sluice_status sl_parquet_open_group(const sl_parquet_opening *o, const sl_parquet_group *group,
                                    sl_parquet_place *place, sluice_error *error)
{
    *place = (sl_parquet_place){
        .parquet = &o->files[group->file], .group = group->group, .file = group->file};
    return sl_parquet_open_file(o, group->file, &place->from, error);
}

static sluice_status parquet_open_read_group(void *ctx, uint32_t number, sluice_error *error)
{
    const sl_parquet_opening *o = ctx;
    sl_parquet_group *group = &o->groups[number];
    sl_parquet_place place;
    sluice_status status = sl_parquet_open_group(o, group, &place, error);
    if (status == SLUICE_OK) {
        status = parquet_open_read_columns(o, group, &place, error);
        sl_parquet_leave_file(o, group->file, &place.from);
    }
    return status;
}

static sluice_status parquet_open_read_rows(sl_parquet_opening *o, sluice_error *error)
{
    sl_parquets *own = o->own;
    sl_columnar *table = &own->table;
    table->side = sl_calloc(1, sizeof(*table->side));
    if (table->side == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    table->side_count = 1;
    sluice_status status =
        sl_side_columns_open(table->side, table->plan.side_fields, table->plan.side_count, error);
    if (status == SLUICE_OK) {
        status = sl_open_many(o->group_count, parquet_open_read_group, o, error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < o->group_count; i++) {
        status = sl_side_columns_append(table->side, &o->groups[i].side, error);
        sl_side_columns_close(&o->groups[i].side);
        for (uint32_t k = 0; status == SLUICE_OK && k < table->plan.large_count; k++) {
            status = sl_parquet_index_add(&own->reads[k].index, &o->groups[i].found[k], error);
        }
    }
    return status;
}

/* ---- the dataset ---- */

static uint64_t fingerprint_of(const sl_parquet_opening *o)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < o->own->set.list.count; i++) {
        sl_file_list_sum(&o->own->set.list, i, &stream);
        sl_checksum_add_u64(&stream, o->files[i].rows);
        for (uint32_t k = 0; k < o->own->hive.count; k++) {
            sl_checksum_add_u64(&stream, o->own->hive.keys[k].of[i]);
        }
        for (uint32_t g = 0; g < o->files[i].group_count; g++) {
            sl_checksum_add_u64(&stream,
                                o->files[i].chunks[(size_t)g * o->files[i].leaf_count].offset);
        }
    }
    return sl_checksum_value(&stream);
}

/* Returns the size of a column read by index; `*pages`: set if values share pages with others. */
static uint64_t bytes_of_index(const sl_parquet_index *index, bool *pages)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < index->slots; i++) {
        bytes += sl_parquet_index_has(index, i) ? index->sizes[i] : 0;
    }
    for (uint32_t i = 0; i < index->ranges.count; i++) {
        bytes += index->ranges.of[i].bytes;
        *pages = *pages || index->ranges.of[i].where != SL_PARQUET_EXACT;
    }
    return bytes;
}

static void parquet_open_describe(sl_parquet_opening *o)
{
    sl_parquets *own = o->own;
    sl_dataset *base = &own->table.base;
    bool pages = false;
    own->table.files = &own->set.list;
    sl_columnar_describe(&own->table);
    base->info.bytes = own->table.side->bytes;
    for (uint32_t i = 0; i < own->table.plan.large_count; i++) {
        base->info.bytes += bytes_of_index(&own->reads[i].index, &pages);
    }
    base->shares_pages = pages;
    base->sums_are_of_files = true;
    base->info.fingerprint = fingerprint_of(o);
    (void)snprintf(base->kind, sizeof(base->kind), "%s, each of whose rows is a sample%s",
                   own->set.list.count == 1 ? "a Parquet file" : "Parquet files",
                   pages ? "; compressed: shuffle by blocks, or pack" : "");
}

static sluice_status parquet_open_steps(sl_parquet_opening *o,
                                        const sluice_dataset_options *options, sluice_error *error)
{
    sl_parquets *own = o->own;
    o->files = sl_calloc(own->set.list.count, sizeof(*o->files));
    own->orders = sl_calloc(own->set.list.count, sizeof(*own->orders));
    if (o->files == NULL || own->orders == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    sluice_status status = sl_open_many(own->set.list.count, parquet_open_read_footer, o, error);
    if (status == SLUICE_OK) {
        status = count_rows(o, error);
    }
    if (status == SLUICE_OK) {
        status = list_groups(o, error);
    }
    if (status == SLUICE_OK) {
        status = sl_parquet_fields_find(o, options, error);
    }
    if (status == SLUICE_OK) {
        status = parquet_open_read_rows(o, error);
    }
    if (status == SLUICE_OK) {
        status = parquet_open_check_kept(o, error);
    }
    if (status == SLUICE_OK) {
        parquet_open_describe(o);
        status = sl_file_list_objects(&own->set.list, &own->table.base.objects, error);
    }
    return status;
}

static void close_opening(sl_parquet_opening *o)
{
    for (uint32_t i = 0; o->files != NULL && i < o->own->set.list.count; i++) {
        sl_handle_close(&o->files[i].kept);
        sl_parquet_close(&o->files[i]);
    }
    for (uint32_t i = 0; o->groups != NULL && i < o->group_count; i++) {
        for (uint32_t k = 0; k < SL_COLUMNAR_LARGE_MAX; k++) {
            sl_free(o->groups[i].found[k].of);
        }
        sl_side_columns_close(&o->groups[i].side);
    }
    for (uint32_t i = 0; i < o->list_count; i++) {
        sl_parquet_index_close(&o->lists[i].index); /* an index that no field uses */
    }
    sl_parquet_columns_close(&o->columns);
    sl_free(o->files);
    sl_free(o->groups);
    sl_free(o);
}

/* Lists a folder with KEY=VALUE folders, or files. */
static sluice_status list_parquet_files(sl_parquets *own, const sl_file_kind *kind,
                                        const char *const *paths, size_t count, sluice_error *error)
{
    const sl_hive_how how = {
        .is_named = kind->is_named, .split = own->set.split, .omissions = own->set.omissions};
    own->set.kind = kind;
    return count == 1 && sl_hive_is(paths[0], kind->is_named)
               ? sl_hive_list(&own->hive, &own->set.list, paths[0], &how, error)
               : sl_file_set_list(&own->set, kind, paths, count, error);
}

sluice_status sl_parquets_open(sl_parquets *own, const sl_file_kind *kind, const char *const *paths,
                               size_t count, const sluice_dataset_options *options,
                               sluice_error *error)
{
    own->set.split = options->split;
    own->set.omissions = &own->table.base.omissions;
    const sluice_status listed = list_parquet_files(own, kind, paths, count, error);
    if (listed < 0) {
        return listed;
    }
    sl_parquet_opening *o = sl_calloc(1, sizeof(*o));
    if (o == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    o->own = own;
    const sluice_status status = parquet_open_steps(o, options, error);
    close_opening(o);
    return status;
}
