/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caching_work: threads that take the chunks of a plan in its order, and fetch the absent ones.
 *
 * A thread holds a flight from the moment it takes a chunk until the chunk is settled: in the
 * cache, or left. Chunks that another process writes are postponed and checked again. `position`
 * and `wake_at` are sequentially consistent: either advance sees that a thread sleeps until this
 * position, or the thread sees the position.
 */
#include "caching_state.h"

#include "clock.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "stop.h"

#include <string.h>

/* Interval between checks of a chunk that another process writes. */
#define LOOK_AGAIN_NS UINT64_C(50000000)
/* Maximum wait for it, unless the objects set one. */
#define WAIT_NS UINT64_C(30000000000)
/* Searches for chunks to remove are at least 1/256 of the plan's positions apart. */
#define SEARCHES 256U
/* After a failed fetch, reads do not wait for chunks for this long. */
#define DISTRUST_NS UINT64_C(30000000000)
/* Attempts to make space for one chunk: other threads and processes may take it. */
#define SPACE_TRIES 4U

/* ---- chunks ---- */

uint64_t sl_caching_number_of(const sl_caching *caching, const sl_chunk_plan *chunk)
{
    return caching->bases[chunk->object] + chunk->chunk;
}

static uint32_t bytes_of(const sl_caching *caching, const sl_chunk_plan *chunk)
{
    const uint64_t left =
        caching->objects.bytes(caching->objects.ctx, chunk->object) - chunk->chunk * SL_CHUNK_BYTES;
    return (uint32_t)(left < SL_CHUNK_BYTES ? left : SL_CHUNK_BYTES);
}

uint64_t sl_caching_cost_of(const sl_caching *caching, const sl_chunk_plan *chunk)
{
    return bytes_of(caching, chunk) + SL_CACHING_PAGE_BYTES;
}

void sl_caching_note_change(sl_caching *caching)
{
    /* Relaxed: a reader that sees another number takes the mutex. */
    atomic_fetch_add_explicit(&caching->changes, 1, memory_order_relaxed);
}

/* FAILED: the store did not send the chunk. */
typedef enum chunk_outcome {
    OUTCOME_HERE,
    OUTCOME_FETCHED,
    OUTCOME_LEFT,
    OUTCOME_FAILED
} chunk_outcome;

static void count_outcome_locked(sl_caching *caching, const chunk_flight *flight,
                                 chunk_outcome outcome)
{
    sl_caching_stats *stats = &caching->stats;
    const uint32_t bytes = bytes_of(caching, &flight->of);
    /* A chunk of the previous plan is examined again at its place in the present one. */
    const bool counts = flight->generation == caching->generation;
    if (outcome == OUTCOME_FETCHED) {
        stats->fetched++;
        stats->fetched_bytes += bytes;
    } else if (counts && outcome == OUTCOME_HERE) {
        stats->here++;
        stats->here_bytes += bytes;
    } else if (counts) {
        stats->left++;
        stats->left_bytes += bytes;
    }
    if (counts && (outcome == OUTCOME_HERE || outcome == OUTCOME_FETCHED)) {
        caching->kept_bytes += sl_caching_cost_of(caching, &flight->of);
    }
}

/* Ends the thread's flight. */
static void settle_chunk(caching_thread *thread, chunk_outcome outcome)
{
    sl_caching *caching = thread->caching;
    chunk_flight *flight = &thread->flight;
    const bool kept = outcome == OUTCOME_HERE || outcome == OUTCOME_FETCHED;
    sl_lock(&caching->mutex);
    caching->states[sl_caching_number_of(caching, &flight->of)] = kept ? CHUNK_KEPT : CHUNK_GONE;
    caching->taken_bytes -= sl_caching_cost_of(caching, &flight->of);
    count_outcome_locked(caching, flight, outcome);
    if (outcome == OUTCOME_FAILED) {
        caching->distrust_until_ns = sl_now_ns() + DISTRUST_NS;
    } else if (outcome == OUTCOME_FETCHED) {
        caching->distrust_until_ns = 0;
    }
    flight->cached = NULL;
    sl_caching_note_change(caching);
    sl_cond_broadcast(&caching->settled);
    sl_unlock(&caching->mutex);
}

static uint32_t wanted_of(const sl_caching *caching, const caching_thread *thread)
{
    return sl_min_u32(thread->flight.of.bytes, bytes_of(caching, &thread->flight.of));
}

/* Postpones the thread's flight, because another process writes the chunk. False: no slot is
 * free for it, or the other process takes too long: it may have been stopped. */
