/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_fields: the fields of Parquet files, and the source of each. */
#include "media.h"
#include "memory.h"
#include "open_many.h"
#include "parquet_lists.h"
#include "parquet_open.h"
#include "parquet_values.h"
#include "store.h"

#include <string.h>

#define STAGE "dataset"

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

/* Looks at the first value of the first file. */
static sluice_status parquet_fields_look_at(const sl_parquet_opening *o, uint32_t leaf, glance *g,
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
    sl_parquet_leave_file(o, 0, &from);
    return status;
}

/*
 * Looks at a column: one without a declared type may hold images, and declared images may be
 * outside the file.
 */
static sluice_status parquet_fields_look_at_column(const sl_parquet_opening *o, uint32_t number,
                                                   sluice_error *error)
{
    sl_source_column *column = &o->columns.table.source[number];
    const uint32_t leaf = o->columns.of[number].leaf;
    const bool is_list = o->columns.of[number].guide != SL_FIELD_NONE;
    const bool is_image = column->field.type == SLUICE_FIELD_IMAGE;
    const bool is_bytes =
        column->field.type == SLUICE_FIELD_BYTES &&
        o->files[0].leaves[leaf].type == SL_PARQUET_BYTES &&
        (is_list || sl_features_type(&o->own->table.features, column->name) == NULL);
    glance g = {.any = false};
    if (!is_image && !is_bytes) {
        return SLUICE_OK;
    }
    const sluice_status status = parquet_fields_look_at(o, leaf, &g, error);
    if (status == SLUICE_OK && is_image && !g.any) {
        column->refused =
            "its images are not in the file, only their paths may be: embed them (datasets: "
            "push_to_hub or to_parquet with embedded files), or choose other fields (" SL_OPTION(
                "the option fields") ")";
    }
    column->field.type = g.is_picture ? SLUICE_FIELD_IMAGE : column->field.type;
    return status;
}

static sluice_status parquet_fields_look_at_columns(sl_parquet_opening *o, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < o->columns.table.count; i++) {
        status = parquet_fields_look_at_column(o, i, error);
    }
    return status;
}

/* ---- lists of lists ---- */

#define INNER_ANY UINT64_MAX

/* State of measuring inner lists, while all have one length. */
typedef struct measure {
    const sl_parquet_leaf *leaf;
    uint64_t inner, length; /* elements of the current inner list; length of the earlier ones */
    bool is_open;
} measure;

static bool end_measured(measure *m)
{
    if (m->is_open && m->length != 0 && m->inner != m->length) {
        m->length = INNER_ANY;
    } else if (m->is_open) {
        m->length = m->inner > 0 ? m->inner : INNER_ANY;
    }
    m->is_open = false;
    return m->length != INNER_ANY;
}

static sluice_status measure_slot(void *ctx, const sl_parquet_slot *slot, sluice_error *error)
{
    measure *m = ctx;
    (void)error;
    if (slot->rep < m->leaf->max_rep && !end_measured(m)) {
        return SLUICE_END;
    }
    if (slot->rep < m->leaf->max_rep) {
        m->is_open = slot->def + 1 >=
                     m->leaf->item_def; /* an inner list, not a null or an empty outer list */
        m->inner = 0;
    }
    m->inner += slot->def >= m->leaf->item_def;
    return SLUICE_OK;
}

static sluice_status measure_group(void *ctx, uint32_t number, sluice_error *error)
{
    const sl_parquet_opening *o = ctx;
    sl_parquet_group *group = &o->groups[number];
    sl_parquet_place place;
    const uint32_t leaf = o->columns.of[o->asked].leaf;
    const sl_parquet *file = &o->files[group->file];
    measure m = {.leaf = &file->leaves[leaf]};
    const sl_parquet_sink sink = {.ctx = &m, .take = measure_slot};
    sluice_status status = sl_parquet_open_group(o, group, &place, error);
    if (status == SLUICE_OK) {
        status =
            sl_parquet_decode(m.leaf, &file->chunks[(size_t)group->group * file->leaf_count + leaf],
                              &place.from, &sink, error);
        sl_parquet_leave_file(o, group->file, &place.from);
    }
    (void)end_measured(&m);
    group->inner = m.length;
    return status;
}

