/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parquet files, each of whose rows is a sample. The column of the largest values, which is that of
 * the pictures where there are some, is read sample by sample, by an index (parquet_index.h); the
 * others are read at open and kept in memory (side_columns.h).
 *
 * Walk of a sample: locate finds the row's stretch in the index, and with it the bytes of the
 * value, its length in front, or the page that it is in; unpack checks the length, or unpacks the
 * page in the values' room, and adds the row of each column in memory.
 */
#include "file.h"
#include "file_set.h"
#include "little_endian.h"
#include "memory.h"
#include "open_many.h"
#include "parquet_index.h"
#include "parquet_schema.h"
#include "parquet_values.h"
#include "picture_signature.h"

#include <fcntl.h>

#define STAGE "dataset"

enum {
    LENGTH_BYTES = 4,
    LARGE = 4096,     /* bytes of a row on average, from which on a column is not kept in memory */
    LITTLE = 1 << 20, /* unless all of it is little */
    READS_MAX = SL_VALUE_ROOMS, /* columns that are not */
    NO_BYTES = 4                /* of the file are read for a sample that has none there */
};

typedef struct parquets {
    sl_dataset base;
    sl_file_set set;
    sl_features features;
    sl_source_fields fields;
    uint32_t side_of[SL_FIELDS_MAX]; /* number of the column in memory; NONE: it is read */
    uint32_t read[READS_MAX];        /* fields that are */
    uint32_t reads;
    uint32_t label; /* field with names of classes; NONE */
    char label_column[SL_SOURCE_NAME_BYTES];
    sl_parquet_index index[READS_MAX]; /* of each that is read */
    sl_side_columns side;
} parquets;

static const parquets *parquets_of(const sl_dataset *dataset)
{
    return (const parquets *)(const void *)dataset;
}

/* ---- ops ---- */

/* The bytes that a sample's value is in: a few of the file's first where it has none. */
static sl_piece place_of(const parquets *own, uint64_t row, uint32_t read,
                         const sl_parquet_stretch **stretch)
{
    const sl_parquet_index *index = &own->index[read];
    const uint32_t size = index->sizes[row];
    *stretch = sl_parquet_index_find(index, row);
    if (size == SL_PARQUET_NULL_SIZE) {
        return (sl_piece){0, NO_BYTES, 1, 0};
    }
    if ((*stretch)->where == SL_PARQUET_EXACT) {
        return (sl_piece){index->cells[row] - LENGTH_BYTES, size + LENGTH_BYTES, 1, 0};
    }
    return (sl_piece){(*stretch)->offset, (*stretch)->bytes, 1, 0};
}

static sl_piece piece(const sl_dataset *dataset, const sl_sample *sample, uint32_t number)
{
    const sl_parquet_stretch *stretch;
    return place_of(parquets_of(dataset), sample->index, number, &stretch);
}

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    const parquets *own = parquets_of(dataset);
    uint64_t bytes = 0;
    *sample = (sl_sample){.index = index, .place = {.bytes = NO_BYTES}, .pieces = own->base.pieces};
    sample->place.object = sl_file_list_find(&own->set.list, index);
    for (uint32_t i = 0; i < own->reads; i++) {
        const sl_parquet_stretch *stretch;
        const sl_piece found = place_of(own, index, i, &stretch);
        sample->place.offset = i == 0 ? found.offset : sample->place.offset;
        bytes += found.bytes;
    }
    if (bytes > UINT32_MAX) {
        *lookup = sample->place;
        *why = sl_refuse_unknown("the sample has more than 2^32 - 1 bytes", 0);
        return SLUICE_UNSUPPORTED;
    }
    sample->place.bytes = bytes > 0 ? (uint32_t)bytes : NO_BYTES;
    return SLUICE_OK;
}

static sl_refusal find_exact(sl_bytes bytes, sl_bytes *found)
{
    if (sl_load32(bytes.data) != bytes.size - LENGTH_BYTES) {
        return sl_refuse("its value has another length: the file was changed", 0);
    }
    *found = (sl_bytes){bytes.data + LENGTH_BYTES, bytes.size - LENGTH_BYTES};
    return sl_accept();
}

