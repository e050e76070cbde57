/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_list: lists, verifies and empties a folder of chunks. */
#include "chunk_list.h"

#include "chunk_ledger.h"
#include "error.h"
#include "file.h"
#include "memory.h"
#include "stop.h"
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAGE "cache"

typedef struct list_file {
    sl_chunk_key key;
    uint64_t bytes; /* of the file */
    int64_t used_s;
} list_file;

typedef struct list_object {
    char *address, *etag; /* owned */
    sl_chunk_listed listed;
} list_object;

typedef struct listing {
    sl_chunk_folder folder;
    sl_chunk_ledger ledger; /* its fd is -1 if nothing is removed */
    list_file *files;       /* sorted by object and number; owned */
    uint64_t file_count, file_capacity;
    list_object *objects; /* owned */
    uint64_t object_count, object_capacity;
    uint64_t all_bytes, done_bytes;
    bool short_of_memory;
} listing;

/* ---- files ---- */

static bool list_add_file(void *ctx, const sl_chunk_found *found)
{
    listing *list = ctx;
    if (found->is_part) {
        return true;
    }
    if (!sl_grow(&list->files, &list->file_capacity, list->file_count + 1, sizeof(*list->files))) {
        list->short_of_memory = true;
        return false;
    }
    list->files[list->file_count++] = (list_file){.key = found->key,
                                                  .bytes = (uint64_t)found->facts.st_size,
                                                  .used_s = found->facts.st_atim.tv_sec};
    list->all_bytes += (uint64_t)found->facts.st_size;
    return true;
}

static int list_compare_files(const void *a, const void *b)
{
    const list_file *x = a;
    const list_file *y = b;
    if (x->key.object != y->key.object) {
        return x->key.object < y->key.object ? -1 : 1;
    }
    return x->key.chunk < y->key.chunk ? -1 : x->key.chunk > y->key.chunk ? 1 : 0;
}

static void listing_close(listing *list)
{
    for (uint64_t i = 0; i < list->object_count; i++) {
        sl_free(list->objects[i].address);
        sl_free(list->objects[i].etag);
    }
    sl_free(list->objects);
    sl_free(list->files);
    sl_chunk_ledger_close(&list->ledger);
    sl_chunk_folder_close(&list->folder);
}

/* Opens a listing. OK: call listing_close. */
static sluice_status listing_open(listing *list, const char *folder, bool changes,
                                  sluice_error *error)
{
    *list = (listing){0};
    const sluice_status status = sl_chunk_folder_open(&list->folder, folder, false, error);
    if (status < 0) {
        return status;
    }
    sl_chunk_ledger_attach(&list->ledger, &list->folder, changes);
    if (!sl_chunk_folder_scan(&list->folder, list_add_file, list)) {
        const int failed = errno;
        sluice_status why = sl_stop_check(STAGE, error);
        if (list->short_of_memory) {
            why = sl_no_memory(error, STAGE, "for a list of %llu files",
                               (unsigned long long)list->file_count);
        } else if (why == SLUICE_OK) {
            why = sl_error_file(error, SLUICE_IO, STAGE, failed, folder, -1,
                                "cannot list the cache folder");
        }
        listing_close(list);
        return why;
    }
    if (list->file_count > 1) {
        qsort(list->files, list->file_count, sizeof(*list->files), list_compare_files);
    }
    return SLUICE_OK;
}

/* Opens a file and reads its tail. Returns the descriptor, or -1; UNREAD with errno. */
static int list_read(const listing *list, const list_file *file, sl_chunk_tail *tail,
                     sl_chunk_check *check)
{
    struct stat facts;
    char name[SL_CHUNK_NAME_BYTES];
    sl_chunk_name(file->key, "", name);
    const int fd = sl_chunk_folder_read(&list->folder, name, &facts);
    *check = fd >= 0 ? sl_chunk_tail_read(fd, (uint64_t)facts.st_size, tail) : SL_CHUNK_UNREAD;
    errno = fd < 0 ? -fd : errno;
    if (*check == SL_CHUNK_GOOD &&
        (tail->chunk != file->key.chunk ||
         sl_chunk_object_hash(tail->address, tail->etag, tail->object_bytes) != file->key.object)) {
        *check = SL_CHUNK_FOREIGN;
    }
    return fd;
}