static bool put_flight_off(caching_thread *thread)
{
    sl_caching *caching = thread->caching;
    const uint64_t now = sl_now_ns();
    const uint64_t wait_ns = caching->objects.wait_ns > 0 ? caching->objects.wait_ns : WAIT_NS;
    chunk_flight *flight = &thread->flight;
    sl_lock(&caching->mutex);
    flight->off_since_ns = flight->off_since_ns > 0 ? flight->off_since_ns : now;
    caching->fresh[sl_caching_number_of(caching, &flight->of)] = wanted_of(caching, thread);
    const bool possible =
        caching->later_count < PUT_OFF_MOST && now - flight->off_since_ns < wait_ns;
    if (possible) {
        caching->later[caching->later_count++] =
            (put_off){*flight, sl_deadline_ns((int64_t)LOOK_AGAIN_NS)};
        flight->cached = NULL;
    }
    sl_unlock(&caching->mutex);
    return possible;
}

/* ---- space ---- */

/* Returns whether neither this epoch nor the next one needs the chunk any more. */
static bool is_over(const sl_chunk_plan *chunk, uint64_t position)
{
    return chunk->again == SL_CHUNK_NEVER &&
           (chunk->first == SL_CHUNK_NEVER || chunk->last < position);
}

/* Collects the chunks with the farthest next use, which have none that is known. */
static void search_victims_locked(sl_caching *caching, uint64_t position)
{
    if (caching->fills || caching->is_stuck || position < caching->search_at) {
        return;
    }
    for (uint64_t i = caching->planned; i-- > 0 && caching->victim_count < VICTIMS_MOST;) {
        const sl_chunk_plan *chunk = &caching->plan[i];
        const uint8_t state = caching->states[sl_caching_number_of(caching, chunk)];
        if (is_over(chunk, position) && (state == CHUNK_UNKNOWN || state == CHUNK_KEPT)) {
            if (state == CHUNK_KEPT) { /* a chunk that the previous plan fetched was not counted */
                const uint64_t cost = sl_caching_cost_of(caching, chunk);
                caching->kept_bytes -= sl_min_u64(caching->kept_bytes, cost);
            }
            caching->states[sl_caching_number_of(caching, chunk)] = CHUNK_GONE;
            caching->victims[caching->victim_count++] = *chunk;
        }
    }
    if (caching->victim_count == 0) {
        caching->search_at = position + caching->span / SEARCHES + 1;
    }
}

static bool take_victim(sl_caching *caching, sl_chunk_plan *victim)
{
    /* seq_cst, as everywhere, but only a hint here. */
    const uint64_t position = atomic_load_explicit(&caching->position, memory_order_seq_cst);
    sl_lock(&caching->mutex);
    if (caching->victim_count == 0) {
        search_victims_locked(caching, position);
    }
    const bool found = caching->victim_count > 0;
    if (found) {
        *victim = caching->victims[--caching->victim_count];
    }
    sl_unlock(&caching->mutex);
    return found;
}

uint64_t sl_caching_quota(sl_chunk_cache *cache)
{
    sl_chunk_cache_stats stats;
    sl_chunk_cache_get_stats(cache, &stats);
    return stats.off[0] == '\0' ? stats.most_bytes : 0;
}

/* Removes a chunk of this plan, or of objects that are not open. False: none may be removed for
 * this one, or keeping is off, so space is not the problem. */
static bool caching_make_space(sl_caching *caching, const sl_chunk_plan *for_chunk)
{
    const uint64_t needed = sl_caching_cost_of(caching, for_chunk);
    sl_chunk_plan victim;
    bool failed = false;
    if (sl_caching_quota(caching->cache) == 0) {
        return false;
    }
    while (take_victim(caching, &victim)) {
        sl_cached_object *object =
            caching->objects.open(caching->objects.ctx, victim.object, &failed);
        if (object != NULL && sl_chunk_remove(object, victim.chunk)) {
            sl_lock(&caching->mutex);
            caching->stats.removed++;
            sl_unlock(&caching->mutex);
            return true;
        }
    }
    return for_chunk->again != SL_CHUNK_NEVER &&
           sl_chunk_cache_make_space(caching->cache, needed) >= needed;
}

/* Same as sl_chunk_begin, but makes space; END: no space can be made, or the chunk is in the
 * cache. */
