/* SPDX-License-Identifier: Apache-2.0 */
/* look: finds what keeps next from returning its batch. Any thread; takes the mutex. */
#include "staging_state.h"

/* Returns the host slot of the next ticket to be taken, or NULL. */
static const sl_host_slot *next_slot_locked(const sl_staging *staging)
{
    const sl_slots *slots = &staging->slots;
    for (uint32_t i = 0; i < slots->host_count; i++) {
        const sl_host_slot *host = &slots->host[i];
        if ((host->state == SL_HOST_FILLING || host->state == SL_HOST_FULL) &&
            host->ticket == slots->taken) {
            return host;
        }
    }
    return NULL;
}

static bool has_empty_locked(const sl_slots *slots)
{
    bool found = false;
    for (uint32_t i = 0; i < slots->host_count; i++) {
        found = found || slots->host[i].state == SL_HOST_EMPTY;
    }
    return found;
}

static bool has_free_locked(const sl_slots *slots)
{
    bool found = false;
    for (uint32_t i = 0; i < slots->device_count; i++) {
        found = found || slots->device[i].state == SL_DEVICE_FREE;
    }
    return found;
}

/* A copy that the copier or the reaper has been signaled of, or works on, completes without further
 * input. */
static sl_staging_stall wait_for_copy_locked(const sl_staging *staging)
{
    const sl_slots *slots = &staging->slots;
    if (staging->in_flight.count > 0 && staging->reaper_waits) {
        return SL_STAGING_WAITS_FOR_REAPER;
    }
    const bool can_copy = next_slot_locked(staging) != NULL && slots->copied == slots->taken &&
                          has_free_locked(slots);
    return can_copy && (slots->shared || staging->copier_waits) ? SL_STAGING_WAITS_FOR_COPIER
                                                                : SL_STAGING_MOVES;
}

static sl_staging_stall wait_of_locked(const sl_staging *staging)
{
    if (staging->callbacks > 0 || sl_staging_peek_locked(staging) != SLUICE_AGAIN) {
        return SL_STAGING_MOVES;
    }
    const sl_host_slot *next = next_slot_locked(staging);
    if (next != NULL && next->state == SL_HOST_FILLING) {
        return SL_STAGING_WAITS_FOR_ROWS;
    }
    if (next == NULL && staging->slots.taken == staging->slots.begun &&
        has_empty_locked(&staging->slots)) {
        return SL_STAGING_WAITS_FOR_BEGIN;
    }
    return wait_for_copy_locked(staging);
}

void sl_staging_look(sl_staging *staging, sl_staging_state *state)
{
    sl_lock(&staging->mutex);
    *state = (sl_staging_state){.wait = wait_of_locked(staging),
                                .ticket = staging->slots.taken,
                                .ready = sl_staging_peek_locked(staging) != SLUICE_AGAIN};
    for (uint32_t i = 0; i < staging->slots.host_count; i++) {
        state->slots[staging->slots.host[i].state]++;
    }
    sl_unlock(&staging->mutex);
}
