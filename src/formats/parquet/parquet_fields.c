/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of Parquet files, and where each is had from. */
#include "media.h"
#include "memory.h"
#include "open_many.h"
#include "parquet_lists.h"
#include "parquet_open.h"
#include "parquet_values.h"
#include "store.h"

#include <string.h>

#define STAGE "dataset"

enum {
    LARGE = 4096,    /* bytes of a row on average, from which on a column is not kept in memory */
    LITTLE = 1 << 20 /* unless all of it is little */
};

/* ---- fields ---- */

typedef struct glance {
    const sl_parquet_leaf *leaf;
    bool any, is_picture;
} glance;

static sluice_status take_first(void *ctx, const sl_parquet_slot *slot, sluice_error *error)
{
    glance *g = ctx;
    (void)error;
    if (slot->def < g->leaf->max_def) {
        return SLUICE_OK;
    }
    g->any = true;
    g->is_picture = sl_media_is_picture(slot->bytes);
    return SLUICE_END;
}

/* The first value of the first file. */
static sluice_status look_at(const sl_parquet_opening *o, uint32_t leaf, glance *g,
                             sluice_error *error)
{
    sl_handle from;
    const sl_parquet *first = &o->files[0];
    const sl_parquet_sink sink = {.ctx = g, .peeks = true, .take = take_first};
    *g = (glance){.leaf = &first->leaves[leaf]};
    sluice_status status = sl_parquet_open_file(o, 0, &from, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < first->group_count && !g->any; i++) {
        status = sl_parquet_decode(g->leaf, &first->chunks[(size_t)i * first->leaf_count + leaf],
                                   &from, &sink, error);
    }
    sl_handle_close(&from);
    return status;
}

/* What nothing is said of may be a picture; and what is said to be one may be elsewhere. */
static sluice_status look_at_column(const sl_parquet_opening *o, uint32_t number,
                                    sluice_error *error)
{
    sl_source_column *column = &o->columns.source[number];
    const uint32_t leaf = o->columns.of[number].leaf;
    const bool is_list = o->columns.of[number].guide != SL_FIELD_NONE;
    const bool is_image = column->field.type == SLUICE_FIELD_IMAGE;
    const bool is_bytes = column->field.type == SLUICE_FIELD_BYTES &&
                          o->files[0].leaves[leaf].type == SL_PARQUET_BYTES &&
                          (is_list || sl_features_type(&o->own->features, column->name) == NULL);
    glance g = {.any = false};
    if (!is_image && !is_bytes) {
        return SLUICE_OK;
    }
    const sluice_status status = look_at(o, leaf, &g, error);
    if (status == SLUICE_OK && is_image && !g.any) {
        column->refused = "its pictures are not in the file, only their paths may be: embed "
                          "them (datasets: push_to_hub or to_parquet with embedded files), or "
                          "choose other fields (" SL_OPTION("the option fields") ")";
    }
    column->field.type = g.is_picture ? SLUICE_FIELD_IMAGE : column->field.type;
    return status;
}

static sluice_status look_at_columns(sl_parquet_opening *o, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < o->columns.count; i++) {
        status = look_at_column(o, i, error);
    }
    return status;
}

/* ---- lists of pictures ---- */

static sluice_status too_many(const sl_parquet_opening *o, sluice_error *error)
{
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, sl_parquet_path(o, 0), -1,
                         "more than %u of its columns are large: choose the fields that are wanted "
                         "(" SL_OPTION("the option fields") ")",
                         SL_PARQUET_READS_MAX);
}

/* Room for its rows; and where those of each group begin. */
static sluice_status open_list(sl_parquet_opening *o, uint32_t leaf, uint32_t guide,
                               sluice_error *error)
{
    uint64_t slots = 0;
    if (o->list_count == SL_PARQUET_READS_MAX) {
        return too_many(o, error);
    }
    for (uint32_t i = 0; i < o->group_count; i++) {
        sl_parquet_group *group = &o->groups[i];
        group->slot[o->list_count] = slots;
        slots += sl_parquet_slots(&o->files[group->file], group->group, leaf);
        if (slots > (uint64_t)INT64_MAX / 64) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0,
                                 sl_parquet_path(o, group->file), -1,
                                 "there are more values than can be counted");
        }
    }
    sl_parquet_list *list = &o->lists[o->list_count++];
    *list = (sl_parquet_list){.leaf = leaf, .guide = guide};
    const sluice_status status =
        sl_parquet_index_open(&list->index, slots, o->own->base.info.samples, error);
    if (status == SLUICE_OK) {
        list->index.starts[o->own->base.info.samples] = slots;
    }
    return status;
}

