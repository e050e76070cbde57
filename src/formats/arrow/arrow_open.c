/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_open: performs the steps of opening: files, fields, large columns, rows.
 *
 * One thread calls; several walk and read files, each writing only its own array element.
 */
#include "arrow_open.h"

#include "arrow_large.h"
#include "arrow_lists.h"
#include "arrow_order.h"
#include "memory.h"
#include "open_many.h"
#include "unpack_lz4.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

/* Further state of opening. */
typedef struct opener {
    sl_arrow *own;
    sl_arrow_file *files;
    uint64_t rows; /* total over all files */
    sl_arrow_columns columns;
    uint32_t list;     /* list column that is being measured */
    uint32_t *longest; /* number of elements of its longest list, per file */
} opener;

/* ---- files ---- */

static sluice_status arrow_open_file(void *ctx, uint32_t number, sluice_error *error)
{
    const opener *o = ctx;
    sl_arrow_file *file = &o->files[number];
    const sluice_status status =
        sl_arrow_file_open(file, o->own->paths.files.files[number].path, error);
    if (!sl_handle_may_stay(&file->kept, number)) {
        sl_handle_close(&file->kept);
    }
    return status;
}

static sluice_status arrow_open_read_file(void *ctx, uint32_t number, sluice_error *error)
{
    const opener *o = ctx;
    return sl_arrow_rows_read(&o->own->rows[number], &o->files[number],
                              o->own->paths.files.files[number].path, o->columns.of,
                              &o->own->table.plan, error);
}

static sluice_status arrow_open_check_file(const opener *o, uint32_t number, sluice_error *error)
{
    const sl_arrow_file *file = &o->files[number];
    const char *path = o->own->paths.files.files[number].path;
    if (file->lz4 && !sl_lz4_is_there()) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                             "its batches are compressed by LZ4, and this library was built "
                             "without liblz4 (Debian: liblz4-dev)");
    }
    const char *column = sl_arrow_schema_differs(&file->schema, &o->files[0].schema);
    return column == NULL ? SLUICE_OK
                          : sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                                          "its columns differ from those of \"%.512s\", or are in "
                                          "another order: the first difference is \"%.256s\"",
                                          o->own->paths.files.files[0].path, column);
}

static sluice_status arrow_open_files(opener *o, sluice_error *error)
{
    sl_file_list *list = &o->own->paths.files;
    o->files = sl_calloc(list->count, sizeof(*o->files));
    if (o->files == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    sluice_status status = sl_open_many(list->count, arrow_open_file, o, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < list->count && o->rows <= INT64_MAX; i++) {
        status = arrow_open_check_file(o, i, error);
        list->files[i].file = o->files[i].file;
        list->files[i].first = o->rows;
        o->rows += o->files[i].rows; /* at most INT64_MAX each */
    }
    if (status == SLUICE_OK && (o->rows == 0 || o->rows > INT64_MAX)) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, list->files[0].path, -1,
                               o->rows == 0 ? "no samples: the file has no rows"
                                            : "it has too many rows");
    }
    return status;
}

/* ---- fields ---- */

static void parse_features(sl_arrow *own, const sl_arrow_schema *schema)
{
    sl_features *features = &own->table.features;
    sl_features_parse(features, (sl_bytes){own->paths.info, own->paths.info_bytes});
    if (features->columns == NULL && schema->features != NULL) {
        sl_features_close(features);
        sl_features_parse(features,
                          (sl_bytes){(const uint8_t *)schema->features, schema->features_bytes});
    }
}

/* Looks at a column in the first file that has values. */
static sluice_status arrow_open_look_at_column(const opener *o, uint32_t column,
                                               sluice_error *error)
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
        o->columns.table.source[column].field.type = SLUICE_FIELD_IMAGE;
    }
    return status;
}

static sluice_status arrow_open_look_at_columns(const opener *o, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < o->columns.table.count; i++) {
        if (o->columns.of[i].asks) {
            status = arrow_open_look_at_column(o, i, error);
        }
    }
    return status;
}

