/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging: its life. Opened by one thread; closed by the loader, and freed by the holder of the
 * last reference. Its members and its lock are in staging_state.h; the filler's side is in
 * filling.c, the consumer's in handover.c and release.c, the threads in copier.c.
 */
#include "staging.h"

#include "cpu.h"
#include "error.h"
#include "fork.h"
#include "populate.h"
#include "staging_state.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- life ---- */

/* Waits for all work of the device on the slots: the copies, and the consumer's work on streams
 * that it released batches on. */
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
            /* If the device fails here, there is no work left to wait for. */
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

/* The copier queues nothing more; the reaper waits for the copies that are queued. */
static void stop_threads(sl_staging *staging)
{
    sl_lock(&staging->mutex);
    staging->closing = true;
    sl_staging_call_copier_locked(staging);
    sl_unlock(&staging->mutex);
    sl_thread_join(&staging->copier);
    sl_lock(&staging->mutex);
    staging->copier_gone = true;
    sl_staging_call_reaper_locked(staging);
    sl_unlock(&staging->mutex);
    sl_thread_join(&staging->reaper);
}

/* Outputs that the caller provided stay. */
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

/* Pinning would populate all of it on one thread; this does so before, on several. */
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
        /* If the consumer gets host memory directly, the batches it holds stay readable in
         * processes that it forks. */
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

/* Fills in where the parts of the slot at `base` are. */
static void place_arrays(const sl_staging *staging, uint8_t **arrays, uint8_t *base)
{
    for (uint32_t i = 0; i < staging->config.part_count; i++) {
        arrays[i] = base + staging->layout.offset[i];
    }
}

/* Sets the outputs of a device slot's conversions: the caller's, or new memory. */
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

/* Opens what every device slot needs. */
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
        status = ops->memory_open(device, staging->layout.sent, &staging->memory[slot], error);
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

/* Opens what only copying needs. */
static sluice_status open_copier(sl_staging *staging, sluice_error *error)
{
    sl_device *device = staging->device;
    sluice_status status = device->ops->stream_open(device, false, &staging->copy_stream, error);
    staging->has_copy_stream = status == SLUICE_OK;
    if (status == SLUICE_OK && staging->config.conversion_count > 0) {
        /* The kernels are small: they should not queue behind the consumer's large ones. */
        status = device->ops->stream_open(device, true, &staging->convert_stream, error);
        staging->has_convert_stream = status == SLUICE_OK;
    }
    if (status == SLUICE_OK && device->measures) {
        /* A step that is not over occupies its device slot, or the host slot of the copy that waits
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

/* Copies the lists that the config points to, which the caller owns. */
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

/* The caller owns the budget, and may be gone when the last batch is released. */
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
