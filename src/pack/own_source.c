/* SPDX-License-Identifier: Apache-2.0 */
#include "own_source.h"

#include "error.h"
#include "output.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds the folder that contains file `number` of the dataset. */
static bool own_source_folder_of(const sl_dataset *dataset, uint32_t number, char *path)
{
    if (sl_objects_path(dataset->objects, number, path, SL_OUTPUT_PATH_BYTES) < 0) {
        return false;
    }
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        memcpy(path, ".", 2);
    } else {
        slash[slash == path ? 1 : 0] = '\0';
    }
    return true;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static bool has_objects_in(const sl_dataset *dataset, const struct stat *folder)
{
    struct stat source;
    char path[SL_OUTPUT_PATH_BYTES];
    char previous[SL_OUTPUT_PATH_BYTES] = "";
    for (uint32_t i = 0; i < sl_objects_count(dataset->objects); i++) {
        if (!own_source_folder_of(dataset, i, path) || strcmp(path, previous) == 0) {
            continue;
        }
        memcpy(previous, path, sizeof(previous));
        if (stat(path, &source) == 0 && same_file(&source, folder)) {
            return true;
        }
    }
    return false;
}

/* Closes `fd` and opens the parent folder; -1: none, or not accessible. */
static int go_up(int fd, struct stat *folder)
{
    const struct stat before = *folder;
    int above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void)close(fd);
    if (above >= 0 && (fstat(above, folder) != 0 || same_file(folder, &before))) {
        (void)close(above);
        above = -1;
    }
    return above;
}

/*
 * Returns whether `is` holds for the folder open as `fd`, which this closes, or for one of its
 * ancestors.
 */
static bool holds_above(int fd, bool (*is)(const void *ctx, const struct stat *folder),
                        const void *ctx)
{
    struct stat folder;
    bool found = false;
    if (fstat(fd, &folder) != 0) {
        (void)close(fd);
        return false;
    }
    while (fd >= 0 && !found) {
        found = is(ctx, &folder);
        fd = go_up(fd, &folder);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return found;
}

static bool is_of_dataset(const void *ctx, const struct stat *folder)
{
    const sl_dataset *dataset = ctx;
    return dataset->ops->has_folder(dataset, folder->st_dev, folder->st_ino);
}

static bool own_source_is_same(const void *ctx, const struct stat *folder)
{
    return same_file(ctx, folder);
}

/* Opens the folder in which `path` would be created. */
static int open_parent(const char *path)
{
    char parent[SL_OUTPUT_PATH_BYTES];
    size_t length = strlen(path);
    if (length >= sizeof(parent)) {
        return -1;
    }
    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    memcpy(parent, length > 0 ? path : ".", length > 0 ? length : 1);
    parent[length > 0 ? length : 1] = '\0';
    return open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Rejects a target in a dataset that consists of folders with any contents. */
static sluice_status own_source_refuse_folder(const sl_dataset *dataset, const char *path,
                                              const struct stat *target, const char *stage,
                                              sluice_error *error)
{
    if (target != NULL && dataset->ops->has_folder(dataset, target->st_dev, target->st_ino)) {
        return sl_error_file(error, SLUICE_INVALID, stage, 0, path, -1,
                             "this folder contains the images to be %sed: choose another one",
                             stage);
    }
    const int fd =
        target != NULL ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : open_parent(path);
    if (fd >= 0 && holds_above(fd, is_of_dataset, dataset)) {
        return sl_error_file(error, SLUICE_INVALID, stage, 0, path, -1,
                             "this folder is inside the one to be %sed, which would gain samples "
                             "from it: choose one elsewhere",
                             stage);
    }
    return SLUICE_OK;
}

sluice_status sl_refuse_own_source(const sl_dataset *dataset, const char *path, const char *stage,
                                   sluice_error *error)
{
    struct stat target;
    const bool exists = stat(path, &target) == 0;
    if (dataset->ops->has_folder != NULL) {
        const sluice_status status =
            own_source_refuse_folder(dataset, path, exists ? &target : NULL, stage, error);
        if (status < 0) {
            return status;
        }
    }
    return exists && has_objects_in(dataset, &target)
               ? sl_error_file(error, SLUICE_INVALID, stage, 0, path, -1,
                               "this folder contains the dataset to be %sed", stage)
               : SLUICE_OK;
}

sluice_status sl_refuse_source_within(const sl_dataset *dataset, const char *path,
                                      const char *stage, sluice_error *error)
{
    struct stat above;
    char folder[SL_OUTPUT_PATH_BYTES];
    char previous[SL_OUTPUT_PATH_BYTES] = "";
    bool found = false;
    if (stat(path, &above) != 0) {
        return SLUICE_OK;
    }
    for (uint32_t i = 0; !found && i < sl_objects_count(dataset->objects); i++) {
        if (!own_source_folder_of(dataset, i, folder) || strcmp(folder, previous) == 0) {
            continue;
        }
        memcpy(previous, folder, sizeof(previous));
        const int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        found = fd >= 0 && holds_above(fd, own_source_is_same, &above);
    }
    return found ? sl_error_file(error, SLUICE_INVALID, stage, 0, path, -1,
                                 "the dataset is in this folder, which would be removed")
                 : SLUICE_OK;
}
