/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptors.h"

#include "error.h"
#include "file.h"
#include "memory.h"
#include "thread.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>

#define STAGE        "dataset"
#define CAPACITY_MAX 256u
/* The rest of the process needs descriptors too. */
#define SHARE_OF_LIMIT 4u

static uint32_t choose_capacity(uint32_t files)
{
    struct rlimit limit;
    uint64_t share = CAPACITY_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / SHARE_OF_LIMIT < share) {
        share = limit.rlim_cur / SHARE_OF_LIMIT;
    }
    if (share > files) {
        share = files;
    }
    return share > 0 ? (uint32_t)share : 1;
}

sluice_status sl_descriptors_open(sl_descriptors *descriptors, uint32_t files, sluice_error *error)
{
    *descriptors = (sl_descriptors){.files = files, .capacity = choose_capacity(files)};
    sl_mutex_init(&descriptors->mutex);
    sl_cond_init(&descriptors->unpinned);
    descriptors->entries = sl_calloc(descriptors->capacity, sizeof(*descriptors->entries));
    descriptors->entry_of = sl_calloc(files, sizeof(*descriptors->entry_of));
    if (!descriptors->entries || !descriptors->entry_of) {
        sl_descriptors_close(descriptors);
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a table of %u files", files);
    }
    for (uint32_t i = 0; i < descriptors->capacity; i++) {
        descriptors->entries[i].fd = -1;
    }
    for (uint32_t i = 0; i < files; i++) {
        descriptors->entry_of[i] = -1;
    }
    return SLUICE_OK;
}

static void drop_entry_locked(sl_descriptors *descriptors, sl_descriptor *entry)
{
    assert(entry->pins == 0 && entry->fd >= 0);
    sl_file_close(entry->fd);
    entry->fd = -1;
    descriptors->entry_of[entry->file] = -1;
}

void sl_descriptors_close(sl_descriptors *descriptors)
{
    if (descriptors->files == 0) {
        return;
    }
    for (uint32_t i = 0; descriptors->entries && i < descriptors->capacity; i++) {
        if (descriptors->entries[i].fd >= 0 && descriptors->entry_of) {
            drop_entry_locked(descriptors, &descriptors->entries[i]);
        }
    }
    sl_free(descriptors->entries);
    sl_free(descriptors->entry_of);
    sl_cond_destroy(&descriptors->unpinned);
    sl_mutex_destroy(&descriptors->mutex);
    *descriptors = (sl_descriptors){0};
}

/* The least recently used entry without pins; NULL when all are pinned or free. */
static sl_descriptor *oldest_unpinned_locked(sl_descriptors *descriptors)
{
    sl_descriptor *oldest = NULL;
    for (uint32_t i = 0; i < descriptors->capacity; i++) {
        sl_descriptor *entry = &descriptors->entries[i];
        if (entry->fd >= 0 && entry->pins == 0 && (!oldest || entry->used < oldest->used)) {
            oldest = entry;
        }
    }
    return oldest;
}

static sl_descriptor *free_entry_locked(sl_descriptors *descriptors)
{
    for (uint32_t i = 0; i < descriptors->capacity; i++) {
        if (descriptors->entries[i].fd < 0) {
            return &descriptors->entries[i];
        }
    }
    return NULL;
}

static bool any_pinned_locked(const sl_descriptors *descriptors)
{
    for (uint32_t i = 0; i < descriptors->capacity; i++) {
        if (descriptors->entries[i].pins > 0) {
            return true;
        }
    }
    return false;
}

static sluice_status open_checked(const char *path, uint64_t bytes, int *fd, sluice_error *error)
{
    uint64_t size;
    sluice_status status = sl_file_open((sl_file_name){STAGE, path}, fd, &size, error);
    if (status == SLUICE_OK && size != bytes) {
        sl_file_close(*fd);
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, (int64_t)size,
                             "the file has %llu bytes and should have %llu",
                             (unsigned long long)size, (unsigned long long)bytes);
    }
    return status;
}

static sluice_status pass_on(sluice_error *error, const sluice_error *reason)
{
    if (error) {
        *error = *reason;
    }
    return (sluice_status)reason->status;
}

/*
 * One try to open `file`. AGAIN: room was made, or a pin was waited for, and the state of the table
 * is to be looked at anew.
 */
static sluice_status try_open_locked(sl_descriptors *descriptors, uint32_t file, const char *path,
                                     uint64_t bytes, sluice_error *error)
{
    sluice_error reason;
    sl_error_clear(&reason);
    sl_descriptor *entry = free_entry_locked(descriptors);
    if (entry) {
        int fd = -1;
        sluice_status status = open_checked(path, bytes, &fd, &reason);
        if (status == SLUICE_OK) {
            *entry = (sl_descriptor){.file = file, .fd = fd};
            descriptors->entry_of[file] = (int32_t)(entry - descriptors->entries);
            return SLUICE_AGAIN;
        }
        if (reason.sys_errno != EMFILE && reason.sys_errno != ENFILE) {
            return pass_on(error, &reason);
        }
    }
    sl_descriptor *oldest = oldest_unpinned_locked(descriptors);
    if (oldest) {
        drop_entry_locked(descriptors, oldest);
        return SLUICE_AGAIN;
    }
    if (any_pinned_locked(descriptors)) {
        sl_cond_wait(&descriptors->unpinned, &descriptors->mutex);
        return SLUICE_AGAIN;
    }
    return pass_on(error, &reason);
}

sluice_status sl_descriptors_pin(sl_descriptors *descriptors, uint32_t file, const char *path,
                                 uint64_t bytes, int *fd, sluice_error *error)
{
    assert(file < descriptors->files);
    sl_lock(&descriptors->mutex);
    sluice_status status = SLUICE_OK;
    while (descriptors->entry_of[file] < 0) {
        status = try_open_locked(descriptors, file, path, bytes, error);
        if (status < 0) {
            break;
        }
    }
    if (status >= 0) {
        sl_descriptor *entry = &descriptors->entries[descriptors->entry_of[file]];
        entry->pins++;
        entry->used = ++descriptors->clock;
        *fd = entry->fd;
        status = SLUICE_OK;
    }
    sl_unlock(&descriptors->mutex);
    return status;
}

void sl_descriptors_unpin(sl_descriptors *descriptors, uint32_t file)
{
    sl_lock(&descriptors->mutex);
    assert(descriptors->entry_of[file] >= 0);
    sl_descriptor *entry = &descriptors->entries[descriptors->entry_of[file]];
    assert(entry->pins > 0);
    entry->pins--;
    if (entry->pins == 0) {
        sl_cond_broadcast(&descriptors->unpinned);
    }
    sl_unlock(&descriptors->mutex);
}
