/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mds: opens MDS, the shards of MosaicML Streaming: a folder with index.json, which lists shards
 * and their columns. sized_dataset.h reads the shards.
 */
#include "digest.h"
#include "file_set.h"
#include "index_json.h"
#include "mds_columns.h"
#include "sized_dataset.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE   "dataset"
#define LIST    "shards"
#define VERSION 2

static bool mds_probe(sl_look *look)
{
    return sl_index_json_probe(look, LIST);
}

/* State while a dataset is opened. */
typedef struct opener {
    sl_sized_dataset *own;
    sl_index_json first, index; /* of the first path, and of the current one */
    const json_t *columns;      /* the first shard, whose columns all shards must have */
} opener;

/* ---- columns ---- */

static sluice_status mds_add_column(opener *o, const json_t *shard, size_t number,
                                    sluice_error *error)
{
    sl_sized_columns *columns = &o->own->columns;
    const json_t *names = sl_json_member(shard, "column_names");
    const json_t *encodings = sl_json_member(shard, "column_encodings");
    const char *name = json_string_value(json_array_get(names, number));
    const char *encoding = json_string_value(json_array_get(encodings, number));
    const json_t *size = json_array_get(sl_json_member(shard, "column_sizes"), number);
    const json_int_t bytes = json_integer_value(size); /* 0: given in each sample */
    const bool sized = json_is_integer(size) && bytes > 0 && bytes <= INT32_MAX;
    if (name == NULL || encoding == NULL || (!sized && !json_is_null(size))) {
        return sl_index_json_refuse(&o->index, SLUICE_CORRUPT, 0,
                                    "its columns are missing or not valid", error);
    }
    if (strlen(name) >= SL_SOURCE_NAME_BYTES) {
        return sl_index_json_refuse(&o->index, SLUICE_UNSUPPORTED, 0,
                                    "a column's name has more than 255 bytes", error);
    }
    const sluice_status status = sl_sized_columns_add(columns, o->index.path, error);
    if (status == SLUICE_OK) {
        sl_sized_column *column = &columns->of[columns->count - 1];
        sl_source_column *source = &columns->sources[columns->count - 1];
        (void)snprintf(source->name, sizeof(source->name), "%s", name);
        sl_mds_column(encoding, column, source);
        column->bytes = (uint32_t)bytes;
    }
    return status;
}

static sluice_status add_columns(opener *o, const json_t *shard, sluice_error *error)
{
    const json_t *names = sl_json_member(shard, "column_names");
    const size_t count = json_array_size(names);
    sluice_status status = SLUICE_OK;
    if (count == 0 || json_array_size(sl_json_member(shard, "column_encodings")) != count ||
        json_array_size(sl_json_member(shard, "column_sizes")) != count) {
        return sl_index_json_refuse(&o->index, SLUICE_CORRUPT, 0,
                                    "its columns are missing or not valid", error);
    }
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = mds_add_column(o, shard, i, error);
    }
    o->columns = shard;
    return status;
}

static bool has_same_columns(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"column_names", "column_encodings", "column_sizes"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i]))) {
            return false;
        }
    }
    return true;
}

/* ---- shards ---- */

static sluice_status mds_refuse_compressed(const char *path, sluice_error *error)
{
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                         "the shard is compressed by an unsupported method: unpack all shards next "
                         "to the originals, and leave index.json as it is%s",
                         sl_ends_with(path, ".bz2") ? ": bunzip2 -k *.bz2" : "");
}

/*
 * Finds the file of a shard: the one at `raw` if it exists, like in a cache of the original, or
 * else the compressed one, whose path is written to `zip`.
 */
static sluice_status mds_find_file(const opener *o, const json_t *shard, char raw[SL_PATH_BYTES],
                                   char zip[SL_PATH_BYTES], sl_told_file *told, sluice_error *error)
{
    const json_t *data = sl_json_member(shard, "zip_data");
    told->path = raw;
    if (data == NULL || sl_store_has(raw)) {
        return SLUICE_OK;
    }
    const sluice_status status =
        sl_index_json_file(&o->index, sl_json_text(data, "basename"), zip, error);
    if (status < 0 || !sl_store_has(zip)) {
        return status; /* opening reports which file is missing */
    }
    told->packing = sl_index_json_packing(sl_json_text(shard, "compression"));
    if (told->packing == SL_PACKING_NONE) {
        return mds_refuse_compressed(zip, error);
    }
    told->path = zip;
    told->unpacked = raw;
    (void)sl_json_count(data, "bytes", &told->packed_bytes);
    return SLUICE_OK;
}

