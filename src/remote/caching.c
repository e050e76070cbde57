/* SPDX-License-Identifier: Apache-2.0 */
/* caching: opens and closes a caching, takes the plan of an epoch, and reports the progress. */
#include "caching_state.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"

#include <string.h>

#define STAGE       "cache"
#define AHEAD_LEAST UINT64_C(4)
#define AHEAD_MOST  UINT64_C(64)

/* ---- opening and closing ---- */

static uint64_t ahead_of(uint64_t most_bytes)
{
    const uint64_t quarter = most_bytes / (SL_CHUNK_BYTES + SL_CACHING_PAGE_BYTES) / 4;
    return sl_max_u64(sl_min_u64(quarter, AHEAD_MOST), AHEAD_LEAST);
}

uint64_t sl_caching_largest(const sl_caching_objects *objects)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < objects->count && largest < SL_CHUNK_BYTES; i++) {
        largest = sl_max_u64(largest, objects->bytes(objects->ctx, i));
    }
    return sl_min_u64(largest, SL_CHUNK_BYTES);
}

uint32_t sl_caching_threads(uint64_t largest)
{
    const uint64_t threads = SL_CACHING_THREADS * SL_CHUNK_BYTES / sl_max_u64(largest, 1);
    return (uint32_t)sl_min_u64(threads, SL_CACHING_THREADS_MAX);
}

static bool number_chunks(sl_caching *caching)
{
    const sl_caching_objects *objects = &caching->objects;
    uint64_t count = 0;
    caching->bases = sl_calloc((size_t)objects->count + 1, sizeof(*caching->bases));
    if (caching->bases == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < objects->count; i++) {
        const uint64_t bytes = objects->bytes(objects->ctx, i);
        caching->bases[i] = count;
        count += bytes / SL_CHUNK_BYTES + (bytes % SL_CHUNK_BYTES > 0);
    }
    caching->bases[objects->count] = count;
    caching->states = sl_calloc(count + 1, 1);
    caching->passed = sl_calloc(count + 1, sizeof(*caching->passed));
    caching->demanded = sl_calloc(count + 1, sizeof(*caching->demanded));
    caching->fresh = sl_calloc(count + 1, sizeof(*caching->fresh));
    caching->places = sl_calloc(count + 1, sizeof(*caching->places));
    return caching->states != NULL && caching->passed != NULL && caching->demanded != NULL &&
           caching->fresh != NULL && caching->places != NULL;
}

sluice_status sl_caching_open(sl_caching **caching, sl_chunk_cache *cache,
                              const sl_caching_objects *objects, uint32_t threads,
                              sluice_error *error)
{
    sl_caching *made = sl_calloc(1, sizeof(*made));
    *caching = NULL;
    if (made == NULL) {
        return sl_no_memory(error, STAGE, "for the chunks of a plan");
    }
    made->cache = cache;
    made->objects = *objects;
    made->thread_count = threads;
    made->largest = sl_caching_largest(objects);
    atomic_init(&made->wake_at, UINT64_MAX);
    sl_mutex_init(&made->mutex);
    sl_cond_init(&made->work);
    sl_cond_init(&made->settled);
    if (!number_chunks(made)) {
        sl_caching_close(made);
        return sl_no_memory(error, STAGE, "for the chunks of %u objects", objects->count);
    }
    *caching = made;
    return SLUICE_OK;
}

void sl_caching_close(sl_caching *caching)
{
    if (caching == NULL) {
        return;
    }
    sl_lock(&caching->mutex);
    /* relaxed: threads that do not take the mutex only end sooner */
    atomic_store_explicit(&caching->stopping, true, memory_order_relaxed);
    sl_cond_broadcast(&caching->work);
    sl_unlock(&caching->mutex);
    for (uint32_t i = 0; i < caching->thread_count; i++) {
        sl_thread_join(&caching->threads[i].thread);
        sl_free(caching->threads[i].buffer);
    }
    sl_free(caching->plan);
    sl_free(caching->places);
    sl_free(caching->fresh);
    sl_free(caching->demanded);
    sl_free(caching->passed);
    sl_free(caching->states);
    sl_free(caching->bases);
    sl_cond_destroy(&caching->settled);
    sl_cond_destroy(&caching->work);
    sl_mutex_destroy(&caching->mutex);
    sl_free(caching);
}

uint64_t sl_caching_first_chunk(const sl_caching *caching, uint32_t object)
{
    return caching->bases[object];
}

/* Starts the threads. Fewer threads than requested are enough. */
static sluice_status caching_start_threads(sl_caching *caching, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    uint32_t started = 0;
    while (!caching->started && status == SLUICE_OK && started < caching->thread_count) {
        caching_thread *thread = &caching->threads[started];
        thread->caching = caching;
        status = sl_thread_start(&thread->thread, "sl-cache", sl_caching_run_thread, thread, error);
        started += status == SLUICE_OK;
    }
    caching->started = caching->started || started > 0;
    return caching->started ? SLUICE_OK : status;
}

