/* SPDX-License-Identifier: Apache-2.0 */
/*
 * litdata: opens LitData, Lightning's chunks: a folder with index.json, which lists chunks and
 * describes a sample. sized_dataset.h or litdata_tokens.h reads the chunks.
 */
#include "index_json.h"
#include "litdata_columns.h"
#include "litdata_tokens.h"
#include "sized_dataset.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"
#define LIST  "chunks"

enum { COMPRESSION_BYTES = 64 };

static bool litdata_probe(sl_look *look)
{
    return sl_index_json_probe(look, LIST);
}

/* State while a dataset is opened. */
typedef struct opener {
    sl_sized_dataset *own;
    sl_index_json first, index; /* of the first path, and of the current one */
    bool tokens;
} opener;

/* ---- chunks ---- */

static sluice_status litdata_refuse_compressed(const char *path, sluice_error *error)
{
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                         "the chunk is compressed by an unsupported method: unpack all chunks next "
                         "to the originals, and leave index.json as it is");
}

/* The paths of a chunk. */
typedef struct chunk_paths {
    char given[SL_PATH_BYTES]; /* path in the index */
    char plain[SL_PATH_BYTES]; /* path of the unpacked chunk: without ".COMPRESSION", as the
                                  original has it */
} chunk_paths;

/* Finds the file of a chunk: the unpacked one if it exists. */
static sluice_status litdata_find_file(const opener *o, const char *name, const char *compression,
                                       chunk_paths *p, sl_told_file *told, sluice_error *error)
{
    char plain[SL_PATH_BYTES];
    char part[COMPRESSION_BYTES + 2];
    const sluice_status status = sl_index_json_file(&o->index, name, p->given, error);
    told->path = p->given;
    if (status < 0 || compression == NULL) {
        return status;
    }
    (void)snprintf(part, sizeof(part), ".%s", compression);
    const char *found = strstr(name, part);
    if (found == NULL) {
        return litdata_refuse_compressed(p->given, error);
    }
    (void)snprintf(plain, sizeof(plain), "%.*s%s", (int)(found - name), name, found + strlen(part));
    if (sl_index_json_file(&o->index, plain, p->plain, error) < 0) {
        return SLUICE_CORRUPT;
    }
    if (sl_store_has(p->plain)) {
        told->path = p->plain;
        return SLUICE_OK;
    }
    told->packing = sl_index_json_packing(compression);
    if (told->packing != SL_PACKING_ZSTD) { /* the only compression of LitData */
        return litdata_refuse_compressed(p->given, error);
    }
    told->unpacked = p->plain;
    return SLUICE_OK;
}

static sluice_status add_chunk(opener *o, const json_t *chunk, size_t number,
                               const char *compression, sluice_error *error)
{
    chunk_paths p;
    sl_sized_file file = {.told = {.samples = 0}};
    sl_told_file *told = &file.told;
    const char *name = sl_json_text(chunk, "filename");
    if (!sl_json_count(chunk, "chunk_size", &told->samples) ||
        !sl_json_count(chunk, "chunk_bytes", &told->bytes) || name == NULL) {
        return sl_index_json_refuse(&o->index, SLUICE_CORRUPT, (int64_t)number,
                                    "its file is not named", error);
    }
    const sluice_status status = litdata_find_file(o, name, compression, &p, told, error);
    return status == SLUICE_OK ? sl_sized_dataset_add(o->own, &file, error) : status;
}

/* ---- what they hold ---- */

static sluice_status refuse_index(const opener *o, const char *why, sluice_error *error)
{
    return sl_index_json_refuse(&o->index, SLUICE_UNSUPPORTED, -1, why, error);
}

static bool is_of_tokens(const json_t *config)
{
    const char *loader = sl_json_text(config, "item_loader");
    return loader != NULL && strcmp(loader, "TokensLoader") == 0;
}

static sluice_status check_config(opener *o, const json_t *config, sluice_error *error)
{
    const char *loader = sl_json_text(config, "item_loader");
    const char *compression = sl_json_text(config, "compression");
    if (sl_json_member(config, "encryption") != NULL) {
        return refuse_index(o, "its chunks are encrypted: write them again without encryption",
                            error);
    }
    if (loader != NULL && strcmp(loader, "ParquetLoader") == 0) {
        return refuse_index(o, "its chunks are Parquet files: open those instead", error);
    }
    if (loader != NULL && strcmp(loader, "PyTreeLoader") != 0 &&
        strcmp(loader, "TokensLoader") != 0) {
        return refuse_index(o, "unknown item_loader: PyTreeLoader and TokensLoader are supported",
                            error);
    }
    if (compression != NULL &&
        (compression[0] == '\0' || strlen(compression) > COMPRESSION_BYTES)) {
        return refuse_index(o, "unknown compression", error);
    }
    o->tokens = is_of_tokens(config);
    return SLUICE_OK;
}

/*
 * Compares the configs of folders, which must describe samples alike. The first releases have no
 * item_loader.
 */
