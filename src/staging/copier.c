/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two threads between the rings. The copier sends FULL host slots to the device in the order of
 * tickets; the reaper waits for the copies and releases the host slots. With two threads, a copy
 * that waits on the device for the consumer's work does not keep the next one from being queued.
 *
 * The consumer may take a batch as soon as its copy is queued; the device orders everything else by
 * events:
 *
 *   consumer: record release[d][i] -> copier: copy stream waits for them, copies, records h2d[h]
 *   and ready[d] -> consumer: its stream waits for ready[d].
 *
 * With a conversion, ready[d] is recorded on the conversion's stream, which waits for h2d[h]. The
 * next copy to d also waits for ready[d], because the consumer may have released the batch without
 * using it.
 */
#include "staging_state.h"

#include "clock.h"
#include "error.h"
#include "trace.h"

#include <assert.h>

/* The events that a copy to a device slot waits for, and whether conversions follow it. */
typedef struct upload_plan {
    uint32_t host, device, rows;
    bool after_release[SL_RELEASES], after_conversion;
} upload_plan;

static const sl_conversion_mixing *mixing_of(const sl_staging *staging,
                                             const sl_staging_conversion *conversion,
                                             const uint8_t *memory)
{
    const void *at = memory + staging->layout.offset[conversion->mixing];
    return conversion->mixes ? at : NULL;
}

/* Returns the conversion for images of the batch's own size. */
static sl_conversion conversion_of_batch(const sl_staging *staging,
                                         const sl_staging_conversion *conversion,
                                         const upload_plan *plan)
{
    const sl_part *part = &staging->config.parts[conversion->part];
    sl_conversion how = conversion->how;
    if (part->role == SL_PART_SIZED) {
        const uint64_t size = staging->batches[plan->device].facts.sizes[part->ragged];
        how.height = sl_sized_height(size);
        how.width = sl_sized_width(size);
    }
    return how;
}

/* Queues the conversions of the batch being copied. */
static sluice_status copier_convert(sl_staging *staging, const upload_plan *plan,
                                    sluice_error *error)
{
    sl_device *const device = staging->device;
    const uint8_t *memory = staging->memory[plan->device];
    uint8_t *const *outputs = sl_staging_device_arrays(staging, plan->device);
    const uint32_t count = plan->rows > 0 ? staging->config.conversion_count : 0;
    sluice_status status =
        device->ops->stream_wait(device, staging->convert_stream, staging->h2d[plan->host], error);
    for (uint32_t i = 0; i < count && status == SLUICE_OK; i++) {
        const sl_staging_conversion *conversion = &staging->conversions[i];
        const sl_conversion_rows rows = {.from = memory + staging->layout.offset[conversion->part],
                                         .flags =
                                             memory + staging->layout.offset[conversion->flags],
                                         .mixing = mixing_of(staging, conversion, memory),
                                         .to = outputs[conversion->part],
                                         .rows = plan->rows};
        const sl_conversion how = conversion_of_batch(staging, conversion, plan);
        if (how.height > 0) { /* the size of a dropped step may be unknown */
            status = device->ops->convert(device, &how, &rows, staging->convert_stream, error);
        }
    }
    return status;
}

/* Returns the used bytes of a part of variable length. */
static uint64_t sent_bytes(const sl_part *part, uint64_t size, uint32_t rows)
{
    switch (part->role) {
    case SL_PART_RAGGED:
        return sl_part_used(part, size);
    case SL_PART_SIZED:
        return sl_sized_row(part, size) * rows;
    default:
        return 0;
    }
}

/* Queues the copies of a slot: all parts of fixed length, and the used bytes of the others. */
static sluice_status copier_copy(sl_staging *staging, const upload_plan *plan, sluice_error *error)
{
    sl_device *const device = staging->device;
    const sl_staging_config *config = &staging->config;
    const uint8_t *from = staging->slab.base + plan->host * staging->layout.stride;
    uint8_t *to = staging->memory[plan->device];
    const uint64_t *sizes = staging->batches[plan->device].facts.sizes;
    sluice_status status = device->ops->copy_to_device(device, to, from, staging->layout.fixed,
                                                       staging->copy_stream, error);
    for (uint32_t i = 0; i < config->part_count && status == SLUICE_OK; i++) {
        const sl_part *part = &config->parts[i];
        const size_t offset = staging->layout.offset[i];
        const uint64_t bytes = sent_bytes(part, sizes[part->ragged], plan->rows);
        if (bytes > 0) {
            status = device->ops->copy_to_device(device, to + offset, from + offset, bytes,
                                                 staging->copy_stream, error);
        }
    }
    return status;
}

