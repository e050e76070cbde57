/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include "error.h"
#include "memory.h"
#include "rejected.h"
#include "shard_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGE      "pack"
#define NAME_BYTES 256

/* What a name in the folder stands for. */
typedef enum name_kind {
    NAME_FOREIGN,
    NAME_TEMPORARY,
    NAME_SHARD,
    NAME_MANIFEST,
    NAME_JOURNAL,
    NAME_OPTIONS,
    NAME_REJECTED
} name_kind;

static sluice_status fail(const sl_output *output, const char *name, const char *what,
                          sluice_error *error)
{
    int reason = errno;
    char path[SL_OUTPUT_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s%s%s", output->path, *name ? "/" : "", name);
    return sl_error_file(error, SLUICE_IO, STAGE, reason, path, -1, "cannot %s", what);
}

/* The number in `shard-NNNNNN.sluice`, whose length is `length`; UINT64_MAX for other names. */
static uint64_t shard_number(const char *name, size_t length)
{
    const size_t head = strlen("shard-");
    const size_t tail = strlen(SL_SHARD_SUFFIX);
    if (length < head + 6 + tail || length > head + 10 + tail ||
        strncmp(name, "shard-", head) != 0 ||
        strncmp(name + length - tail, SL_SHARD_SUFFIX, tail) != 0) {
        return UINT64_MAX;
    }
    uint64_t number = 0;
    for (size_t i = head; i < length - tail; i++) {
        if (name[i] < '0' || name[i] > '9') {
            return UINT64_MAX;
        }
        number = number * 10 + (uint64_t)(name[i] - '0');
    }
    return number;
}

static bool is_text(const char *name, size_t length, const char *text)
{
    return length == strlen(text) && strncmp(name, text, length) == 0;
}

static name_kind kind_of_final(const char *name, size_t length)
{
    if (is_text(name, length, SL_MANIFEST_NAME)) {
        return NAME_MANIFEST;
    }
    if (is_text(name, length, SL_JOURNAL_NAME)) {
        return NAME_JOURNAL;
    }
    if (is_text(name, length, SL_OPTIONS_NAME)) {
        return NAME_OPTIONS;
    }
    if (is_text(name, length, SL_REJECTED_NAME)) {
        return NAME_REJECTED;
    }
    return shard_number(name, length) != UINT64_MAX ? NAME_SHARD : NAME_FOREIGN;
}

static name_kind kind_of(const char *name)
{
    size_t length = strlen(name);
    if (length > 5 && name[0] == '.' && strcmp(name + length - 4, ".tmp") == 0) {
        return kind_of_final(name + 1, length - 5) == NAME_FOREIGN ? NAME_FOREIGN : NAME_TEMPORARY;
    }
    return kind_of_final(name, length);
}

/* So that a new folder's own name lasts, too. Where directories cannot be synced, or not be read by
 * us, nothing can be done about it. */
static sluice_status sync_parent(const sl_output *output, sluice_error *error)
{
    const int parent = openat(output->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0) {
        return errno == EACCES || errno == EPERM
                   ? SLUICE_OK
                   : fail(output, "..", "open the folder above", error);
    }
    sluice_status status = SLUICE_OK;
    if (fsync(parent) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) {
        status = fail(output, "..", "sync the folder above", error);
    }
    (void)close(parent);
    return status;
}

sluice_status sl_output_open(sl_output *output, const char *path, sluice_error *error)
{
    *output = (sl_output){.fd = -1, .path = sl_strdup(path)};
    if (output->path == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a path");
    }
    const bool created = mkdir(path, 0777) == 0;
    if (!created && errno != EEXIST) {
        return fail(output, "", "create the folder", error);
    }
    output->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (output->fd < 0) {
        return fail(output, "", "open the folder", error);
    }
    /* File systems without locks let everyone in. */
    if (flock(output->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                             "another process is writing to this folder");
    }
    const sluice_status status = created ? sync_parent(output, error) : SLUICE_OK;
    if (status < 0) {
        (void)rmdir(path); /* the next one is to create, and sync, it again */
    }
    return status;
}

void sl_output_close(sl_output *output)
{
    if (output->fd >= 0) {
        (void)close(output->fd);
    }
    sl_free(output->path);
    *output = (sl_output){.fd = -1};
}

/* Calls `visit` for each name in the folder but "." and "..", until it fails. */
static sluice_status each_name(const sl_output *output,
                               sluice_status (*visit)(const sl_output *output, const char *name,
                                                      void *context, sluice_error *error),
                               void *context, sluice_error *error)
{
    /* A descriptor of its own: the directory stream closes it and moves its position. */
    int fd = openat(output->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (stream == NULL) {
        sluice_status status = fail(output, "", "list the folder", error);
        if (fd >= 0) {
            (void)close(fd);
        }
        return status;
    }
    sluice_status status = SLUICE_OK;
    while (status == SLUICE_OK) {
        errno = 0;
        /* One stream has one reader. */
        const struct dirent *entry = readdir(stream); /* NOLINT(concurrency-mt-unsafe) */
        if (entry == NULL) {
            status = errno != 0 ? fail(output, "", "list the folder", error) : SLUICE_OK;
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            status = visit(output, entry->d_name, context, error);
        }
    }
    (void)closedir(stream);
    return status;
}

static sluice_status note_name(const sl_output *output, const char *name, void *context,
                               sluice_error *error)
{
    (void)output;
    (void)error;
    sl_output_contents *contents = context;
    switch (kind_of(name)) {
    case NAME_FOREIGN:
        (void)snprintf(contents->foreign, sizeof(contents->foreign), "%s", name);
        break;
    case NAME_SHARD:
        contents->shards++;
        break;
    case NAME_MANIFEST:
        contents->manifest = true;
        break;
    case NAME_JOURNAL:
        contents->journal = true;
        break;
    case NAME_REJECTED:
        contents->rejected = true;
        break;
    case NAME_OPTIONS:
    case NAME_TEMPORARY:
        break;
    }
    return SLUICE_OK;
}

sluice_status sl_output_survey(const sl_output *output, sl_output_contents *contents,
                               sluice_error *error)
{
    *contents = (sl_output_contents){0};
    return each_name(output, note_name, contents, error);
}

sluice_status sl_output_remove_file(const sl_output *output, const char *name, sluice_error *error)
{
    if (unlinkat(output->fd, name, 0) != 0 && errno != ENOENT) {
        return fail(output, name, "remove the file", error);
    }
    return SLUICE_OK;
}

static sluice_status remove_temporary(const sl_output *output, const char *name, void *context,
                                      sluice_error *error)
{
    (void)context;
    return kind_of(name) == NAME_TEMPORARY ? sl_output_remove_file(output, name, error) : SLUICE_OK;
}

static sluice_status remove_shard(const sl_output *output, const char *name, void *context,
                                  sluice_error *error)
{
    const uint64_t *first = context;
    bool meant = kind_of(name) == NAME_SHARD && shard_number(name, strlen(name)) >= *first;
    return meant ? sl_output_remove_file(output, name, error) : SLUICE_OK;
}

static sluice_status sync_folder(const sl_output *output, sluice_error *error)
{
    return fsync(output->fd) == 0 ? SLUICE_OK : fail(output, "", "sync the folder", error);
}

sluice_status sl_output_remove_shards(const sl_output *output, uint64_t first, sluice_error *error)
{
    return each_name(output, remove_shard, &first, error);
}

sluice_status sl_output_remove(const sl_output *output, sl_output_kind kind, sluice_error *error)
{
    sluice_status status = each_name(output, remove_temporary, NULL, error);
    if (kind == SL_OUTPUT_TEMPORARY) {
        return status;
    }
    /* Without its manifest the folder is no dataset any more, whatever happens next. */
    static const char *const names[] = {SL_MANIFEST_NAME, SL_JOURNAL_NAME, SL_OPTIONS_NAME,
                                        SL_REJECTED_NAME};
    for (size_t i = 0; status == SLUICE_OK && i < sizeof(names) / sizeof(*names); i++) {
        status = sl_output_remove_file(output, names[i], error);
    }
    if (status == SLUICE_OK) {
        status = sync_folder(output, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_remove_shards(output, 0, error);
    }
    return status == SLUICE_OK ? sync_folder(output, error) : status;
}

sluice_status sl_output_name(const sl_output *output, const char *name, bool temporary, char *path,
                             sluice_error *error)
{
    int length = snprintf(path, SL_OUTPUT_PATH_BYTES, temporary ? "%s/.%s.tmp" : "%s/%s",
                          output->path, name);
    if (length < 0 || length >= SL_OUTPUT_PATH_BYTES) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, output->path, -1,
                             "the path is too long");
    }
    return SLUICE_OK;
}

static void temporary_name(const char *name, char out[NAME_BYTES])
{
    (void)snprintf(out, NAME_BYTES, ".%s.tmp", name);
}

sluice_status sl_output_create(const sl_output *output, const char *name, int *fd,
                               sluice_error *error)
{
    char temporary[NAME_BYTES];
    temporary_name(name, temporary);
    *fd = openat(output->fd, temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return *fd >= 0 ? SLUICE_OK : fail(output, temporary, "create the file", error);
}

sluice_status sl_output_sync(const sl_output *output, const char *name, int fd, sluice_error *error)
{
    if (fsync(fd) != 0) {
        return fail(output, name, "sync the file", error);
    }
    /* Advice only: reading back should come from the disk, and the cache is for others. */
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return SLUICE_OK;
}

sluice_status sl_output_publish(const sl_output *output, const char *name, sluice_error *error)
{
    char temporary[NAME_BYTES];
    temporary_name(name, temporary);
    if (renameat(output->fd, temporary, output->fd, name) != 0) {
        return fail(output, name, "give the file its name", error);
    }
    return sync_folder(output, error);
}

void sl_output_discard(const sl_output *output, const char *name)
{
    char temporary[NAME_BYTES];
    temporary_name(name, temporary);
    (void)unlinkat(output->fd, temporary, 0);
}
