/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpacked_file: what a compressed file holds, written to a file of its own.
 *
 * Purpose: one file of the store (unpacked_store.h), from its first byte to its checks: never more
 * bytes than an index says, its hashes, the checksums of the compressed data, and that the
 * compressed file was the same one all the while. Of a size that nobody tells, a part of the file
 * system stays free. Blocks. Threads: any; each writes a file of its own. Memory: that of a stream
 * of 5 chunks (stream.h), and 1 MiB.
 */
#ifndef SL_UNPACKED_FILE_H
#define SL_UNPACKED_FILE_H

#include "stream.h"

#include <stdatomic.h>

/* What an index tells of what comes out of a compressed file. */
typedef struct sl_unpack_told {
    uint64_t bytes[2];  /* that it is, one of them; 0: none. Both 0: any number */
    const char *hashes; /* as digest_list.h has them; NULL: none */
} sl_unpack_told;

/* Bytes that come out at most; 0: that is not told. */
static inline uint64_t sl_unpack_most(const sl_unpack_told *told)
{
    return told->bytes[0] > told->bytes[1] ? told->bytes[0] : told->bytes[1];
}

typedef struct sl_unpack_job {
    const char *from; /* the compressed file, */
    sl_packed packed; /* and what it is */
    sl_unpack_told told;
    const char *to;          /* file that is made, for the user alone, and must not be there */
    int beat;                /* file whose time of modification says that work goes on; -1: none */
    const atomic_bool *stop; /* set: it ends, with CANCELED */
} sl_unpack_job;

/*
 * Writes it, down to the storage; its time of modification is a whole second. Whatever is not right
 * leaves no file. Errors: IO (ENOSPC, EDQUOT, EFBIG: with the bytes that are needed; also: it was
 * changed meanwhile), CORRUPT (damaged, of another size or hash than is told), UNSUPPORTED,
 * CANCELED, NOMEM.
 */
sluice_status sl_unpacked_file_write(const sl_unpack_job *job, sluice_error *error);

#endif
