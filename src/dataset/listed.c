/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listed: the dataset of listed images: its ops (any thread, immutable), then how one is built (the
 * opener's thread).
 */
#include "listed.h"

#include "checksum.h"
#include "listed_sizes.h"
#include "little_endian.h"
#include "memory.h"
#include "object_columns.h"
#include "read_files.h"
#include "store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

static const sl_listed *listed_of(const sl_dataset *dataset)
{
    return (const sl_listed *)(const void *)dataset;
}

/* ---- ops ---- */

static sl_bytes key_of_path(const sl_listed *own, sl_bytes path)
{
    const uint32_t skips = path.size > 0 && path.data[0] != '/' ? own->key_skips : 0;
    return (sl_bytes){path.data + skips, path.size - skips};
}

/* Returns the path of a file other than the image; empty if the sample lacks it. */
static sl_bytes listed_file_bytes(const sl_listed *own, uint32_t file, uint64_t index)
{
    sl_value value;
    (void)sl_side_columns_get(&own->side, own->file_side[file], index, &value);
    return value.present ? value.bytes : (sl_bytes){.size = 0};
}

/* Returns the number of files of a sample; 0: only its image, as for all samples. */
static uint32_t listed_count_files(const sl_listed *own, uint64_t index)
{
    uint32_t count = own->files > 0 ? 1 : 0;
    for (uint32_t i = 0; i < own->files; i++) {
        count += listed_file_bytes(own, i, index).size > 0;
    }
    return count;
}

static sluice_status listed_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                   sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    *sample = (sl_sample){.place = {.object = (uint32_t)index},
                          .files = listed_count_files(listed_of(dataset), index)};
    return SLUICE_OK;
}

/*
 * Takes one of a sample's files; the first is its image. `part` counts the existing files.
 */
static sl_refusal listed_take_file(const sl_bytes bytes, uint32_t count, uint32_t part,
                                   sl_value *value)
{
    const size_t tail = (size_t)count * SL_OBJECT_SIZE_BYTES;
    size_t at = 0;
    if (bytes.size < tail) {
        return sl_refuse("the sample is truncated", 0);
    }
    const size_t end = bytes.size - tail;
    for (uint32_t i = 0; i <= part; i++) {
        const uint64_t size = sl_load64(bytes.data + end + (size_t)i * SL_OBJECT_SIZE_BYTES);
        if (size > end - at) {
            return sl_refuse("the sample is truncated", 0);
        }
        value->bytes = (sl_bytes){bytes.data + at, (size_t)size};
        at += (size_t)size;
    }
    value->present = true;
    value->file = (uint8_t)part;
    return sl_accept();
}

