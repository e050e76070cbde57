/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dataset of listed pictures: its ops (any thread, immutable), then how one is built (the
 * opener's thread).
 */
#include "listed.h"

#include "checksum.h"
#include "memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

static const sl_listed *listed_of(const sl_dataset *dataset)
{
    return (const sl_listed *)(const void *)dataset;
}

/* ---- ops ---- */

static sluice_status listed_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                   sl_place *lookup, sl_refusal *why)
{
    (void)dataset;
    (void)lookup;
    (void)why;
    *sample = (sl_sample){.place = {.object = (uint32_t)index}};
    return SLUICE_OK;
}

static sl_refusal listed_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                sl_values *values)
{
    const sl_listed *own = listed_of(dataset);
    for (uint32_t i = 0; i < dataset->info.fields; i++) {
        if (!sl_values_want(values, i)) {
            continue;
        }
        sl_refusal why;
        if (own->is_file[i]) {
            values->of[i] = (sl_value){.present = true, .bytes = bytes};
            why = sl_source_value(&dataset->fields[i], &values->of[i]);
        } else {
            why = sl_side_columns_get(&own->side, own->side_of[i], sample->index, &values->of[i]);
        }
        if (why.text != NULL) {
            why.field = dataset->fields[i].name;
            return why;
        }
    }
    return sl_accept();
}

static sl_bytes path_bytes(const sl_listed *own, uint64_t index)
{
    sl_value value;
    (void)sl_side_columns_get(&own->side, SL_LISTED_PATHS, index, &value);
    return value.bytes;
}

static sluice_status listed_path_of(void *ctx, uint32_t file, char *path, size_t bytes)
{
    const sl_listed *own = ctx;
    const sl_bytes name = path_bytes(own, file);
    const bool absolute = name.data[0] == '/';
    const int length = snprintf(path, bytes, "%s%s%.*s", absolute ? "" : own->root,
                                absolute ? "" : "/", (int)name.size, (const char *)name.data);
    return length >= 0 && (size_t)length < bytes ? SLUICE_OK : SLUICE_INVALID;
}

static const sl_boundary *listed_boundary_of(void *ctx, uint32_t file)
{
    const sl_listed *own = ctx;
    (void)file;
    return own->boundary;
}

static sluice_status listed_key_of(const sl_dataset *dataset, uint64_t index, char *key,
                                   size_t bytes)
{
    const sl_bytes name = path_bytes(listed_of(dataset), index);
    if (name.size >= bytes) {
        return SLUICE_INVALID;
    }
    memcpy(key, name.data, name.size);
    key[name.size] = '\0';
    return SLUICE_OK;
}

static const char *listed_class_name(const sl_dataset *dataset, int64_t label)
{
    const json_t *classes = listed_of(dataset)->classes;
    return label >= 0 && label < dataset->info.classes
               ? json_string_value(json_array_get(classes, (size_t)label))
               : NULL;
}

static void close_listed(sl_dataset *dataset)
{
    sl_listed *own = (sl_listed *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_side_columns_close(&own->side);
    json_decref(own->classes);
    sl_boundary_close(own->boundary);
    sl_free(own->root);
    sl_free(own);
}

static const sl_dataset_ops listed_ops = {
    .locate = listed_locate,
    .unpack = listed_unpack,
    .class_name = listed_class_name,
    .key = listed_key_of,
    .close = close_listed,
};

/* ---- opening ---- */

/* `path` up to its last slash, or all of it; NULL: no memory. */
static char *make_root(const char *path, bool folder)
{
    char *root = sl_strdup(path);
    char *slash = root != NULL && !folder ? strrchr(root, '/') : NULL;
    if (root == NULL || folder) {
        return root;
    }
    if (slash == NULL) {
        sl_free(root);
        return sl_strdup(".");
    }
    slash[slash == root ? 1 : 0] = '\0';
    return root;
}

sluice_status sl_listed_new(sl_listed **listed, const char *path, bool folder, sluice_error *error)
{
    sl_listed *own = sl_calloc(1, sizeof(*own));
    char *root = make_root(path, folder);
    if (own == NULL || root == NULL) {
        sl_free(own);
        sl_free(root);
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for a dataset");
    }
    own->base.ops = &listed_ops;
    own->base.whole_objects = true;
    own->base.info.struct_size = sizeof(own->base.info);
    own->root = root;
    atomic_init(&own->base.references, 1);
    *listed = own;
    return SLUICE_OK;
}

static sluice_status listed_refuse(const char *path, const char *name, const char *why,
                                   sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "column \"%.256s\": %s", name,
                         why);
}

