/* SPDX-License-Identifier: Apache-2.0 */
/* Life, the filler's side and the controls of staging. */
#include "staging.h"

#include "cpu.h"
#include "error.h"
#include "fork.h"
#include "populate.h"
#include "staging_state.h"
#include "trace.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- life ---- */

/* Ends all work of the device on the slots: the consumer's, as far as it was released on a stream,
 * and the copies. */
static void close_stream(sl_staging *staging)
{
    sl_device *device = staging->device;
    if (!staging->has_copy_stream) {
        return;
    }
    for (uint32_t i = 0; i < staging->slots.device_count * SL_RELEASES; i++) {
        const uint32_t slot = i / SL_RELEASES;
        const uint32_t which = i % SL_RELEASES;
        if (staging->released[slot][which] == SL_RELEASE_RECORDED) {
            /* A device that fails here has no work left to wait for. */
            (void)device->ops->stream_wait(device, staging->copy_stream,
                                           staging->release[slot][which], NULL);
        }
    }
    device->ops->stream_close(device, staging->copy_stream);
    if (staging->has_convert_stream) {
        device->ops->stream_close(device, staging->convert_stream);
    }
}

static void staging_close_event(sl_device *device, sl_event *event)
{
    if (event != NULL) {
        device->ops->event_close(device, event);
    }
}

/* The copier queues nothing more; the reaper waits for what is queued. */
static void stop_threads(sl_staging *staging)
{
    sl_lock(&staging->mutex);
    staging->closing = true;
    sl_cond_signal(&staging->can_copy);
    sl_unlock(&staging->mutex);
    sl_thread_join(&staging->copier);
    sl_lock(&staging->mutex);
    staging->copier_gone = true;
    sl_cond_signal(&staging->can_reap);
    sl_unlock(&staging->mutex);
    sl_thread_join(&staging->reaper);
}

/* What the caller gave is the caller's. */
static void close_outputs(sl_staging *staging)
{
    const sl_staging_config *config = &staging->config;
    const size_t count = (size_t)config->conversion_count * staging->slots.device_count;
    for (size_t i = 0; staging->outputs != NULL && i < count; i++) {
        const uint32_t part = config->conversions[i % config->conversion_count].part;
        const bool given = config->outputs != NULL && part == config->output;
        if (staging->outputs[i] != NULL && !given) {
            staging->device->ops->memory_close(staging->device, staging->outputs[i]);
        }
    }
}

static void free_lists(sl_staging *staging)
{
    sl_free(staging->parts);
    sl_free(staging->conversions);
    sl_free(staging->arrays);
    sl_free(staging->outputs);
}

void sl_staging_destroy(sl_staging *staging)
{
    sl_device *device = staging->device;
    close_stream(staging);
    sl_timing_close(staging->timing);
    for (uint32_t i = 0; i < SL_SLOTS_MAX; i++) {
        staging_close_event(device, staging->h2d[i]);
        staging_close_event(device, staging->ready[i]);
        for (uint32_t k = 0; k < SL_RELEASES; k++) {
            staging_close_event(device, staging->release[i][k]);
        }
        if (staging->memory[i] != NULL) {
            device->ops->memory_close(device, staging->memory[i]);
        }
    }
    close_outputs(staging);
    if (staging->registered) {
        device->ops->slab_unregister(device, &staging->slab);
    }
    sl_slab_close(&staging->slab);
    sl_device_close(device);
    if (staging->fd >= 0) {
        close(staging->fd);
    }
    sl_cond_destroy(&staging->quiet);
    sl_cond_destroy(&staging->can_record);
    sl_cond_destroy(&staging->can_reap);
    sl_cond_destroy(&staging->can_copy);
    sl_cond_destroy(&staging->can_take);
    sl_mutex_destroy(&staging->mutex);
    free_lists(staging);
    sl_free(staging);
}

/* Pinning makes all of it present on one thread; this is done before by several. */
static void populate_to_pin(const sl_staging *staging)
{
    if (!staging->device->shares_memory) {
        sl_populate populate;
        sl_populate_open(
            &populate, &(sl_populate_config){.ranges = {{staging->slab.base, staging->slab.bytes}},
                                             .count = 1,
                                             .threads = sl_cpu_count(),
                                             .near = staging->config.near});
        sl_populate_wait(&populate);
        sl_populate_close(&populate);
    }
}

