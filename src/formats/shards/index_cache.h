/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_cache: a direct-mapped cache of verified index blocks.
 *
 * Purpose: locates neighbouring samples of a block with one read. Tags are block numbers, from 0.
 * Up to 4096 blocks each have their own slot; with more, random access costs one read of 4 KiB
 * each, usually from the page cache. Threads: any. Lock: striped mutexes, held only while copying,
 * never during a read. Invariant: every block in the cache passed its check.
 */
#ifndef SL_INDEX_CACHE_H
#define SL_INDEX_CACHE_H

#include "shard_format.h"

#include <pthread.h>
#include <stdbool.h>

#define SL_INDEX_CACHE_STRIPES 16u

typedef struct sl_index_cache {
    pthread_mutex_t stripes[SL_INDEX_CACHE_STRIPES];
    uint8_t *blocks; /* slots x 4096 */
    uint64_t *tags;  /* block in each slot, + 1; 0: empty */
    uint32_t slots;  /* a power of two */
} sl_index_cache;

/*
 * Opens a cache for a dataset of `blocks` index blocks. Errors: NOMEM. A zeroed object may be
 * closed.
 */
sluice_status sl_index_cache_open(sl_index_cache *cache, uint64_t blocks, sluice_error *error);
void sl_index_cache_close(sl_index_cache *cache);
/* Copies `bytes` at `offset` of block `tag` to `out`; false: not in the cache. */
bool sl_index_cache_get(sl_index_cache *cache, uint64_t tag, size_t offset, void *out,
                        size_t bytes);
void sl_index_cache_put(sl_index_cache *cache, uint64_t tag, const uint8_t block[SL_PAGE_BYTES]);

#endif