static sluice_status begin_part(sl_caching *caching, const chunk_flight *flight,
                                sl_chunk_part **part)
{
    sluice_status status = SLUICE_END;
    for (uint32_t tries = 0; status == SLUICE_END; tries++) {
        sluice_error error;
        sl_error_clear(&error);
        status = sl_chunk_begin(flight->cached, flight->of.chunk, part, &error);
        if (status == SLUICE_END &&
            (sl_chunk_look(flight->cached, flight->of.chunk) == SL_CHUNK_HERE ||
             !caching_make_space(caching, &flight->of))) {
            break;
        }
        if (status == SLUICE_END && tries == SPACE_TRIES) {
            sl_lock(&caching->mutex);
            caching->is_stuck = true;
            caching->victim_count = 0;
            sl_unlock(&caching->mutex);
            break;
        }
    }
    return status;
}

/* ---- a thread's work ---- */

static bool caching_read_chunk(caching_thread *thread, uint32_t bytes)
{
    const sl_caching_objects *objects = &thread->caching->objects;
    const sl_chunk_plan *of = &thread->flight.of;
    if (thread->buffer == NULL) {
        thread->buffer = sl_malloc(thread->caching->largest);
    }
    return thread->buffer != NULL &&
           objects->read(objects->ctx, of->object, of->chunk * SL_CHUNK_BYTES, thread->buffer,
                         bytes);
}

static chunk_outcome fetch_chunk(caching_thread *thread, sl_chunk_part *part)
{
    sl_caching *caching = thread->caching;
    sl_lock(&caching->mutex); /* before another thread finds it */
    caching->fresh[sl_caching_number_of(caching, &thread->flight.of)] = wanted_of(caching, thread);
    sl_unlock(&caching->mutex);
    const uint32_t bytes = bytes_of(caching, &thread->flight.of);
    sluice_error error;
    sl_error_clear(&error);
    if (!caching_read_chunk(thread, bytes)) {
        sl_chunk_drop(part);
        return OUTCOME_FAILED;
    }
    return sl_chunk_keep(part, thread->buffer, bytes, &error) == SLUICE_OK ? OUTCOME_FETCHED
                                                                           : OUTCOME_LEFT;
}

/* Returns whether fetching the chunk is too late to pay: reads went past it. */
static bool is_too_late(sl_caching *caching, const sl_chunk_plan *chunk)
{
    /* seq_cst, as everywhere, but only a hint here. */
    const uint64_t position = atomic_load_explicit(&caching->position, memory_order_seq_cst);
    sl_lock(&caching->mutex);
    const bool passed = caching->passed[sl_caching_number_of(caching, chunk)];
    sl_unlock(&caching->mutex);
    if (caching->fills || !passed) {
        return false;
    }
    return position > chunk->last || (chunk->again == SL_CHUNK_NEVER && position > chunk->first &&
                                      position - chunk->first > chunk->last - position);
}

/* Opens the flight's object. False: the flight has ended. */
static bool open_flight(caching_thread *thread)
{
    sl_caching *caching = thread->caching;
    bool failed = false;
    sl_cached_object *cached =
        caching->objects.open(caching->objects.ctx, thread->flight.of.object, &failed);
    sl_lock(&caching->mutex);
    thread->flight.cached = cached;
    sl_unlock(&caching->mutex);
    if (cached == NULL) {
        settle_chunk(thread, failed ? OUTCOME_FAILED : OUTCOME_LEFT);
    }
    return cached != NULL;
}

static void work_on(caching_thread *thread)
{
    sl_caching *caching = thread->caching;
    const chunk_flight *flight = &thread->flight;
    sl_chunk_part *part = NULL;
    if (!open_flight(thread)) {
        return;
    }
    const sl_chunk_state state = sl_chunk_look(flight->cached, flight->of.chunk);
    if (state == SL_CHUNK_HERE) {
        settle_chunk(thread, OUTCOME_HERE);
        return;
    }
    if (is_too_late(caching, &flight->of)) {
        settle_chunk(thread, OUTCOME_LEFT);
        return;
    }
    const sluice_status status =
        state == SL_CHUNK_COMING ? SLUICE_AGAIN : begin_part(caching, flight, &part);
    if (status == SLUICE_OK) {
        settle_chunk(thread, fetch_chunk(thread, part));
    } else if (status == SLUICE_AGAIN && put_flight_off(thread)) {
        return;
    } else if (status == SLUICE_END &&
               sl_chunk_look(flight->cached, flight->of.chunk) == SL_CHUNK_HERE) {
        settle_chunk(thread, OUTCOME_HERE);
    } else {
        settle_chunk(thread, OUTCOME_LEFT);
    }
}

