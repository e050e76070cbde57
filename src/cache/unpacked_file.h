/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpacked_file: writes the contents of a compressed file to a file of its own.
 *
 * Purpose: produces one file of the store (unpacked_store.h), including all checks: never more
 * bytes than an index allows, the hashes, the checksums of the compressed data, and that the
 * compressed file did not change meanwhile. If the size is unknown, a part of the file system stays
 * free. Blocks. Threads: any; each writes its own file. Memory: a stream of 5 chunks (stream.h),
 * and 1 MiB.
 */
#ifndef SL_UNPACKED_FILE_H
#define SL_UNPACKED_FILE_H

#include "stream.h"

#include <stdatomic.h>

/* What an index says about the contents of a compressed file. */
typedef struct sl_unpack_told {
    uint64_t bytes[2];  /* possible sizes; 0: none. Both 0: any size */
    const char *hashes; /* as in digest_list.h; NULL: none */
} sl_unpack_told;

/* Returns the maximum unpacked size; 0: unknown. */
static inline uint64_t sl_unpack_most(const sl_unpack_told *told)
{
    return told->bytes[0] > told->bytes[1] ? told->bytes[0] : told->bytes[1];
}

typedef struct sl_unpack_job {
    const char *from; /* the compressed file, */
    sl_packed packed; /* and its packing */
    sl_unpack_told told;
    const char *to;          /* file to create, for the user only; must not exist */
    int beat;                /* file whose modification time shows progress; -1: none */
    const atomic_bool *stop; /* when set, it ends with CANCELED */
} sl_unpack_job;

/*
 * Writes the file down to the storage; its modification time is a whole second. Leaves no file on
 * error. Errors: IO (ENOSPC, EDQUOT, EFBIG: with the bytes needed; also: the source was modified
 * meanwhile), CORRUPT (damaged, wrong size or hash), UNSUPPORTED, CANCELED, NOMEM.
 */
sluice_status sl_unpacked_file_write(const sl_unpack_job *job, sluice_error *error);

#endif
