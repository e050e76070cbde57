/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_waits: reports to reads which chunks will be in the cache soon.
 *
 * Purpose: a loader's reads (backend_remote.h) know their object and offset, its caching
 * (caching.h) knows the chunks to be fetched next. A read of such a chunk waits, instead of
 * downloading the same bytes. While the plan of an epoch is being made, reads of all kept objects
 * wait for the plan. Threads: any. Lock: one mutex, held while caching is queried. Ownership:
 * counted, because a read that never ends may outlive the loader; after close nothing is expected.
 */
#ifndef SL_CHUNK_WAITS_H
#define SL_CHUNK_WAITS_H

#include "caching.h"

typedef struct sl_chunk_waits sl_chunk_waits;

/* Opens the waits of a caching; NULL: no memory. `caching` must live until sl_chunk_waits_close. */
sl_chunk_waits *sl_chunk_waits_open(sl_caching *caching);
void sl_chunk_waits_hold(sl_chunk_waits *waits);    /* NULL is a no-op */
void sl_chunk_waits_release(sl_chunk_waits *waits); /* NULL is a no-op */
/* Forgets caching, and releases. NULL is a no-op. */
void sl_chunk_waits_close(sl_chunk_waits *waits);

/* Reports that making a plan begins, or has ended. */
void sl_chunk_waits_plan(sl_chunk_waits *waits, bool begins);

/* Returns true if a read of the chunk should wait. */
bool sl_chunk_waits_ask(sl_chunk_waits *waits, uint32_t object, uint64_t chunk);
/* Same as sl_caching_is_hit. */
bool sl_chunk_waits_is_hit(sl_chunk_waits *waits, uint32_t object, uint64_t chunk, uint32_t bytes);
/* Returns a number that changes whenever the results above may. */
uint64_t sl_chunk_waits_changes(sl_chunk_waits *waits);

#endif