/* Queues the copy, the conversions and their events. No lock is held. */
static sluice_status upload(sl_staging *staging, const upload_plan *plan, sluice_error *error)
{
    const uint32_t host = plan->host;
    const uint32_t device = plan->device;
    sl_device *const dev = staging->device;
    const sl_device_ops *ops = dev->ops;
    struct CUstream_st *stream = staging->copy_stream;
    sluice_status status = SLUICE_OK;
    if (plan->after_conversion) {
        status = ops->stream_wait(dev, stream, staging->ready[device], error);
    }
    for (uint32_t i = 0; i < SL_RELEASES && status == SLUICE_OK; i++) {
        if (plan->after_release[i]) {
            status = ops->stream_wait(dev, stream, staging->release[device][i], error);
        }
    }
    if (status == SLUICE_OK) {
        status = copier_copy(staging, plan, error);
    }
    if (status == SLUICE_OK) {
        status = ops->event_record(dev, staging->h2d[host], stream, error);
    }
    if (status == SLUICE_OK && staging->config.conversion_count > 0) {
        status = copier_convert(staging, plan, error);
        stream = staging->convert_stream;
    }
    if (status == SLUICE_OK) {
        status = ops->event_record(dev, staging->ready[device], stream, error);
    }
    return status;
}

/* Notes a failure; on staging's own streams and events, each one counts as the device's. */
static void copier_note_failure_locked(sl_staging *staging, sluice_status status,
                                       sluice_error *error)
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
    if (staging->uploading++ == 0) {
        staging->busy_since_ns = sl_now_ns();
    }
}

static void busy_end_locked(sl_staging *staging)
{
    if (--staging->uploading == 0) {
        staging->stats.upload_busy_ns += sl_now_ns() - staging->busy_since_ns;
    }
}

/* Releases the lock during the device's calls. */
static bool copy_next_locked(sl_staging *staging)
{
    upload_plan plan;
    if (staging->broken || !sl_staging_copy_begin_locked(staging, &plan.host, &plan.device)) {
        return false;
    }
    const uint32_t device = plan.device;
    sl_trace_moment(SLUICE_TRACE_COPY, staging->slots.host[plan.host].ticket, plan.host);
    busy_begin_locked(staging);
    plan.rows = staging->batches[device].facts.rows;
    for (uint32_t i = 0; i < SL_RELEASES; i++) {
        plan.after_release[i] = staging->released[device][i] == SL_RELEASE_RECORDED;
        staging->released[device][i] = SL_RELEASE_UNUSED;
    }
    plan.after_conversion = staging->converted[device];
    staging->converted[device] = staging->config.conversion_count > 0;
    sl_unlock(&staging->mutex);
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status = upload(staging, &plan, &error);
    sl_lock(&staging->mutex);
    copier_note_failure_locked(staging, status, &error);
    const bool legal = sl_slots_copy_queued(&staging->slots, device);
    assert(legal);
    (void)legal;
    sl_staging_trace_ready_locked(staging, device);
    push_in_flight(&staging->in_flight, plan.host);
    sl_staging_call_reaper_locked(staging);
    sl_staging_changed_locked(staging);
    return true;
}

void sl_copier_run(void *argument)
{
    sl_staging *staging = argument;
    sl_lock(&staging->mutex);
    while (!staging->closing) {
        if (!copy_next_locked(staging)) {
            staging->copier_waits = true;
            sl_cond_wait(&staging->can_copy, &staging->mutex);
            staging->copier_waits = false;
        }
    }
    sl_unlock(&staging->mutex);
}

/* Waits for the copy out of `host`. No lock is held. */
static sluice_status wait_for_copy(sl_staging *staging, uint32_t host, sluice_error *error)
{
    sl_device *const device = staging->device;
    /* Querying is cheaper than waiting, and copies are often complete by now. */
    const sluice_status status = device->ops->event_query(device, staging->h2d[host], error);
    if (status != SLUICE_AGAIN) {
        return status;
    }
    return device->ops->event_synchronize(device, staging->h2d[host], error);
}

/*
 * Releases the oldest host slot in flight once its copy is complete; copies on one stream complete
 * in order. After a device error it does not wait: no slot is begun again, so no slot can be filled
 * while it is still being copied. Releases the lock meanwhile.
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
        copier_note_failure_locked(staging, status, &error);
    }
    pop_in_flight(&staging->in_flight);
    busy_end_locked(staging);
    sl_trace_moment(SLUICE_TRACE_DONE, staging->slots.host[host].ticket, host);
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
            staging->reaper_waits = true;
            sl_cond_wait(&staging->can_reap, &staging->mutex);
            staging->reaper_waits = false;
        }
    }
    sl_unlock(&staging->mutex);
}