static sluice_status arrow_open_measure_file(void *ctx, uint32_t number, sluice_error *error)
{
    const opener *o = ctx;
    return sl_arrow_lists_measure(&o->files[number], o->own->paths.files.files[number].path,
                                  &o->columns.of[o->list], &o->longest[number], error);
}

/* Returns the number of elements of a list column's longest row. */
static sluice_status measure_list(opener *o, uint32_t column, uint32_t *most, sluice_error *error)
{
    o->list = column;
    const sluice_status status =
        sl_open_many(o->own->paths.files.count, arrow_open_measure_file, o, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < o->own->paths.files.count; i++) {
        *most = o->longest[i] > *most ? o->longest[i] : *most;
    }
    return status;
}

static sluice_status arrow_open_spread_lists(opener *o, const sluice_dataset_options *options,
                                             sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    sl_columnar_columns *table = &o->columns.table;
    uint32_t *most = sl_calloc((size_t)table->count + 1, sizeof(*most));
    o->longest = sl_calloc(o->own->paths.files.count, sizeof(*o->longest));
    if (most == NULL || o->longest == NULL) {
        sl_free(most);
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < table->count; i++) {
        if (sl_columnar_list_wanted(table, i, options)) {
            status = measure_list(o, i, &most[i], error);
        }
    }
    if (status == SLUICE_OK) {
        status = sl_columnar_spread(table, options, most, error);
    }
    sl_free(most);
    return status;
}

static sluice_status arrow_open_find_fields(opener *o, const sluice_dataset_options *options,
                                            sluice_error *error)
{
    sl_arrow *own = o->own;
    parse_features(own, &o->files[0].schema);
    const sl_features *features = &own->table.features;
    sluice_status status = sl_arrow_columns_find(&o->columns, &o->files[0].schema, features, error);
    if (status == SLUICE_OK) {
        status = arrow_open_look_at_columns(o, error);
    }
    if (status == SLUICE_OK) {
        status = arrow_open_spread_lists(o, options, error);
    }
    if (status == SLUICE_OK) {
        status = sl_columnar_fields_find(&own->table.plan, &o->columns.table, features, options,
                                         own->paths.files.files[0].path, error);
        sl_columnar_leave_out(&o->columns.table, &own->table.base.omissions);
    }
    return status;
}

/* ---- opening ---- */

static sluice_status choose_large(opener *o, sluice_error *error)
{
    sl_arrow_table table = {.path = o->own->paths.files.files[0].path,
                            .files = o->files,
                            .count = o->own->paths.files.count,
                            .rows = o->rows,
                            .columns = &o->columns};
    return sl_arrow_choose_large(&table, &o->own->table.plan, error);
}

static sluice_status arrow_open_read_rows(opener *o, sluice_error *error)
{
    sl_arrow *own = o->own;
    uint64_t elsewhere = 0;
    const uint32_t files = own->paths.files.count;
    own->rows = sl_calloc(files, sizeof(*own->rows));
    own->table.side = sl_calloc(files, sizeof(*own->table.side));
    if (own->rows == NULL || own->table.side == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    own->table.side_count = files;
    const sluice_status status = sl_open_many(files, arrow_open_read_file, o, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < files; i++) {
        elsewhere += own->rows[i].elsewhere;
        own->table.side[i] = own->rows[i].side;
        own->rows[i].side = (sl_side_columns){0};
    }
    if (status == SLUICE_OK && elsewhere >= o->rows) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, own->paths.files.files[0].path,
                             -1, "of its images: %s", sl_arrow_lack_text(SL_ARROW_LACKS_PICTURE));
    }
    return status;
}