static sluice_status measure_column(sl_parquet_opening *o, uint32_t number, sluice_error *error)
{
    sl_source_column *column = &o->columns.table.source[number];
    uint64_t length = 0;
    o->asked = number;
    const sluice_status status = sl_open_many(o->group_count, measure_group, o, error);
    for (uint32_t i = 0; i < o->group_count; i++) {
        const uint64_t own = o->groups[i].inner;
        length = own == 0 || own == length ? length : length == 0 ? own : INNER_ANY;
    }
    if (length == 0 || length == INNER_ANY) {
        column->refused = "inner lists of different lengths";
        column->asked = true;
    }
    column->field.shape[1] = length;
    return status;
}

/* Makes lists of lists tensors, if all inner lists have the same length. */
static sluice_status measure_columns(sl_parquet_opening *o, const sluice_dataset_options *options,
                                     sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < o->columns.table.count; i++) {
        const bool chosen = sl_source_chosen(o->columns.table.source[i].name, options);
        if (o->columns.of[i].measured && chosen) {
            status = measure_column(o, i, error);
        }
    }
    return status;
}

/* ---- lists of images ---- */

/* Allocates the rows of a list column, and sets where those of each group begin. */
static sluice_status parquet_fields_open_list(sl_parquet_opening *o, uint32_t leaf, uint32_t guide,
                                              sluice_error *error)
{
    uint64_t slots = 0;
    if (o->list_count == SL_COLUMNAR_LARGE_MAX) {
        return sl_columnar_too_many(sl_parquet_path(o, 0), error);
    }
    for (uint32_t i = 0; i < o->group_count; i++) {
        sl_parquet_group *group = &o->groups[i];
        group->slot[o->list_count] = slots;
        slots += sl_parquet_slots(&o->files[group->file], group->group, leaf);
        if (slots > (uint64_t)INT64_MAX / 64) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0,
                                 sl_parquet_path(o, group->file), -1, "too many values");
        }
    }
    sl_parquet_list *list = &o->lists[o->list_count++];
    *list = (sl_parquet_list){.leaf = leaf, .guide = guide};
    const sluice_status status = sl_parquet_index_open(
        &list->index, &o->files[0].leaves[leaf], slots, o->own->table.base.info.samples, error);
    if (status == SLUICE_OK) {
        list->index.starts[o->own->table.base.info.samples] = slots;
    }
    return status;
}

static sluice_status read_lists(void *ctx, uint32_t number, sluice_error *error)
{
    const sl_parquet_opening *o = ctx;
    sl_parquet_group *group = &o->groups[number];
    sl_parquet_place place;
    sluice_status status = sl_parquet_open_group(o, group, &place, error);
    if (status < 0) {
        return status;
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < o->list_count; i++) {
        place.first = group->slot[i];
        status = sl_parquet_lists_read(&o->lists[i], &place, group->row, &group->longest[i], error);
    }
    sl_parquet_leave_file(o, group->file, &place.from);
    return status;
}

/* Turns a list into columns: one per element of its longest row, over all groups. */
static sluice_status parquet_fields_spread_lists(sl_parquet_opening *o,
                                                 const sluice_dataset_options *options,
                                                 sluice_error *error)
{
    uint32_t list = 0;
    uint32_t *longest = sl_calloc((size_t)o->columns.table.count + 1, sizeof(*longest));
    if (longest == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    for (uint32_t i = 0; i < o->columns.table.count; i++) {
        if (!sl_columnar_list_wanted(&o->columns.table, i, options)) {
            continue;
        }
        for (uint32_t g = 0; g < o->group_count; g++) {
            const uint32_t most = o->groups[g].longest[list];
            longest[i] = most > longest[i] ? most : longest[i];
        }
        list++; /* they were opened in this order */
    }
    const sluice_status status = sl_columnar_spread(&o->columns.table, options, longest, error);
    sl_free(longest);
    return status;
}

static sluice_status find_lists(sl_parquet_opening *o, const sluice_dataset_options *options,
                                sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < o->columns.table.count; i++) {
        if (sl_columnar_list_wanted(&o->columns.table, i, options)) {
            status =
                parquet_fields_open_list(o, o->columns.of[i].leaf, o->columns.of[i].guide, error);
        }
    }
    if (status == SLUICE_OK && o->list_count > 0) {
        status = sl_open_many(o->group_count, read_lists, o, error);
    }
    return status == SLUICE_OK ? parquet_fields_spread_lists(o, options, error) : status;
}

/* ---- choosing fields to read ---- */

