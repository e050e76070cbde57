/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's side of staging: next, wait, release, and what wakes it. */
#include "staging_state.h"

#include "clock.h"
#include "error.h"

#include <assert.h>
#include <errno.h>
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

/* The counter of the eventfd is 1 or 0. Neither call can fail in another way than by a signal. */
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

void sl_staging_changed_locked(sl_staging *staging)
{
    const bool readable = sl_staging_peek_locked(staging) != SLUICE_AGAIN;
    if (readable != staging->readable) {
        staging->readable = readable;
        set_readable(staging, readable);
    }
    if (readable && staging->waiters > 0) {
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
    }
    return status;
}

/* Blocks until next has something to say or the time is over. */
static sluice_status wait_locked(sl_staging *staging, int64_t timeout_ns)
{
    const uint64_t start = sl_now_ns();
    const uint64_t deadline = sl_deadline_ns(timeout_ns);
    sluice_status status;
    bool late = false;
    staging->waiters++;
    do {
        late = sl_cond_wait_until(&staging->can_take, &staging->mutex, deadline) != 0;
        status = sl_staging_peek_locked(staging);
    } while (status == SLUICE_AGAIN && !late);
    staging->waiters--;
    staging->host_wait_ns += sl_now_ns() - start;
    if (staging->closing && staging->waiters == 0) {
        sl_cond_broadcast(&staging->quiet);
    }
    return status;
}

static sluice_batch *take_locked(sl_staging *staging)
{
    const int slot = sl_slots_take(&staging->slots);
    assert(slot >= 0);
    sluice_batch *batch = &staging->batches[slot];
    assert(batch->held == 0);
    batch->held = 1;
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
    const uint32_t last_bin = SLUICE_HISTOGRAM_BINS - 1;
    sl_lock(&staging->mutex);
    const uint32_t ready = sl_slots_ready(&staging->slots);
    staging->ready_depth[ready < last_bin ? ready : last_bin]++;
    sluice_status status = sl_staging_peek_locked(staging);
    if (status == SLUICE_AGAIN && timeout_ns != 0) {
        status = wait_locked(staging, timeout_ns);
    }
    if (status == SLUICE_OK) {
        *batch = take_locked(staging);
    } else if (status < 0) {
        explain_locked(staging, status, error);
    }
    sl_unlock(&staging->mutex);
    return status;
}

sluice_status sl_staging_wait(sluice_batch *batch, struct CUstream_st *stream)
{
    sl_staging *staging = batch->staging;
    sl_lock(&staging->mutex);
    const bool held = batch->held != 0;
    sl_unlock(&staging->mutex);
    if (!held) {
        return SLUICE_STATE;
    }
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status = staging->device->ops->stream_wait(
        staging->device, stream, staging->ready[batch->slot], &error);
    if (status == SLUICE_DEVICE) {
        sl_lock(&staging->mutex);
        sl_staging_note_locked(staging, status, &error);
        sl_unlock(&staging->mutex);
    }
    return status;
}

/* Records the consumer's work; no lock is held, the batch is claimed. */
static sluice_status record_release(sl_staging *staging, const sluice_batch *batch, bool on_stream,
                                    struct CUstream_st *stream, sluice_error *error)
{
    sl_error_clear(error);
    if (!on_stream) {
        return SLUICE_OK;
    }
    return staging->device->ops->event_record(staging->device, staging->release[batch->slot],
                                              stream, error);
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

sluice_status sl_staging_release(sluice_batch *batch, bool on_stream, struct CUstream_st *stream)
{
    sl_staging *staging = batch->staging;
    sl_lock(&staging->mutex);
    const bool held = batch->held != 0;
    batch->held = 0; /* claimed: a second release from another thread finds it gone */
    sl_unlock(&staging->mutex);
    if (!held) {
        return SLUICE_STATE;
    }
    sluice_error error;
    const sluice_status status = record_release(staging, batch, on_stream, stream, &error);
    sl_lock(&staging->mutex);
    if (sl_staging_note_locked(staging, status, &error) < 0 && status != SLUICE_DEVICE) {
        batch->held = 1;
        sl_unlock(&staging->mutex);
        return status;
    }
    const bool shared = staging->slots.shared;
    staging->released_on[batch->slot] = on_stream && status == SLUICE_OK && !shared;
    const bool legal = sl_slots_release(&staging->slots, batch->slot);
    assert(legal);
    (void)legal;
    sl_cond_signal(&staging->can_copy);
    sl_staging_unlock(staging, shared);
    drop_reference(staging);
    return status;
}

void sl_staging_get_stats(sl_staging *staging, sluice_stage_stats *upload,
                          uint64_t ready_depth[SLUICE_HISTOGRAM_BINS], uint64_t *host_wait_ns)
{
    sl_lock(&staging->mutex);
    *upload = staging->upload;
    if (staging->uploads > 0) {
        upload->busy_ns += sl_now_ns() - staging->busy_since_ns;
    }
    for (size_t i = 0; i < SLUICE_HISTOGRAM_BINS; i++) {
        ready_depth[i] = staging->ready_depth[i];
    }
    *host_wait_ns = staging->host_wait_ns;
    sl_unlock(&staging->mutex);
}
