/* SPDX-License-Identifier: Apache-2.0 */
/* What a pack finds in its folder, and next to it. */
#include "error.h"
#include "file.h"
#include "pack_state.h"
#include "shards.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGE "pack"

/* The folder that file `number` of the dataset lies in. */
static bool folder_of(const sl_dataset *dataset, uint32_t number, char *path)
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
        if (!folder_of(dataset, i, path) || strcmp(path, previous) == 0) {
            continue;
        }
        memcpy(previous, path, sizeof(previous));
        if (stat(path, &source) == 0 && same_file(&source, folder)) {
            return true;
        }
    }
    return false;
}

/* Closes `fd` and opens the folder above it; -1: there is none, or none that can be seen. */
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

/* Whether the folder open as `fd`, which this closes, is one of the dataset's or below one. */
static bool lies_in(const sl_dataset *dataset, int fd)
{
    struct stat folder;
    bool found = false;
    if (fstat(fd, &folder) != 0) {
        (void)close(fd);
        return false;
    }
    while (fd >= 0 && !found) {
        found = dataset->ops->has_folder(dataset, folder.st_dev, folder.st_ino);
        fd = go_up(fd, &folder);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return found;
}

/* Opens the folder that `path` would be made in. */
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

sluice_status sl_pack_refuse_own_source(const sl_dataset *dataset, const char *path,
                                        sluice_error *error)
{
    struct stat target;
    const bool exists = stat(path, &target) == 0;
    if (dataset->ops->has_folder == NULL) {
        return exists && has_objects_in(dataset, &target)
                   ? sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                                   "this folder holds the dataset that is to be packed")
                   : SLUICE_OK;
    }
    if (exists && dataset->ops->has_folder(dataset, target.st_dev, target.st_ino)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "this folder holds the pictures that are to be packed: choose "
                             "another one");
    }
    const int fd = exists ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : open_parent(path);
    if (fd >= 0 && lies_in(dataset, fd)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "this folder lies in the one that is to be packed, which would have "
                             "another class by it: choose one elsewhere");
    }
    return SLUICE_OK;
}

static sluice_status read_head_page(const char *path, sl_manifest_header *header,
                                    sluice_error *error)
{
    uint8_t page[SL_PAGE_BYTES];
    int fd;
    sl_file_name name = {STAGE, path};
    sluice_status status = sl_file_open(name, &fd, NULL, error);
    if (status < 0) {
        return status;
    }
    status = sl_file_read(fd, name, page, sizeof(page), 0, error);
    sl_file_close(fd);
    if (status < 0) {
        return status;
    }
    sl_refusal refusal = sl_manifest_header_decode(header, page);
    return refusal.text != NULL ? sl_shards_refuse(error, refusal, path, 0) : SLUICE_OK;
}

/* Each shard is there and as long as its row says; adds up their sizes. */
static sluice_status measure_shards(const sl_dataset *dataset, uint64_t *bytes, sluice_error *error)
{
    *bytes = 0;
    for (uint32_t i = 0; i < sl_objects_count(dataset->objects); i++) {
        char path[SL_PATH_BYTES];
        struct stat status;
        uint64_t expected = sl_shards_of(dataset)->shards[i].row.file_bytes;
        (void)sl_objects_path(dataset->objects, i, path, sizeof(path));
        if (stat(path, &status) != 0 || (uint64_t)status.st_size != expected) {
            return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                                 "the folder holds a complete pack of this dataset, but this shard "
                                 "is missing or has another size: overwrite to start anew");
        }
        *bytes += expected;
    }
    return SLUICE_OK;
}

sluice_status sl_pack_take_finished(const sl_pack_state *p, sluice_pack_result *result,
                                    sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    sl_manifest_header header = {0};
    sluice_status status = sl_output_name(&p->output, SL_MANIFEST_NAME, false, path, error);
    if (status == SLUICE_OK) {
        status = read_head_page(path, &header, error);
    }
    if (status < 0) {
        return status;
    }
    if (header.pack_id != p->pack_id) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                             "the folder holds another packed dataset, or this one with other "
                             "options: choose another folder, or overwrite to replace it");
    }
    sl_dataset *packed;
    status = sl_shards_open_manifest(&packed, path, error);
    if (status < 0) {
        return status;
    }
    *result = (sluice_pack_result){.struct_size = sizeof(*result),
                                   .shards = packed->info.shards,
                                   .samples = packed->info.samples,
                                   .rejected = header.source_samples - header.samples,
                                   .resumed_samples = packed->info.samples,
                                   .was_complete = 1};
    status = measure_shards(packed, &result->bytes, error);
    sl_dataset_close(packed);
    if (status == SLUICE_OK) {
        /* Whatever was between the manifest and the end of an earlier run. */
        status = sl_output_remove_file(&p->output, SL_JOURNAL_NAME, error);
    }
    return status;
}