/* Returns the end of the files that belong to the same object as `first`. */
static uint64_t end_of_object(const listing *list, uint64_t first)
{
    uint64_t end = first + 1;
    while (end < list->file_count && list->files[end].key.object == list->files[first].key.object) {
        end++;
    }
    return end;
}

/* Identifies the object of some files by the first complete one. */
static bool read_listed_object(const listing *list, uint64_t first, uint64_t end,
                               sl_chunk_tail *tail)
{
    sl_chunk_check check = SL_CHUNK_UNREAD;
    for (uint64_t i = first; i < end && check != SL_CHUNK_GOOD && !sl_stop_requested(); i++) {
        sl_file_close(list_read(list, &list->files[i], tail, &check));
    }
    return check == SL_CHUNK_GOOD;
}

/* ---- listing ---- */

static sluice_status list_add_object(listing *list, uint64_t first, uint64_t end,
                                     const sl_chunk_tail *tail, sluice_error *error)
{
    list_object object = {.address = sl_strdup(tail->address), .etag = sl_strdup(tail->etag)};
    if (object.address == NULL || object.etag == NULL ||
        !sl_grow(&list->objects, &list->object_capacity, list->object_count + 1, sizeof(object))) {
        sl_free(object.address);
        sl_free(object.etag);
        return sl_no_memory(error, STAGE, "for a list of %llu objects",
                            (unsigned long long)list->object_count);
    }
    object.listed = (sl_chunk_listed){.address = object.address,
                                      .etag = object.etag,
                                      .object_bytes = tail->object_bytes,
                                      .used_s = INT64_MIN};
    for (uint64_t i = first; i < end; i++) {
        const list_file *file = &list->files[i];
        const uint64_t bytes = sl_chunk_bytes_of(tail->object_bytes, file->key.chunk);
        if (bytes > 0 && file->bytes == bytes + tail->length) {
            object.listed.chunks++;
            object.listed.bytes += bytes;
            object.listed.used_s =
                file->used_s > object.listed.used_s ? file->used_s : object.listed.used_s;
        }
    }
    list->objects[list->object_count++] = object;
    return SLUICE_OK;
}

static int list_compare_objects(const void *a, const void *b)
{
    const list_object *x = a;
    const list_object *y = b;
    const int addresses = strcmp(x->address, y->address);
    return addresses != 0 ? addresses : strcmp(x->etag, y->etag);
}

sluice_status sl_chunk_list(const char *folder, sl_chunk_list_visit visit, void *ctx,
                            sluice_error *error)
{
    listing list;
    sl_chunk_tail tail;
    sluice_status status = listing_open(&list, folder, false, error);
    if (status < 0) {
        return status;
    }
    for (uint64_t first = 0, end; status == SLUICE_OK && first < list.file_count; first = end) {
        end = end_of_object(&list, first);
        if (read_listed_object(&list, first, end, &tail)) {
            status = list_add_object(&list, first, end, &tail, error);
        }
        status = status == SLUICE_OK ? sl_stop_check(STAGE, error) : status;
    }
    if (list.object_count > 1) {
        qsort(list.objects, list.object_count, sizeof(*list.objects), list_compare_objects);
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < list.object_count; i++) {
        status = visit(ctx, &list.objects[i].listed, error);
    }
    listing_close(&list);
    return status;
}

/* ---- verifying and removing ---- */

static void list_progress(listing *list, const sl_chunk_progress *progress, uint64_t bytes)
{
    list->done_bytes += bytes;
    if (progress != NULL && progress->progress != NULL) {
        progress->progress(progress->ctx, list->done_bytes, list->all_bytes);
    }
}

static bool list_remove(listing *list, const list_file *file)
{
    char name[SL_CHUNK_NAME_BYTES];
    sl_chunk_name(file->key, "", name);
    return sl_chunk_ledger_remove(&list->ledger, name);
}

