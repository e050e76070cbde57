/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache_uses: the chunks of remote objects (caching.h) that a rank reads in an epoch, and when.
 *
 * Purpose: walks an epoch as the feed will, and passes the chunks of each sample to a visitor. A
 * sample's position is its row's number in the epoch on that rank, so positions of all ranks agree
 * in time. Substitutes of bad samples are not known before they are read. If a shard's index is not
 * read yet, a sample's chunk is estimated from its number in the shard, and the chunks on both
 * sides are passed, too; after one epoch the places are known. If not even a shard's first sample
 * is known, a use of the whole object is passed. Time: the order's, and a look-up of each sample,
 * about 60 ns together. Threads: any; the feed is only read. Memory: none, except with
 * SHUFFLE_SHARDS or level_rows (their own tables).
 */
#ifndef SL_CACHE_USES_H
#define SL_CACHE_USES_H

#include "caching.h"
#include "feed.h"

typedef struct sl_cache_epoch {
    const sl_feed *feed;
    const sl_caching *caching; /* numbers chunks */
    uint64_t epoch, start;     /* position at which the epoch is (re)entered */
    uint32_t rank;
    /* Ends the walk when it differs from `serial`, because its result is no longer needed. */
    const _Atomic uint64_t *current;
    uint64_t serial;
} sl_cache_epoch;

typedef struct sl_cache_visitor {
    void *ctx;
    /* `bytes` of a chunk are read for the row at `position`; 0: perhaps some. */
    void (*chunk)(void *ctx, uint64_t number, uint64_t position, uint32_t bytes);
    /* Some bytes of an object are read, but it is not known which. */
    void (*object)(void *ctx, uint32_t object, uint64_t position);
} sl_cache_visitor;

/* Walks an epoch. Errors: NOMEM; CANCELED: its result is no longer needed. */
sluice_status sl_cache_walk(const sl_cache_epoch *of, const sl_cache_visitor *visitor,
                            sluice_error *error);

#endif
