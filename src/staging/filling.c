/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filling: the filler's side of staging, and its controls. Any thread; each function takes the
 * staging's mutex, except for those called under it (_locked).
 */
#include "fork.h"
#include "staging_state.h"
#include "trace.h"

#include <assert.h>
#include <string.h>

/* ---- the filler's side ---- */

bool sl_staging_copy_begin_locked(sl_staging *staging, uint32_t *host, uint32_t *device)
{
    const uint32_t depth = sl_slots_full(&staging->slots);
    if (!sl_slots_copy_begin(&staging->slots, host, device)) {
        return false;
    }
    staging->batches[*device].facts = staging->facts[*host];
    staging->stats.uploads++;
    staging->stats.upload_depth[sl_depth_bin(depth, staging->slots.host_count)]++;
    return true;
}

void sl_staging_trace_ready_locked(const sl_staging *staging, uint32_t device)
{
    if (staging->slots.device[device].state == SL_DEVICE_READY) {
        sl_trace_moment(SLUICE_TRACE_READY, staging->slots.device[device].ticket, device);
    }
}

/* Shared memory has no copier: slots that are FULL and in order become READY at once. Returns
 * whether a call of next waits for that. */
static bool hand_over_locked(sl_staging *staging)
{
    uint32_t host;
    uint32_t device;
    bool any = false;
    while (sl_staging_copy_begin_locked(staging, &host, &device)) {
        any = sl_slots_copy_queued(&staging->slots, device);
        sl_staging_trace_ready_locked(staging, device);
    }
    return any && sl_staging_note_change_locked(staging);
}

static bool became_full_locked(sl_staging *staging, uint32_t slot)
{
    sl_trace_moment(SLUICE_TRACE_FULL, staging->slots.host[slot].ticket, slot);
    if (staging->slots.shared) {
        return hand_over_locked(staging);
    }
    if (staging->slots.host[slot].ticket == staging->slots.copied) {
        sl_staging_call_copier_locked(staging);
    }
    return false;
}

void sl_staging_unlock(sl_staging *staging, bool emptied)
{
    const bool call = emptied && !staging->closing && staging->config.on_empty != NULL;
    if (emptied) {
        sl_cond_broadcast(&staging->quiet);
    }
    staging->callbacks += call;
    sl_unlock(&staging->mutex);
    if (!call) {
        return;
    }
    staging->config.on_empty(staging->config.ctx);
    sl_lock(&staging->mutex);
    if (--staging->callbacks == 0 && staging->closing) {
        sl_cond_broadcast(&staging->quiet);
    }
    sl_unlock(&staging->mutex);
}

sluice_status sl_staging_begin(sl_staging *staging, const sl_batch_facts *facts, uint32_t *slot,
                               sl_part_view *parts)
{
    assert(facts->rows <= staging->config.batch);
    sl_lock(&staging->mutex);
    const bool open = !staging->broken && !staging->closing;
    const int host = open ? sl_slots_begin(&staging->slots) : -1;
    if (host >= 0) {
        sl_trace_moment(SLUICE_TRACE_FILL, staging->slots.host[host].ticket, (uint32_t)host);
        staging->facts[host] = *facts;
        *slot = (uint32_t)host;
        *parts = sl_staging_host_arrays(staging, *slot);
    }
    sl_unlock(&staging->mutex);
    return host >= 0 ? SLUICE_OK : SLUICE_AGAIN;
}

void sl_staging_filled(sl_staging *staging, uint32_t slot, const uint64_t sizes[SL_RAGGED_MAX])
{
    sl_lock(&staging->mutex);
    if (sizes != NULL) {
        memcpy(staging->facts[slot].sizes, sizes, sizeof(staging->facts[slot].sizes));
    }
    const bool legal = sl_slots_filled(&staging->slots, slot);
    assert(legal);
    (void)legal;
    const bool emptied = staging->slots.host[slot].state == SL_HOST_EMPTY;
    const bool wake = !emptied && became_full_locked(staging, slot);
    sl_staging_unlock(staging, emptied);
    if (wake) { /* a thread woken while the lock is held would block on it */
        sl_cond_broadcast(&staging->can_take);
    }
}

void sl_staging_fail(sl_staging *staging, uint32_t slot, const sluice_error *error)
{
    assert(error->status < 0);
    sl_lock(&staging->mutex);
    const sl_host_slot *host = &staging->slots.host[slot];
    assert(host->state == SL_HOST_FILLING);
    /* Only the lowest failed ticket matters: next never gets past it. */
    if (host->ticket >= staging->slots.discard_below && host->ticket < staging->failed_ticket) {
        staging->failed_ticket = host->ticket;
        staging->failure = *error;
        sl_staging_changed_locked(staging);
    }
    sl_unlock(&staging->mutex);
}

/* ---- controls ---- */

void sl_staging_set_end(sl_staging *staging, uint64_t tickets)
{
    sl_lock(&staging->mutex);
    staging->end = tickets;
    sl_staging_changed_locked(staging);
    sl_unlock(&staging->mutex);
}

uint64_t sl_staging_begun(sl_staging *staging)
{
    sl_lock(&staging->mutex);
    const uint64_t begun = staging->slots.begun;
    sl_unlock(&staging->mutex);
    return begun;
}

void sl_staging_cancel(sl_staging *staging, bool canceled)
{
    sl_lock(&staging->mutex);
    staging->canceled = canceled;
    sl_staging_changed_locked(staging);
    sl_unlock(&staging->mutex);
}

void sl_staging_drain(sl_staging *staging)
{
    sl_lock(&staging->mutex);
    const bool emptied = sl_slots_discard(&staging->slots);
    staging->failed_ticket = UINT64_MAX;
    staging->waited_ns = 0; /* it was for a dropped batch */
    sl_staging_changed_locked(staging);
    sl_staging_unlock(staging, emptied);
    sl_lock(&staging->mutex);
    while (!sl_slots_idle(&staging->slots)) {
        sl_cond_wait(&staging->quiet, &staging->mutex);
    }
    sl_unlock(&staging->mutex);
}

bool sl_staging_is_ours(const sl_staging *staging)
{
    return staging->forks == sl_fork_count();
}

const sl_part *sl_staging_parts(const sl_staging *staging, uint32_t *count)
{
    *count = staging->config.part_count;
    return staging->parts;
}

sluice_device_type sl_staging_device_type(const sl_staging *staging)
{
    return staging->device->type;
}

int32_t sl_staging_device_number(const sl_staging *staging)
{
    return staging->device->number;
}

const sl_slab *sl_staging_memory(const sl_staging *staging, size_t *slot_bytes)
{
    *slot_bytes = staging->layout.stride;
    return &staging->slab;
}

int sl_staging_fd(sl_staging *staging)
{
    sl_lock(&staging->mutex);
    staging->watched = true;
    sl_staging_changed_locked(staging);
    sl_unlock(&staging->mutex);
    return staging->fd;
}