/* Hashes of a shard, as in sl_sized_file. */
typedef struct hash_list {
    char text[SL_DIGEST_NAMES * (16 + SL_DIGEST_TEXT_BYTES)];
    size_t length;
} hash_list;

static bool mds_is_plain(const char *name)
{
    const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && length < 32 && name[length] == '\0';
}

static void leave_unchecked(opener *o, const char *name, const char *why)
{
    char phrase[128];
    (void)snprintf(phrase, sizeof(phrase), "hash %s of MDS shards (%s)",
                   mds_is_plain(name) ? name : "without a name", why);
    sl_unchecked_add(&o->own->base.unchecked, phrase);
}

/* Adds a hash. Digits that fit no hash are kept, and fail the comparison. */
static void add_hash(hash_list *list, const char *name, const char *digits)
{
    const size_t length = strlen(digits);
    const bool possible =
        length < SL_DIGEST_TEXT_BYTES && strspn(digits, "0123456789abcdefABCDEF") == length;
    const size_t capacity = sizeof(list->text) - list->length;
    const int added = snprintf(list->text + list->length, capacity, "%s%s=%s",
                               list->length > 0 ? " " : "", name, possible ? digits : "?");
    list->length += added > 0 && (size_t)added < capacity ? (size_t)added : 0;
}

/*
 * Adds the hashes that can be computed here; reports the others as unchecked. `data`: raw_data or
 * zip_data.
 */
static void find_hashes(opener *o, const json_t *data, hash_list *list)
{
    json_t *hashes = json_object_get(data, "hashes");
    *list = (hash_list){.length = 0};
    for (void *at = json_object_iter(hashes); at != NULL; at = json_object_iter_next(hashes, at)) {
        const char *name = json_object_iter_key(at);
        const char *digits = json_string_value(json_object_iter_value(at));
        const char *why = digits != NULL ? sl_digest_refused(name) : "not a string";
        if (why != NULL) {
            leave_unchecked(o, name, why);
        } else {
            add_hash(list, name, digits);
        }
    }
}

/* Returns a checksum of all hashes, including unknown kinds, since they identify the contents. */
static uint64_t sum_hashes(const json_t *raw)
{
    json_t *hashes = json_object_get(raw, "hashes");
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (void *at = json_object_iter(hashes); at != NULL; at = json_object_iter_next(hashes, at)) {
        const char *name = json_object_iter_key(at);
        const json_t *value = json_object_iter_value(at);
        const char *text = json_is_string(value) ? json_string_value(value) : "";
        sl_checksum_add(&stream, name, strlen(name) + 1);
        sl_checksum_add(&stream, text, strlen(text) + 1);
    }
    return sl_checksum_value(&stream);
}

static const char *why_unknown(const json_t *shard)
{
    uint64_t version;
    const char *format = sl_json_text(shard, "format");
    if (format == NULL || strcmp(format, "mds") != 0) {
        return "its format is not \"mds\": write the dataset with MDSWriter";
    }
    if (!sl_json_count(shard, "version", &version) || version != VERSION) {
        return "unsupported version: only 2 is supported";
    }
    return NULL;
}

static sluice_status mds_check_shard(const opener *o, const json_t *shard, size_t number,
                                     sl_told_file *told, sluice_error *error)
{
    const json_t *raw = sl_json_member(shard, "raw_data");
    const char *why = why_unknown(shard);
    if (why != NULL) {
        return sl_index_json_refuse(&o->index, SLUICE_UNSUPPORTED, (int64_t)number, why, error);
    }
    if (!sl_json_count(shard, "samples", &told->samples) ||
        !sl_json_count(raw, "bytes", &told->bytes) || sl_json_text(raw, "basename") == NULL) {
        return sl_index_json_refuse(&o->index, SLUICE_CORRUPT, (int64_t)number,
                                    "its file is not named", error);
    }
    if (o->columns != NULL && !has_same_columns(shard, o->columns)) {
        return sl_index_json_refuse(&o->index, SLUICE_UNSUPPORTED, (int64_t)number,
                                    "its columns differ from those of the first shard: open shards "
                                    "with other columns as a separate dataset",
                                    error);
    }
    return SLUICE_OK;
}

