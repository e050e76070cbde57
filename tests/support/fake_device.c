/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_device.h"

#include "error.h"
#include "fake_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_CODE 700

static fake_device *fake_of(sl_device *device)
{
    return (fake_device *)device;
}

sluice_status fake_enter(sl_device *device, sluice_error *error)
{
    fake_device *fake = fake_of(device);
    sl_lock(&fake->mutex);
    fake_expect_locked(fake, fake->open, "call on a closed device");
    bool fails = fake->failed && fake->sticky;
    if (!fails && fake->fail_in > 0) {
        fails = --fake->fail_in == 0;
    }
    if (!fails) {
        return SLUICE_OK;
    }
    fake->failed = true;
    sl_unlock(&fake->mutex);
    sl_error_set(error, SLUICE_DEVICE, "staging", "the fake device failed on request");
    if (error != NULL) {
        error->device_code = FAKE_CODE;
    }
    return SLUICE_DEVICE;
}

sluice_status fake_leave(fake_device *fake)
{
    sl_cond_broadcast(&fake->changed);
    sl_unlock(&fake->mutex);
    return SLUICE_OK;
}

/* ---- streams ---- */

static sluice_status fake_stream_open(sl_device *device, bool urgent, struct CUstream_st **stream,
                                      sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    *stream = fake_stream_make_locked(fake_of(device), true, urgent);
    return fake_leave(fake_of(device));
}

static void fake_stream_close(sl_device *device, struct CUstream_st *stream)
{
    fake_device *fake = fake_of(device);
    sl_lock(&fake->mutex);
    fake_expect_locked(fake, stream->open, "stream closed twice");
    stream->open = false;
    sl_cond_broadcast(&fake->changed);
    sl_unlock(&fake->mutex);
    sl_thread_join(&stream->thread);
}

/* ---- events ---- */

static sluice_status fake_event_open(sl_device *device, sl_event_kind kind, sl_event **event,
                                     sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    sl_event *made = calloc(1, sizeof(*made));
    assert(made != NULL && fake->event_count < THINGS_MAX);
    made->open = true;
    made->kind = kind;
    fake->events[fake->event_count++] = made;
    *event = made;
    return fake_leave(fake);
}

static void fake_event_close(sl_device *device, sl_event *event)
{
    fake_device *fake = fake_of(device);
    sl_lock(&fake->mutex);
    fake_expect_locked(fake, event->open, "event closed twice");
    event->open = false;
    fake_leave(fake);
}

static sluice_status refused(fake_device *fake, sluice_error *error)
{
    sl_unlock(&fake->mutex);
    return sl_error_set(error, SLUICE_INVALID, "staging", "the stream is being captured");
}

static sluice_status fake_event_record(sl_device *device, sl_event *event,
                                       struct CUstream_st *stream, sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    if (fake->refuse) {
        return refused(fake, error);
    }
    fake_expect_locked(fake, event->open, "record of a closed event");
    const fake_work work = {.kind = FAKE_RECORD, .event = event, .record = ++event->recorded};
    fake_give_locked(fake_resolve(fake, stream), &work);
    return fake_leave(fake);
}

static sluice_status fake_event_query(sl_device *device, sl_event *event, sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    fake_expect_locked(fake, event->open, "query of a closed event");
    const bool done = event->done >= event->recorded || fake->options.events_lie;
    sl_unlock(&fake->mutex);
    return done ? SLUICE_OK : SLUICE_AGAIN;
}

static sluice_status fake_event_synchronize(sl_device *device, sl_event *event, sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    fake_expect_locked(fake, event->open, "host wait for a closed event");
    fake_expect_locked(fake, event->kind == SL_EVENT_HOST,
                       "host wait for an event that is not made for it");
    fake_expect_locked(fake, event->recorded > 0, "host wait for an event never recorded");
    const uint64_t record = event->recorded;
    while (event->done < record && !fake->options.events_lie) {
        sl_cond_wait(&fake->changed, &fake->mutex);
    }
    return fake_leave(fake);
}

static sluice_status fake_event_elapsed(sl_device *device, sl_event *begin, sl_event *end,
                                        uint64_t *ns, sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    fake_expect_locked(fake, device->measures, "time from a device that measures none");
    fake_expect_locked(fake, begin->open && end->open, "time between closed events");
    fake_expect_locked(fake, begin->kind == SL_EVENT_TIMED && end->kind == SL_EVENT_TIMED,
                       "time between events that are not made for it");
    fake_expect_locked(fake, begin->recorded > 0 && end->recorded > 0,
                       "time between events never recorded");
    const bool done = begin->done >= begin->recorded && end->done >= end->recorded;
    fake_expect_locked(fake, done, "time between events that are not done");
    *ns = done && end->done_ns > begin->done_ns ? end->done_ns - begin->done_ns : 0;
    sl_unlock(&fake->mutex);
    return done ? SLUICE_OK : SLUICE_AGAIN;
}

