/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include "error.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Some kernels transfer no more than this at once. */
#define CHUNK_BYTES ((size_t)1 << 30)

sluice_status sl_file_open(sl_file_name name, int *fd, uint64_t *size, sluice_error *error)
{
    /* O_NONBLOCK: opening a FIFO must not wait for a writer; it means nothing to regular files. */
    int opened = open(name.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
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
    if (size != NULL) {
        *size = (uint64_t)status.st_size;
    }
    return SLUICE_OK;
}

sluice_status sl_file_read(int fd, sl_file_name name, void *buffer, size_t bytes, uint64_t offset,
                           sluice_error *error)
{
    uint8_t *to = buffer;
    while (bytes > 0) {
        size_t part = bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES;
        ssize_t got = pread(fd, to, part, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return sl_error_file(error, SLUICE_IO, name.stage, errno, name.path, (int64_t)offset,
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

/* A file that shrinks meanwhile is refused by the read; what it grows by is left out. */
static sluice_status read_all(int fd, sl_file_name name, uint64_t size, uint8_t **data,
                              sluice_error *error)
{
    uint8_t *read = size < SIZE_MAX ? sl_malloc(size + 1) : NULL; /* never of 0 bytes */
    if (read == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, name.stage, 0, name.path, -1,
                             "no memory for its %llu bytes", (unsigned long long)size);
    }
    const sluice_status status = sl_file_read(fd, name, read, size, 0, error);
    if (status < 0) {
        sl_free(read);
        return status;
    }
    *data = read;
    return SLUICE_OK;
}

sluice_status sl_file_read_whole(sl_file_name name, uint64_t most, uint8_t **data, size_t *bytes,
                                 sluice_error *error)
{
    int fd = -1;
    uint64_t size = 0;
    *data = NULL;
    sluice_status status = sl_file_open(name, &fd, &size, error);
    if (status < 0) {
        return status;
    }
    status = size > most ? sl_error_file(error, SLUICE_UNSUPPORTED, name.stage, 0, name.path, -1,
                                         "it has %llu bytes: %llu are the most",
                                         (unsigned long long)size, (unsigned long long)most)
                         : read_all(fd, name, size, data, error);
    sl_file_close(fd);
    *bytes = size;
    return status;
}

sluice_status sl_file_write(int fd, sl_file_name name, const void *buffer, size_t bytes,
                            uint64_t offset, sluice_error *error)
{
    const uint8_t *from = buffer;
    while (bytes > 0) {
        size_t part = bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES;
        ssize_t put = pwrite(fd, from, part, (off_t)offset);
        if (put < 0 && errno == EINTR) {
            continue;
        }
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