/* A value that is read, out of the bytes that it is in. */
typedef struct reading {
    const parquets *own;
    uint32_t number; /* of those that are read */
    uint64_t row;
    const sl_parquet_stretch *stretch;
} reading;

static sl_refusal find_in_page(const reading *r, sl_bytes bytes, sl_values *values, sl_bytes *found)
{
    const sl_parquet_index *index = &r->own->index[r->number];
    const uint64_t tag = (uint64_t)(r->stretch - index->stretches.of);
    sl_value_room *room = &values->unpacked[index->room];
    sl_page_pick pick = r->stretch->pick;
    sl_bytes body;
    pick.row = r->stretch->where == SL_PARQUET_IN_PAGE ? (uint32_t)(r->row - r->stretch->first)
                                                       : (uint32_t)index->cells[r->row];
    const sl_refusal why = sl_page_open(&pick, bytes, room, tag, &body);
    return why.text != NULL ? why : sl_page_find(&pick, body, found);
}

static sl_refusal unpack_value(const reading *r, sl_bytes bytes, sl_values *values, uint32_t offset)
{
    const uint32_t field = r->own->read[r->number];
    sl_value *value = &values->of[field];
    *value = (sl_value){.present = r->own->index[r->number].sizes[r->row] != SL_PARQUET_NULL_SIZE};
    if (!value->present) {
        return sl_accept();
    }
    const bool is_exact = r->stretch->where == SL_PARQUET_EXACT;
    sl_refusal why =
        is_exact ? find_exact(bytes, &value->bytes) : find_in_page(r, bytes, values, &value->bytes);
    if (why.text == NULL) {
        value->offset = is_exact ? LENGTH_BYTES : 0;
        why = sl_source_value(&r->own->fields.fields[field], value);
    }
    value->offset += offset;
    why.offset += offset;
    why.field = r->own->fields.fields[field].name;
    return why;
}

static sl_refusal unpack_reads(const parquets *own, const sl_sample *sample, sl_bytes bytes,
                               sl_values *values)
{
    size_t at = 0;
    for (uint32_t i = 0; i < own->reads; i++) {
        reading r = {.own = own, .number = i, .row = sample->index};
        const sl_piece place = place_of(own, sample->index, i, &r.stretch);
        if (sl_values_want(values, own->read[i])) {
            const sl_refusal why =
                unpack_value(&r, (sl_bytes){bytes.data + at, place.bytes}, values, (uint32_t)at);
            if (why.text != NULL) {
                return why;
            }
        }
        at += place.bytes;
    }
    return sl_accept();
}

static sl_refusal check_label(const parquets *own, const sl_value *value)
{
    return value->present && value->integer != -1 &&
                   sl_features_class_name(&own->features, own->label_column, value->integer) == NULL
               ? sl_refuse("the label is none of the classes", 0)
               : sl_accept();
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    const parquets *own = parquets_of(dataset);
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the sample is cut short", 0);
    }
    sl_refusal why = unpack_reads(own, sample, bytes, values);
    for (uint32_t i = 0; why.text == NULL && i < own->fields.count; i++) {
        if (!sl_values_want(values, i) || own->side_of[i] == SL_FIELD_NONE) {
            continue;
        }
        why = sl_side_columns_get(&own->side, own->side_of[i], sample->index, &values->of[i]);
        if (why.text == NULL && i == own->label) {
            why = check_label(own, &values->of[i]);
        }
    }
    return why;
}

static const char *class_name(const sl_dataset *dataset, int64_t label)
{
    const parquets *own = parquets_of(dataset);
    return own->label != SL_FIELD_NONE
               ? sl_features_class_name(&own->features, own->label_column, label)
               : NULL;
}

