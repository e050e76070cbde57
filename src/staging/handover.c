/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's side of staging: next, wait, and what wakes them. */
#include "minmax.h"
#include "staging_state.h"

#include "clock.h"
#include "error.h"
#include "trace.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

sluice_status sl_staging_peek_locked(const sl_staging *staging)
{
    if (staging->canceled || staging->closing) {
        return SLUICE_CANCELED;
    }
    if (staging->broken) {
        return SLUICE_DEVICE;
    }
    if (staging->slots.taken >= staging->end) {
        return SLUICE_END;
    }
    if (staging->slots.taken == staging->failed_ticket) {
        return (sluice_status)staging->failure.status;
    }
    return sl_slots_ready(&staging->slots) > 0 ? SLUICE_OK : SLUICE_AGAIN;
}

/* The eventfd's counter is 1 or 0. Either call can only fail because of a signal. */
static void set_readable(const sl_staging *staging, bool readable)
{
    uint64_t count = 1;
    ssize_t done;
    do {
        done = readable ? write(staging->fd, &count, sizeof(count))
                        : read(staging->fd, &count, sizeof(count));
    } while (done < 0 && errno == EINTR);
    assert(done == (ssize_t)sizeof(count));
}

bool sl_staging_note_change_locked(sl_staging *staging)
{
    const bool readable = sl_staging_peek_locked(staging) != SLUICE_AGAIN;
    if (staging->watched && readable != staging->readable) {
        staging->readable = readable;
        set_readable(staging, readable);
    }
    return readable && staging->waiters > 0;
}

void sl_staging_changed_locked(sl_staging *staging)
{
    if (sl_staging_note_change_locked(staging)) {
        sl_cond_broadcast(&staging->can_take);
    }
}

sluice_status sl_staging_note_locked(sl_staging *staging, sluice_status status,
                                     const sluice_error *error)
{
    if (status == SLUICE_DEVICE && !staging->broken) {
        staging->broken = true;
        staging->device_error = *error;
        sl_staging_changed_locked(staging);
    } else if (status == SLUICE_INVALID || status == SLUICE_STATE) {
        staging->refusal = *error;
    }
    return status;
}

sluice_status sl_staging_get_refusal(sl_staging *staging, sluice_error *error)
{
    sl_lock(&staging->mutex);
    const sluice_status status = (sluice_status)staging->refusal.status;
    if (status != SLUICE_OK) {
        *error = staging->refusal;
    }
    sl_unlock(&staging->mutex);
    return status;
}

void sl_staging_forget_refusal(sl_staging *staging)
{
    sl_lock(&staging->mutex);
    sl_error_clear(&staging->refusal);
    sl_unlock(&staging->mutex);
}

/* Returns the bin of a histogram whose bin i counts [2^(i-1), 2^i) us. */
static uint32_t wait_bin(uint64_t ns)
{
    uint32_t bin = 0;
    for (uint64_t us = ns / 1000; us > 0 && bin < SL_WAIT_BINS - 1; us /= 2) {
        bin++;
    }
    return bin;
}

/* Counts the wait that ended with a batch. */
static void note_wait_locked(sl_staging *staging)
{
    const uint64_t ns = staging->waited_ns;
    sl_staging_stats *stats = &staging->stats;
    staging->waited_ns = 0;
    stats->host_waits[wait_bin(ns)]++;
    stats->host_wait_max_ns = sl_max_u64(ns, stats->host_wait_max_ns);
}

/* Blocks until next would return something other than AGAIN, or the time is up. */
static sluice_status handover_wait_locked(sl_staging *staging, int64_t timeout_ns)
{
    const uint64_t start = sl_now_ns();
    const uint64_t deadline = sl_deadline_ns(timeout_ns);
    sluice_status status;
    bool late = false;
    staging->waiters++;
    do {
        late = !sl_cond_wait_until(&staging->can_take, &staging->mutex, deadline);
        status = sl_staging_peek_locked(staging);
    } while (status == SLUICE_AGAIN && !late);
    staging->waiters--;
    const uint64_t waited = sl_now_ns() - start;
    staging->stats.host_wait_ns += waited;
    staging->waited_ns += waited;
    if (staging->closing && staging->waiters == 0) {
        sl_cond_broadcast(&staging->quiet);
    }
    return status;
}

static sluice_batch *handover_take_locked(sl_staging *staging)
{
    const int slot = sl_slots_take(&staging->slots);
    assert(slot >= 0);
    sluice_batch *batch = &staging->batches[slot];
    assert(batch->holders == 0 && batch->releasing == 0);
    batch->holders = 1;
    sl_trace_moment(SLUICE_TRACE_TAKEN, staging->slots.device[slot].ticket, (uint32_t)slot);
    staging->references++;
    sl_staging_changed_locked(staging);
    return batch;
}

