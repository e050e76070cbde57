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
/* Writes exactly `bytes` at `offset`: IO otherwise. */
sluice_status sl_file_write(int fd, sl_file_name name, const void *buffer, size_t bytes,
                            uint64_t offset, sluice_error *error);
/* Closes when fd >= 0. */
void sl_file_close(int fd);

#endif