static void close_parquets(sl_dataset *dataset)
{
    parquets *own = (parquets *)(void *)dataset;
    sl_objects_close(own->base.objects);
    for (uint32_t i = 0; i < own->reads; i++) {
        sl_parquet_index_close(&own->index[i]);
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

/* ---- what is one ---- */

static bool is_named(const char *name)
{
    return sl_ends_with(name, ".parquet");
}

static bool begins(FILE *file)
{
    uint8_t magic[4];
    return fread(magic, 1, sizeof(magic), file) == sizeof(magic) && sl_parquet_is(magic);
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

/* ---- opening ---- */

/* What it takes, and is gone then. */
typedef struct group_work {
    uint32_t file, group;
    uint64_t first; /* row */
    sl_parquet_stretches found[READS_MAX];
    sl_side_columns side;
} group_work;

typedef struct opening {
    parquets *own;
    sl_parquet *files; /* footer of each */
    sl_parquet_columns columns;
    uint32_t leaf_of[SL_FIELDS_MAX];
    sl_field side_fields[SL_FIELDS_MAX];
    uint32_t side_leaf[SL_FIELDS_MAX], side_count;
    group_work *groups;
    uint32_t group_count;
} opening;

static const char *path_of(const opening *o, uint32_t file)
{
    return o->own->set.list.files[file].path;
}

static sluice_status open_file(const opening *o, uint32_t file, int *fd, sluice_error *error)
{
    const sluice_status status =
        sl_file_open((sl_file_name){STAGE, path_of(o, file)}, fd, NULL, error);
    if (status == SLUICE_OK) {
        (void)posix_fadvise(*fd, 0, 0, POSIX_FADV_RANDOM); /* most of it is not wanted */
    }
    return status;
}

static sluice_status read_footer(void *ctx, uint32_t number, sluice_error *error)
{
    const opening *o = ctx;
    int fd = -1;
    sluice_status status = open_file(o, number, &fd, error);
    if (status == SLUICE_OK) {
        status = sl_parquet_read(&o->files[number], fd, path_of(o, number), error);
        sl_file_close(fd);
    }
    return status;
}

/* Rows are counted on from file to file. */
static sluice_status count_rows(opening *o, sluice_error *error)
{
    parquets *own = o->own;
    sl_file_list *list = &own->set.list;
    uint64_t rows = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!sl_parquet_is_alike(&o->files[0], &o->files[i])) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, list->files[i].path, -1,
                                 "its columns are not those of %s", list->files[0].path);
        }
        list->files[i].first = rows;
        list->files[i].bytes = o->files[i].bytes;
        rows += o->files[i].rows;
        if (rows > (uint64_t)INT64_MAX / 64) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, list->files[i].path, -1,
                                 "there are more rows than can be counted");
        }
        o->group_count += o->files[i].group_count;
    }
    own->base.info.samples = rows;
    return rows > 0 ? SLUICE_OK
                    : sl_error_file(error, SLUICE_INVALID, STAGE, 0, list->files[0].path, -1,
                                    "no sample: it has no row");
}

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
    g->is_picture = sl_begins_picture(slot->bytes);
    return SLUICE_END;
}

/* The first value of the first file. */
static sluice_status look_at(const opening *o, uint32_t leaf, glance *g, sluice_error *error)
{
    int fd = -1;
    const sl_parquet *first = &o->files[0];
    const sl_parquet_sink sink = {.ctx = g, .take = take_first};
    *g = (glance){.leaf = &first->leaves[leaf]};
    sluice_status status = open_file(o, 0, &fd, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < first->group_count && !g->any; i++) {
        status = sl_parquet_decode(g->leaf, &first->chunks[(size_t)i * first->leaf_count + leaf],
                                   fd, path_of(o, 0), &sink, error);
    }
    sl_file_close(fd);
    return status;
}

