/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include "error.h"
#include "minmax.h"
#include "retry.h"
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Some kernels transfer no more than this at once. A thread that may be stopped transfers less, and
 * checks the stop in between. */
#define CHUNK_BYTES      ((size_t)1 << 30)
#define STOP_CHUNK_BYTES ((size_t)8 << 20)

static int64_t ns_of(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

sl_file_identity sl_file_identity_of(const struct stat *facts)
{
    return (sl_file_identity){.bytes = (uint64_t)facts->st_size,
                              .inode = facts->st_ino,
                              .modified_ns = ns_of(facts->st_mtim),
                              .changed_ns = ns_of(facts->st_ctim)};
}

bool sl_file_is_same(const sl_file_identity *a, const sl_file_identity *b)
{
    const bool sampled = a->sample != 0 && b->sample != 0;
    return a->bytes == b->bytes && a->modified_ns == b->modified_ns &&
           (a->inode == b->inode || a->changed_ns == b->changed_ns) &&
           (!sampled || a->sample == b->sample);
}

sluice_status sl_file_open(sl_file_name name, int *fd, sl_file_identity *identity,
                           sluice_error *error)
{
    /* O_NONBLOCK: opening a FIFO must not wait for a writer; it has no effect on regular files. */
    int opened;
    uint32_t interrupted = 0;
    do {
        opened = open(name.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    } while (opened < 0 && sl_retry_interrupted(&interrupted, errno));
    if (opened < 0) {
        return sl_error_file(error, SLUICE_IO, name.stage, errno, name.path, -1, "cannot open");
    }
    struct stat status;
    if (fstat(opened, &status) != 0) {
        int reason = errno;
        sl_file_close(opened);
        return sl_error_file(error, SLUICE_IO, name.stage, reason, name.path, -1, "cannot stat");
    }
    if (!S_ISREG(status.st_mode)) {
        sl_file_close(opened);
        return sl_error_file(error, SLUICE_IO, name.stage, 0, name.path, -1, "not a regular file");
    }
    *fd = opened;
    if (identity != NULL) {
        *identity = sl_file_identity_of(&status);
    }
    return SLUICE_OK;
}

sluice_status sl_file_read_from(const sl_file_source *source, void *buffer, size_t bytes,
                                uint64_t offset, sluice_error *error)
{
    const sl_file_name name = source->name;
    uint8_t *to = buffer;
    sl_retry retry = {0};
    uint32_t interrupted = 0;
    const size_t most = sl_stop_of_thread() != NULL ? STOP_CHUNK_BYTES : CHUNK_BYTES;
    while (bytes > 0) {
        if (sl_stop_requested()) {
            return sl_stop_check(name.stage, error);
        }
        const size_t part = sl_min_size(bytes, most);
        const ssize_t got = source->read(source->from, to, part, offset);
        const int reason = got < 0 ? (int)-got : 0;
        if (got < 0 && (sl_retry_interrupted(&interrupted, reason) ||
                        (source->tries_again && sl_retry_wait(&retry, reason)))) {
            continue;
        }
        interrupted = 0;
        if (got < 0) {
            return sl_error_file(error, SLUICE_IO, name.stage, reason, name.path, (int64_t)offset,
                                 "cannot read %zu bytes", part);
        }
        if (got == 0) {
            return sl_error_file(error, SLUICE_CORRUPT, name.stage, 0, name.path, (int64_t)offset,
                                 "the file ends here, %zu bytes early", bytes);
        }
        to += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return SLUICE_OK;
}

static ssize_t file_read_some(const void *from, void *to, size_t bytes, uint64_t offset)
{
    const int *fd = from;
    const ssize_t got = pread(*fd, to, bytes, (off_t)offset);
    return got < 0 ? -errno : got;
}

sluice_status sl_file_read(int fd, sl_file_name name, void *buffer, size_t bytes, uint64_t offset,
                           sluice_error *error)
{
    const sl_file_source source = {name, file_read_some, &fd, true};
    return sl_file_read_from(&source, buffer, bytes, offset, error);
}

sluice_status sl_file_write(int fd, sl_file_name name, const void *buffer, size_t bytes,
                            uint64_t offset, sluice_error *error)
{
    const uint8_t *from = buffer;
    uint32_t interrupted = 0;
    while (bytes > 0) {
        size_t part = sl_min_size(bytes, CHUNK_BYTES);
        ssize_t put = pwrite(fd, from, part, (off_t)offset);
        if (put < 0 && sl_retry_interrupted(&interrupted, errno)) {
            continue;
        }
        interrupted = 0;
        if (put <= 0) {
            return sl_error_file(error, SLUICE_IO, name.stage, put < 0 ? errno : ENOSPC, name.path,
                                 (int64_t)offset, "cannot write %zu bytes", part);
        }
        from += put;
        offset += (uint64_t)put;
        bytes -= (size_t)put;
    }
    return SLUICE_OK;
}

void sl_file_close(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

bool sl_ends_with(const char *path, const char *suffix)
{
    const size_t length = strlen(path);
    const size_t tail = strlen(suffix);
    return length > tail && strcmp(path + length - tail, suffix) == 0;
}
