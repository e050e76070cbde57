/* SPDX-License-Identifier: Apache-2.0 */
#include "folder_shape.h"

#include "error.h"
#include "memory.h"
#include "splits.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { NAMES_BYTES = 160 };

/*
 * Counts the images in and below each directory; a directory comes after the one that contains it.
 */
static uint64_t *count_pictures(const sl_folder_list *list)
{
    uint64_t *counts = sl_calloc((size_t)list->dir_count + 1, sizeof(*counts));
    for (uint32_t i = list->dir_count; counts != NULL && i-- > 0;) {
        const sl_folder_dir *dir = &list->dirs[i];
        counts[i] += dir->count;
        if (dir->parent != UINT32_MAX) {
            counts[dir->parent] += counts[i];
        }
    }
    return counts;
}

/*
 * Finds the directories with images directly below `parent`; UINT32_MAX: those of classes. Returns
 * the first one.
 */
static uint32_t find_inner(const sl_folder_list *list, const uint64_t *counts, uint32_t parent,
                           sl_seen_names *names)
{
    uint32_t first = UINT32_MAX;
    *names = (sl_seen_names){0};
    for (uint32_t i = 0; i < list->dir_count; i++) {
        if (list->dirs[i].parent == parent && counts[i] > 0) {
            sl_seen_names_add(names, sl_path_name(sl_folder_text(list, list->dirs[i].path)));
            first = first == UINT32_MAX ? i : first;
        }
    }
    return first;
}

static sluice_status refuse_beside(const sl_folder_list *list, const char *root,
                                   const sl_seen_names *classes, sluice_error *error)
{
    char pictures[NAMES_BYTES];
    char folders[NAMES_BYTES];
    sl_seen_names_write(&list->beside, pictures, sizeof(pictures));
    sl_seen_names_write(classes, folders, sizeof(folders));
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, root, -1,
        "the folder contains images itself (%llu: %s), which would be skipped, and no more of them "
        "in class folders (%llu: %s): move one or the other elsewhere",
        (unsigned long long)list->beside.count, pictures, (unsigned long long)list->file_count,
        folders);
}

enum { SPLITS_MAX = 32 };

/* Class folders with images that are named like a split. */
typedef struct splits {
    const char *names[SPLITS_MAX];
    uint32_t count;
    uint32_t kinds;  /* the kinds of these splits, one bit each */
    bool only_parts; /* true if all are named only by such a word, or by that of a fold */
    uint64_t beside; /* splits only because a training one is beside them */
    uint64_t others; /* number of class folders with other names */
} splits;

static splits find_splits(const sl_folder_list *list, const uint64_t *counts)
{
    splits found = {.only_parts = true};
    for (uint32_t i = 0; i < list->dir_count; i++) {
        const sl_folder_dir *dir = &list->dirs[i];
        if (dir->parent != UINT32_MAX || counts[i] == 0) {
            continue;
        }
        const char *name = sl_folder_text(list, dir->path);
        const sl_split kind = sl_split_of(name);
        const bool is_part = sl_split_is_part(name);
        const bool is_beside = kind == SL_SPLIT_NONE && !is_part && sl_split_is_beside(name);
        if ((kind == SL_SPLIT_NONE && !is_part && !is_beside) || found.count == SPLITS_MAX) {
            found.others++;
            continue;
        }
        found.names[found.count++] = name;
        found.kinds |= 1U << kind;
        found.only_parts = found.only_parts && is_part;
        found.beside += is_beside;
    }
    return found;
}

/*
 * Keeps the folders that are certainly splits. That is all of them, if there are no others and
 * either several kinds occur (with a training one, where that matters) or the names are only such
 * words; otherwise those that have a sibling. A class named "test" has none.
 */
static void keep_sure_splits(splits *found)
{
    const bool several = (found->kinds & (found->kinds - 1)) != 0;
    const bool tells = found->beside == 0 || (found->kinds & (1U << SL_SPLIT_TRAIN)) != 0;
    if (found->others == 0 && ((several && tells) || found->only_parts)) {
        return;
    }
    splits sure = {.count = 0};
    for (uint32_t i = 0; i < found->count; i++) {
        bool has_sibling = false;
        for (uint32_t k = 0; k < found->count && !has_sibling; k++) {
            has_sibling = sl_splits_are_siblings(found->names[i], found->names[k]);
        }
        if (has_sibling) {
            sure.names[sure.count++] = found->names[i];
        }
    }
    *found = sure;
}

