/* SPDX-License-Identifier: Apache-2.0 */
/* caching_expects: decides which chunks a read should wait for, and which reads were hits. */
#include "caching_state.h"

#include "clock.h"
#include "minmax.h"

/* Reads do not wait for a chunk with more chunks than this before it. */
#define WALK_MOST 1024U

/* Returns whether there will be space for the chunk at `place` of the plan, after the earlier
 * ones. */
static bool has_space_locked(const sl_caching *caching, uint64_t place)
{
    uint64_t bytes = caching->kept_bytes + caching->taken_bytes + caching->demand_bytes;
    bool fits = false;
    if (caching->is_stuck || place - caching->next > WALK_MOST) {
        return false;
    }
    for (uint64_t i = caching->next; i <= place; i++) {
        const uint64_t cost = sl_caching_cost_of(caching, &caching->plan[i]);
        fits = bytes + cost <= caching->most_bytes;
        bytes += fits ? cost : 0;
    }
    return fits;
}

/* Fetches a chunk before its turn in the plan: the read may be a late one of the previous epoch.
 * It must not wait for the chunk's turn, because the plan only advances with reads. */
static bool demand_locked(sl_caching *caching, uint64_t number)
{
    const uint64_t cost = sl_caching_cost_of(caching, &caching->plan[caching->places[number]]);
    const uint64_t bytes = caching->kept_bytes + caching->taken_bytes + caching->demand_bytes;
    if (caching->is_stuck || caching->demand_count == DEMANDS_MOST ||
        bytes + cost > caching->most_bytes) {
        return false;
    }
    caching->demands[caching->demand_count++] = number;
    caching->demand_bytes += cost;
    caching->demanded[number] = true;
    caching->states[number] = CHUNK_TAKEN;
    sl_cond_signal(&caching->work);
    return true;
}

bool sl_caching_expects(sl_caching *caching, uint32_t object, uint64_t chunk)
{
    const uint64_t number = caching->bases[object] + chunk;
    bool expected = false;
    if (number >= caching->bases[object + 1]) {
        return false;
    }
    sl_lock(&caching->mutex);
    const uint64_t place = caching->places[number];
    const uint8_t state = caching->states[number];
    if (caching->distrust_until_ns != 0 && sl_now_ns() < caching->distrust_until_ns) {
        expected = false;
    } else if (state == CHUNK_TAKEN) {
        expected = true;
    } else if (state == CHUNK_UNKNOWN && caching->plan != NULL && place != SL_CHUNK_NEVER &&
               place >= caching->next) {
        (void)sl_caching_may_take_locked(caching);
        expected = place < caching->reached + caching->ahead ? has_space_locked(caching, place)
                                                             : demand_locked(caching, number);
    }
    caching->passed[number] = caching->passed[number] || !expected;
    sl_unlock(&caching->mutex);
    return expected;
}

bool sl_caching_is_hit(sl_caching *caching, uint32_t object, uint64_t chunk, uint32_t bytes)
{
    const uint64_t number = caching->bases[object] + chunk;
    if (number >= caching->bases[object + 1]) {
        return true;
    }
    sl_lock(&caching->mutex);
    const uint32_t fresh = caching->fresh[number];
    caching->fresh[number] -= sl_min_u32(fresh, bytes);
    sl_unlock(&caching->mutex);
    return fresh == 0;
}

uint64_t sl_caching_changes(const sl_caching *caching)
{
    /* Relaxed: see sl_caching_note_change. */
    return atomic_load_explicit(&caching->changes, memory_order_relaxed);
}
