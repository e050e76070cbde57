/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk_waits.h"

#include "memory.h"
#include "thread.h"

#include <stdatomic.h>

struct sl_chunk_waits {
    _Atomic uint32_t holders;
    pthread_mutex_t mutex;
    /* under mutex */
    sl_caching *caching; /* NULL: closed */
    bool planning;
    uint64_t plans; /* plans begun and ended */
};

sl_chunk_waits *sl_chunk_waits_open(sl_caching *caching)
{
    sl_chunk_waits *waits = sl_calloc(1, sizeof(*waits));
    if (waits != NULL) {
        atomic_init(&waits->holders, 1);
        sl_mutex_init(&waits->mutex);
        waits->caching = caching;
    }
    return waits;
}

void sl_chunk_waits_hold(sl_chunk_waits *waits)
{
    if (waits != NULL) { /* relaxed: the caller has a hold */
        atomic_fetch_add_explicit(&waits->holders, 1, memory_order_relaxed);
    }
}

void sl_chunk_waits_release(sl_chunk_waits *waits)
{
    /* acq_rel: the last one frees memory that the others have used */
    if (waits != NULL && atomic_fetch_sub_explicit(&waits->holders, 1, memory_order_acq_rel) == 1) {
        sl_mutex_destroy(&waits->mutex);
        sl_free(waits);
    }
}

void sl_chunk_waits_close(sl_chunk_waits *waits)
{
    if (waits == NULL) {
        return;
    }
    sl_lock(&waits->mutex);
    waits->plans += sl_caching_changes(waits->caching) + 1; /* a number that no reader has seen */
    waits->caching = NULL;
    waits->planning = false;
    sl_unlock(&waits->mutex);
    sl_chunk_waits_release(waits);
}

void sl_chunk_waits_plan(sl_chunk_waits *waits, bool begins)
{
    sl_lock(&waits->mutex);
    waits->planning = begins;
    waits->plans++;
    sl_unlock(&waits->mutex);
}

bool sl_chunk_waits_ask(sl_chunk_waits *waits, uint32_t object, uint64_t chunk)
{
    sl_lock(&waits->mutex);
    sl_caching *caching = waits->caching;
    const bool expected =
        caching != NULL && (waits->planning || sl_caching_expects(caching, object, chunk));
    sl_unlock(&waits->mutex);
    return expected;
}

bool sl_chunk_waits_is_hit(sl_chunk_waits *waits, uint32_t object, uint64_t chunk, uint32_t bytes)
{
    sl_lock(&waits->mutex);
    const bool hit =
        waits->caching == NULL || sl_caching_is_hit(waits->caching, object, chunk, bytes);
    sl_unlock(&waits->mutex);
    return hit;
}

uint64_t sl_chunk_waits_changes(sl_chunk_waits *waits)
{
    sl_lock(&waits->mutex);
    const uint64_t changes =
        waits->plans + (waits->caching != NULL ? sl_caching_changes(waits->caching) : 0);
    sl_unlock(&waits->mutex);
    return changes;
}
