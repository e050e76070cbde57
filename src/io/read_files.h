/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_files: an object of several files, read whole.
 *
 * Purpose: a sample whose fields are files of their own. Its bytes are those of the files, back to
 * back, followed by the size of each, in 8 bytes, little-endian. No file is kept open, and none is
 * read with O_DIRECT. Threads: blocks; any.
 */
#ifndef SL_READ_FILES_H
#define SL_READ_FILES_H

#include "objects.h"

/* Bytes of the size of each file; the sizes follow the files. */
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

/* Reads all files of an object. Returns their bytes; or -errno of the file that failed: ESTALE if
 * it shrank during the read, ENAMETOOLONG; EFBIG if they are more than `length` (then `end` has the
 * number). */
int64_t sl_read_files(const sl_files_read *read, sl_files_end *end);

#endif