/* What nothing is said of may be a picture; and what is said to be one may be elsewhere. */
static sluice_status look_at_columns(opening *o, sluice_error *error)
{
    for (uint32_t i = 0; i < o->columns.count; i++) {
        sl_source_column *column = &o->columns.of[i];
        const uint32_t leaf = o->columns.leaf[i];
        const bool is_image = column->field.type == SLUICE_FIELD_IMAGE;
        const bool is_bytes = column->field.type == SLUICE_FIELD_BYTES &&
                              o->files[0].leaves[leaf].type == SL_PARQUET_BYTES &&
                              sl_features_type(&o->own->features, column->name) == NULL;
        glance g = {.any = false};
        if (!is_image && !is_bytes) {
            continue;
        }
        const sluice_status status = look_at(o, leaf, &g, error);
        if (status < 0) {
            return status;
        }
        if (is_image && !g.any && o->files[0].rows > 0) {
            column->refused = "its pictures are not in the file, only their paths may be: embed "
                              "them (datasets: push_to_hub or to_parquet with embedded files), or "
                              "choose other fields (the option fields)";
        }
        column->field.type = g.is_picture ? SLUICE_FIELD_IMAGE : column->field.type;
    }
    return SLUICE_OK;
}

/* Bytes of a leaf, as they are meant. */
static uint64_t bytes_of_leaf(const opening *o, uint32_t leaf)
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

/* Whether a field is not for memory: pictures beyond what is little, and other large values. */
static bool is_large(const opening *o, uint32_t number, uint64_t *bytes)
{
    const sl_parquet_leaf *leaf = &o->files[0].leaves[o->leaf_of[number]];
    const uint64_t least =
        o->own->fields.fields[number].type == SLUICE_FIELD_IMAGE ? 0 : (uint64_t)LARGE;
    *bytes = bytes_of_leaf(o, o->leaf_of[number]);
    return leaf->type == SL_PARQUET_BYTES && leaf->max_rep == 0 && *bytes > LITTLE &&
           *bytes / o->own->base.info.samples >= least;
}

/* Which fields are read. */
static sluice_status choose_reads(opening *o, sluice_error *error)
{
    parquets *own = o->own;
    for (uint32_t i = 0; i < own->fields.count; i++) {
        uint64_t bytes;
        own->side_of[i] = 0;
        if (!is_large(o, i, &bytes)) {
            continue;
        }
        if (own->reads == READS_MAX) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path_of(o, 0), -1,
                                 "more than %d of its columns are large: choose the fields that "
                                 "are wanted (the option fields)",
                                 READS_MAX);
        }
        own->side_of[i] = SL_FIELD_NONE;
        own->read[own->reads++] = i;
    }
    return SLUICE_OK;
}

static void find_label(parquets *own, const opening *o)
{
    own->label = SL_FIELD_NONE;
    for (uint32_t i = 0; i < own->fields.count; i++) {
        const char *column = o->columns.of[own->fields.column[i]].name;
        const uint32_t classes = sl_features_classes(&own->features, column);
        if (strcmp(own->fields.fields[i].name, "label") == 0 && classes > 0 &&
            own->fields.fields[i].type == SLUICE_FIELD_INT) {
            own->label = i;
            memcpy(own->label_column, column, strlen(column) + 1);
            own->base.info.classes = classes;
        }
    }
}

static sluice_status find_fields(opening *o, const sluice_dataset_options *options,
                                 sluice_error *error)
{
    parquets *own = o->own;
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
        status = sl_source_fields_find(&own->fields, o->columns.of, o->columns.count, options,
                                       path_of(o, 0), error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < own->fields.count; i++) {
        o->leaf_of[i] = o->columns.leaf[own->fields.column[i]];
    }
    if (status == SLUICE_OK) {
        status = choose_reads(o, error);
    }
    if (status == SLUICE_OK) {
        find_label(own, o);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < own->fields.count; i++) {
        if (own->side_of[i] != SL_FIELD_NONE) {
            own->side_of[i] = o->side_count;
            o->side_fields[o->side_count] = own->fields.fields[i];
            o->side_leaf[o->side_count++] = o->leaf_of[i];
        }
    }
    return status;
}

/* ---- rows ---- */

