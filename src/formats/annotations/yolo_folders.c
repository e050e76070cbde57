/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_folders.h"

#include "beside.h"
#include "error.h"
#include "memory.h"
#include "splits.h"
#include "yolo_look.h"
#include "yolo_paths.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { SPLITS_MAX = 64 };

/* ---- labels without a image ---- */

/* Returns whether an image with that stem exists, with any extension. */
static bool tree_has_stem(const sl_name_tree *tree, const char *path)
{
    return sl_name_tree_find_stem(tree, path, sl_beside_stem(path)) != NULL;
}

/*
 * Returns whether a label in a folder of images belongs to one of them. If labels are beside
 * images, the label of a/images/b.jpg is a/labels/b.txt, not a/images/b.txt.
 */
static bool tree_has_picture(const sl_name_tree *tree, const char *label, bool beside)
{
    char path[SL_PATH_BYTES];
    char found[2 * SL_PATH_BYTES];
    const char *labels = NULL;
    const int length = snprintf(path, sizeof(path), "/%s", label);
    if (!beside || length < 0 || (size_t)length >= sizeof(path)) {
        return tree_has_stem(tree, label);
    }
    for (const char *at = strstr(path, "/labels/"); at != NULL; at = strstr(at + 1, "/labels/")) {
        labels = at;
    }
    if (strstr(path, "/images/") == NULL && tree_has_stem(tree, label)) {
        return true;
    }
    if (labels == NULL || strstr(labels, "/images/") != NULL) {
        return false;
    }
    (void)snprintf(found, sizeof(found), "%.*s/images/%s", (int)(labels - path), path,
                   labels + strlen("/labels/"));
    return tree_has_stem(tree, found + 1);
}

static void omit_label(sl_yolo_files *files, const char *label)
{
    if (strcmp(label, "classes.txt") == 0) {
        files->has_list_of_classes = true;
        return;
    }
    if (files->stray[0] == '\0') {
        (void)snprintf(files->stray, sizeof(files->stray), "%s", label);
    }
    sl_omit(&files->omissions, SL_OMITTED_IMAGES, "label files without an image", label);
}

/* Rejects label files that do not end in ".txt", the only name that is looked up for an image. */
static sluice_status check_ending(const char *folder, const char *label, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    if (sl_ends_with(label, ".txt") || !sl_path_join(path, folder, label)) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "label files must end in lower-case .txt: rename it, and others like it");
}

/* Finds the folder of the labels of a folder of images. False: its path is too long. */
static bool find_labels(const char *folder, char labels[SL_PATH_BYTES])
{
    char path[SL_PATH_BYTES];
    if (!sl_path_join(path, folder, "x.jpg") || !sl_yolo_label_of(path, labels)) {
        return false;
    }
    *strrchr(labels, '/') = '\0';
    return true;
}

bool sl_yolo_are_beside(const char *folder)
{
    char labels[SL_PATH_BYTES];
    return find_labels(folder, labels) && strcmp(labels, folder) == 0;
}

sluice_status sl_yolo_count_labels(sl_yolo_files *files, const char *folder, bool deep,
                                   const sl_name_tree *pictures, sluice_error *error)
{
    char labels[SL_PATH_BYTES];
    sl_name_tree images = {.count = 0};
    sl_name_tree tree = {.omissions = &files->omissions,
                         .others = "files of label folders that are not labels"};
    sluice_status status = SLUICE_OK;
    const bool beside = sl_yolo_are_beside(folder);
    if (!find_labels(folder, labels)) {
        return SLUICE_OK;
    }
    if (beside) {
        tree.omissions = NULL; /* they were already counted with the folder of images */
    }
    if (sl_store_has_folder(labels)) {
        status = sl_name_tree_open(&tree, labels, deep, sl_yolo_is_label_named, error);
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < tree.count; i++) {
        const char *label = sl_name_tree_path(&tree, i);
        status = check_ending(labels, label, error);
        if (status < 0 || tree_has_picture(pictures, label, beside)) {
            continue;
        }
        if (images.text == NULL) {
            status = sl_name_tree_open(&images, folder, deep, sl_beside_is_image, error);
        }
        if (status == SLUICE_OK && !tree_has_picture(&images, label, beside)) {
            omit_label(files, label);
        }
    }
    sl_name_tree_close(&images);
    sl_name_tree_close(&tree);
    return status;
}

/* ---- folders of splits ---- */

/* Lists the names of sub-folders in a folder of images that can be splits. */
static uint32_t list_inner(const sl_name_tree *tree, char (*names)[NAME_MAX + 1])
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < tree->count && count < SPLITS_MAX; i++) {
        const char *file = sl_name_tree_path(tree, i);
        const size_t bytes = strcspn(file, "/");
        const bool is_last = count > 0 && strncmp(names[count - 1], file, bytes) == 0 &&
                             names[count - 1][bytes] == '\0';
        if (file[bytes] == '/' && bytes <= NAME_MAX && !is_last) {
            memcpy(names[count], file, bytes);
            names[count++][bytes] = '\0';
        }
    }
    return count;
}

sluice_status sl_yolo_find_inner_split(const sl_yolo_files *files, const sl_name_tree *tree,
                                       char path[SL_PATH_BYTES], sluice_error *error)
{
    uint32_t chosen = 0;
    const char *list[SPLITS_MAX];
    char(*names)[NAME_MAX + 1] = sl_calloc(SPLITS_MAX, sizeof(*names));
    if (names == NULL) {
        return sl_no_memory_file(error, STAGE, files->path, "for the names of its files");
    }
    const uint32_t count = list_inner(tree, names);
    for (uint32_t i = 0; i < count; i++) {
        list[i] = names[i];
    }
    sluice_status status =
        count > 0 ? sl_split_choose(list, count, files->split, &chosen, error)
                  : sl_error_set(error, SLUICE_INVALID, STAGE,
                                 SL_OPTION("split") " \"%.64s\": its images have no splits",
                                 files->split);
    if (status < 0 && error != NULL) {
        sl_error_set_path(error, files->path);
    }
    char folder[SL_PATH_BYTES] = "";
    const bool fits = sl_path_join(folder, files->root, files->pictures) &&
                      sl_path_join(path, folder, names[chosen]);
    sl_free(names);
    return status == SLUICE_OK && !fits
               ? sl_error_file(error, SLUICE_INVALID, STAGE, 0, files->path, -1,
                               "the path of a folder is too long")
               : status;
}
