/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow files, above all those of Hugging Face's datasets: each row is a sample. Opening walks the
 * batches of all files (arrow_file.h), finds which columns are fields (arrow_columns.h), and reads
 * all but one of them (arrow_rows.h); then a sample is a value of that one. Which rows there are
 * may be said by a table of numbers (arrow_order.h).
 */
#include "arrow_large.h"
#include "arrow_order.h"
#include "arrow_rows.h"
#include "dataset.h"
#include "memory.h"
#include "open_many.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

/* Read for samples of which there is nothing to read. */
enum { NOTHING_BYTES = 8 };

typedef struct arrow {
    sl_dataset base;
    sl_arrow_paths paths;
    sl_arrow_rows *rows; /* of each file */
    uint64_t *order;     /* row of each sample; NULL: they are the rows */
    sl_features features;
    sl_arrow_wish wish; /* without its columns, once it is open */
    uint32_t label;     /* field whose values have names; NONE */
    char label_column[SL_SOURCE_NAME_BYTES];
} arrow;

/* What opening needs besides. */
typedef struct opener {
    arrow *own;
    sl_arrow_file *files;
    uint64_t rows; /* of all of them */
    sl_arrow_columns columns;
} opener;

static const arrow *arrow_of(const sl_dataset *dataset)
{
    return (const arrow *)(const void *)dataset;
}

/* ---- ops ---- */

/* facts[0] is the row of its file. */
static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    const arrow *own = arrow_of(dataset);
    const uint64_t row = own->order != NULL ? own->order[index] : index;
    const uint32_t file = sl_file_list_find(&own->paths.files, row);
    const sl_arrow_rows *rows = &own->rows[file];
    const uint64_t local = row - own->paths.files.files[file].first;
    *sample = (sl_sample){.place = {.offset = 0, .bytes = NOTHING_BYTES, .object = file},
                          .facts = {local}};
    if (rows->bytes != NULL && rows->bytes[local] > 0) {
        sample->place.offset = rows->offsets[local];
        sample->place.bytes = rows->bytes[local];
    }
    return SLUICE_OK;
}

static sluice_status locate_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                  sl_place *place, sl_place *lookup, sl_refusal *why)
{
    sl_sample sample;
    const arrow *own = arrow_of(dataset);
    (void)locate(dataset, index, &sample, lookup, why);
    *place = *lookup = sample.place;
    if (own->wish.fields.column[field] != own->wish.large) {
        *why =
            sl_refuse_unknown("windows can only be had of the column with the largest values", 0);
        return SLUICE_UNSUPPORTED;
    }
    if (own->rows[place->object].bytes[sample.facts[0]] == 0) {
        place->bytes = 0; /* no element, so no window */
    }
    return SLUICE_OK;
}

static bool stretch(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    (void)dataset;
    (void)index;
    *count = 1;
    return false;
}

static sl_refusal refuse_field(const arrow *own, uint32_t field, sl_refusal refusal)
{
    refusal.field = own->base.fields[field].name;
    return refusal;
}

/* A field that the sample's bytes are. */
static sl_refusal unpack_large(const arrow *own, uint32_t field, const sl_sample *sample,
                               sl_bytes bytes, sl_value *value)
{
    sl_arrow_lack lack;
    const sl_arrow_rows *rows = &own->rows[sample->place.object];
    *value = (sl_value){.present = sl_arrow_rows_have(rows, sample->facts[0], &lack)};
    if (!value->present) {
        const char *why = sl_arrow_lack_text(lack);
        return why == NULL ? sl_accept() : refuse_field(own, field, sl_refuse_unknown(why, 0));
    }
    value->bytes = (sl_bytes){bytes.data, rows->bytes[sample->facts[0]] > 0 ? bytes.size : 0};
    return sl_source_value(&own->base.fields[field], value);
}

static sl_refusal unpack_field(const arrow *own, uint32_t field, const sl_sample *sample,
                               sl_bytes bytes, sl_value *value)
{
    if (own->wish.fields.column[field] == own->wish.large) {
        return unpack_large(own, field, sample, bytes, value);
    }
    const sl_refusal refusal = sl_side_columns_get(&own->rows[sample->place.object].side,
                                                   own->wish.side[field], sample->facts[0], value);
    if (refusal.text != NULL) {
        return refuse_field(own, field, refusal);
    }
    const bool is_class = field != own->label || !value->present || value->integer == -1 ||
                          (value->integer >= 0 && value->integer < own->base.info.classes);
    return is_class ? refusal : refuse_field(own, field, sl_refuse("it is none of the classes", 0));
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    const arrow *own = arrow_of(dataset);
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the sample is cut short", 0);
    }
    for (uint32_t i = 0; i < own->base.info.fields; i++) {
        if (!sl_values_want(values, i)) {
            continue;
        }
        const sl_refusal refusal = unpack_field(own, i, sample, bytes, &values->of[i]);
        if (refusal.text != NULL) {
            return refusal;
        }
    }
    return sl_accept();
}