static sluice_status list_groups(opening *o, sluice_error *error)
{
    uint32_t number = 0;
    uint64_t first = 0;
    o->groups = sl_calloc((size_t)o->group_count + 1, sizeof(*o->groups));
    if (o->groups == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    for (uint32_t i = 0; i < o->own->set.list.count; i++) {
        for (uint32_t g = 0; g < o->files[i].group_count; g++) {
            o->groups[number++] = (group_work){.file = i, .group = g, .first = first};
            first += o->files[i].group_rows[g];
        }
    }
    return SLUICE_OK;
}

static sluice_status read_group(void *ctx, uint32_t number, sluice_error *error)
{
    const opening *o = ctx;
    group_work *work = &o->groups[number];
    sl_parquet_place place = {.path = path_of(o, work->file),
                              .parquet = &o->files[work->file],
                              .group = work->group,
                              .file = work->file,
                              .first = work->first};
    sluice_status status = open_file(o, work->file, &place.fd, error);
    if (status < 0) {
        return status;
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < o->own->reads; i++) {
        status = sl_parquet_index_fill(&o->own->index[i], &place, o->leaf_of[o->own->read[i]],
                                       &work->found[i], error);
    }
    if (status == SLUICE_OK) {
        status = sl_side_columns_open(&work->side, o->side_fields, o->side_count, error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < o->side_count; i++) {
        status = sl_parquet_side_read(&place, o->side_leaf[i], &work->side, i, error);
    }
    sl_file_close(place.fd);
    return status;
}

static sluice_status read_rows(opening *o, sluice_error *error)
{
    parquets *own = o->own;
    sluice_status status = list_groups(o, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < own->reads; i++) {
        own->index[i].room = i % SL_VALUE_ROOMS;
        status = sl_parquet_index_open(&own->index[i], own->base.info.samples, error);
    }
    if (status == SLUICE_OK) {
        status = sl_side_columns_open(&own->side, o->side_fields, o->side_count, error);
    }
    if (status == SLUICE_OK) {
        status = sl_open_many(o->group_count, read_group, o, error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < o->group_count; i++) {
        status = sl_side_columns_append(&own->side, &o->groups[i].side, error);
        sl_side_columns_close(&o->groups[i].side);
        for (uint32_t k = 0; status == SLUICE_OK && k < own->reads; k++) {
            status = sl_parquet_index_add(&own->index[k], &o->groups[i].found[k], error);
        }
    }
    return status;
}

/* ---- the dataset ---- */

/* "train" of train-00000-of-00002.parquet; false: its name begins with no split's. */
static bool split_of(const char *path, sl_bytes *split)
{
    static const char *const words[] = {"train", "test", "validation", "valid", "val", "dev"};
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    *split = (sl_bytes){(const uint8_t *)name, strcspn(name, "-._")};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i]) == split->size && memcmp(words[i], name, split->size) == 0) {
            return true;
        }
    }
    return false;
}

/* A folder often has the files of all splits: nobody means to train on all of them. */
static sluice_status check_splits(const sl_file_list *list, sluice_error *error)
{
    sl_bytes first;
    sl_bytes split;
    if (!split_of(list->files[0].path, &first)) {
        return SLUICE_OK;
    }
    for (uint32_t i = 1; i < list->count; i++) {
        if (split_of(list->files[i].path, &split) &&
            (split.size != first.size || memcmp(split.data, first.data, first.size) != 0)) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, list->files[i].path, -1,
                                 "the files are of several splits, %.*s and %.*s: name those that "
                                 "are meant (FOLDER/%.*s-*.parquet)",
                                 (int)first.size, (const char *)first.data, (int)split.size,
                                 (const char *)split.data, (int)first.size,
                                 (const char *)first.data);
        }
    }
    return SLUICE_OK;
}

static uint64_t fingerprint_of(const opening *o)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < o->own->set.list.count; i++) {
        sl_file_list_sum(&o->own->set.list, i, &stream);
        sl_checksum_add_u64(&stream, o->files[i].rows);
        for (uint32_t g = 0; g < o->files[i].group_count; g++) {
            sl_checksum_add_u64(&stream,
                                o->files[i].chunks[(size_t)g * o->files[i].leaf_count].offset);
        }
    }
    return sl_checksum_value(&stream);
}