static sluice_status open_host(sl_staging *staging, sluice_error *error)
{
    const sl_staging_config *config = &staging->config;
    sl_device *device = staging->device;
    sluice_status status = sl_layout_make(&staging->layout, config->parts, config->part_count,
                                          config->batch, config->host_slots, error);
    if (status == SLUICE_OK) {
        /* Where batches are handed out as they are, what users have of them stays readable in
         * processes that they fork. */
        status = (device->shares_memory ? sl_slab_open_plain : sl_slab_open)(
            &staging->slab, staging->layout.stride * config->host_slots, config->budget, error);
    }
    if (status == SLUICE_OK && config->may_touch != NULL) {
        status = config->may_touch(config->ctx, error);
    }
    if (status == SLUICE_OK) {
        populate_to_pin(staging);
        status = device->ops->slab_register(device, &staging->slab, error);
        staging->registered = status == SLUICE_OK;
    }
    return status;
}

static sluice_status open_fd(sl_staging *staging, sluice_error *error)
{
    staging->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (staging->fd < 0) {
        return sl_error_file(error, SLUICE_IO, "staging", errno, NULL, -1,
                             "no descriptor for an eventfd");
    }
    return SLUICE_OK;
}

/* Where the parts of a slot lie that begins at `base`. */
static void place_arrays(const sl_staging *staging, uint8_t **arrays, uint8_t *base)
{
    for (uint32_t i = 0; i < staging->config.part_count; i++) {
        arrays[i] = base + staging->layout.offset[i];
    }
}

/* Where the converted parts of a device slot are in the end. */
static sluice_status open_outputs(sl_staging *staging, uint32_t slot, sluice_error *error)
{
    const sl_staging_config *config = &staging->config;
    uint8_t **arrays = sl_staging_device_arrays(staging, slot);
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < config->conversion_count && status == SLUICE_OK; i++) {
        const sl_staging_conversion *conversion = &config->conversions[i];
        void **output = &staging->outputs[(size_t)slot * config->conversion_count + i];
        if (config->outputs != NULL && conversion->part == config->output) {
            *output = config->outputs[slot];
        } else {
            status = staging->device->ops->memory_open(
                staging->device, sl_conversion_row_bytes(&conversion->how) * config->batch, output,
                error);
        }
        arrays[conversion->part] = *output;
    }
    return status;
}

/* What every device slot needs. */
static sluice_status open_device_slot(sl_staging *staging, uint32_t slot, sluice_error *error)
{
    sl_device *device = staging->device;
    const sl_device_ops *ops = device->ops;
    uint8_t **arrays = sl_staging_device_arrays(staging, slot);
    sluice_status status = SLUICE_OK;
    if (device->shares_memory) {
        memcpy(arrays, sl_staging_host_arrays(staging, slot),
               staging->config.part_count * sizeof(*arrays));
    } else {
        status = ops->memory_open(device, staging->layout.bytes, &staging->memory[slot], error);
        place_arrays(staging, arrays, staging->memory[slot]);
    }
    if (status == SLUICE_OK) {
        status = open_outputs(staging, slot, error);
    }
    if (status == SLUICE_OK) {
        status = ops->event_open(device, SL_EVENT_ORDER, &staging->ready[slot], error);
    }
    for (uint32_t i = 0; i < SL_RELEASES && status == SLUICE_OK; i++) {
        status = ops->event_open(device, SL_EVENT_ORDER, &staging->release[slot][i], error);
    }
    if (status == SLUICE_OK) {
        staging->batches[slot] = (sluice_batch){.staging = staging, .slot = slot, .parts = arrays};
    }
    return status;
}

/* What copying needs besides. */
static sluice_status open_copier(sl_staging *staging, sluice_error *error)
{
    sl_device *device = staging->device;
    sluice_status status = device->ops->stream_open(device, false, &staging->copy_stream, error);
    staging->has_copy_stream = status == SLUICE_OK;
    if (status == SLUICE_OK && staging->config.conversion_count > 0) {
        /* Small kernels: they should not queue behind the consumer's large ones. */
        status = device->ops->stream_open(device, true, &staging->convert_stream, error);
        staging->has_convert_stream = status == SLUICE_OK;
    }
    if (status == SLUICE_OK && device->measures) {
        /* A step that is not done keeps its device slot, or the host slot of the copy that waits
         * for one. */
        const uint32_t steps = staging->slots.host_count + staging->slots.device_count;
        status = sl_timing_open(&staging->timing, device, steps, error);
    }
    for (uint32_t i = 0; i < staging->slots.host_count && status == SLUICE_OK; i++) {
        status = device->ops->event_open(device, SL_EVENT_HOST, &staging->h2d[i], error);
    }
    if (status == SLUICE_OK) {
        status = sl_thread_start_near(&staging->reaper, "sluice-reap", staging->config.near,
                                      sl_reaper_run, staging, error);
    }
    if (status == SLUICE_OK) {
        status = sl_thread_start_near(&staging->copier, "sluice-copy", staging->config.near,
                                      sl_copier_run, staging, error);
    }
    return status;
}