/* Removes a damaged chunk, unless another process was faster. */
static sluice_status remove_damaged_file(listing *list, const list_file *file, sl_chunk_work *work,
                                         sluice_error *error)
{
    if (list_remove(list, file)) {
        work->damaged++;
        work->damaged_bytes += file->bytes;
    } else if (errno != ENOENT) {
        return sl_error_file(error, SLUICE_IO, STAGE, errno, list->folder.path, -1,
                             "cannot remove a damaged chunk");
    }
    return SLUICE_OK;
}

/* Returns whether an error means that a chunk is gone: removed meanwhile, or replaced by a link. */
static bool is_still_a_chunk(int failed)
{
    return failed != ENOENT && failed != EINVAL && failed != ELOOP;
}

static sluice_status verify_file(listing *list, const list_file *file, sl_chunk_work *work,
                                 sluice_error *error)
{
    sl_chunk_tail tail;
    sl_chunk_check check;
    const int fd = list_read(list, file, &tail, &check);
    if (check == SL_CHUNK_GOOD) {
        check = sl_chunk_verify(fd, &tail);
    }
    const int failed = errno;
    sl_file_close(fd);
    sluice_status status = sl_stop_check(STAGE, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (check == SL_CHUNK_GOOD) {
        work->chunks++;
        work->bytes += tail.bytes;
    } else if (check == SL_CHUNK_DAMAGED) {
        status = remove_damaged_file(list, file, work, error);
    } else if (check == SL_CHUNK_UNREAD && is_still_a_chunk(failed)) {
        status = sl_error_file(error, failed == ENOMEM ? SLUICE_NOMEM : SLUICE_IO, STAGE, failed,
                               list->folder.path, -1, "cannot read a chunk");
    }
    return status;
}

sluice_status sl_chunk_list_verify(const char *folder, const sl_chunk_progress *progress,
                                   sl_chunk_work *work, sluice_error *error)
{
    listing list;
    *work = (sl_chunk_work){0};
    sluice_status status = listing_open(&list, folder, true, error);
    if (status < 0) {
        return status;
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < list.file_count; i++) {
        status = verify_file(&list, &list.files[i], work, error);
        list_progress(&list, progress, list.files[i].bytes);
    }
    listing_close(&list);
    return status;
}

static sluice_status empty_object(listing *list, uint64_t first, uint64_t end,
                                  const sl_chunk_progress *progress, sl_chunk_work *work,
                                  sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint64_t i = first; status == SLUICE_OK && i < end; i++) {
        const list_file *file = &list->files[i];
        if (list_remove(list, file)) {
            work->chunks++;
            work->bytes += file->bytes;
        } else if (errno != ENOENT) { /* otherwise another process was faster */
            return sl_error_file(error, SLUICE_IO, STAGE, errno, list->folder.path, -1,
                                 "cannot remove a chunk");
        }
        list_progress(list, progress, file->bytes);
        status = sl_stop_check(STAGE, error);
    }
    return status;
}

sluice_status sl_chunk_list_empty(const char *folder, const char *prefix,
                                  const sl_chunk_progress *progress, sl_chunk_work *work,
                                  sluice_error *error)
{
    listing list;
    sl_chunk_tail tail;
    const size_t length = prefix != NULL ? strlen(prefix) : 0;
    *work = (sl_chunk_work){0};
    sluice_status status = listing_open(&list, folder, true, error);
    if (status < 0) {
        return status;
    }
    for (uint64_t first = 0, end; status == SLUICE_OK && first < list.file_count; first = end) {
        end = end_of_object(&list, first);
        const bool wanted = length == 0 || (read_listed_object(&list, first, end, &tail) &&
                                            strncmp(tail.address, prefix, length) == 0);
        if (wanted) {
            status = empty_object(&list, first, end, progress, work, error);
        } else {
            for (uint64_t i = first; i < end; i++) {
                list_progress(&list, progress, list.files[i].bytes);
            }
        }
        status = status == SLUICE_OK ? sl_stop_check(STAGE, error) : status;
    }
    listing_close(&list);
    return status;
}