/* Of one that is read; `*pages`: whether values lie in pages with others. */
static uint64_t bytes_of_index(const sl_parquet_index *index, bool *pages)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < index->rows; i++) {
        bytes += index->sizes[i] != SL_PARQUET_NULL_SIZE ? index->sizes[i] : 0;
    }
    for (uint32_t i = 0; i < index->stretches.count; i++) {
        bytes += index->stretches.of[i].bytes;
        *pages = *pages || index->stretches.of[i].where != SL_PARQUET_EXACT;
    }
    return bytes;
}

static void describe(opening *o)
{
    parquets *own = o->own;
    sluice_dataset_info *info = &own->base.info;
    bool pages = false;
    info->struct_size = sizeof(*info);
    info->bytes = own->side.bytes;
    for (uint32_t i = 0; i < own->reads; i++) {
        info->bytes += bytes_of_index(&own->index[i], &pages);
    }
    own->base.pieces = own->reads > 1 ? own->reads : 0;
    info->fingerprint = fingerprint_of(o);
    info->fields = own->fields.count;
    info->shards = own->set.list.count;
    memcpy(info->format, "parquet", sizeof("parquet"));
    (void)snprintf(own->base.kind, sizeof(own->base.kind), "%s, each of whose rows is a sample%s",
                   own->set.list.count == 1 ? "a Parquet file" : "Parquet files",
                   pages ? "; compressed: shuffle by blocks, or pack" : "");
    own->base.fields = own->fields.fields;
}

static sluice_status open_steps(opening *o, const char *const *paths, size_t count,
                                const sluice_dataset_options *options, sluice_error *error)
{
    parquets *own = o->own;
    sluice_status status = sl_file_set_list(&own->set, &parquet_files, paths, count, error);
    if (status == SLUICE_OK && count == 1) { /* several were named one by one */
        status = check_splits(&own->set.list, error);
    }
    if (status < 0) {
        return status;
    }
    o->files = sl_calloc(own->set.list.count, sizeof(*o->files));
    if (o->files == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    status = sl_open_many(own->set.list.count, read_footer, o, error);
    if (status == SLUICE_OK) {
        status = count_rows(o, error);
    }
    if (status == SLUICE_OK) {
        status = find_fields(o, options, error);
    }
    if (status == SLUICE_OK) {
        status = read_rows(o, error);
    }
    if (status == SLUICE_OK) {
        describe(o);
        status = sl_file_list_objects(&own->set.list, &own->base.objects, error);
    }
    return status;
}

static void close_opening(opening *o)
{
    for (uint32_t i = 0; o->files != NULL && i < o->own->set.list.count; i++) {
        sl_parquet_close(&o->files[i]);
    }
    for (uint32_t i = 0; o->groups != NULL && i < o->group_count; i++) {
        for (uint32_t k = 0; k < READS_MAX; k++) {
            sl_free(o->groups[i].found[k].of);
        }
        sl_side_columns_close(&o->groups[i].side);
    }
    sl_parquet_columns_close(&o->columns);
    sl_free(o->files);
    sl_free(o->groups);
    sl_free(o);
}

static sluice_status open_parquets(sl_dataset **dataset, const char *const *paths, size_t count,
                                   const sluice_dataset_options *options, sluice_error *error)
{
    opening *o = sl_calloc(1, sizeof(*o));
    parquets *own = sl_calloc(1, sizeof(*own));
    if (o == NULL || own == NULL) {
        sl_free(o);
        sl_free(own);
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    o->own = own;
    own->base.ops = &parquets_ops;
    atomic_init(&own->base.references, 1);
    const sluice_status status = open_steps(o, paths, count, options, error);
    close_opening(o);
    if (status < 0) {
        sl_dataset_close(&own->base);
        return status;
    }
    *dataset = &own->base;
    return SLUICE_OK;
}

const sl_format sl_format_parquet = {.name = "parquet",
                                     .takes_fields = true,
                                     .probe = probe,
                                     .open = open_parquets};