static sl_refusal listed_take_field(const sl_listed *own, const sl_sample *sample, uint32_t field,
                                    sl_bytes bytes, sl_value *value)
{
    sl_refusal why = sl_accept();
    const uint32_t file = own->file_of[field];
    *value = (sl_value){.present = true, .bytes = bytes};
    if (own->files > 0) {
        uint32_t part = 0;
        for (uint32_t i = 0; i < file; i++) {
            part += listed_file_bytes(own, i, sample->index).size > 0;
        }
        *value = (sl_value){.present = false};
        if (file > 0 && listed_file_bytes(own, file - 1, sample->index).size == 0) {
            return why;
        }
        why = listed_take_file(bytes, listed_count_files(own, sample->index), part, value);
    }
    if (why.text == NULL) {
        why = sl_source_value(&own->base.fields[field], value);
    }
    why.file = value->file;
    return why;
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
            why = listed_take_field(own, sample, i, bytes, &values->of[i]);
        } else {
            why = sl_side_columns_get(&own->side, own->side_of[i], sample->index, &values->of[i]);
            if (own->side_of[i] == SL_LISTED_PATHS) {
                values->of[i].bytes = key_of_path(own, values->of[i].bytes);
            }
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

static sluice_status listed_write_path(const sl_listed *own, sl_bytes name, char *path,
                                       size_t bytes)
{
    const bool absolute = name.data[0] == '/';
    const int length = snprintf(path, bytes, "%s%s%.*s", absolute ? "" : own->root,
                                absolute ? "" : "/", (int)name.size, (const char *)name.data);
    if (length < 0 || (size_t)length >= bytes) {
        return SLUICE_INVALID;
    }
    (void)sl_path_settle(path);
    return SLUICE_OK;
}

static sluice_status listed_path_of(void *ctx, uint32_t file, char *path, size_t bytes)
{
    return listed_write_path(ctx, path_bytes(ctx, file), path, bytes);
}

static uint32_t listed_files_of(void *ctx, uint32_t object)
{
    return listed_count_files(ctx, object);
}

static sluice_status listed_file_path(void *ctx, uint32_t object, uint32_t file, char *path,
                                      size_t bytes)
{
    const sl_listed *own = ctx;
    sl_bytes name = path_bytes(own, object);
    for (uint32_t i = 0, part = 0; i < own->files && part < file; i++) {
        const sl_bytes next = listed_file_bytes(own, i, object);
        if (next.size > 0) {
            name = next;
            part++;
        }
    }
    return listed_write_path(own, name, path, bytes);
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
    const sl_listed *own = listed_of(dataset);
    const sl_bytes name = key_of_path(own, path_bytes(own, index));
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

static bool listed_has_folder(const sl_dataset *dataset, uint64_t device, uint64_t inode)
{
    const sl_listed *own = listed_of(dataset);
    bool found = false;
    for (uint32_t i = 0; i < own->folder_count && !found; i++) {
        found = own->folders[i].device == device && own->folders[i].inode == inode;
    }
    return found;
}

static void close_listed(sl_dataset *dataset)
{
    sl_listed *own = (sl_listed *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_side_columns_close(&own->side);
    json_decref(own->classes);
    json_decref(own->occurring);
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

/* ops of a dataset that consists of its folders' contents */
static const sl_dataset_ops listed_folder_ops = {
    .locate = listed_locate,
    .unpack = listed_unpack,
    .class_name = listed_class_name,
    .key = listed_key_of,
    .has_folder = listed_has_folder,
    .close = close_listed,
};

/* ---- opening ---- */

/* Returns `path` up to its last slash, or all of it; NULL: no memory. */
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

/* Adds a field for a file other than the image. Returns NULL, or why it cannot. */
static const char *listed_add_file(sl_listed *own, const sl_listed_sources *sources,
                                   uint32_t source, uint32_t field, uint32_t side)
{
    if (source >= 32 || (sources->files >> source & 1) == 0) {
        return sl_type_is_media(own->fields[field].type) ? "the image files are in another column"
                                                         : NULL;
    }
    if (own->fields[field].type == SLUICE_FIELD_TEXT) {
        return NULL;
    }
    if (own->files == SL_LISTED_FILES_MAX) {
        return "a sample can have at most 8 requested files";
    }
    own->is_file[field] = true;
    own->file_side[own->files++] = side;
    own->file_of[field] = (uint8_t)own->files;
    return NULL;
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
    sl_object_columns_mean(&found, sources->of);
    sl_listed_complete_sizes(&found, sources);
    for (uint32_t i = 0; i < found.count; i++) {
        const uint32_t source = found.column[i];
        const sl_field *field = &found.fields[i];
        own->fields[i] = *field;
        /* as a text, it is the path in the list */
        own->is_file[i] = source == sources->picture && field->type != SLUICE_FIELD_TEXT;
        if (source == sources->picture || source == sources->key) {
            continue;
        }
        const char *why = listed_add_file(own, sources, source, i, count);
        if (why != NULL) {
            return listed_refuse(path, sources->of[source].name, why, error);
        }
        own->side_of[i] = count;
        own->source[count] = source;
        sides[count] = *field;
        sides[count].type = own->is_file[i] ? SLUICE_FIELD_TEXT : field->type;
        count++;
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
        return sl_refuse("the path of the image is missing", 0);
    }
    if (memchr(path.data, 0, path.size) != NULL) {
        return sl_refuse("the path of the image contains NUL", 0);
    }
    if (strlen(own->root) + 1 + path.size >= SL_PATH_BYTES) {
        return sl_refuse("the path of the image is too long", 0);
    }
    if (is_url(path)) {
        return sl_refuse(
            "the image is not a file but a URL: download the images, and list the files", 0);
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
    sl_checksum_add(stream, column->cells, column->entries * sizeof(*column->cells));
    if (column->keys != NULL) { /* rows share entries */
        sl_checksum_add(stream, column->keys, column->rows * sizeof(*column->keys));
    }
    sl_checksum_add(stream, column->state, column->rows);
    sl_checksum_add(stream, column->pool, column->pool_bytes);
}

/* Computes the fingerprint of class names and all columns. */
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

/* Checks the first image: if one leads out of the boundary by a link, most do. */
static sluice_status check_first(sl_listed *own, const char *path, sluice_error *error)
{
    char first[SL_PATH_BYTES];
    sluice_status status = SLUICE_OK;
    const uint32_t count = listed_count_files(own, 0);
    for (uint32_t i = 0; status == SLUICE_OK && (i == 0 || i < count); i++) {
        status = listed_file_path(own, 0, i, first, sizeof(first)) == SLUICE_OK
                     ? sl_boundary_check(own->boundary, path, first, error)
                     : SLUICE_OK;
    }
    return status;
}

sluice_status sl_listed_add_folder(sl_listed *own, const char *path, sluice_error *error)
{
    sl_store_facts facts;
    const sluice_status status = sl_store_find((sl_file_name){STAGE, path}, &facts, error);
    assert(own->folder_count < sizeof(own->folders) / sizeof(own->folders[0]));
    if (status == SLUICE_OK) {
        own->folders[own->folder_count++] = (sl_listed_folder){facts.device, facts.identity.inode};
        own->base.ops = &listed_folder_ops;
    }
    return status;
}

void sl_listed_sum(sl_listed *own)
{
    own->base.info.classes = (uint32_t)json_array_size(own->classes);
    own->base.info.fingerprint = listed_fingerprint(own);
}

sluice_status sl_listed_finish(sl_listed *own, const char *path, sluice_error *error)
{
    const uint64_t rows = own->side.of[SL_LISTED_PATHS].rows;
    if (rows == 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "it lists no images");
    }
    if (rows > UINT32_MAX - 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "more than 2^32 - 2 images");
    }
    for (uint32_t i = 0; i < own->side.count; i++) {
        assert(own->side.of[i].rows == rows);
    }
    own->base.info.samples = rows;
    sl_listed_sum(own);
    const sl_object_names names = {.ctx = own,
                                   .count = (uint32_t)rows,
                                   .path = listed_path_of,
                                   .boundary = listed_boundary_of,
                                   .files = own->files > 0 ? listed_files_of : NULL,
                                   .file_path = listed_file_path};
    const sluice_status status = check_first(own, path, error);
    return status == SLUICE_OK ? sl_objects_open(&own->base.objects, &names, error) : status;
}
