/* SPDX-License-Identifier: Apache-2.0 */
#include "name_tree.h"

#include "beside.h"
#include "error.h"
#include "hidden.h"
#include "inode_set.h"
#include "memory.h"
#include "seen_names.h"
#include "splits.h"
#include "store.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

enum { NAMES_BYTES = 160 };

/* State while the tree is built. */
typedef struct maker {
    sl_name_tree *tree;
    const char *folder;
    const char *below; /* folder being listed, relative to `folder` */
    bool (*takes)(const char *name);
    bool deep;
    uint64_t *folders; /* offsets in `text` of the folders' paths */
    uint64_t folder_count, folder_capacity;
    sl_inode_set seen;
} maker;

static sluice_status name_tree_no_memory(const maker *m, sluice_error *error)
{
    return sl_no_memory_file(error, STAGE, m->folder, "for the names of its files");
}

static bool name_tree_add(sl_name_tree *tree, const char *path, uint64_t **list, uint64_t *count,
                          uint64_t *capacity)
{
    const size_t bytes = strlen(path) + 1;
    if (!sl_grow(&tree->text, &tree->capacity, tree->used + bytes, 1) ||
        !sl_grow(list, capacity, *count + 1, sizeof(**list))) {
        return false;
    }
    memcpy(tree->text + tree->used, path, bytes);
    (*list)[(*count)++] = tree->used;
    tree->used += bytes;
    return true;
}

static sluice_status name_tree_add_folder(maker *m, const char *path, const sl_store_facts *facts,
                                          sluice_error *error)
{
    bool added;
    if (!sl_inode_set_add(&m->seen, (sl_inode){facts->device, facts->identity.inode}, &added)) {
        return name_tree_no_memory(m, error);
    }
    return !added ||
                   name_tree_add(m->tree, path, &m->folders, &m->folder_count, &m->folder_capacity)
               ? SLUICE_OK
               : name_tree_no_memory(m, error);
}

static void name_tree_omit(const maker *m, const char *reason, const char *path, sl_omitted what)
{
    if (m->tree->omissions != NULL) {
        sl_omit(m->tree->omissions, what, reason, path);
    }
}

/* Counts a skipped file; an image of an unsupported kind would have been a sample. */
static void omit_file(const maker *m, const char *path)
{
    if (sl_beside_is_image(path) && !sl_beside_is_picture(path)) {
        name_tree_omit(m, "images of unsupported kinds", path, SL_OMITTED_IMAGES);
    } else if (m->tree->others != NULL && (m->tree->passes == NULL || !m->tree->passes(path))) {
        name_tree_omit(m, m->tree->others, path, SL_OMITTED_THINGS);
    }
}

static sluice_status name_tree_visit(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    char path[2 * SL_PATH_BYTES];
    maker *m = ctx;
    sl_store_facts facts = {.kind = SL_ENTRY_FILE};
    const char *name = entry->name;
    const int prefix = snprintf(path, sizeof(path), "%s/", m->folder);
    const int length = snprintf(path + prefix, sizeof(path) - (size_t)prefix, "%s%s%s", m->below,
                                m->below[0] != '\0' ? "/" : "", name);
    const bool is_hidden = sl_name_is_hidden(name);
    if (is_hidden || entry->kind == SL_ENTRY_OTHER) {
        name_tree_omit(m, is_hidden ? "hidden files and folders" : "files that are not regular",
                       path + prefix, SL_OMITTED_THINGS);
        return SLUICE_OK;
    }
    if (length < 0 || prefix + length >= SL_PATH_BYTES) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, m->folder, -1,
                             "the path of a file in it is too long");
    }
    if (entry->kind != SL_ENTRY_FILE && sl_store_stat(path, &facts) != 0) {
        facts.kind = SL_ENTRY_FILE;
    }
    if (facts.kind == SL_ENTRY_FILE && !m->takes(name)) {
        omit_file(m, path + prefix);
        return SLUICE_OK;
    }
    if (facts.kind == SL_ENTRY_FOLDER && m->deep && strncmp(name, "__", 2) == 0) {
        name_tree_omit(m, "system folders", path + prefix, SL_OMITTED_THINGS);
    }
    if (facts.kind == SL_ENTRY_FOLDER) {
        return m->deep && strncmp(name, "__", 2) != 0
                   ? name_tree_add_folder(m, path + prefix, &facts, error)
                   : SLUICE_OK;
    }
    return facts.kind != SL_ENTRY_FILE || !m->takes(name) ||
                   name_tree_add(m->tree, path + prefix, &m->tree->files, &m->tree->count,
                                 &m->tree->file_capacity)
               ? SLUICE_OK
               : name_tree_no_memory(m, error);
}

