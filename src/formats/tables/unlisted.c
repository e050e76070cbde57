/* SPDX-License-Identifier: Apache-2.0 */
#include "unlisted.h"

#include "memory.h"
#include "pair_look.h"
#include "store.h"

#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

/* While one folder is listed. */
typedef struct unlisted_look {
    sl_listed *own;
    const sl_bytes *paths; /* in order */
    uint64_t count;
    sl_bytes folder; /* of paths, up to a slash that is part of it */
} unlisted_look;

static int compare_bytes(sl_bytes a, sl_bytes b)
{
    const size_t both = a.size < b.size ? a.size : b.size;
    const int order = both > 0 ? memcmp(a.data, b.data, both) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static sl_bytes unlisted_folder(sl_bytes path)
{
    const uint8_t *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    return (sl_bytes){path.data, slash != NULL ? (size_t)(slash + 1 - path.data) : 0};
}

/* Folder by folder, since one of "a/" may be between two of "a". */
static int compare_in_folders(const void *a, const void *b)
{
    const sl_bytes *one = a;
    const sl_bytes *other = b;
    const int order = compare_bytes(unlisted_folder(*one), unlisted_folder(*other));
    return order != 0 ? order : compare_bytes(*one, *other);
}

static bool is_listed(const unlisted_look *look, const char *name)
{
    uint64_t low = 0;
    uint64_t high = look->count;
    const sl_bytes wanted = {(const uint8_t *)name, strlen(name)};
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const sl_bytes path = look->paths[middle];
        const int order = compare_bytes(
            (sl_bytes){path.data + look->folder.size, path.size - look->folder.size}, wanted);
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

static sluice_status unlisted_visit(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    const unlisted_look *look = ctx;
    if (entry->kind == SL_ENTRY_FOLDER || entry->kind == SL_ENTRY_OTHER || entry->name[0] == '.' ||
        !sl_pair_is_image(entry->name) || is_listed(look, entry->name)) {
        return SLUICE_OK;
    }
    sl_omit(&look->own->base.omissions, SL_OMITTED_IMAGES,
            "images that the annotations do not list", entry->name);
    return SLUICE_OK;
}

static void look_in_folder(unlisted_look *look)
{
    char path[SL_PATH_BYTES];
    const size_t root = strlen(look->own->root);
    const bool alone = look->folder.size > 0 && look->folder.data[0] == '/';
    const size_t before = alone ? 0 : root + 1;
    if (before + look->folder.size >= sizeof(path)) {
        return;
    }
    if (!alone) {
        memcpy(path, look->own->root, root);
        path[root] = '/';
    }
    if (look->folder.size > 0) {
        memcpy(path + before, look->folder.data, look->folder.size);
    }
    path[before + look->folder.size] = '\0';
    (void)sl_store_list((sl_file_name){STAGE, path}, unlisted_visit, look, NULL);
}

sluice_status sl_unlisted_count(sl_listed *own, sluice_error *error)
{
    const uint64_t rows = own->side.of[SL_LISTED_PATHS].rows;
    sl_bytes *paths = sl_calloc(rows + 1, sizeof(*paths));
    if (paths == NULL) {
        return sl_no_memory(error, STAGE, "for the names of pictures");
    }
    for (uint64_t i = 0; i < rows; i++) {
        sl_value value;
        (void)sl_side_columns_get(&own->side, SL_LISTED_PATHS, i, &value);
        paths[i] = value.bytes;
        while (paths[i].size > 2 && memcmp(paths[i].data, "./", 2) == 0) {
            paths[i] = (sl_bytes){paths[i].data + 2, paths[i].size - 2};
        }
    }
    qsort(paths, rows, sizeof(*paths), compare_in_folders);
    for (uint64_t i = 0; i < rows;) {
        unlisted_look look = {.own = own, .paths = paths + i, .folder = unlisted_folder(paths[i])};
        while (i < rows && compare_bytes(unlisted_folder(paths[i]), look.folder) == 0) {
            look.count++;
            i++;
        }
        look_in_folder(&look);
    }
    sl_free(paths);
    return SLUICE_OK;
}