static void explain_locked(const sl_staging *staging, sluice_status status, sluice_error *error)
{
    if (error == NULL) {
        return;
    }
    if (status == SLUICE_CANCELED) {
        sl_error_set(error, status, "staging", "the loader was canceled or closed");
    } else {
        *error = staging->broken ? staging->device_error : staging->failure;
    }
}

sluice_status sl_staging_next(sl_staging *staging, int64_t timeout_ns, sluice_batch **batch,
                              sluice_error *error)
{
    const uint32_t last_bin = SL_READY_BINS - 1;
    sl_lock(&staging->mutex);
    const uint32_t ready = sl_slots_ready(&staging->slots);
    sluice_status status = sl_staging_peek_locked(staging);
    if (status == SLUICE_AGAIN && timeout_ns != 0) {
        status = handover_wait_locked(staging, timeout_ns);
    }
    if (status == SLUICE_OK) {
        note_wait_locked(staging);
        staging->stats.ready_depth[ready < last_bin ? ready : last_bin]++;
        *batch = handover_take_locked(staging);
    } else if (status < 0) {
        explain_locked(staging, status, error);
    }
    sl_unlock(&staging->mutex);
    return status;
}

static sluice_status wait_on(sl_staging *staging, uint32_t slot, struct CUstream_st *stream,
                             sluice_error *error)
{
    return staging->device->ops->stream_wait(staging->device, stream, staging->ready[slot], error);
}

/* Waits as above, between two of the mark's events. */
static sluice_status wait_timed(sl_staging *staging, uint32_t slot, sl_timing_mark *mark,
                                struct CUstream_st *stream, sluice_error *error)
{
    sluice_status status = sl_timing_begin(staging->timing, mark, stream, error);
    if (status == SLUICE_OK) {
        status = wait_on(staging, slot, stream, error);
    }
    if (status == SLUICE_OK) {
        status = sl_timing_there(staging->timing, mark, stream, error);
    }
    if (status == SLUICE_OK) {
        status = sl_timing_read(staging->timing, error);
    }
    return status;
}

/* Leaves the batch's step untimed. */
static void drop_mark(sluice_batch *batch)
{
    sl_staging *staging = batch->staging;
    sl_lock(&staging->mutex);
    sl_timing_mark *mark = batch->mark;
    batch->mark = NULL;
    sl_unlock(&staging->mutex);
    if (mark != NULL) {
        sl_timing_drop(staging->timing, mark);
    }
}

/* Returns whether the batch is held; at its first wait, takes a mark for it. */
static bool begin_wait(sluice_batch *batch, sl_timing_mark **mark)
{
    sl_staging *staging = batch->staging;
    sl_lock(&staging->mutex);
    const bool held = batch->holders > 0;
    const bool first = held && staging->timing != NULL && batch->mark == NULL;
    *mark = first ? sl_timing_take(staging->timing) : NULL;
    batch->mark = *mark != NULL ? *mark : batch->mark;
    sl_unlock(&staging->mutex);
    return held;
}

sluice_status sl_staging_wait(sluice_batch *batch, struct CUstream_st *stream)
{
    sl_staging *staging = batch->staging;
    sl_timing_mark *mark;
    if (!begin_wait(batch, &mark)) {
        return SLUICE_STATE;
    }
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status = mark == NULL
                                     ? wait_on(staging, batch->slot, stream, &error)
                                     : wait_timed(staging, batch->slot, mark, stream, &error);
    if (status != SLUICE_OK && mark != NULL) {
        drop_mark(batch);
    }
    if (status != SLUICE_OK) {
        sl_lock(&staging->mutex);
        sl_staging_note_locked(staging, status, &error);
        sl_unlock(&staging->mutex);
    }
    return status;
}

/* Fills in what never changes. */
static void handover_describe(const sl_staging *staging, sl_staging_stats *stats)
{
    const sl_device *device = staging->device;
    if (device->type != SLUICE_DEVICE_TYPE_CPU) {
        snprintf(stats->device, sizeof(stats->device), "%s:%d", device->ops->name, device->number);
    } else {
        snprintf(stats->device, sizeof(stats->device), "%s", device->ops->name);
    }
    stats->pinning = device->pinning;
    stats->pinning_reason = device->pinning_reason;
    stats->converts = staging->config.conversion_count > 0;
    stats->device_slots = staging->device->shares_memory ? 0 : staging->slots.device_count;
}

void sl_staging_get_stats(sl_staging *staging, sl_staging_stats *stats)
{
    sl_lock(&staging->mutex);
    *stats = staging->stats;
    if (staging->uploading > 0) {
        stats->upload_busy_ns += sl_now_ns() - staging->busy_since_ns;
    }
    sl_unlock(&staging->mutex);
    if (staging->timing != NULL) {
        sl_timing_get(staging->timing, &stats->stream);
    }
    handover_describe(staging, stats);
}
