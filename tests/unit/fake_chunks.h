/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_chunks: a chunk cache that holds no bytes, in place of the library's (chunk_cache.h).
 *
 * Purpose: tests the policy of caching.h over many chunks. Counts, and lets a test act as another
 * process. Threads: any. All objects belong to one cache.
 */
#ifndef FAKE_CHUNKS_H
#define FAKE_CHUNKS_H

#include "caching.h"

#include <stdatomic.h>

enum { FAKE_CHUNKS_MOST = 4096 };

typedef struct fake_chunks {
    uint64_t most;    /* bytes */
    _Atomic bool off; /* writing is disabled */
    /* No object can be opened; silent: because the store does not answer. */
    _Atomic bool unknown, silent;
    uint32_t objects;
    uint64_t bytes_each; /* bytes of an object */
    /* Called by each read, on the caching thread; false makes it fail. NULL: reads succeed. */
    bool (*reads)(void *ctx, uint64_t chunk);
    void *ctx;
    _Atomic uint64_t reads_begun, dropped;
} fake_chunks;

/* Begins with an empty cache. The caller keeps `chunks`. */
sl_chunk_cache *fake_chunks_begin(fake_chunks *chunks);
sl_caching_objects fake_chunks_objects(fake_chunks *chunks);
sl_cached_object *fake_chunks_object(uint32_t object);
/* Chunks are numbered consecutively over all objects. */
bool fake_chunks_has(uint64_t chunk);
/* Acts as another process. */
void fake_chunks_set(uint64_t chunk, sl_chunk_state state);

#endif