static const char *class_name(const sl_dataset *dataset, int64_t label)
{
    const arrow *own = arrow_of(dataset);
    return sl_features_class_name(&own->features, own->label_column, label);
}

static void close_arrow(sl_dataset *dataset)
{
    arrow *own = (arrow *)(void *)dataset;
    sl_objects_close(own->base.objects);
    for (uint32_t i = 0; own->rows != NULL && i < own->paths.files.count; i++) {
        sl_arrow_rows_close(&own->rows[i]);
    }
    sl_free(own->rows);
    sl_free(own->order);
    sl_features_close(&own->features);
    sl_arrow_paths_close(&own->paths);
    sl_free(own);
}

static const sl_dataset_ops arrow_ops = {
    .locate = locate,
    .locate_field = locate_field,
    .stretch = stretch,
    .unpack = unpack,
    .class_name = class_name,
    .close = close_arrow,
};

/* ---- files ---- */

static sluice_status open_file(void *ctx, uint32_t number, sluice_error *error)
{
    const opener *o = ctx;
    return sl_arrow_file_open(&o->files[number], o->own->paths.files.files[number].path, error);
}

static sluice_status read_file(void *ctx, uint32_t number, sluice_error *error)
{
    const opener *o = ctx;
    return sl_arrow_rows_read(&o->own->rows[number], &o->files[number],
                              o->own->paths.files.files[number].path, &o->own->wish, error);
}

static sluice_status check_file(const opener *o, uint32_t number, sluice_error *error)
{
    const sl_arrow_file *file = &o->files[number];
    const char *path = o->own->paths.files.files[number].path;
    if (file->lz4) {
        return sl_error_file(
            error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
            "its batches are compressed by LZ4, so that no sample can be read by "
            "itself: write it again, in Python pyarrow.feather.write_feather("
            "pyarrow.feather.read_table(FILE), NEW, compression=\"uncompressed\")");
    }
    return sl_arrow_schema_is_alike(&file->schema, &o->files[0].schema)
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                               "it has other columns than \"%.512s\"",
                               o->own->paths.files.files[0].path);
}

static sluice_status open_files(opener *o, sluice_error *error)
{
    sl_file_list *list = &o->own->paths.files;
    o->files = sl_calloc(list->count, sizeof(*o->files));
    if (o->files == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    sluice_status status = sl_open_many(list->count, open_file, o, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < list->count && o->rows <= INT64_MAX; i++) {
        status = check_file(o, i, error);
        list->files[i].bytes = o->files[i].bytes;
        list->files[i].first = o->rows;
        o->rows += o->files[i].rows; /* INT64_MAX at most, of each */
    }
    if (status == SLUICE_OK && (o->rows == 0 || o->rows > INT64_MAX)) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, list->files[0].path, -1,
                               o->rows == 0 ? "no sample: it has no rows" : "it has too many rows");
    }
    return status;
}

/* ---- fields ---- */

static void parse_features(arrow *own, const sl_arrow_schema *schema)
{
    sl_features_parse(&own->features, (sl_bytes){own->paths.info, own->paths.info_bytes});
    if (own->features.columns == NULL && schema->features != NULL) {
        sl_features_close(&own->features);
        sl_features_parse(&own->features,
                          (sl_bytes){(const uint8_t *)schema->features, schema->features_bytes});
    }
}

/* The first file that has values tells. */
static sluice_status look_at_column(const opener *o, uint32_t column, sluice_error *error)
{
    bool pictures = false;
    uint32_t file = 0;
    const uint32_t count = o->own->paths.files.count;
    while (file + 1 < count && o->files[file].rows == 0) {
        file++;
    }
    const sluice_status status =
        sl_arrow_look_for_pictures(&o->files[file], o->own->paths.files.files[file].path,
                                   &o->columns.of[column], &pictures, error);
    if (pictures) {
        o->columns.source[column].field.type = SLUICE_FIELD_IMAGE;
    }
    return status;
}

static sluice_status find_fields(opener *o, const sluice_dataset_options *options,
                                 sluice_error *error)
{
    arrow *own = o->own;
    parse_features(own, &o->files[0].schema);
    sluice_status status = sl_arrow_columns_find(&o->columns, &o->files[0].schema, &own->features,
                                                 options->field_count > 0, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < o->columns.count; i++) {
        if (o->columns.of[i].asks) {
            status = look_at_column(o, i, error);
        }
    }
    if (status == SLUICE_OK) {
        status = sl_source_fields_find(&own->wish.fields, o->columns.source, o->columns.count,
                                       options, own->paths.files.files[0].path, error);
    }
    own->wish.columns = o->columns.of;
    return status;
}

static void find_label(arrow *own, const sl_arrow_columns *columns)
{
    const sl_source_fields *fields = &own->wish.fields;
    own->label = SL_FIELD_NONE;
    for (uint32_t i = 0; i < fields->count; i++) {
        const char *column = columns->source[fields->column[i]].name;
        if (strcmp(fields->fields[i].name, "label") == 0 &&
            fields->fields[i].type == SLUICE_FIELD_INT &&
            sl_features_classes(&own->features, column) > 0) {
            own->label = i;
            own->base.info.classes = sl_features_classes(&own->features, column);
            (void)snprintf(own->label_column, sizeof(own->label_column), "%s", column);
        }
    }
}

