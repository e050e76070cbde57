/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: the output folder, its lock and its files. One owner.
 *
 * A file gets its final name only once it is complete and synced.
 */
#include "output.h"

#include "checksum.h"
#include "clock.h"
#include "error.h"
#include "file.h"
#include "fork.h"
#include "memory.h"
#include "pack.h"
#include "rejected.h"
#include "shard_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGE      "pack"
#define NAME_BYTES 256
#define TAG_DIGITS 16

/* The kind of a name in the folder. */
typedef enum name_kind {
    NAME_FOREIGN,
    NAME_TEMPORARY,
    NAME_TAGGED, /* temporary file of a shared folder */
    NAME_SHARD,
    NAME_LEFT_OUT,
    NAME_PART,
    NAME_MANIFEST,
    NAME_JOURNAL,
    NAME_OPTIONS,
    NAME_REJECTED
} name_kind;

static sluice_status output_fail(const sl_output *output, const char *name, const char *what,
                                 sluice_error *error)
{
    int reason = errno;
    char path[SL_OUTPUT_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s%s%s", output->path, *name ? "/" : "", name);
    return sl_error_file(error, SLUICE_IO, STAGE, reason, path, -1, "cannot %s", what);
}

bool sl_output_is_ours(const sl_output *output)
{
    return output->forks == sl_fork_count();
}

static sluice_status check_ours(const sl_output *output, sluice_error *error)
{
    return sl_output_is_ours(output)
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_STATE, STAGE, 0, output->path, -1,
                               "the folder is being written by the process before the fork");
}

/*
 * Returns whether the name matches `pattern`, in which each '#' stands for 5 to 10 digits, and each
 * '0' for one.
 */
static bool output_is_like(const char *name, size_t length, const char *pattern)
{
    size_t at = 0;
    for (; *pattern; pattern++) {
        if (*pattern == '0' && at < length && name[at] >= '0' && name[at] <= '9') {
            at++;
            continue;
        }
        if (*pattern != '#') {
            if (at == length || name[at++] != *pattern) {
                return false;
            }
            continue;
        }
        const size_t first = at;
        while (at < length && name[at] >= '0' && name[at] <= '9') {
            at++;
        }
        if (at - first < 5 || at - first > 10) {
            return false;
        }
    }
    return at == length;
}

static bool output_is_text(const char *name, size_t length, const char *text)
{
    return length == strlen(text) && strncmp(name, text, length) == 0;
}

static name_kind kind_of_final(const char *name, size_t length)
{
    if (output_is_text(name, length, SL_MANIFEST_NAME)) {
        return NAME_MANIFEST;
    }
    if (output_is_text(name, length, SL_JOURNAL_NAME)) {
        return NAME_JOURNAL;
    }
    if (output_is_text(name, length, SL_OPTIONS_NAME) ||
        output_is_text(name, length, SL_MAP_NAME)) {
        return NAME_OPTIONS;
    }
    if (output_is_text(name, length, SL_REJECTED_NAME) ||
        output_is_text(name, length, SL_MAP_REJECTED_NAME)) {
        return NAME_REJECTED;
    }
    if (output_is_like(name, length, "shard-0#" SL_SHARD_SUFFIX)) {
        return NAME_SHARD;
    }
    if (output_is_like(name, length, "shard-0#.rejected")) {
        return NAME_LEFT_OUT;
    }
    return output_is_like(name, length, "pack.#-of-#.part") ? NAME_PART : NAME_FOREIGN;
}

/* Returns the length of NAME in `.NAME.tmp` or `.NAME.TAG.tmp`. 0: another name. */
static size_t temporary_length(const char *name, size_t length)
{
    if (length <= 5 || name[0] != '.' || strcmp(name + length - 4, ".tmp") != 0) {
        return 0;
    }
    length -= 5;
    if (kind_of_final(name + 1, length) != NAME_FOREIGN) {
        return length;
    }
    size_t digits = 0;
    while (digits < TAG_DIGITS && digits < length &&
           strchr("0123456789abcdef", name[length - digits]) != NULL) {
        digits++;
    }
    const bool tagged = digits == TAG_DIGITS && length > digits && name[length - digits] == '.' &&
                        kind_of_final(name + 1, length - digits - 1) != NAME_FOREIGN;
    return tagged ? length - digits - 1 : 0;
}

static name_kind output_kind_of(const char *name)
{
    const size_t length = strlen(name);
    const size_t inner = temporary_length(name, length);
    if (inner > 0) {
        return inner + 5 == length ? NAME_TEMPORARY : NAME_TAGGED;
    }
    return kind_of_final(name, length);
}

/*
 * Syncs the parent folder, so that a new folder's own name persists. If directories cannot be
 * synced or read, nothing can be done.
 */
static sluice_status sync_parent(const sl_output *output, sluice_error *error)
{
    const int parent = openat(output->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0) {
        return errno == EACCES || errno == EPERM
                   ? SLUICE_OK
                   : output_fail(output, "..", "open the folder above", error);
    }
    sluice_status status = SLUICE_OK;
    if (fsync(parent) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) {
        status = output_fail(output, "..", "sync the folder above", error);
    }
    (void)close(parent);
    return status;
}

