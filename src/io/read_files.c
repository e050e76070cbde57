/* SPDX-License-Identifier: Apache-2.0 */
#include "read_files.h"

#include "little_endian.h"
#include "read_pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any buffer has, and few enough to be added up. */
#define BYTES_MOST (UINT64_C(1) << 56)

static int64_t read_open(int fd, const sl_files_read *read, uint64_t at, uint64_t bytes)
{
    struct stat after;
    const int64_t got = sl_read_up_to(fd, read->buffer + at, bytes, 0);
    /* A file cut short during the read can show zeros behind its new end: its size tells. */
    if (got >= 0 &&
        ((uint64_t)got < bytes || fstat(fd, &after) != 0 || (uint64_t)after.st_size < bytes)) {
        return -ESTALE;
    }
    if (read->drop_cache && got > 0) {
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    }
    return got;
}

/* One of them, to `at` if there is room for it; its size, or -errno. */
static int64_t read_one(const sl_files_read *read, uint32_t number, uint64_t at, uint64_t room)
{
    char path[SL_PATH_BYTES];
    struct stat found = {0};
    if (sl_objects_file_path(read->objects, read->object, number, path, sizeof(path)) !=
        SLUICE_OK) {
        return -ENAMETOOLONG;
    }
    const int fd =
        sl_object_open_path(path, sl_objects_boundary(read->objects, read->object), false, &found);
    if (fd < 0) {
        return fd;
    }
    const uint64_t bytes =
        (uint64_t)found.st_size < BYTES_MOST ? (uint64_t)found.st_size : BYTES_MOST;
    const int64_t got =
        at <= room && bytes <= room - at ? read_open(fd, read, at, bytes) : (int64_t)bytes;
    (void)close(fd);
    return got < 0 ? got : (int64_t)bytes;
}

int64_t sl_read_files(const sl_files_read *read, sl_files_end *end)
{
    const uint64_t tail = (uint64_t)read->files * SL_OBJECT_SIZE_BYTES;
    const uint64_t room = read->length > tail ? read->length - tail : 0;
    uint64_t sizes[SL_OBJECT_FILES_MAX];
    uint64_t at = 0;
    for (uint32_t i = 0; i < read->files; i++) {
        const int64_t bytes = read_one(read, i, at, room);
        end->file = i;
        if (bytes < 0) {
            return bytes;
        }
        sizes[i] = (uint64_t)bytes;
        at += sizes[i];
    }
    end->bytes = at + tail;
    if (end->bytes > read->length) {
        return -EFBIG;
    }
    for (uint32_t i = 0; i < read->files; i++) {
        sl_store64(read->buffer + at + (size_t)i * SL_OBJECT_SIZE_BYTES, sizes[i]);
    }
    return (int64_t)end->bytes;
}