static sluice_status read_lists(void *ctx, uint32_t number, sluice_error *error)
{
    const sl_parquet_opening *o = ctx;
    sl_parquet_group *group = &o->groups[number];
    sl_parquet_place place = {
        .parquet = &o->files[group->file], .group = group->group, .file = group->file};
    sluice_status status = sl_parquet_open_file(o, group->file, &place.from, error);
    if (status < 0) {
        return status;
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < o->list_count; i++) {
        place.first = group->slot[i];
        status = sl_parquet_lists_read(&o->lists[i], &place, group->row, &group->longest[i], error);
    }
    sl_handle_close(&place.from);
    return status;
}

/* Each place of a list becomes a column of its own, as many as the longest has. */
static sluice_status spread_lists(sl_parquet_opening *o, const sluice_dataset_options *options,
                                  sluice_error *error)
{
    uint32_t list = 0;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < o->columns.count; i++) {
        uint32_t longest = 0;
        const uint32_t leaf = o->columns.of[i].leaf;
        const sl_source_column *column = &o->columns.source[i];
        if (o->columns.of[i].guide == SL_FIELD_NONE || column->refused != NULL) {
            continue;
        }
        const bool is_read = list < o->list_count && o->lists[list].leaf == leaf;
        for (uint32_t g = 0; is_read && g < o->group_count; g++) {
            const uint32_t most = o->groups[g].longest[list];
            longest = most > longest ? most : longest;
        }
        list += is_read;
        /* those that can be no field are not needed, but for saying that there are some */
        longest = longest < SL_FIELDS_MAX ? longest : SL_FIELDS_MAX + 1;
        const bool keep = options->field_count > 0 && column->field.type == SLUICE_FIELD_IMAGE;
        status = sl_parquet_columns_spread(&o->columns, i, longest, keep, error);
        i += longest + keep - 1; /* to the last of them, or the one before, where there is none */
    }
    return status;
}

/* Lists of pictures that are wanted are looked at; lists of other bytes are left out. */
static sluice_status find_lists(sl_parquet_opening *o, const sluice_dataset_options *options,
                                sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < o->columns.count; i++) {
        const sl_parquet_column *column = &o->columns.of[i];
        if (column->guide != SL_FIELD_NONE && o->columns.source[i].refused == NULL &&
            o->columns.source[i].field.type == SLUICE_FIELD_IMAGE &&
            sl_source_element_chosen(o->columns.source[i].name, options)) {
            status = open_list(o, column->leaf, column->guide, error);
        }
    }
    if (status == SLUICE_OK && o->list_count > 0) {
        status = sl_open_many(o->group_count, read_lists, o, error);
    }
    return status == SLUICE_OK ? spread_lists(o, options, error) : status;
}

/* ---- what is read ---- */

/* Bytes of a leaf, as they are meant. */
static uint64_t bytes_of_leaf(const sl_parquet_opening *o, uint32_t leaf)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < o->own->set.list.count; i++) {
        const sl_parquet *file = &o->files[i];
        for (uint32_t g = 0; g < file->group_count; g++) {
            bytes += file->chunks[(size_t)g * file->leaf_count + leaf].unpacked;
        }
    }
    return bytes;
}

/* Whether a column is not for memory: pictures beyond what is little, and other large values. */
static bool is_large(const sl_parquet_opening *o, uint32_t field)
{
    const sl_parquet_column *column = &o->columns.of[o->own->fields.column[field]];
    const sl_parquet_leaf *leaf = &o->files[0].leaves[column->leaf];
    const uint64_t least =
        o->own->fields.fields[field].type == SLUICE_FIELD_IMAGE ? 0 : (uint64_t)LARGE;
    if (column->guide != SL_FIELD_NONE) {
        return true;
    }
    const uint64_t bytes = bytes_of_leaf(o, column->leaf);
    return leaf->type == SL_PARQUET_BYTES && leaf->max_rep == 0 && bytes > LITTLE &&
           bytes / o->own->base.info.samples >= least;
}

