/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_files: an object that is several files, read whole.
 *
 * Purpose: a sample whose fields are files of their own. Its bytes are those of the files, one
 * behind the other, and behind them the size of each, in 8 bytes, little-endian. No file is kept
 * open, and none is read with O_DIRECT. Threads: blocks; any.
 */
#ifndef SL_READ_FILES_H
#define SL_READ_FILES_H

#include "objects.h"

/* Of an object's files; the size of each stands behind all of them. */
#define SL_OBJECT_SIZE_BYTES 8U

typedef struct sl_files_read {
    const sl_objects *objects;
    uint32_t object, files; /* of it, 1 or more */
    uint8_t *buffer;
    uint64_t length; /* of it */
    bool drop_cache;
} sl_files_read;

typedef struct sl_files_end {
    uint64_t bytes; /* of all, with the sizes */
    uint32_t file;  /* that failed */
} sl_files_end;

/* Bytes read, all there are; or -errno of the file that failed: ESTALE where it shrank while it was
 * read, ENAMETOOLONG; EFBIG where they are more than `length` (then `end` says how many). */
int64_t sl_read_files(const sl_files_read *read, sl_files_end *end);

#endif
