/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two threads between the rings. The copier sends FULL host slots to the device in the order of
 * tickets; the reaper waits for the copies and gives the host slots back. They are two so that a
 * copy that waits on the device for the consumer's work keeps nobody from queueing the next.
 *
 * The consumer may take a batch as soon as its copy is queued; the device orders everything else by
 * events:
 *
 *   consumer: record release[d] -> copier: copy stream waits for it, copies, records h2d[h] and
 *   ready[d] -> consumer: its stream waits for ready[d].
 */
#include "staging_state.h"

#include "clock.h"
#include "error.h"

#include <assert.h>

/* Queues the copy and its events; no lock is held. */
static sluice_status upload(sl_staging *staging, uint32_t host, uint32_t device, bool wait,
                            sluice_error *error)
{
    sl_device *const dev = staging->device;
    const sl_device_ops *ops = dev->ops;
    struct CUstream_st *stream = staging->copy_stream;
    const uint8_t *from = staging->slab.base + host * staging->layout.stride;
    sluice_status status = SLUICE_OK;
    if (wait) {
        status = ops->stream_wait(dev, stream, staging->release[device], error);
    }
    if (status == SLUICE_OK) {
        status = ops->copy_to_device(dev, staging->memory[device], from, staging->layout.bytes,
                                     stream, error);
    }
    if (status == SLUICE_OK) {
        status = ops->event_record(dev, staging->h2d[host], stream, error);
    }
    if (status == SLUICE_OK) {
        status = ops->event_record(dev, staging->ready[device], stream, error);
    }
    return status;
}

/* On our own stream and events every failure is the device's. */
static void note_failure_locked(sl_staging *staging, sluice_status status, sluice_error *error)
{
    if (status < 0) {
        error->status = SLUICE_DEVICE;
        sl_staging_note_locked(staging, SLUICE_DEVICE, error);
    }
}

static void push_in_flight(sl_in_flight *queue, uint32_t host)
{
    assert(queue->count < SL_SLOTS_MAX);
    queue->host[(queue->first + queue->count++) % SL_SLOTS_MAX] = host;
}

static void pop_in_flight(sl_in_flight *queue)
{
    queue->first = (queue->first + 1) % SL_SLOTS_MAX;
    queue->count--;
}

static void busy_begin_locked(sl_staging *staging)
{
    if (staging->uploads++ == 0) {
        staging->busy_since_ns = sl_now_ns();
    }
}

static void busy_end_locked(sl_staging *staging)
{
    if (--staging->uploads == 0) {
        staging->upload.busy_ns += sl_now_ns() - staging->busy_since_ns;
    }
}

/* Lets go of the lock during the device's calls. */
static bool copy_next_locked(sl_staging *staging)
{
    uint32_t host;
    uint32_t device;
    if (staging->broken || !sl_staging_copy_begin_locked(staging, &host, &device)) {
        return false;
    }
    busy_begin_locked(staging);
    const bool wait = staging->released_on[device];
    staging->released_on[device] = false;
    sl_unlock(&staging->mutex);
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status = upload(staging, host, device, wait, &error);
    sl_lock(&staging->mutex);
    note_failure_locked(staging, status, &error);
    const bool legal = sl_slots_copy_queued(&staging->slots, device);
    assert(legal);
    (void)legal;
    push_in_flight(&staging->in_flight, host);
    sl_cond_signal(&staging->can_reap);
    sl_staging_changed_locked(staging);
    return true;
}

void sl_copier_run(void *argument)
{
    sl_staging *staging = argument;
    sl_lock(&staging->mutex);
    while (!staging->closing) {
        if (!copy_next_locked(staging)) {
            sl_cond_wait(&staging->can_copy, &staging->mutex);
        }
    }
    sl_unlock(&staging->mutex);
}

/* Waits for the copy out of `host`; no lock is held. */
static sluice_status wait_for_copy(sl_staging *staging, uint32_t host, sluice_error *error)
{
    sl_device *const device = staging->device;
    /* Asking is cheaper than waiting, and copies are often done by now. */
    const sluice_status status = device->ops->event_query(device, staging->h2d[host], error);
    if (status != SLUICE_AGAIN) {
        return status;
    }
    return device->ops->event_synchronize(device, staging->h2d[host], error);
}

/*
 * Gives the oldest host slot in flight back once its copy is done; copies on one stream finish in
 * order. After a device error nothing is waited for: no slot is begun again, so none can be filled
 * under its copy. Lets go of the lock.
 */
static void reap_locked(sl_staging *staging)
{
    const uint32_t host = staging->in_flight.host[staging->in_flight.first];
    if (!staging->broken) {
        sluice_error error;
        sl_error_clear(&error);
        sl_unlock(&staging->mutex);
        const sluice_status status = wait_for_copy(staging, host, &error);
        sl_lock(&staging->mutex);
        note_failure_locked(staging, status, &error);
    }
    pop_in_flight(&staging->in_flight);
    busy_end_locked(staging);
    const bool legal = sl_slots_copy_done(&staging->slots, host);
    assert(legal);
    (void)legal;
    sl_staging_unlock(staging, true);
    sl_lock(&staging->mutex);
}

void sl_reaper_run(void *argument)
{
    sl_staging *staging = argument;
    sl_lock(&staging->mutex);
    while (!staging->copier_gone || staging->in_flight.count > 0) {
        if (staging->in_flight.count > 0) {
            reap_locked(staging);
        } else {
            sl_cond_wait(&staging->can_reap, &staging->mutex);
        }
    }
    sl_unlock(&staging->mutex);
}