/* Number of the column that is read of which a field is; it is added if it is not there. */
static sluice_status add_read(sl_parquet_opening *o, const sl_parquet_column *column,
                              uint32_t *number, sluice_error *error)
{
    sl_parquets *own = o->own;
    uint32_t i = 0;
    while (i < own->read_count && own->reads[i].leaf != column->leaf) {
        i++;
    }
    *number = i;
    if (i < own->read_count) {
        return SLUICE_OK;
    }
    if (i == SL_PARQUET_READS_MAX) {
        return too_many(o, error);
    }
    sl_parquet_read *read = &own->reads[own->read_count++];
    *read = (sl_parquet_read){.leaf = column->leaf, .room = i, .low = UINT32_MAX};
    o->list_of[i] = SL_FIELD_NONE;
    for (uint32_t k = 0; k < o->list_count; k++) {
        if (o->lists[k].leaf == column->leaf) {
            read->index = o->lists[k].index;
            o->lists[k].index = (sl_parquet_index){0};
            o->list_of[i] = k;
            return SLUICE_OK;
        }
    }
    return sl_parquet_index_open(&read->index, own->base.info.samples, 0, error);
}

static void note_leaf(sl_parquets *own, uint32_t leaf)
{
    own->leaves[leaf / 8] |= (uint8_t)(1U << leaf % 8);
}

/* Which fields are read, and which are kept in memory. */
static sluice_status choose_reads(sl_parquet_opening *o, sluice_error *error)
{
    sl_parquets *own = o->own;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < own->fields.count; i++) {
        const sl_parquet_column *column = &o->columns.of[own->fields.column[i]];
        own->read_of[i] = SL_FIELD_NONE;
        note_leaf(own, column->leaf);
        if (column->guide != SL_FIELD_NONE) {
            note_leaf(own, column->guide);
        }
        if (!is_large(o, i)) {
            own->side_of[i] = o->side_count;
            o->side_fields[o->side_count] = own->fields.fields[i];
            o->side_leaf[o->side_count++] = column->leaf;
            continue;
        }
        status = add_read(o, column, &own->read_of[i], error);
        if (status == SLUICE_OK) {
            sl_parquet_read *read = &own->reads[own->read_of[i]];
            const uint32_t element = column->element;
            own->element[i] = element;
            read->low = element < read->low ? element : read->low;
            read->high = element > read->high ? element : read->high;
        }
    }
    return status;
}

static void find_label(sl_parquets *own, const sl_parquet_opening *o)
{
    own->label = SL_FIELD_NONE;
    for (uint32_t i = 0; i < own->fields.count; i++) {
        const char *column = o->columns.source[own->fields.column[i]].name;
        const uint32_t classes = sl_features_classes(&own->features, column);
        if (strcmp(own->fields.fields[i].name, "label") == 0 && classes > 0 &&
            own->fields.fields[i].type == SLUICE_FIELD_INT) {
            own->label = i;
            memcpy(own->label_column, column, strlen(column) + 1);
            own->base.info.classes = classes;
        }
    }
}

sluice_status sl_parquet_fields_find(sl_parquet_opening *o, const sluice_dataset_options *options,
                                     sluice_error *error)
{
    sl_parquets *own = o->own;
    if (o->files[0].features != NULL) {
        sl_features_parse(&own->features, (sl_bytes){(const uint8_t *)o->files[0].features,
                                                     o->files[0].features_bytes});
    }
    sluice_status status =
        sl_parquet_columns_find(&o->columns, &o->files[0], &own->features, error);
    if (status == SLUICE_OK) {
        status = look_at_columns(o, error);
    }
    if (status == SLUICE_OK) {
        status = find_lists(o, options, error);
    }
    if (status == SLUICE_OK) {
        status = sl_source_fields_find(&own->fields, o->columns.source, o->columns.count, options,
                                       sl_parquet_path(o, 0), error);
    }
    if (status == SLUICE_OK) {
        status = choose_reads(o, error);
    }
    if (status == SLUICE_OK) {
        find_label(own, o);
    }
    return status;
}
