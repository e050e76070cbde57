/* SPDX-License-Identifier: Apache-2.0 */
#include "folder_split.h"

#include "error.h"
#include "hidden.h"
#include "splits.h"
#include "store.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { FOLDERS_MAX = 64 };

/* The sub-folders of a folder that may be splits. */
typedef struct sub_folders {
    const char *path;
    char names[FOLDERS_MAX][NAME_MAX + 1];
    uint32_t count;
    uint64_t entries; /* number of visible entries of any kind */
    bool any;         /* true if some name is a split's */
} sub_folders;

static bool folder_split_is_one(const char *name)
{
    return sl_split_of(name) != SL_SPLIT_NONE || sl_split_is_part(name) || sl_split_is_beside(name);
}

static sluice_status folder_split_add(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    sub_folders *found = ctx;
    (void)error;
    if (sl_name_is_hidden(entry->name)) {
        return SLUICE_OK;
    }
    found->entries++;
    if (entry->kind == SL_ENTRY_FILE || found->count == FOLDERS_MAX ||
        strlen(entry->name) > NAME_MAX || !sl_path_join(path, found->path, entry->name) ||
        !sl_store_is_folder(entry, path)) {
        return SLUICE_OK;
    }
    memcpy(found->names[found->count++], entry->name, strlen(entry->name) + 1);
    found->any = found->any || folder_split_is_one(entry->name);
    return SLUICE_OK;
}

static sluice_status list_sub_folders(sub_folders *found, const char *path, sluice_error *error)
{
    *found = (sub_folders){.path = path};
    return sl_store_list((sl_file_name){STAGE, path}, folder_split_add, found, error);
}

static sluice_status append_name(char path[SL_PATH_BYTES], const char *name, sluice_error *error)
{
    char longer[SL_PATH_BYTES];
    if (!sl_path_join(longer, path, name)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "the path of a folder in it is too long");
    }
    memcpy(path, longer, sizeof(longer));
    return SLUICE_OK;
}

/*
 * Appends `name` to `path`, then the same name again if the folder contains only a sub-folder of
 * that name.
 */
static sluice_status enter_split(char path[SL_PATH_BYTES], const char *name, sluice_error *error)
{
    sub_folders inner;
    sluice_status status = append_name(path, name, error);
    if (status == SLUICE_OK) {
        status = list_sub_folders(&inner, path, error);
    }
    return status == SLUICE_OK && inner.entries == 1 && inner.count == 1 &&
                   strcmp(inner.names[0], name) == 0
               ? append_name(path, name, error)
               : status;
}

static sluice_status folder_split_set(char path[SL_PATH_BYTES], const char *folder,
                                      sluice_error *error)
{
    const int length = snprintf(path, SL_PATH_BYTES, "%s", folder);
    return length < 0 || length >= SL_PATH_BYTES
               ? sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1, "the path is too long")
               : SLUICE_OK;
}

static sluice_status folder_split_list(const sub_folders *found, sl_file_list *splits,
                                       sluice_error *error)
{
    char path[SL_PATH_BYTES];
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < found->count; i++) {
        if (!folder_split_is_one(found->names[i])) {
            continue;
        }
        status = folder_split_set(path, found->path, error);
        if (status == SLUICE_OK) {
            status = enter_split(path, found->names[i], error);
        }
        if (status == SLUICE_OK) {
            status = sl_file_list_add(splits, path, error);
        }
    }
    return status;
}

sluice_status sl_folder_split_find(const char *folder, const char *wanted, char path[SL_PATH_BYTES],
                                   sl_file_list *splits, sluice_error *error)
{
    sub_folders found;
    const char *names[FOLDERS_MAX];
    uint32_t number = 0;
    sluice_status status = list_sub_folders(&found, folder, error);
    if (status < 0 || !found.any) {
        return status < 0 ? status : SLUICE_END;
    }
    for (uint32_t i = 0; i < found.count; i++) {
        names[i] = found.names[i];
    }
    status = sl_split_choose(names, found.count, wanted, &number, error);
    if (status < 0) {
        if (error != NULL) {
            sl_error_set_path(error, folder);
        }
        return status;
    }
    status = folder_split_set(path, folder, error);
    if (status == SLUICE_OK) {
        status = enter_split(path, names[number], error);
    }
    return status == SLUICE_OK ? folder_split_list(&found, splits, error) : status;
}