static sluice_status name_tree_list(maker *m, uint64_t number, sluice_error *error)
{
    char below[SL_PATH_BYTES];
    char path[2 * SL_PATH_BYTES];
    (void)snprintf(below, sizeof(below), "%s", m->tree->text + m->folders[number]);
    (void)snprintf(path, sizeof(path), "%s%s%s", m->folder, below[0] != '\0' ? "/" : "", below);
    m->below = below;
    return sl_store_list((sl_file_name){STAGE, path}, name_tree_visit, m, error);
}

static int name_tree_compare(const void *a, const void *b, void *text)
{
    return strcmp((const char *)text + *(const uint64_t *)a,
                  (const char *)text + *(const uint64_t *)b);
}

sluice_status sl_name_tree_open(sl_name_tree *tree, const char *folder, bool deep,
                                bool (*takes)(const char *name), sluice_error *error)
{
    maker m = {.tree = tree, .folder = folder, .takes = takes, .deep = deep};
    sl_store_facts facts;
    sl_inode_set_clear(&m.seen);
    sluice_status status = sl_store_find((sl_file_name){STAGE, folder}, &facts, error);
    status =
        status == SLUICE_OK && strlen(folder) >= SL_PATH_BYTES - 2
            ? sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1, "the path is too long")
            : status;
    status = status == SLUICE_OK ? name_tree_add_folder(&m, "", &facts, error) : status;
    for (uint64_t i = 0; status == SLUICE_OK && i < m.folder_count; i++) {
        status = name_tree_list(&m, i, error);
    }
    if (status == SLUICE_OK && tree->count > 1) {
        qsort_r(tree->files, tree->count, sizeof(*tree->files), name_tree_compare, tree->text);
    }
    sl_inode_set_close(&m.seen);
    sl_free(m.folders);
    return status;
}

void sl_name_tree_close(sl_name_tree *tree)
{
    sl_free(tree->text);
    sl_free(tree->files);
    *tree = (sl_name_tree){.count = 0};
}

const char *sl_name_tree_find_stem(const sl_name_tree *tree, const char *path, size_t bytes)
{
    uint64_t low = 0;
    uint64_t high = tree->count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (strncmp(sl_name_tree_path(tree, middle), path, bytes) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < tree->count && strncmp(sl_name_tree_path(tree, low), path, bytes) == 0; low++) {
        if (sl_beside_stem(sl_name_tree_path(tree, low)) == bytes) {
            return sl_name_tree_path(tree, low);
        }
    }
    return NULL;
}

sluice_status sl_name_tree_check_splits(const sl_name_tree *tree, const char *path,
                                        const char *root, const char *folder, sluice_error *error)
{
    char last[NAME_MAX + 1] = "";
    char names[NAMES_BYTES];
    sl_seen_names splits = {.count = 0};
    for (uint64_t i = 0; i < tree->count; i++) {
        const char *file = sl_name_tree_path(tree, i);
        const size_t bytes = strcspn(file, "/");
        if (file[bytes] == '\0' || bytes >= sizeof(last) ||
            (strncmp(last, file, bytes) == 0 && last[bytes] == '\0')) {
            continue;
        }
        memcpy(last, file, bytes);
        last[bytes] = '\0';
        if (sl_split_is(last)) {
            sl_seen_names_add(&splits, last);
        }
    }
    if (splits.count < 2) {
        return SLUICE_OK;
    }
    sl_seen_names_write(&splits, names, sizeof(names));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "its image folders are splits (%s): open one of them (%.200s/%.64s/%.64s)",
                         names, root, folder, splits.names[0]);
}