/* Returns the unpacked size of a column. */
static uint64_t parquet_fields_bytes_of(void *ctx, uint32_t column)
{
    uint64_t bytes = 0;
    const sl_parquet_opening *o = ctx;
    if (o->columns.of[column].leaf == SL_FIELD_NONE) {
        return 0; /* folder names are shared by rows */
    }
    for (uint32_t i = 0; i < o->own->set.list.count; i++) {
        const sl_parquet *file = &o->files[i];
        for (uint32_t g = 0; g < file->group_count; g++) {
            bytes +=
                file->chunks[(size_t)g * file->leaf_count + o->columns.of[column].leaf].unpacked;
        }
    }
    return bytes;
}

/*
 * Returns whether values are larger than one number and stored in final form: bytes, or lists whose
 * elements are stored as in the tensor.
 */
static bool may_be_exact(const sl_parquet_leaf *leaf)
{
    switch (leaf->type) {
    case SL_PARQUET_BYTES:
    case SL_PARQUET_FIXED:
        return leaf->max_rep == 0;
    case SL_PARQUET_INT32: /* 8 and 16 bits too are stored in 32 */
        return leaf->max_rep == 1 && leaf->bits != 8 && leaf->bits != 16;
    case SL_PARQUET_FLOAT:
    case SL_PARQUET_INT64:
    case SL_PARQUET_DOUBLE:
        return leaf->max_rep == 1; /* lists of lists have to be counted */
    default:
        return false;
    }
}

static sluice_status look_at_group(void *ctx, uint32_t number, sluice_error *error)
{
    const sl_parquet_opening *o = ctx;
    sl_parquet_group *group = &o->groups[number];
    sl_parquet_place place;
    sluice_status status = sl_parquet_open_group(o, group, &place, error);
    if (status == SLUICE_OK) {
        status = sl_parquet_index_is_exact(&place, o->columns.of[o->asked].leaf, &group->is_exact,
                                           error);
        sl_parquet_leave_file(o, group->file, &place.from);
    }
    return status;
}

/*
 * Determines whether values can be read in place. The chunks' codecs are known; the encodings are
 * in the pages.
 */
static sluice_status is_exact(sl_parquet_opening *o, uint32_t column, bool *exact,
                              sluice_error *error)
{
    const uint32_t leaf = o->columns.of[column].leaf;
    *exact = true;
    for (uint32_t i = 0; i < o->group_count; i++) {
        const sl_parquet *file = &o->files[o->groups[i].file];
        const size_t first = (size_t)o->groups[i].group * file->leaf_count;
        *exact = *exact && file->chunks[first + leaf].codec == SL_PAGE_PLAIN;
    }
    o->asked = column;
    const sluice_status status =
        *exact ? sl_open_many(o->group_count, look_at_group, o, error) : SLUICE_OK;
    for (uint32_t i = 0; i < o->group_count; i++) {
        *exact = *exact && o->groups[i].is_exact;
    }
    return status;
}

static bool parquet_fields_by_page(void *ctx, uint32_t column)
{
    const sl_parquet_opening *o = ctx;
    const sl_parquet_leaf *leaf = &o->files[0].leaves[o->columns.of[column].leaf];
    return leaf->type == SL_PARQUET_BYTES && leaf->max_rep == 0;
}

static sluice_status parquet_fields_by_value(void *ctx, uint32_t column, bool *by_value,
                                             sluice_error *error)
{
    sl_parquet_opening *o = ctx;
    sl_parquet_column *of = &o->columns.of[column];
    sluice_status status = SLUICE_OK;
    if (!of->looked_at && may_be_exact(&o->files[0].leaves[of->leaf])) {
        status = is_exact(o, column, &of->by_value, error);
    }
    of->looked_at = true;
    *by_value = of->by_value;
    return status;
}

/* Opens the index of a large column; that of a list already exists. */
static sluice_status open_read(sl_parquet_opening *o, uint32_t number, sluice_error *error)
{
    sl_parquet_read *read = &o->own->reads[number];
    const sl_columnar_large *large = &o->own->table.plan.large[number];
    *read = (sl_parquet_read){.leaf = o->columns.of[large->of].leaf,
                              .buffer = number,
                              .low = large->low,
                              .high = large->high};
    o->list_of[number] = SL_FIELD_NONE;
    for (uint32_t k = 0; k < o->list_count; k++) {
        if (o->lists[k].leaf == read->leaf) {
            read->index = o->lists[k].index;
            o->lists[k].index = (sl_parquet_index){0};
            o->list_of[number] = k;
            return SLUICE_OK;
        }
    }
    return sl_parquet_index_open(&read->index, &o->files[0].leaves[read->leaf],
                                 o->own->table.base.info.samples, 0, error);
}

