/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpackers: a backend for compressed objects, around another one for all others.
 *
 * Purpose: threads that read the contents of compressed files (stream.h). A PASS is one reading of
 * an object from its front to the end of its last read: requests of a pass are executed one after
 * the other, in the order of submission, which must be that of their offsets; those of several
 * passes in parallel. So each byte is unpacked once in a pass, and bytes between two requests are
 * skipped. A pass with an error fails from there on. Unfinished passes without further requests are
 * closed when there are too many.
 *
 * Threads: as backend.h; cancel, progress and get_stats are the owner's, too. Lock: its own mutex,
 * not held while unpacking. Memory: SL_UNPACKERS_STREAM_BYTES for each open pass, plus the memory
 * of zstd windows beyond SL_UNPACKERS_WINDOW_BYTES; 2 KiB for each distinct failure.
 */
#ifndef SL_UNPACKERS_H
#define SL_UNPACKERS_H

#include "backend.h"
#include "objects.h"
#include "processors.h"

#define SL_UNPACKERS_STREAM_BYTES ((uint64_t)896 << 10)
/* Of zstd level 19; and of Brotli at most. */
#define SL_UNPACKERS_WINDOW_BYTES        ((uint64_t)8 << 20)
#define SL_UNPACKERS_BROTLI_WINDOW_BYTES ((uint64_t)16 << 20)

typedef struct sl_unpackers_config {
    sl_objects *objects;
    sl_backend *inner;         /* already open */
    uint32_t depth;            /* most requests in flight, of both kinds together */
    uint32_t threads;          /* >= 1 */
    const sl_processors *near; /* processors; NULL: any */
} sl_unpackers_config;

/* Owns `inner` from then on, also on failure. Errors: NOMEM. */
sluice_status sl_unpackers_open(sl_backend **backend, const sl_unpackers_config *config,
                                sluice_error *error);
/* Ends all requests of compressed objects soon, most of them with -ECANCELED; no pass continues. */
void sl_unpackers_cancel(sl_backend *backend);
/* Returns a number that changes while anything is unpacked or read for it. */
uint64_t sl_unpackers_progress(const sl_backend *backend);

typedef struct sl_unpackers_stats {
    uint64_t bytes;    /* unpacked bytes */
    uint64_t ns;       /* time of the threads, including reads */
    uint64_t restarts; /* passes that had to start again */
} sl_unpackers_stats;
void sl_unpackers_get_stats(sl_backend *backend, sl_unpackers_stats *stats);

#endif
