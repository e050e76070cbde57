/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_writer: writes one tar archive.
 *
 * Purpose: ustar (POSIX.1-1988), with a pax header for names that do not fit, as GNU tar, bsdtar
 * and Python's tarfile read it. Contains nothing about this machine: time and owners are 0, so the
 * same members give the same bytes. Threads: one owner. Memory: 1 MiB.
 */
#ifndef SL_TAR_WRITER_H
#define SL_TAR_WRITER_H

#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

#define SL_TAR_NAME_FORMAT "shard-%06u.tar"
#define SL_TAR_PATH_BYTES  4096

typedef struct sl_tar_writer {
    int fd;           /* -1: none is open */
    uint64_t bytes;   /* bytes written or buffered */
    uint64_t samples; /* for the owner */
    uint8_t *buffer;  /* owned; the last `buffered` bytes, not written yet */
    size_t buffered;
    char path[SL_TAR_PATH_BYTES]; /* for errors */
} sl_tar_writer;

/* Allocates the buffer. Errors: NOMEM. */
sluice_status sl_tar_writer_open(sl_tar_writer *writer, sluice_error *error);
/*
 * Closes the writer; an unfinished archive stays as it is. A zeroed writer with fd -1 may be
 * closed.
 */
void sl_tar_writer_close(sl_tar_writer *writer);

/* Creates archive `number` in the folder `folder`, whose path is `path`. Errors: IO. */
sluice_status sl_tar_writer_begin(sl_tar_writer *writer, int folder, const char *path,
                                  uint32_t number, sluice_error *error);
/* Adds a file of at most 4 GiB: `head` followed by `bytes`. Errors: IO. */
sluice_status sl_tar_writer_add(sl_tar_writer *writer, const char *name, sl_bytes head,
                                sl_bytes bytes, sluice_error *error);
/* Writes the end mark, syncs and closes. Errors: IO. */
sluice_status sl_tar_writer_finish(sl_tar_writer *writer, sluice_error *error);

/* Returns the size of a member in an archive. */
uint64_t sl_tar_member_bytes(const char *name, uint64_t bytes);
/* Returns the size of an archive with so many bytes of members. */
uint64_t sl_tar_archive_bytes(uint64_t members);

#endif
