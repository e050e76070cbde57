/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpackers: a backend for compressed objects, around another one for all others.
 *
 * Purpose: threads that read what comes out of compressed files (stream.h). A PASS is one reading
 * of an object from its front to where its last read says: requests of a pass are executed one
 * after the other, in the order in which they were submitted, which has to be that of their
 * offsets; those of several passes side by side. So each byte is unpacked once in a pass, and what
 * is between two requests is passed over. A pass in which something is wrong has failed from
 * there on. Passes of which no more is heard, though they have not ended, are closed when there are
 * too many.
 * Threads: as backend.h; cancel, progress and get_stats are the owner's, too. Lock: its own mutex,
 * not held while unpacking. Memory: SL_UNPACKERS_STREAM_BYTES for each pass that is open, and what
 * zstd's windows take beyond SL_UNPACKERS_WINDOW_BYTES; 2 KiB for each failure that is unlike
 * others.
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
    sl_backend *inner;         /* open */
    uint32_t depth;            /* most requests in flight, of both kinds together */
    uint32_t threads;          /* >= 1 */
    const sl_processors *near; /* NULL: anywhere */
} sl_unpackers_config;

/* Owns `inner` from then on, also on failure. Errors: NOMEM. */
sluice_status sl_unpackers_open(sl_backend **backend, const sl_unpackers_config *config,
                                sluice_error *error);
/* All requests of compressed objects end soon, most of them with -ECANCELED, and no pass goes on.
 */
void sl_unpackers_cancel(sl_backend *backend);
/* Changes while anything is unpacked or read for it. */
uint64_t sl_unpackers_progress(const sl_backend *backend);

typedef struct sl_unpackers_stats {
    uint64_t bytes;    /* that came out */
    uint64_t ns;       /* spent by the threads, reading for it included */
    uint64_t restarts; /* passes that had to begin anew */
} sl_unpackers_stats;
void sl_unpackers_get_stats(sl_backend *backend, sl_unpackers_stats *stats);

#endif
