/* SPDX-License-Identifier: Apache-2.0 */
#include "unlisted.h"

#include "beside.h"
#include "hidden.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

/* A listed path, split up. */
typedef struct unlisted_path {
    sl_bytes folder, name;
    uint64_t device, inode; /* identity of the folder, which may have several paths */
} unlisted_path;

/* State while one folder is listed. */
typedef struct unlisted_look {
    sl_listed *own;
    const unlisted_path *paths; /* listed files of the folder, sorted by name */
    uint64_t count;
} unlisted_look;

static int compare_bytes(sl_bytes a, sl_bytes b)
{
    const size_t both = a.size < b.size ? a.size : b.size;
    const int order = both > 0 ? memcmp(a.data, b.data, both) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_by_text(const void *a, const void *b)
{
    const unlisted_path *one = a;
    const unlisted_path *other = b;
    return compare_bytes(one->folder, other->folder);
}

static int compare_by_inode(const void *a, const void *b)
{
    const unlisted_path *one = a;
    const unlisted_path *other = b;
    if (one->device != other->device) {
        return one->device > other->device ? 1 : -1;
    }
    if (one->inode != other->inode) {
        return one->inode > other->inode ? 1 : -1;
    }
    return compare_bytes(one->name, other->name);
}

static void unlisted_take_apart(unlisted_path *path, sl_bytes text)
{
    const uint8_t *slash = text.size > 0 ? memrchr(text.data, '/', text.size) : NULL;
    const size_t before = slash != NULL ? (size_t)(slash + 1 - text.data) : 0;
    path->folder = (sl_bytes){text.data, before};
    path->name = (sl_bytes){text.data + before, text.size - before};
}

static bool write_folder(const sl_listed *own, sl_bytes folder, char path[SL_PATH_BYTES])
{
    const bool alone = folder.size > 0 && folder.data[0] == '/';
    const int length = snprintf(path, SL_PATH_BYTES, "%s%s%.*s", alone ? "" : own->root,
                                alone ? "" : "/", (int)folder.size, (const char *)folder.data);
    return length > 0 && length < SL_PATH_BYTES;
}

/* Finds the folders of all paths. A folder that cannot be found gets inode 0. */
static void folders_of_listed(const sl_listed *own, unlisted_path *paths, uint64_t count)
{
    for (uint64_t i = 0; i < count;) {
        char path[SL_PATH_BYTES];
        sl_store_facts facts;
        const sl_bytes folder = paths[i].folder;
        const bool is_there = write_folder(own, folder, path) && sl_store_stat(path, &facts) == 0;
        for (; i < count && compare_bytes(paths[i].folder, folder) == 0; i++) {
            paths[i].device = is_there ? facts.device : 0;
            paths[i].inode = is_there ? facts.identity.inode : 0;
        }
    }
}

static bool is_listed(const unlisted_look *look, const char *name)
{
    uint64_t low = 0;
    uint64_t high = look->count;
    const sl_bytes wanted = {(const uint8_t *)name, strlen(name)};
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const int order = compare_bytes(look->paths[middle].name, wanted);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

static sluice_status see_entry(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    const unlisted_look *look = ctx;
    if (entry->kind != SL_ENTRY_FOLDER && entry->kind != SL_ENTRY_OTHER &&
        !sl_name_is_hidden(entry->name) && sl_beside_is_image(entry->name) &&
        !is_listed(look, entry->name)) {
        sl_omit(&look->own->base.omissions, SL_OMITTED_IMAGES,
                "images that the annotations do not list", entry->name);
    }
    return SLUICE_OK;
}

sluice_status sl_unlisted_count(sl_listed *own, sluice_error *error)
{
    const uint64_t rows = own->side.of[SL_LISTED_PATHS].rows;
    unlisted_path *paths = sl_calloc(rows + 1, sizeof(*paths));
    if (paths == NULL) {
        return sl_no_memory(error, STAGE, "for the names of images");
    }
    for (uint64_t i = 0; i < rows; i++) {
        sl_value value;
        (void)sl_side_columns_get(&own->side, SL_LISTED_PATHS, i, &value);
        unlisted_take_apart(&paths[i], value.bytes);
    }
    qsort(paths, rows, sizeof(*paths), compare_by_text);
    folders_of_listed(own, paths, rows);
    qsort(paths, rows, sizeof(*paths), compare_by_inode);
    for (uint64_t i = 0; i < rows;) {
        char path[SL_PATH_BYTES];
        const unlisted_path *first = &paths[i];
        unlisted_look look = {.own = own, .paths = first};
        for (; i < rows && paths[i].device == first->device && paths[i].inode == first->inode;
             i++) {
            look.count++;
        }
        if (first->inode != 0 && write_folder(own, first->folder, path)) {
            (void)sl_store_list((sl_file_name){STAGE, path}, see_entry, &look, NULL);
        }
    }
    sl_free(paths);
    return SLUICE_OK;
}