static sluice_status mds_add_file(opener *o, const json_t *shard, const sl_told_file *told,
                                  sluice_error *error)
{
    hash_list data;
    hash_list packed = {.length = 0};
    sl_sized_file file = {.told = *told};
    const json_t *raw = sl_json_member(shard, "raw_data");
    if (json_object_size(json_object_get(raw, "hashes")) == 0) {
        sl_unchecked_add(&o->own->base.unchecked, "MDS shards without a hash in index.json");
    }
    find_hashes(o, raw, &data);
    if (told->packing != SL_PACKING_NONE) {
        find_hashes(o, sl_json_member(shard, "zip_data"), &packed);
    }
    file.hashes.data = data.length > 0 ? data.text : NULL;
    file.hashes.packed = packed.length > 0 ? packed.text : NULL;
    sl_offset_files_tell(&o->own->files, sum_hashes(raw));
    return sl_sized_dataset_add(o->own, &file, error);
}

static sluice_status mds_add_shard(opener *o, const json_t *shard, size_t number,
                                   sluice_error *error)
{
    char raw[SL_PATH_BYTES];
    char zip[SL_PATH_BYTES];
    sl_told_file told = {.samples = 0};
    sluice_status status = mds_check_shard(o, shard, number, &told, error);
    if (status == SLUICE_OK) {
        status = sl_index_json_file(
            &o->index, sl_json_text(sl_json_member(shard, "raw_data"), "basename"), raw, error);
    }
    if (status == SLUICE_OK) {
        status = mds_find_file(o, shard, raw, zip, &told, error);
    }
    if (status == SLUICE_OK && o->columns == NULL) {
        status = add_columns(o, shard, error);
    }
    return status == SLUICE_OK ? mds_add_file(o, shard, &told, error) : status;
}

/* ---- opening ---- */

static sluice_status mds_add_path(opener *o, const char *path, bool anywhere, sluice_error *error)
{
    uint64_t version;
    const sl_index_json_wanted wanted = {path, LIST, anywhere};
    const uint32_t first = o->own->files.list.count;
    sluice_status status = sl_index_json_load(&o->index, &wanted, error);
    if (status < 0) {
        return status;
    }
    if (!sl_json_count(o->index.tree.root, "version", &version) || version != VERSION) {
        return sl_index_json_refuse(&o->index, SLUICE_UNSUPPORTED, -1,
                                    "unsupported version: only 2 is supported", error);
    }
    const json_t *shards = sl_json_member(o->index.tree.root, LIST);
    for (size_t i = 0; status == SLUICE_OK && i < json_array_size(shards); i++) {
        status = mds_add_shard(o, json_array_get(shards, i), i, error);
    }
    if (status == SLUICE_OK) {
        status =
            sl_file_list_check(&o->own->files.list, first, o->index.boundary, o->index.path, error);
    }
    if (o->first.tree.root == NULL && o->columns != NULL) {
        sl_index_json_move(&o->first, &o->index); /* `columns` points into it */
    }
    sl_index_json_close(&o->index);
    return status;
}

static sluice_status mds_open_all(opener *o, const char *const *paths, size_t count,
                                  const sluice_dataset_options *options, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = mds_add_path(o, paths[i], options->allow_outside != 0, error);
    }
    sl_index_json_close(&o->index);
    sl_index_json_close(&o->first);
    if (status < 0) {
        return status;
    }
    status = sl_sized_dataset_finish(o->own, options, paths[0], error);
    sl_dataset *base = &o->own->base;
    const bool packed = base->info.front_to_back != 0;
    (void)snprintf(base->kind, sizeof(base->kind),
                   "%sMDS shards (MosaicML Streaming), listed by their index.json%s",
                   packed ? "compressed " : "", packed ? "; slow to read: pack it" : "");
    return status;
}

static sluice_status open_mds(sl_dataset **dataset, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    opener o = {.own = sl_sized_dataset_new("mds", error)};
    if (o.own == NULL) {
        return SLUICE_NOMEM;
    }
    return sl_dataset_opened(dataset, &o.own->base, mds_open_all(&o, paths, count, options, error));
}

SL_FORMAT(mds) = {
    .name = "mds",
    .files = "MDS datasets",
    .known = "MDS",
    .takes_fields = true,
    .probe = mds_probe,
    .open = open_mds,
};
