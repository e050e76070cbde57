/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_unlisted: counts the images of a folder that a list in it leaves out.
 *
 * Compares names by their hashes. Walks the folders without following links to folders.
 * annotations/unlisted.h does this for annotations, which say nothing about folders none of whose
 * images they list.
 */
#include "folder_lists.h"

#include "checksum.h"
#include "hidden.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

enum { DEPTH_MAX = 32 };

typedef struct unlisted {
    sl_dataset *dataset;
    const char *root;
    uint64_t *hashes; /* sorted hashes of the listed names */
    uint64_t count;
    char reason[96];
} unlisted;

/* A folder of the walk. */
typedef struct walked {
    unlisted *own;
    const char *below; /* path relative to the root */
    uint32_t depth;
} walked;

/* Hashes a path without redundant parts: "./" and doubled slashes. */
static uint64_t hash_path(const char *path)
{
    char plain[SL_PATH_BYTES];
    size_t bytes = 0;
    while (*path != '\0' && bytes + 1 < sizeof(plain)) {
        const bool begins = bytes == 0 || plain[bytes - 1] == '/';
        if (begins && path[0] == '/' && bytes > 0) {
            path++;
        } else if (begins && path[0] == '.' && path[1] == '/') {
            path += 2;
        } else {
            plain[bytes++] = *path++;
        }
    }
    return sl_checksum(plain, bytes);
}

static int unlisted_compare_hashes(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a;
    const uint64_t other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static sluice_status hash_listed(unlisted *own, sluice_error *error)
{
    char key[SL_PATH_BYTES];
    own->count = own->dataset->info.samples;
    own->hashes = sl_calloc((size_t)own->count + 1, sizeof(*own->hashes));
    if (own->hashes == NULL) {
        return sl_no_memory(error, STAGE, "for the names of a list");
    }
    for (uint64_t i = 0; i < own->count; i++) {
        const sluice_status status = sl_dataset_key(own->dataset, i, key, sizeof(key), error);
        if (status < 0) {
            return status;
        }
        own->hashes[i] = hash_path(key);
    }
    qsort(own->hashes, (size_t)own->count, sizeof(*own->hashes), unlisted_compare_hashes);
    return SLUICE_OK;
}

static sluice_status walk_folder(unlisted *own, const char *below, uint32_t depth,
                                 sluice_error *error);

static sluice_status unlisted_visit(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    const walked *at = ctx;
    char path[SL_PATH_BYTES];
    if (sl_name_is_hidden(entry->name)) {
        return SLUICE_OK;
    }
    const int length = snprintf(path, sizeof(path), "%s%s%s", at->below,
                                at->below[0] != '\0' ? "/" : "", entry->name);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return SLUICE_OK;
    }
    if (entry->kind == SL_ENTRY_FOLDER) {
        return at->depth < DEPTH_MAX ? walk_folder(at->own, path, at->depth + 1, error) : SLUICE_OK;
    }
    if (!sl_formats[SL_FORMAT_FOLDER]->is_file(entry->name)) {
        return SLUICE_OK;
    }
    const uint64_t hash = hash_path(path);
    if (bsearch(&hash, at->own->hashes, (size_t)at->own->count, sizeof(hash),
                unlisted_compare_hashes) == NULL) {
        sl_omit(&at->own->dataset->omissions, SL_OMITTED_IMAGES, at->own->reason, path);
    }
    return SLUICE_OK;
}

static sluice_status walk_folder(unlisted *own, const char *below, uint32_t depth,
                                 sluice_error *error)
{
    char path[2 * SL_PATH_BYTES];
    walked at = {own, below, depth};
    (void)snprintf(path, sizeof(path), "%s%s%s", own->root, below[0] != '\0' ? "/" : "", below);
    return sl_store_list((sl_file_name){STAGE, path}, unlisted_visit, &at, error);
}

sluice_status sl_folder_lists_count_unlisted(sl_dataset *dataset, const char *folder,
                                             const char *list, sluice_error *error)
{
    unlisted own = {.dataset = dataset, .root = folder};
    (void)snprintf(own.reason, sizeof(own.reason), "images that %.48s does not list", list);
    sluice_status status = hash_listed(&own, error);
    if (status == SLUICE_OK) {
        status = walk_folder(&own, "", 0, error);
    }
    sl_free(own.hashes);
    return status;
}