static sluice_status folder_shape_refuse_splits(const char *root, const splits *found,
                                                sluice_error *error)
{
    char folders[NAMES_BYTES];
    sl_seen_names names = {.count = 0};
    for (uint32_t i = 0; i < found->count; i++) {
        sl_seen_names_add(&names, found->names[i]);
    }
    sl_seen_names_write(&names, folders, sizeof(folders));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, root, -1,
                         "its image folders are splits, not classes (%s): open one of them "
                         "(%.160s/%.64s), or name it (" SL_OPTION("split") " \"%.64s\")",
                         folders, root, names.names[0], names.names[0]);
}

/* Returns whether all kept names are named like splits. */
static bool are_splits(const sl_seen_names *names)
{
    uint32_t i = 0;
    while (i < sl_seen_names_kept(names) && sl_split_is_part(names->names[i])) {
        i++;
    }
    return i > 0 && i == sl_seen_names_kept(names);
}

/* Returns the first name of a training split, or else of any split. */
static const char *find_training(const sl_seen_names *names)
{
    uint32_t i = 0;
    while (i < sl_seen_names_kept(names) && sl_split_of(names->names[i]) != SL_SPLIT_TRAIN) {
        i++;
    }
    return names->names[i < sl_seen_names_kept(names) ? i : 0];
}

/*
 * Checks a dataset whose images are all below `dir`, the only class: descends to a directory that
 * contains several.
 */
static sluice_status check_wrapper(const sl_folder_list *list, const uint64_t *counts, uint32_t dir,
                                   const char *root, sluice_error *error)
{
    char folders[NAMES_BYTES];
    sl_seen_names inner;
    uint32_t next = dir;
    do {
        dir = next;
        next = list->dirs[dir].count == 0 ? find_inner(list, counts, dir, &inner) : UINT32_MAX;
    } while (next != UINT32_MAX && inner.count == 1);
    if (next == UINT32_MAX) {
        return SLUICE_OK;
    }
    const char *path = sl_folder_text(list, list->dirs[dir].path);
    sl_seen_names_write(&inner, folders, sizeof(folders));
    if (are_splits(&inner)) {
        const char *split = find_training(&inner);
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, root, -1,
                             "all its images are in \"%.100s\", whose folders are splits (%s): "
                             "choose one (" SL_OPTION("split") " \"%.64s\"), or open it "
                                                               "(%.160s/%.100s/%.64s)",
                             path, folders, split, root, path, split);
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, root, -1,
                         "all its images are in \"%.100s\", which would be a single class, but "
                         "contains %llu image folders (%s): open %.160s/%.100s",
                         path, (unsigned long long)inner.count, folders, root, path);
}

sluice_status sl_folder_shape_check(const sl_folder_list *list, const char *root, bool allow_empty,
                                    sluice_error *error)
{
    sl_seen_names classes;
    uint64_t *counts = count_pictures(list);
    if (counts == NULL) {
        return sl_no_memory(error, STAGE, "for a folder");
    }
    sluice_status status = SLUICE_OK;
    const uint32_t first = find_inner(list, counts, UINT32_MAX, &classes);
    splits found = find_splits(list, counts);
    keep_sure_splits(&found);
    if (list->beside.count >= list->file_count) {
        status = refuse_beside(list, root, &classes, error);
    } else if (found.count > 1) {
        status = folder_shape_refuse_splits(root, &found, error);
    } else if (classes.count == 1 && (list->class_count == 1 || !allow_empty)) {
        status = check_wrapper(list, counts, first, root, error);
    }
    sl_free(counts);
    return status;
}

bool sl_folder_shape_has_repeats(const sl_folder_list *list)
{
    for (uint32_t i = 0; i < list->class_count; i++) {
        const char *name = sl_folder_text(list, list->classes[i]);
        const size_t digits = strspn(name, "0123456789");
        if (digits == 0 || name[digits] != '_' || name[digits + 1] == '\0') {
            return false;
        }
    }
    return list->class_count > 0;
}

void sl_folder_shape_describe(const sl_folder_list *list, char *text, size_t bytes)
{
    char beside[NAMES_BYTES / 2] = "";
    char left_out[NAMES_BYTES] = "";
    if (list->flat) {
        (void)snprintf(text, bytes, "a folder of images without class folders, so without labels");
        return;
    }
    if (list->beside.count > 0) {
        sl_seen_names_write(&list->beside, beside, sizeof(beside));
        (void)snprintf(left_out, sizeof(left_out), ", without the %llu beside them (%s)",
                       (unsigned long long)list->beside.count, beside);
    }
    (void)snprintf(text, bytes, "a folder of %s with images (torchvision's ImageFolder)%s",
                   list->class_count == 1 ? "one class folder" : "class folders", left_out);
}
