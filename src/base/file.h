/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file: whole-or-error reads and writes of plain files, for the code that may block.
 *
 * Purpose: EINTR and short transfers are handled once, here, and every failure names file, offset
 * and errno.
 * Threads: pure but for the descriptors.
 */
#ifndef SL_FILE_H
#define SL_FILE_H

#include <sluice/common.h>

#include <stdbool.h>
#include <sys/stat.h>

/* Who is asking: named in errors. */
typedef struct sl_file_name {
    const char *stage;
    const char *path;
} sl_file_name;

/* Opens for reading, close-on-exec, never as a terminal; only regular files (IO otherwise). `*size`
 * may be NULL. */
sluice_status sl_file_open(sl_file_name name, int *fd, uint64_t *size, sluice_error *error);
/* Reads exactly `bytes`: IO, or CORRUPT when the file ends before. */
sluice_status sl_file_read(int fd, sl_file_name name, void *buffer, size_t bytes, uint64_t offset,
                           sluice_error *error);
/*
 * All of a file, which the caller frees (sl_free). Errors: as of open and read; UNSUPPORTED: it has
 * more than `most` bytes; NOMEM.
 */
sluice_status sl_file_read_whole(sl_file_name name, uint64_t most, uint8_t **data, size_t *bytes,
                                 sluice_error *error);
/* Writes exactly `bytes` at `offset`: IO otherwise. */
sluice_status sl_file_write(int fd, sl_file_name name, const void *buffer, size_t bytes,
                            uint64_t offset, sluice_error *error);
/* When the file was last changed, in ns since 1970. */
static inline int64_t sl_file_modified_ns(const struct stat *facts)
{
    return (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec;
}

/* Closes when fd >= 0. */
void sl_file_close(int fd);

/* Whether `path` ends with `suffix` and is longer. */
bool sl_ends_with(const char *path, const char *suffix);

#endif