static void place_host_slot(sl_staging *staging, uint32_t slot)
{
    const sl_staging_config *config = &staging->config;
    uint8_t **arrays = sl_staging_host_arrays(staging, slot);
    place_arrays(staging, arrays, staging->slab.base + slot * staging->layout.stride);
    if (config->outputs != NULL && staging->device->shares_memory) {
        arrays[config->output] = config->outputs[slot];
    }
}

static sluice_status open_stage(sl_staging *staging, sluice_error *error)
{
    sluice_status status = open_fd(staging, error);
    if (status == SLUICE_OK) {
        status = open_host(staging, error);
    }
    for (uint32_t i = 0; i < staging->slots.host_count && status == SLUICE_OK; i++) {
        place_host_slot(staging, i);
    }
    for (uint32_t i = 0; i < staging->slots.device_count && status == SLUICE_OK; i++) {
        status = open_device_slot(staging, i, error);
    }
    if (status == SLUICE_OK && !staging->device->shares_memory) {
        status = open_copier(staging, error);
    }
    return status;
}

/* What the config points to is the caller's. */
static bool copy_lists(sl_staging *staging)
{
    sl_staging_config *config = &staging->config;
    const size_t slots = (size_t)staging->slots.host_count + staging->slots.device_count;
    const size_t conversions = config->conversion_count;
    staging->parts = sl_calloc(config->part_count, sizeof(*staging->parts));
    staging->arrays = sl_calloc(slots * config->part_count, sizeof(*staging->arrays));
    staging->conversions = sl_calloc(conversions + 1, sizeof(*staging->conversions));
    staging->outputs = sl_calloc(conversions * slots + 1, sizeof(*staging->outputs));
    if (staging->parts == NULL || staging->arrays == NULL || staging->conversions == NULL ||
        staging->outputs == NULL) {
        return false;
    }
    memcpy(staging->parts, config->parts, config->part_count * sizeof(*staging->parts));
    if (conversions > 0) {
        memcpy(staging->conversions, config->conversions,
               conversions * sizeof(*staging->conversions));
    }
    config->parts = staging->parts;
    config->conversions = staging->conversions;
    return true;
}

static sl_staging *staging_make(sl_device *device, const sl_staging_config *config)
{
    sl_staging *staging = sl_calloc(1, sizeof(*staging));
    if (staging == NULL) {
        return NULL;
    }
    staging->device = device;
    staging->config = *config;
    staging->forks = sl_fork_count();
    staging->fd = -1;
    staging->end = UINT64_MAX;
    staging->failed_ticket = UINT64_MAX;
    staging->references = 1;
    sl_slots_init(&staging->slots, config->host_slots, config->device_slots, device->shares_memory);
    sl_mutex_init(&staging->mutex);
    sl_cond_init(&staging->can_take);
    sl_cond_init(&staging->can_copy);
    sl_cond_init(&staging->can_reap);
    sl_cond_init(&staging->can_record);
    sl_cond_init(&staging->quiet);
    if (!copy_lists(staging)) {
        free_lists(staging);
        sl_free(staging);
        return NULL;
    }
    return staging;
}

sluice_status sl_staging_open(sl_staging **staging, sl_device *device,
                              const sl_staging_config *config, sluice_error *error)
{
    assert(config->batch > 0 && config->part_count > 0 && config->part_count <= SL_PARTS_MAX);
    assert(config->conversion_count == 0 || (device->converts && !device->shares_memory));
    *staging = NULL;
    sl_staging *made = staging_make(device, config);
    if (made == NULL) {
        sl_device_close(device);
        return sl_no_memory(error, "staging", "for the slots");
    }
    const sluice_status status = open_stage(made, error);
    if (status != SLUICE_OK) {
        stop_threads(made);
        sl_staging_destroy(made);
        return status;
    }
    *staging = made;
    return SLUICE_OK;
}

/* The budget belongs to the caller, who may be gone when the last batch is. */
static void give_budget_back(sl_staging *staging)
{
    if (staging->slab.budget != NULL) {
        sl_budget_give(staging->slab.budget, staging->slab.bytes);
        staging->slab.budget = NULL;
    }
}

void sl_staging_close(sl_staging *staging)
{
    if (staging == NULL) {
        return;
    }
    stop_threads(staging);
    sl_lock(&staging->mutex);
    sl_staging_changed_locked(staging);
    while (staging->waiters > 0 || staging->callbacks > 0) {
        sl_cond_wait(&staging->quiet, &staging->mutex);
    }
    give_budget_back(staging);
    const bool last = --staging->references == 0;
    sl_unlock(&staging->mutex);
    if (last) {
        sl_staging_destroy(staging);
    }
}

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

/* Shared memory has no copier: what is FULL and in order is READY at once. Whether next waits for
 * that. */
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
        sl_cond_signal(&staging->can_copy);
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
    if (wake) { /* who is woken while the lock is held runs into it */
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
    staging->waited_ns = 0; /* for a batch that is dropped */
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