/* ---- epochs ---- */

/* Drops the demands; reads that wait will request again. */
static void drop_demands_locked(sl_caching *caching)
{
    for (uint32_t i = 0; i < caching->demand_count; i++) {
        caching->states[caching->demands[i]] = CHUNK_UNKNOWN;
    }
    caching->demand_count = 0;
    caching->demand_bytes = 0;
}

/* Forgets the known states, which may be stale: other processes remove chunks, too. */
static void forget_chunks_locked(sl_caching *caching, bool goes_on)
{
    const uint64_t chunks = caching->bases[caching->objects.count];
    drop_demands_locked(caching);
    for (uint64_t i = 0; i < chunks; i++) {
        caching->places[i] = SL_CHUNK_NEVER;
        caching->demanded[i] = false;
        caching->passed[i] = goes_on && caching->passed[i];
        if (caching->states[i] != CHUNK_TAKEN) {
            caching->states[i] = CHUNK_UNKNOWN;
        }
    }
    caching->kept_bytes = 0;
}

/* Applies the quota, which another loader may have changed. While keeping is off, the old quota
 * stays. */
static void use_quota_locked(sl_caching *caching, uint64_t most_bytes)
{
    caching->most_bytes = most_bytes > 0 ? most_bytes : caching->most_bytes;
    caching->ahead = ahead_of(caching->most_bytes);
}

static void use_plan_locked(sl_caching *caching, const sl_chunk_epoch *epoch, sl_chunk_plan *plan)
{
    const uint64_t count = epoch->count;
    caching->plan = plan;
    caching->planned = count;
    caching->used = 0;
    caching->span = 0;
    forget_chunks_locked(caching, epoch->goes_on);
    for (uint64_t i = 0; i < count && plan[i].first != SL_CHUNK_NEVER; i++) {
        caching->used++;
        caching->span = plan[i].last > caching->span ? plan[i].last : caching->span;
        caching->places[sl_caching_number_of(caching, &plan[i])] = i;
    }
    caching->next = 0;
    caching->reached = 0;
    caching->victim_count = 0;
    caching->search_at = 0;
    caching->is_stuck = false;
    caching->generation++;
    caching->stats = (sl_caching_stats){.chunks = caching->used};
    /* seq_cst: with sl_caching_advance; the plan's release in cache_plan.c comes before it. */
    atomic_store_explicit(&caching->position, 0, memory_order_seq_cst);
    atomic_store_explicit(&caching->wake_at, UINT64_MAX, memory_order_seq_cst);
    sl_caching_note_change(caching);
    sl_cond_broadcast(&caching->work);
}

sluice_status sl_caching_begin(sl_caching *caching, const sl_chunk_epoch *epoch,
                               sluice_error *error)
{
    const uint64_t count = epoch->count;
    sl_chunk_plan *plan = sl_calloc(count + 1, sizeof(*plan));
    if (plan == NULL) {
        return sl_no_memory(error, STAGE, "for the chunks of an epoch");
    }
    memcpy(plan, epoch->chunks, count * sizeof(*plan));
    const uint64_t most_bytes = sl_caching_quota(caching->cache);
    sl_lock(&caching->mutex);
    const sluice_status status = caching_start_threads(caching, error);
    sl_chunk_plan *before = plan;
    if (status == SLUICE_OK) {
        before = caching->plan;
        use_quota_locked(caching, most_bytes);
        use_plan_locked(caching, epoch, plan);
    }
    sl_unlock(&caching->mutex);
    sl_free(before);
    return status;
}

void sl_caching_advance(sl_caching *caching, uint64_t position)
{
    /* seq_cst, all: see take_next_locked. */
    uint64_t before = atomic_load_explicit(&caching->position, memory_order_seq_cst);
    while (before < position &&
           !atomic_compare_exchange_weak_explicit(&caching->position, &before, position,
                                                  memory_order_seq_cst, memory_order_seq_cst)) {
    }
    if (position < atomic_load_explicit(&caching->wake_at, memory_order_seq_cst)) {
        return;
    }
    sl_lock(&caching->mutex);
    atomic_store_explicit(&caching->wake_at, UINT64_MAX, memory_order_seq_cst);
    sl_cond_broadcast(&caching->work);
    sl_unlock(&caching->mutex);
}

void sl_caching_get_stats(sl_caching *caching, sl_caching_stats *stats)
{
    sl_lock(&caching->mutex);
    *stats = caching->stats;
    sl_unlock(&caching->mutex);
}