static bool is_same_config(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"data_format", "data_spec"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const json_t *left = sl_json_member(a, keys[i]);
        const json_t *right = sl_json_member(b, keys[i]);
        if (left != right && !json_equal(left, right)) { /* two missing members are equal too */
            return false;
        }
    }
    return is_of_tokens(a) == is_of_tokens(b);
}

static sluice_status take_config(opener *o, const json_t *config, sluice_error *error)
{
    const sluice_status status = check_config(o, config, error);
    if (status < 0) {
        return status;
    }
    if (o->first.tree.root == NULL) {
        return sl_litdata_columns(&o->index, &o->own->columns, error);
    }
    return is_same_config(config, sl_json_member(o->first.tree.root, "config"))
               ? SLUICE_OK
               : refuse_index(o,
                              "its samples differ from those of the first folder: open it as a "
                              "separate dataset",
                              error);
}

/* ---- opening ---- */

static sluice_status litdata_add_path(opener *o, const char *path, bool anywhere,
                                      sluice_error *error)
{
    const sl_index_json_wanted wanted = {path, LIST, anywhere};
    const uint32_t first = o->own->files.list.count;
    sluice_status status = sl_index_json_load(&o->index, &wanted, error);
    if (status < 0) {
        return status;
    }
    const json_t *config = sl_json_member(o->index.tree.root, "config");
    const json_t *chunks = sl_json_member(o->index.tree.root, LIST);
    status = take_config(o, config, error);
    for (size_t i = 0; status == SLUICE_OK && i < json_array_size(chunks); i++) {
        status =
            add_chunk(o, json_array_get(chunks, i), i, sl_json_text(config, "compression"), error);
    }
    if (status == SLUICE_OK) {
        status =
            sl_file_list_check(&o->own->files.list, first, o->index.boundary, o->index.path, error);
    }
    if (o->first.tree.root == NULL && status == SLUICE_OK) {
        sl_index_json_move(&o->first, &o->index);
    }
    sl_index_json_close(&o->index);
    return status;
}

/*
 * Opens chunks of tokens: a single leaf with elements only, which has its own name only in a dict.
 */
static sluice_status open_tokens(opener *o, sl_dataset **dataset,
                                 const sluice_dataset_options *options, const char *path,
                                 sluice_error *error)
{
    sl_sized_columns *columns = &o->own->columns;
    sl_source_column *source = &columns->sources[0];
    if (columns->count != 1 || source->field.type != SLUICE_FIELD_TENSOR ||
        source->refused != NULL) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                             "its TokensLoader reads something other than one tensor of tokens");
    }
    if (strcmp(source->name, "0") == 0) {
        (void)snprintf(source->name, sizeof(source->name), "tokens");
    }
    sl_offset_files_tell(&o->own->files, sl_sized_columns_sum(columns));
    const sl_litdata_tokens_from from = {path, options->unpacked_dir};
    const sluice_status status = sl_sized_columns_find(columns, options, path, error);
    return status == SLUICE_OK
               ? sl_litdata_tokens_open(dataset, &o->own->files, &columns->fields, &from, error)
               : status;
}

static sluice_status open_items(opener *o, sl_dataset **dataset,
                                const sluice_dataset_options *options, const char *path,
                                sluice_error *error)
{
    sl_dataset *base = &o->own->base;
    sl_unchecked_add(&base->unchecked, "LitData chunks have no checksums");
    const sluice_status status = sl_sized_dataset_finish(o->own, options, path, error);
    const bool packed = base->info.front_to_back != 0;
    (void)snprintf(base->kind, sizeof(base->kind), "LitData %schunks, listed by their index.json%s",
                   packed ? "compressed " : "", packed ? "; slow to read: pack it" : "");
    if (status == SLUICE_OK) {
        *dataset = base;
        o->own = NULL;
    }
    return status;
}

static sluice_status litdata_open_all(opener *o, sl_dataset **dataset, const char *const *paths,
                                      size_t count, const sluice_dataset_options *options,
                                      sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    o->own->files.may_lack_table = true; /* as in releases before 0.2.40 */
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = litdata_add_path(o, paths[i], options->allow_outside != 0, error);
    }
    if (status < 0) {
        return status;
    }
    return o->tokens ? open_tokens(o, dataset, options, paths[0], error)
                     : open_items(o, dataset, options, paths[0], error);
}

static sluice_status open_litdata(sl_dataset **dataset, const char *const *paths, size_t count,
                                  const sluice_dataset_options *options, sluice_error *error)
{
    opener o = {.own = sl_sized_dataset_new("litdata", error)};
    if (o.own == NULL) {
        return SLUICE_NOMEM;
    }
    const sluice_status status = litdata_open_all(&o, dataset, paths, count, options, error);
    sl_index_json_close(&o.index);
    sl_index_json_close(&o.first);
    sl_dataset_close(o.own != NULL ? &o.own->base : NULL);
    return status;
}

SL_FORMAT(litdata) = {
    .name = "litdata",
    .files = "LitData datasets",
    .known = "LitData",
    .takes_fields = true,
    .probe = litdata_probe,
    .open = open_litdata,
};