/* Makes a name that no other process uses. */
static void make_tag(char *tag, size_t bytes)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        const uint64_t other[2] = {sl_now_ns(), (uint64_t)getpid()};
        random = sl_checksum(other, sizeof(other));
    }
    (void)snprintf(tag, bytes, ".%016" PRIx64, random);
}

sluice_status sl_output_open(sl_output *output, const char *path, bool shared, sluice_error *error)
{
    *output = (sl_output){.fd = -1, .forks = sl_fork_count(), .path = sl_strdup(path)};
    if (output->path == NULL) {
        return sl_no_memory(error, STAGE, "for a path");
    }
    if (shared) {
        make_tag(output->tag, sizeof(output->tag));
    }
    const bool created = mkdir(path, 0777) == 0;
    if (!created && errno != EEXIST) {
        return output_fail(output, "", "create the folder", error);
    }
    output->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (output->fd < 0) {
        return output_fail(output, "", "open the folder", error);
    }
    /* file systems without locks let every process in */
    if (flock(output->fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                             "another process is writing to this folder");
    }
    const sluice_status status = created ? sync_parent(output, error) : SLUICE_OK;
    if (status < 0) {
        (void)rmdir(path); /* the next process must create and sync it again */
    }
    return status;
}

void sl_output_close(sl_output *output)
{
    if (output->fd >= 0 && sl_output_is_ours(output)) {
        (void)flock(output->fd,
                    LOCK_UN); /* closing is not enough: forked children have it open too */
    }
    sl_file_close(output->fd);
    sl_free(output->path);
    *output = (sl_output){.fd = -1};
}

/* Calls `visit` for each name in the folder except "." and "..", until it fails. */
static sluice_status each_name(const sl_output *output,
                               sluice_status (*visit)(const sl_output *output, const char *name,
                                                      void *context, sluice_error *error),
                               void *context, sluice_error *error)
{
    /* a separate descriptor, since the directory stream moves its position and closes it */
    int fd = openat(output->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (stream == NULL) {
        sluice_status status = output_fail(output, "", "list the folder", error);
        if (fd >= 0) {
            (void)close(fd);
        }
        return status;
    }
    sluice_status status = SLUICE_OK;
    while (status == SLUICE_OK) {
        errno = 0;
        /* a stream has only one reader */
        const struct dirent *entry = readdir(stream); /* NOLINT(concurrency-mt-unsafe) */
        if (entry == NULL) {
            status = errno != 0 ? output_fail(output, "", "list the folder", error) : SLUICE_OK;
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            status = visit(output, entry->d_name, context, error);
        }
    }
    (void)closedir(stream);
    return status;
}

/* Records a part. Sets beyond the capacity are outdated, or placed there on purpose. */
static void note_part(sl_output_contents *contents, const char *name)
{
    uint32_t part;
    uint32_t parts;
    /* NOLINTNEXTLINE(cert-err34-c): checked below, and part files are opened by their names */
    if (sscanf(name, SL_PART_SCAN_FORMAT, &part, &parts) != 2 || part >= parts ||
        parts > SL_PACK_PARTS_MAX) {
        return;
    }
    for (uint32_t i = 0; i < SL_OUTPUT_SETS_MAX; i++) {
        sl_part_set *set = &contents->sets[i];
        if (set->count == 0 || set->parts == parts) {
            *set = (sl_part_set){.parts = parts, .count = set->count + 1};
            return;
        }
    }
}

static sluice_status note_name(const sl_output *output, const char *name, void *context,
                               sluice_error *error)
{
    (void)output;
    (void)error;
    sl_output_contents *contents = context;
    switch (output_kind_of(name)) {
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
    case NAME_PART:
        note_part(contents, name);
        break;
    case NAME_LEFT_OUT:
        contents->left_out++;
        break;
    case NAME_TAGGED:
    case NAME_REJECTED:
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
    const sluice_status status = check_ours(output, error);
    if (status == SLUICE_OK && unlinkat(output->fd, name, 0) != 0 && errno != ENOENT) {
        return output_fail(output, name, "remove the file", error);
    }
    return status;
}

/* Removes files of the kinds in `context`, a set of them. */
static sluice_status remove_kinds(const sl_output *output, const char *name, void *context,
                                  sluice_error *error)
{
    const unsigned *kinds = context;
    return (*kinds >> output_kind_of(name) & 1) != 0 ? sl_output_remove_file(output, name, error)
                                                     : SLUICE_OK;
}

static sluice_status output_sync_folder(const sl_output *output, sluice_error *error)
{
    return fsync(output->fd) == 0 ? SLUICE_OK : output_fail(output, "", "sync the folder", error);
}

sluice_status sl_output_remove(const sl_output *output, sl_output_kind kind, sluice_error *error)
{
    unsigned helpers = 1u << NAME_TEMPORARY;
    unsigned shards = 1u << NAME_SHARD;
    if (kind != SL_OUTPUT_TEMPORARY) {
        helpers |= 1u << NAME_TAGGED | 1u << NAME_PART | 1u << NAME_LEFT_OUT;
    }
    sluice_status status = SLUICE_OK;
    if (kind == SL_OUTPUT_DATASET) {
        /* without its manifest the folder is no longer a dataset, whatever happens next */
        status = sl_output_remove_file(output, SL_MANIFEST_NAME, error);
    }
    if (status == SLUICE_OK) {
        status = each_name(output, remove_kinds, &helpers, error);
    }
    if (status == SLUICE_OK && kind != SL_OUTPUT_TEMPORARY) {
        status = sl_output_remove_file(output, SL_JOURNAL_NAME, error);
    }
    if (status < 0 || kind != SL_OUTPUT_DATASET) {
        return status;
    }
    static const char *const names[] = {SL_OPTIONS_NAME, SL_REJECTED_NAME, SL_MAP_NAME,
                                        SL_MAP_REJECTED_NAME};
    for (size_t i = 0; status == SLUICE_OK && i < sizeof(names) / sizeof(*names); i++) {
        status = sl_output_remove_file(output, names[i], error);
    }
    if (status == SLUICE_OK) {
        status = output_sync_folder(output, error);
    }
    if (status == SLUICE_OK) {
        status = each_name(output, remove_kinds, &shards, error);
    }
    return status == SLUICE_OK ? output_sync_folder(output, error) : status;
}

static void temporary_name(const sl_output *output, const char *name, char out[NAME_BYTES])
{
    (void)snprintf(out, NAME_BYTES, ".%s%s.tmp", name, output->tag);
}

sluice_status sl_output_name(const sl_output *output, const char *name, bool temporary, char *path,
                             sluice_error *error)
{
    char hidden[NAME_BYTES];
    temporary_name(output, name, hidden);
    const int length =
        snprintf(path, SL_OUTPUT_PATH_BYTES, "%s/%s", output->path, temporary ? hidden : name);
    if (length < 0 || length >= SL_OUTPUT_PATH_BYTES) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, output->path, -1,
                             "the path is too long");
    }
    return SLUICE_OK;
}

