/* SPDX-License-Identifier: Apache-2.0 */
/* How batches come back: their holders, and the streams that still use them. */
#include "staging_state.h"

#include "error.h"
#include "trace.h"

#include <assert.h>

/* One holder's claimed release. A release that finds no holder left is refused. */
typedef struct sl_claim {
    bool on_stream;
    struct CUstream_st *stream;
    uint32_t event;       /* number of the slot's release event, which is BUSY */
    bool after;           /* the event was recorded already: the stream first waits for it */
    sl_timing_mark *mark; /* for the last holder, whose release ends the step; else NULL */
} sl_claim;

sluice_status sl_staging_retain(sluice_batch *batch)
{
    sl_staging *staging = batch->staging;
    sl_lock(&staging->mutex);
    const bool held = batch->holders > 0 && batch->holders < UINT32_MAX;
    batch->holders += held;
    sl_unlock(&staging->mutex);
    return held ? SLUICE_OK : SLUICE_STATE;
}

static bool find_event(const sl_release_state *states, sl_release_state wanted, uint32_t *event)
{
    for (*event = 0; *event < SL_RELEASES; ++*event) {
        if (states[*event] == wanted) {
            return true;
        }
    }
    return false;
}

/* Releases the lock while all events are being recorded. */
static void claim_event_locked(sl_staging *staging, uint32_t slot, sl_claim *claim)
{
    sl_release_state *states = staging->released[slot];
    while (!find_event(states, SL_RELEASE_UNUSED, &claim->event) &&
           !find_event(states, SL_RELEASE_RECORDED, &claim->event)) {
        sl_cond_wait(&staging->can_record, &staging->mutex);
    }
    claim->after = states[claim->event] == SL_RELEASE_RECORDED;
    states[claim->event] = SL_RELEASE_BUSY;
}

/* Returns whether there was a holder left. */
static bool release_begin(sluice_batch *batch, sl_claim *claim)
{
    sl_staging *staging = batch->staging;
    sl_lock(&staging->mutex);
    const bool held = batch->holders > 0;
    if (held) {
        batch->holders--;
        batch->releasing++;
        if (batch->holders == 0) {
            claim->mark = batch->mark;
            batch->mark = NULL;
        }
        if (claim->on_stream) {
            claim_event_locked(staging, batch->slot, claim);
        }
    }
    sl_unlock(&staging->mutex);
    return held;
}

/* Records an event after the work queued on the claim's stream. No lock is held. */
static sluice_status release_record(sl_staging *staging, uint32_t slot, sl_claim *claim,
                                    sluice_error *error)
{
    sl_device *device = staging->device;
    sl_event *event = staging->release[slot][claim->event];
    sluice_status status = SLUICE_OK;
    if (claim->after) {
        status = device->ops->stream_wait(device, claim->stream, event, error);
    }
    if (status == SLUICE_OK) {
        status = device->ops->event_record(device, event, claim->stream, error);
    }
    if (status == SLUICE_OK && claim->mark != NULL) {
        status = sl_timing_end(staging->timing, claim->mark, claim->stream, error);
        if (status == SLUICE_OK) {
            claim->mark = NULL; /* timing owns it now */
        }
    }
    return status;
}

static void end_event_locked(sl_staging *staging, uint32_t slot, const sl_claim *claim,
                             sluice_status status)
{
    /* Shared memory: the caller is the only stream, and its work is done. */
    const bool recorded = !staging->slots.shared && (status == SLUICE_OK || claim->after);
    staging->released[slot][claim->event] = recorded ? SL_RELEASE_RECORDED : SL_RELEASE_UNUSED;
    sl_cond_broadcast(&staging->can_record);
}

/* Restores the hold of the holder that was refused. A mark that cannot be put back stays in the
 * claim. */
static void hold_on_locked(sluice_batch *batch, sl_claim *claim)
{
    batch->holders++;
    if (batch->mark == NULL) {
        batch->mark = claim->mark;
        claim->mark = NULL;
    }
}

static void drop_reference(sl_staging *staging)
{
    sl_lock(&staging->mutex);
    const bool last = --staging->references == 0;
    sl_unlock(&staging->mutex);
    if (last) {
        sl_staging_destroy(staging);
    }
}

/* Frees the slot after the last holder's release. Releases the lock, and the batch's reference. */
static void give_back_locked(sl_staging *staging, uint32_t slot)
{
    const bool shared = staging->slots.shared;
    sl_trace_moment(SLUICE_TRACE_FREE, staging->slots.device[slot].ticket, slot);
    const bool legal = sl_slots_release(&staging->slots, slot);
    assert(legal);
    (void)legal;
    sl_staging_call_copier_locked(staging);
    sl_staging_unlock(staging, shared);
    drop_reference(staging);
}

/* After DEVICE the batch counts as released: nothing waits for that device any more. */
static void end(sluice_batch *batch, sl_claim *claim, sluice_status status,
                const sluice_error *error)
{
    sl_staging *staging = batch->staging;
    sl_lock(&staging->mutex);
    batch->releasing--;
    if (claim->on_stream) {
        end_event_locked(staging, batch->slot, claim, status);
    }
    if (sl_staging_note_locked(staging, status, error) < 0 && status != SLUICE_DEVICE) {
        hold_on_locked(batch, claim);
    }
    if (claim->mark != NULL) {
        sl_timing_drop(staging->timing, claim->mark);
    }
    if (batch->holders == 0 && batch->releasing == 0) {
        give_back_locked(staging, batch->slot);
    } else {
        sl_unlock(&staging->mutex);
    }
}

sluice_status sl_staging_release(sluice_batch *batch, bool on_stream, struct CUstream_st *stream)
{
    sl_claim claim = {.on_stream = on_stream, .stream = stream};
    if (!release_begin(batch, &claim)) {
        return SLUICE_STATE;
    }
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status =
        on_stream ? release_record(batch->staging, batch->slot, &claim, &error) : SLUICE_OK;
    end(batch, &claim, status, &error);
    return status;
}