/* Takes a postponed chunk that is due for a check. `*until`: the time when the next one is. */
static bool take_later_locked(sl_caching *caching, chunk_flight *flight, uint64_t *until)
{
    const uint64_t now = sl_now_ns();
    for (uint32_t i = 0; i < caching->later_count; i++) {
        const put_off *later = &caching->later[i];
        if (later->look_at_ns <= now) {
            *flight = later->flight;
            caching->later[i] = caching->later[--caching->later_count];
            return true;
        }
        *until = later->look_at_ns < *until ? later->look_at_ns : *until;
    }
    return false;
}

static bool is_demanded(const sl_caching *caching, uint64_t place)
{
    return caching->demanded[sl_caching_number_of(caching, &caching->plan[place])];
}

bool sl_caching_may_take_locked(sl_caching *caching)
{
    /* Pairs with the store in sl_caching_advance: see take_next_locked. */
    const uint64_t position = atomic_load_explicit(&caching->position, memory_order_seq_cst);
    while (caching->next < caching->used && is_demanded(caching, caching->next)) {
        caching->next++;
    }
    while (caching->reached < caching->used && caching->plan[caching->reached].first <= position) {
        caching->reached++;
    }
    return caching->next < caching->used &&
           (caching->fills || caching->next < caching->reached + caching->ahead);
}

static void begin_flight_locked(sl_caching *caching, chunk_flight *flight, uint64_t place)
{
    *flight = (chunk_flight){.of = caching->plan[place], .generation = caching->generation};
    caching->taken_bytes += sl_caching_cost_of(caching, &flight->of);
}

/* Takes the next chunk of the plan; another thread may still have it from the previous plan. */
static bool take_next_locked(sl_caching *caching, chunk_flight *flight)
{
    if (!sl_caching_may_take_locked(caching)) {
        const uint64_t wake_at = caching->next < caching->used
                                     ? caching->plan[caching->next - caching->ahead].first
                                     : UINT64_MAX;
        /* seq_cst, with sl_caching_advance: either it sees where this thread wakes, or this
         * thread the new position. */
        atomic_store_explicit(&caching->wake_at, wake_at, memory_order_seq_cst);
        if (!sl_caching_may_take_locked(caching)) { /* the position may have passed it meanwhile */
            return false;
        }
    }
    begin_flight_locked(caching, flight, caching->next++);
    return true;
}

/* Takes the chunk that a read has waited for longest. */
static bool take_demand_locked(sl_caching *caching, chunk_flight *flight)
{
    if (caching->demand_count == 0) {
        return false;
    }
    const uint64_t number = caching->demands[0];
    caching->demand_count--;
    memmove(caching->demands, caching->demands + 1,
            caching->demand_count * sizeof(*caching->demands));
    begin_flight_locked(caching, flight, caching->places[number]);
    caching->demand_bytes -= sl_caching_cost_of(caching, &flight->of);
    return true;
}

/* Waits for a chunk to work on. False: the caching is being closed. */
static bool take(caching_thread *thread)
{
    sl_caching *caching = thread->caching;
    bool stopping, taken = false;
    sl_lock(&caching->mutex);
    for (;;) {
        uint64_t until = UINT64_MAX;
        /* relaxed: set under the mutex */
        stopping = atomic_load_explicit(&caching->stopping, memory_order_relaxed);
        taken = !stopping && (take_later_locked(caching, &thread->flight, &until) ||
                              take_demand_locked(caching, &thread->flight) ||
                              take_next_locked(caching, &thread->flight));
        if (stopping || taken) {
            break;
        }
        if (until != UINT64_MAX) {
            (void)sl_cond_wait_until(&caching->work, &caching->mutex, until);
        } else {
            sl_cond_wait(&caching->work, &caching->mutex);
        }
    }
    if (taken) {
        caching->states[sl_caching_number_of(caching, &thread->flight.of)] = CHUNK_TAKEN;
        if (caching->later_count > 0 || caching->demand_count > 0) {
            sl_cond_signal(&caching->work); /* no other thread may be awake for them */
        }
    }
    sl_unlock(&caching->mutex);
    return taken;
}

void sl_caching_run_thread(void *argument)
{
    caching_thread *thread = argument;
    (void)sl_stop_work_under(&thread->caching->stopping);
    while (take(thread)) {
        work_on(thread);
    }
    (void)sl_stop_work_under(NULL);
}
