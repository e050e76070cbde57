/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file: whole-or-error reads and writes of plain files, for code that may block.
 *
 * Purpose: EINTR, short transfers and transient errors are handled once, here, and every failure
 * names file, offset and errno; also identifies a file, to detect another one at its path later.
 * For the library's own files: io/store.h opens the files of datasets.
 *
 * Threads: pure except for the descriptors.
 */
#ifndef SL_FILE_H
#define SL_FILE_H

#include <sluice/common.h>

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Stage and path for errors. */
typedef struct sl_file_name {
    const char *stage;
    const char *path;
} sl_file_name;

/* Message about a replaced file, with status IO: neither file's data is wrong. */
#define SL_FILE_REPLACED "the file was changed since it was opened: replaced, or written to"

/*
 * Identifies a file's contents without reading all of them. Replacing a file changes inode and
 * changed_ns; writing to it changes modified_ns and changed_ns, and only the first can be set back.
 * A hard link, or another mode, changes changed_ns alone, and file systems in user space may number
 * their inodes again: neither makes it another file.
 */
typedef struct sl_file_identity {
    uint64_t bytes;
    uint64_t inode;
    int64_t modified_ns; /* st_mtim, st_ctim: ns since 1970 */
    int64_t changed_ns;
    uint64_t sample; /* sl_handle_sample; 0: not taken */
} sl_file_identity;

sl_file_identity sl_file_identity_of(const struct stat *facts);
/* Returns whether size, time of modification, inode or time of change, and the samples, if both
 * have one, are equal. */
bool sl_file_is_same(const sl_file_identity *a, const sl_file_identity *b);

/* Opens for reading, close-on-exec, never as a terminal; only regular files (IO otherwise).
 * `*identity`, without a sample, may be NULL. */
sluice_status sl_file_open(sl_file_name name, int *fd, sl_file_identity *identity,
                           sluice_error *error);
/* Reads exactly `bytes`: IO, or CORRUPT if the file ends earlier. Transient errors are retried
 * (retry.h). */
sluice_status sl_file_read(int fd, sl_file_name name, void *buffer, size_t bytes, uint64_t offset,
                           sluice_error *error);
/* A source of bytes: a call that returns bytes, fewer if the source has fewer, 0 at the end, or
 * -errno; and whether to retry transient errors. */
typedef struct sl_file_source {
    sl_file_name name;
    ssize_t (*read)(const void *from, void *to, size_t bytes, uint64_t offset);
    const void *from;
    bool tries_again;
} sl_file_source;
/* Does the same for any source. */
sluice_status sl_file_read_from(const sl_file_source *source, void *buffer, size_t bytes,
                                uint64_t offset, sluice_error *error);
/* Writes exactly `bytes` at `offset`: IO otherwise. */
sluice_status sl_file_write(int fd, sl_file_name name, const void *buffer, size_t bytes,
                            uint64_t offset, sluice_error *error);
/* Closes when fd >= 0. */
void sl_file_close(int fd);

/* Returns whether `path` ends with `suffix` and is longer. */
bool sl_ends_with(const char *path, const char *suffix);

#endif