static sluice_status fake_stream_wait(sl_device *device, struct CUstream_st *stream,
                                      sl_event *event, sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    if (fake->refuse) {
        return refused(fake, error);
    }
    struct CUstream_st *waiting = fake_resolve(fake, stream);
    fake_expect_locked(fake, event->open, "wait for a closed event");
    fake_expect_locked(fake, event->recorded > 0, "wait for an event never recorded");
    const fake_options *options = &fake->options;
    const bool own = waiting->urgent ? options->ignore_copies : options->ignore_releases;
    if (!(waiting->own ? own : options->ignore_ready)) {
        const fake_work work = {.kind = FAKE_WAIT, .event = event, .record = event->recorded};
        fake_give_locked(waiting, &work);
    }
    return fake_leave(fake);
}

/* ---- memory ---- */

fake_block *fake_find_locked(fake_device *fake, const void *address)
{
    const uintptr_t at = (uintptr_t)address;
    for (size_t i = 0; i < fake->block_count; i++) {
        fake_block *block = fake->blocks[i];
        if (block->open && at >= (uintptr_t)block->bytes &&
            at < (uintptr_t)block->bytes + block->size) {
            return block;
        }
    }
    return NULL;
}

static sluice_status fake_slab_register(sl_device *device, sl_slab *slab, sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    fake_expect_locked(fake, fake->slab == NULL, "slab registered twice");
    fake->slab = slab->base;
    fake->slab_bytes = slab->bytes;
    return fake_leave(fake);
}

static bool copies_pending(const fake_device *fake)
{
    for (size_t i = 0; i < fake->block_count; i++) {
        if (fake->blocks[i]->done.copies < fake->blocks[i]->given.copies) {
            return true;
        }
    }
    return false;
}

static void fake_slab_unregister(sl_device *device, sl_slab *slab)
{
    fake_device *fake = fake_of(device);
    sl_lock(&fake->mutex);
    fake_expect_locked(fake, fake->slab == slab->base,
                       "unregistered a slab that is not registered");
    fake_expect_locked(fake, !copies_pending(fake), "unregistered a slab under a copy");
    fake->slab = NULL;
    fake_leave(fake);
}

uint8_t *fake_block_make_locked(fake_device *fake, size_t bytes, bool own)
{
    fake_block *block = calloc(1, sizeof(*block));
    assert(block != NULL && fake->block_count < THINGS_MAX);
    block->bytes = aligned_alloc(256, (bytes + 255) / 256 * 256);
    assert(block->bytes != NULL);
    memset(block->bytes, 0xA5, bytes);
    block->size = bytes;
    block->open = true;
    block->own = own;
    fake->blocks[fake->block_count++] = block;
    return block->bytes;
}

static sluice_status fake_memory_open(sl_device *device, size_t bytes, void **memory,
                                      sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    *memory = fake_block_make_locked(fake_of(device), bytes, true);
    return fake_leave(fake_of(device));
}

static void fake_memory_close(sl_device *device, void *memory)
{
    fake_device *fake = fake_of(device);
    sl_lock(&fake->mutex);
    fake_block *block = fake_find_locked(fake, memory);
    fake_expect_locked(fake, block != NULL, "closed memory that is not open");
    if (block != NULL) {
        const fake_counts *given = &block->given;
        const fake_counts *done = &block->done;
        fake_expect_locked(fake, block->own, "closed memory of the test's");
        fake_expect_locked(fake, done->copies == given->copies, "closed memory under a copy");
        fake_expect_locked(fake, done->kernels == given->kernels, "closed memory under a kernel");
        fake_expect_locked(fake,
                           done->conversions_from == given->conversions_from &&
                               done->conversions_to == given->conversions_to,
                           "closed memory under a conversion");
        block->open = false;
    }
    fake_leave(fake);
}