/* Computes the fingerprint of names, sizes and the columns read with samples. */
static uint64_t arrow_open_fingerprint(const sl_arrow *own)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < own->paths.files.count; i++) {
        const sl_arrow_rows *rows = &own->rows[i];
        sl_file_list_sum(&own->paths.files, i, &stream);
        sl_checksum_add_u64(&stream, rows->rows);
        for (uint32_t k = 0; k < own->table.plan.large_count; k++) {
            const sl_arrow_places *places = &rows->large[k];
            sl_checksum_add(&stream, places->offsets, places->count * sizeof(*places->offsets));
        }
    }
    if (own->table.order != NULL) {
        sl_checksum_add(&stream, own->table.order,
                        own->table.base.info.samples * sizeof(*own->table.order));
    }
    return sl_checksum_value(&stream);
}

static uint64_t arrow_open_count_bytes(const sl_arrow *own)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < own->table.base.info.samples; i++) {
        sl_sample sample;
        sl_place lookup;
        sl_refusal why;
        (void)own->table.base.ops->locate(&own->table.base, i, &sample, &lookup, &why);
        bytes += sample.place.bytes;
    }
    return bytes;
}

static sluice_status take_info(opener *o, sluice_error *error)
{
    sl_arrow *own = o->own;
    sluice_dataset_info *info = &own->table.base.info;
    sluice_status status =
        sl_arrow_order_read(&own->paths, o->rows, &own->table.order, &info->samples, error);
    if (status == SLUICE_OK && info->samples == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, own->paths.tables.files[0].path, -1,
                               "no samples: it contains no row numbers");
    }
    if (status < 0) {
        return status;
    }
    own->table.files = &own->paths.files;
    sl_columnar_describe(&own->table);
    info->bytes = arrow_open_count_bytes(own);
    info->fingerprint = arrow_open_fingerprint(own);
    sl_unchecked_add(&own->table.base.unchecked, "Arrow files have no checksums");
    (void)snprintf(own->table.base.kind, sizeof(own->table.base.kind),
                   "%s, each of whose rows is a sample%s",
                   own->paths.files.count == 1 ? "an Arrow file" : "Arrow files",
                   own->table.order != NULL ? ", by a table of row numbers" : "");
    return sl_file_list_objects(&own->paths.files, &own->table.base.objects, error);
}

/* Checks, once at the end, that files which stayed open were not modified meanwhile. */
static sluice_status arrow_open_check_kept(const opener *o, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < o->own->paths.files.count; i++) {
        const sl_open_file file = {o->files[i].kept, o->files[i].file};
        status = file.handle.store != NULL ? sl_open_file_check(&file, error) : SLUICE_OK;
    }
    return status;
}

static sluice_status arrow_open_steps(opener *o, const sluice_dataset_options *options,
                                      sluice_error *error)
{
    sluice_status status = arrow_open_files(o, error);
    if (status == SLUICE_OK) {
        status = arrow_open_find_fields(o, options, error);
    }
    if (status == SLUICE_OK) {
        status = choose_large(o, error);
    }
    if (status == SLUICE_OK) {
        status = arrow_open_read_rows(o, error);
    }
    if (status == SLUICE_OK) {
        status = arrow_open_check_kept(o, error);
    }
    if (status == SLUICE_OK) {
        status = take_info(o, error);
    }
    return status;
}

sluice_status sl_arrow_open(sl_arrow *own, const char *const *paths, size_t count,
                            const sluice_dataset_options *options, sluice_error *error)
{
    opener o = {.own = own};
    const sl_arrow_how how = {.anywhere = options->allow_outside != 0,
                              .split = options->split,
                              .omissions = &own->table.base.omissions};
    sluice_status status = sl_arrow_paths_find(&own->paths, paths, count, &how, error);
    if (status == SLUICE_OK) {
        status = arrow_open_steps(&o, options, error);
    }
    for (uint32_t i = 0; o.files != NULL && i < own->paths.files.count; i++) {
        sl_arrow_file_close(&o.files[i]);
    }
    sl_free(o.files);
    sl_free(o.longest);
    sl_arrow_columns_close(&o.columns);
    return status;
}