sluice_status sl_output_create(const sl_output *output, const char *name, int *fd,
                               sluice_error *error)
{
    char temporary[NAME_BYTES];
    const sluice_status status = check_ours(output, error);
    *fd = -1;
    if (status < 0) {
        return status;
    }
    temporary_name(output, name, temporary);
    *fd = openat(output->fd, temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return *fd >= 0 ? SLUICE_OK : output_fail(output, temporary, "create the file", error);
}

sluice_status sl_output_write(const sl_output *output, const char *name, const void *data,
                              size_t bytes, sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    int fd = -1;
    sluice_status status = sl_output_name(output, name, true, path, error);
    if (status == SLUICE_OK) {
        status = sl_output_create(output, name, &fd, error);
    }
    if (status < 0) {
        return status;
    }
    status = sl_file_write(fd, (sl_file_name){STAGE, path}, data, bytes, 0, error);
    if (status == SLUICE_OK) {
        status = sl_output_sync(output, name, fd, error);
    }
    sl_file_close(fd);
    if (status < 0) {
        sl_output_discard(output, name);
    }
    return status;
}

sluice_status sl_output_sync(const sl_output *output, const char *name, int fd, sluice_error *error)
{
    if (fsync(fd) != 0) {
        return output_fail(output, name, "sync the file", error);
    }
    /* advice only: reading back should come from the disk, and the cache should serve others */
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return SLUICE_OK;
}

sluice_status sl_output_publish(const sl_output *output, const char *name, sluice_error *error)
{
    char temporary[NAME_BYTES];
    const sluice_status status = check_ours(output, error);
    if (status < 0) {
        return status;
    }
    temporary_name(output, name, temporary);
    if (renameat(output->fd, temporary, output->fd, name) != 0) {
        return output_fail(output, name, "rename the file", error);
    }
    return output_sync_folder(output, error);
}

sluice_status sl_output_publish_new(const sl_output *output, const char *name, sluice_error *error)
{
    char temporary[NAME_BYTES];
    const sluice_status status = check_ours(output, error);
    if (status < 0) {
        return status;
    }
    temporary_name(output, name, temporary);
    if (linkat(output->fd, temporary, output->fd, name, 0) == 0) {
        sl_output_discard(output, name);
        return output_sync_folder(output, error);
    }
    if (errno == EEXIST) {
        sl_output_discard(output, name);
        return SLUICE_END;
    }
    /*
     * no links here: between this check and the rename another file may appear, which the caller
     * detects by reading
     */
    if (faccessat(output->fd, name, F_OK, 0) == 0) {
        sl_output_discard(output, name);
        return SLUICE_END;
    }
    return sl_output_publish(output, name, error);
}

void sl_output_discard(const sl_output *output, const char *name)
{
    char temporary[NAME_BYTES];
    if (sl_output_is_ours(output)) {
        temporary_name(output, name, temporary);
        (void)unlinkat(output->fd, temporary, 0);
    }
}