static sluice_status fake_memory_check(sl_device *device, const void *memory, size_t bytes,
                                       sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    const fake_block *block = fake_find_locked(fake_of(device), memory);
    const bool all = block != NULL && fake_find_locked(fake_of(device), (const uint8_t *)memory +
                                                                            (bytes - 1)) == block;
    const sluice_status status = fake_leave(fake_of(device));
    return all ? status
               : sl_error_set(error, SLUICE_INVALID, "staging", "it is not the fake's memory");
}

static sluice_status fake_copy_to_device(sl_device *device, void *to, const void *from,
                                         size_t bytes, struct CUstream_st *stream,
                                         sluice_error *error)
{
    if (fake_enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    fake_block *block = fake_find_locked(fake, to);
    const uintptr_t source = (uintptr_t)from;
    const bool pinned = fake->slab != NULL && source >= (uintptr_t)fake->slab &&
                        source + bytes <= (uintptr_t)fake->slab + fake->slab_bytes;
    const bool fits = block != NULL && block->bytes == to && bytes <= block->size;
    fake_expect_locked(fake, pinned, "copy from memory that is not registered");
    fake_expect_locked(fake, fits, "copy to memory that is not the device's");
    if (pinned && fits) {
        const fake_work work = {.kind = FAKE_COPY,
                                .block = block,
                                .from = from,
                                .size = bytes,
                                .hash = fake_hash(from, bytes),
                                .before = block->given};
        block->given.copies++;
        fake_give_locked(fake_resolve(fake, stream), &work);
    }
    return fake_leave(fake);
}

/* ---- the device ---- */

static void fake_close(sl_device *device)
{
    fake_device *fake = fake_of(device);
    sl_lock(&fake->mutex);
    fake_expect_locked(fake, fake->open, "device closed twice");
    fake_expect_locked(fake, fake->slab == NULL, "slab left registered");
    for (size_t i = 0; i < fake->block_count; i++) {
        const fake_block *block = fake->blocks[i];
        fake_expect_locked(fake, !block->own || !block->open, "device memory left open");
    }
    for (size_t i = 0; i < fake->event_count; i++) {
        fake_expect_locked(fake, !fake->events[i]->open, "event left open");
    }
    for (size_t i = 0; i < fake->stream_count; i++) {
        struct CUstream_st *stream = fake->streams[i];
        fake_expect_locked(fake, !stream->own || !stream->open, "stream left open");
    }
    fake->open = false;
    fake_leave(fake);
}

static const sl_device_ops fake_ops = {
    .name = "fake",
    .close = fake_close,
    .slab_register = fake_slab_register,
    .slab_unregister = fake_slab_unregister,
    .memory_open = fake_memory_open,
    .memory_close = fake_memory_close,
    .memory_check = fake_memory_check,
    .stream_open = fake_stream_open,
    .stream_close = fake_stream_close,
    .event_open = fake_event_open,
    .event_close = fake_event_close,
    .event_record = fake_event_record,
    .event_query = fake_event_query,
    .event_synchronize = fake_event_synchronize,
    .event_elapsed = fake_event_elapsed,
    .stream_wait = fake_stream_wait,
    .copy_to_device = fake_copy_to_device,
    .convert = fake_convert,
};

fake_device *fake_device_new(const fake_options *options)
{
    fake_device *fake = calloc(1, sizeof(*fake));
    assert(fake != NULL);
    fake->base.ops = &fake_ops;
    fake->base.type = SLUICE_DEVICE_TYPE_CUDA;
    fake->base.numa_node = -1;
    fake->base.pinning = "fake";
    fake->base.converts = true;
    fake->base.measures = !options->no_time;
    fake->options = *options;
    fake->open = true;
    sl_mutex_init(&fake->mutex);
    sl_cond_init(&fake->changed);
    fake_stream_new(fake);
    return fake;
}

sl_device *fake_device_get(fake_device *fake)
{
    return &fake->base;
}

void fake_device_free(fake_device *fake)
{
    sl_lock(&fake->mutex);
    for (size_t i = 0; i < fake->stream_count; i++) {
        fake->streams[i]->hold = false;
        fake->streams[i]->open = false;
    }
    fake_leave(fake);
    for (size_t i = 0; i < fake->stream_count; i++) {
        sl_thread_join(&fake->streams[i]->thread);
        free(fake->streams[i]);
    }
    for (size_t i = 0; i < fake->event_count; i++) {
        free(fake->events[i]);
    }
    for (size_t i = 0; i < fake->block_count; i++) {
        free(fake->blocks[i]->bytes);
        free(fake->blocks[i]);
    }
    sl_cond_destroy(&fake->changed);
    sl_mutex_destroy(&fake->mutex);
    free(fake);
}