sluice_status sl_listed_choose(sl_listed *own, const sl_listed_sources *sources,
                               const sluice_dataset_options *options, const char *path,
                               sluice_error *error)
{
    sl_source_fields found;
    sl_field sides[SL_FIELDS_MAX + 1] = {{.name = "key", .type = SLUICE_FIELD_TEXT}};
    uint32_t count = 1;
    sluice_status status =
        sl_source_fields_find(&found, sources->of, sources->count, options, path, error);
    if (status < 0) {
        return status;
    }
    for (uint32_t i = 0; i < found.count; i++) {
        const uint32_t source = found.column[i];
        const sl_field *field = &found.fields[i];
        own->fields[i] = *field;
        /* As a text it is what the list says: its path. */
        own->is_file[i] = source == sources->picture && field->type != SLUICE_FIELD_TEXT;
        if (source == sources->picture || source == sources->key) {
            continue;
        }
        if (sl_type_is_media(field->type)) {
            return listed_refuse(path, sources->of[source].name,
                                 "one column tells the files of pictures, and that is another",
                                 error);
        }
        own->side_of[i] = count;
        own->source[count] = source;
        sides[count++] = *field;
    }
    own->base.fields = own->fields;
    own->base.info.fields = found.count;
    return sl_side_columns_open(&own->side, sides, count, error);
}

static bool is_url(sl_bytes path)
{
    size_t i = 0;
    while (i < path.size && path.data[i] >= 'a' && path.data[i] <= 'z') {
        i++;
    }
    return i > 1 && path.size - i > 3 && memcmp(path.data + i, "://", 3) == 0;
}

sl_refusal sl_listed_check_path(sl_listed *own, sl_bytes path)
{
    if (path.size == 0) {
        return sl_refuse("there is no path of a picture", 0);
    }
    if (memchr(path.data, 0, path.size) != NULL) {
        return sl_refuse("the path of the picture has a NUL in it", 0);
    }
    if (strlen(own->root) + 1 + path.size >= SL_PATH_BYTES) {
        return sl_refuse("the path of the picture is too long", 0);
    }
    if (is_url(path)) {
        return sl_refuse("the picture is not a file but a URL: download them, and list the files",
                         0);
    }
    if (!sl_boundary_has_name(own->boundary, path, own->depth)) {
        sl_boundary_explain(own->boundary, path, own->why, sizeof(own->why));
        return (sl_refusal){.text = own->why, .status = SLUICE_INVALID};
    }
    return sl_accept();
}

sluice_status sl_listed_put_path(sl_listed *own, sl_bytes path, sluice_error *error)
{
    const sl_value value = {.present = true, .bytes = path};
    return sl_side_columns_put(&own->side, SL_LISTED_PATHS, &value, error);
}

static void listed_add_column(const sl_side_column *column, sl_checksum_stream *stream)
{
    sl_checksum_add(stream, column->field.name, strlen(column->field.name) + 1);
    sl_checksum_add_u64(stream, (uint64_t)column->field.type);
    sl_checksum_add(stream, column->cells, column->rows * sizeof(*column->cells));
    sl_checksum_add(stream, column->state, column->rows);
    sl_checksum_add(stream, column->pool, column->pool_bytes);
}

/* Over class names and all columns. */
static uint64_t listed_fingerprint(const sl_listed *own)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (size_t i = 0; i < json_array_size(own->classes); i++) {
        const char *name = json_string_value(json_array_get(own->classes, i));
        sl_checksum_add(&stream, name, strlen(name) + 1);
    }
    for (uint32_t i = 0; i < own->side.count; i++) {
        listed_add_column(&own->side.of[i], &stream);
    }
    return sl_checksum_value(&stream);
}

/* Where one picture is elsewhere by a link, mostly all do, so the first one tells. */
static sluice_status check_first(sl_listed *own, const char *path, sluice_error *error)
{
    char first[SL_PATH_BYTES];
    return listed_path_of(own, 0, first, sizeof(first)) == SLUICE_OK
               ? sl_boundary_check(own->boundary, path, first, error)
               : SLUICE_OK;
}

sluice_status sl_listed_finish(sl_listed *own, const char *path, sluice_error *error)
{
    const uint64_t rows = own->side.of[SL_LISTED_PATHS].rows;
    if (rows == 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "it lists no picture");
    }
    if (rows > UINT32_MAX - 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "more than 2^32 - 2 pictures");
    }
    for (uint32_t i = 0; i < own->side.count; i++) {
        assert(own->side.of[i].rows == rows);
    }
    own->base.info.samples = rows;
    own->base.info.classes = (uint32_t)json_array_size(own->classes);
    own->base.info.fingerprint = listed_fingerprint(own);
    const sl_object_names names = {.ctx = own,
                                   .count = (uint32_t)rows,
                                   .path = listed_path_of,
                                   .boundary = listed_boundary_of};
    const sluice_status status = check_first(own, path, error);
    return status == SLUICE_OK ? sl_objects_open(&own->base.objects, &names, error) : status;
}
