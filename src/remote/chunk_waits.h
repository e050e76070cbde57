/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_waits: tells reads which chunks will be in the cache soon.
 *
 * Purpose: a loader's reads (backend_remote.h) know their object and offset, its caching
 * (caching.h) knows what is fetched next. A read of such a chunk waits, instead of downloading the
 * same bytes. While the plan of an epoch is being made, reads of all objects that are kept wait for
 * the plan.
 * Threads: any. Lock: one mutex, held while caching is asked. Ownership: counted, since a read that
 * never comes back may outlive the loader; after close nothing is expected.
 */
#ifndef SL_CHUNK_WAITS_H
#define SL_CHUNK_WAITS_H

#include "caching.h"

typedef struct sl_chunk_waits sl_chunk_waits;

/* NULL: no memory. `caching` must live until sl_chunk_waits_close. */
sl_chunk_waits *sl_chunk_waits_open(sl_caching *caching);
void sl_chunk_waits_hold(sl_chunk_waits *waits);    /* NULL is fine */
void sl_chunk_waits_release(sl_chunk_waits *waits); /* NULL is fine */
/* Forgets caching, and releases. NULL is fine. */
void sl_chunk_waits_close(sl_chunk_waits *waits);

/* A plan is being made from now on, or that has ended. */
void sl_chunk_waits_plan(sl_chunk_waits *waits, bool begins);

/* True if a read of the chunk should wait. */
bool sl_chunk_waits_ask(sl_chunk_waits *waits, uint32_t object, uint64_t chunk);
/* As sl_caching_is_hit. */
bool sl_chunk_waits_is_hit(sl_chunk_waits *waits, uint32_t object, uint64_t chunk, uint32_t bytes);
/* A number that changes when the answers may. */
uint64_t sl_chunk_waits_changes(sl_chunk_waits *waits);

#endif
