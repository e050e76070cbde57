/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_cache: verified index blocks, direct-mapped.
 *
 * Purpose: neighbours in a block are located with one read. Tags are numbers of blocks, from 0: up
 * to 4096 blocks all have a place of their own; of more, random access costs one read of 4 KiB
 * each, from the page cache as a rule. Threads: any. Lock: striped mutexes, held for a copy only,
 * never during a read. Invariants: a block in the cache passed its check.
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
    uint64_t *tags;  /* what each slot holds, + 1; 0: nothing */
    uint32_t slots;  /* a power of two */
} sl_index_cache;

/* For a dataset of `blocks` index blocks. A zeroed object may be closed. Errors: NOMEM. */
sluice_status sl_index_cache_open(sl_index_cache *cache, uint64_t blocks, sluice_error *error);
void sl_index_cache_close(sl_index_cache *cache);
/* Copies `bytes` at `offset` of block `tag` to `out`; false when it is not there. */
bool sl_index_cache_get(sl_index_cache *cache, uint64_t tag, size_t offset, void *out,
                        size_t bytes);
void sl_index_cache_put(sl_index_cache *cache, uint64_t tag, const uint8_t block[SL_PAGE_BYTES]);

#endif