static void note_leaf(sl_parquets *own, uint32_t leaf)
{
    own->leaves[leaf / 8] |= (uint8_t)(1U << leaf % 8);
}

/* Chooses which fields are read with each sample, and which are kept in memory. */
static sluice_status choose_reads(sl_parquet_opening *o, sluice_error *error)
{
    sl_columnar_fields *plan = &o->own->table.plan;
    const sl_columnar_sizes sizes = {.ctx = o,
                                     .rows = o->own->table.base.info.samples,
                                     .path = sl_parquet_path(o, 0),
                                     .bytes = parquet_fields_bytes_of,
                                     .by_page = parquet_fields_by_page,
                                     .by_value = parquet_fields_by_value};
    sluice_status status = sl_columnar_choose(plan, &o->columns.table, &sizes, error);
    for (uint32_t i = 0; i < plan->fields.count; i++) {
        const sl_parquet_column *column = &o->columns.of[plan->of[i]];
        if (column->leaf != SL_FIELD_NONE) {
            note_leaf(o->own, column->leaf);
        }
        if (column->guide != SL_FIELD_NONE) {
            note_leaf(o->own, column->guide);
        }
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < plan->large_count; i++) {
        status = open_read(o, i, error);
    }
    return status;
}

/* Rejects a column that is both in the files and in folder names, which is ambiguous. */
static sluice_status check_keys(const sl_parquet_opening *o, sluice_error *error)
{
    const sl_hive *hive = &o->own->hive;
    for (uint32_t k = 0; k < hive->count; k++) {
        for (uint32_t i = 0; i < o->columns.table.count; i++) {
            const bool is_own = o->columns.of[i].leaf == SL_FIELD_NONE && o->columns.of[i].key == k;
            if (!is_own && strcmp(o->columns.table.source[i].name, hive->keys[k].name) == 0) {
                return sl_error_file(error, SLUICE_INVALID, STAGE, 0, sl_parquet_path(o, 0), -1,
                                     "column \"%.256s\" is in the file, but its folder is named "
                                     "%.128s=... too: rename one of them",
                                     hive->keys[k].name, hive->keys[k].name);
            }
        }
    }
    return SLUICE_OK;
}

/* Makes folders label=cat, label=dog the classes. */
static void name_hive_classes(sl_parquet_opening *o)
{
    sl_columnar *table = &o->own->table;
    sl_columnar_fields *plan = &table->plan;
    for (uint32_t i = 0; i < plan->fields.count; i++) {
        const sl_parquet_column *column = &o->columns.of[plan->of[i]];
        const sl_hive_key *key = &o->own->hive.keys[column->key];
        if (column->leaf == SL_FIELD_NONE && key->is_class &&
            strcmp(plan->fields.fields[i].name, "label") == 0) {
            plan->label = i;
            plan->classes = key->value_count;
            table->class_names = (const char *const *)key->values;
        }
    }
}

sluice_status sl_parquet_fields_find(sl_parquet_opening *o, const sluice_dataset_options *options,
                                     sluice_error *error)
{
    sl_columnar *table = &o->own->table;
    if (o->files[0].features != NULL) {
        sl_features_parse(&table->features, (sl_bytes){(const uint8_t *)o->files[0].features,
                                                       o->files[0].features_bytes});
    }
    sluice_status status =
        sl_parquet_columns_find(&o->columns, &o->files[0], &table->features, &o->own->hive, error);
    if (status == SLUICE_OK) {
        status = check_keys(o, error);
    }
    if (status == SLUICE_OK) {
        status = parquet_fields_look_at_columns(o, error);
    }
    if (status == SLUICE_OK) {
        status = measure_columns(o, options, error);
    }
    if (status == SLUICE_OK) {
        status = find_lists(o, options, error);
    }
    if (status == SLUICE_OK) {
        status = sl_columnar_fields_find(&table->plan, &o->columns.table, &table->features, options,
                                         sl_parquet_path(o, 0), error);
        sl_columnar_leave_out(&o->columns.table, &table->base.omissions);
    }
    if (status == SLUICE_OK) {
        name_hive_classes(o);
    }
    return status == SLUICE_OK ? choose_reads(o, error) : status;
}