/* ---- opening ---- */

static sluice_status choose_large(opener *o, sluice_error *error)
{
    const sl_arrow_table table = {.path = o->own->paths.files.files[0].path,
                                  .files = o->files,
                                  .count = o->own->paths.files.count,
                                  .rows = o->rows,
                                  .columns = &o->columns};
    return sl_arrow_choose_large(&table, &o->own->wish, error);
}

static sluice_status read_rows(opener *o, sluice_error *error)
{
    arrow *own = o->own;
    uint64_t elsewhere = 0;
    own->rows = sl_calloc(own->paths.files.count, sizeof(*own->rows));
    if (own->rows == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    const sluice_status status = sl_open_many(own->paths.files.count, read_file, o, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < own->paths.files.count; i++) {
        elsewhere += own->rows[i].elsewhere;
    }
    if (status == SLUICE_OK && elsewhere >= o->rows) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, own->paths.files.files[0].path,
                             -1, "of its pictures: %s", sl_arrow_lack_text(SL_ARROW_LACKS_PICTURE));
    }
    return status;
}

/* Of names, sizes and what is read of samples. */
static uint64_t fingerprint(const arrow *own)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < own->paths.files.count; i++) {
        const sl_arrow_rows *rows = &own->rows[i];
        sl_file_list_sum(&own->paths.files, i, &stream);
        sl_checksum_add_u64(&stream, rows->rows);
        if (rows->offsets != NULL) {
            sl_checksum_add(&stream, rows->offsets, rows->rows * sizeof(*rows->offsets));
        }
    }
    if (own->order != NULL) {
        sl_checksum_add(&stream, own->order, own->base.info.samples * sizeof(*own->order));
    }
    return sl_checksum_value(&stream);
}

static uint64_t count_bytes(const arrow *own)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < own->base.info.samples; i++) {
        sl_sample sample;
        (void)locate(&own->base, i, &sample, NULL, NULL);
        bytes += sample.place.bytes;
    }
    return bytes;
}

static sluice_status take_info(opener *o, sluice_error *error)
{
    arrow *own = o->own;
    sluice_dataset_info *info = &own->base.info;
    sluice_status status =
        sl_arrow_order_read(&own->paths, o->rows, &own->order, &info->samples, error);
    if (status == SLUICE_OK && info->samples == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, own->paths.tables.files[0].path, -1,
                               "no sample: there are no row numbers in it");
    }
    if (status < 0) {
        return status;
    }
    find_label(own, &o->columns);
    own->base.fields = own->wish.fields.fields;
    info->struct_size = sizeof(*info);
    info->fields = own->wish.fields.count;
    info->shards = own->paths.files.count;
    info->bytes = count_bytes(own);
    info->fingerprint = fingerprint(own);
    memcpy(info->format, "arrow", sizeof("arrow"));
    (void)snprintf(own->base.kind, sizeof(own->base.kind), "%s, each of whose rows is a sample%s",
                   own->paths.files.count == 1 ? "an Arrow file" : "Arrow files",
                   own->order != NULL ? ", by a table of row numbers" : "");
    return sl_file_list_objects(&own->paths.files, &own->base.objects, error);
}

static sluice_status open_all(opener *o, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    sluice_status status = sl_arrow_paths_find(&o->own->paths, paths, count, error);
    if (status == SLUICE_OK) {
        status = open_files(o, error);
    }
    if (status == SLUICE_OK) {
        status = find_fields(o, options, error);
    }
    if (status == SLUICE_OK) {
        status = choose_large(o, error);
    }
    if (status == SLUICE_OK) {
        status = read_rows(o, error);
    }
    if (status == SLUICE_OK) {
        status = take_info(o, error);
    }
    for (uint32_t i = 0; o->files != NULL && i < o->own->paths.files.count; i++) {
        sl_arrow_file_close(&o->files[i]);
    }
    sl_free(o->files);
    sl_arrow_columns_close(&o->columns);
    o->own->wish.columns = NULL;
    return status;
}

static sluice_status open_arrow(sl_dataset **dataset, const char *const *paths, size_t count,
                                const sluice_dataset_options *options, sluice_error *error)
{
    arrow *own = sl_calloc(1, sizeof(*own));
    if (own == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    opener o = {.own = own};
    own->base.ops = &arrow_ops;
    own->label = SL_FIELD_NONE;
    atomic_init(&own->base.references, 1);
    const sluice_status status = open_all(&o, paths, count, options, error);
    if (status < 0) {
        sl_dataset_close(&own->base);
        return status;
    }
    *dataset = &own->base;
    return SLUICE_OK;
}

const sl_format sl_format_arrow = {.name = "arrow",
                                   .takes_fields = true,
                                   .probe = sl_arrow_probe,
                                   .open = open_arrow};
