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

/* Takes the lock; DEVICE, without it, when this call is to fail. */
static sluice_status enter(sl_device *device, sluice_error *error)
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

static sluice_status leave(fake_device *fake)
{
    sl_cond_broadcast(&fake->changed);
    sl_unlock(&fake->mutex);
    return SLUICE_OK;
}

/* ---- streams ---- */

static sluice_status fake_stream_open(sl_device *device, struct CUstream_st **stream,
                                      sluice_error *error)
{
    if (enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    *stream = fake_stream_make_locked(fake_of(device), true);
    return leave(fake_of(device));
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

static sluice_status fake_event_open(sl_device *device, bool host_waits, sl_event **event,
                                     sluice_error *error)
{
    if (enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    sl_event *made = calloc(1, sizeof(*made));
    assert(made != NULL && fake->event_count < THINGS_MAX);
    made->open = true;
    made->host_waits = host_waits;
    fake->events[fake->event_count++] = made;
    *event = made;
    return leave(fake);
}

static void fake_event_close(sl_device *device, sl_event *event)
{
    fake_device *fake = fake_of(device);
    sl_lock(&fake->mutex);
    fake_expect_locked(fake, event->open, "event closed twice");
    event->open = false;
    leave(fake);
}

static sluice_status refused(fake_device *fake, sluice_error *error)
{
    sl_unlock(&fake->mutex);
    return sl_error_set(error, SLUICE_INVALID, "staging", "the stream is being captured");
}

static sluice_status fake_event_record(sl_device *device, sl_event *event,
                                       struct CUstream_st *stream, sluice_error *error)
{
    if (enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    if (fake->refuse) {
        return refused(fake, error);
    }
    fake_expect_locked(fake, event->open, "record of a closed event");
    const fake_work work = {.kind = FAKE_RECORD, .event = event, .record = ++event->recorded};
    fake_give_locked(fake_resolve(fake, stream), &work);
    return leave(fake);
}

static sluice_status fake_event_query(sl_device *device, sl_event *event, sluice_error *error)
{
    if (enter(device, error) != SLUICE_OK) {
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
    if (enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    fake_expect_locked(fake, event->open, "host wait for a closed event");
    fake_expect_locked(fake, event->host_waits, "host wait for an event that is not made for it");
    fake_expect_locked(fake, event->recorded > 0, "host wait for an event never recorded");
    const uint64_t record = event->recorded;
    while (event->done < record && !fake->options.events_lie) {
        sl_cond_wait(&fake->changed, &fake->mutex);
    }
    return leave(fake);
}

static sluice_status fake_stream_wait(sl_device *device, struct CUstream_st *stream,
                                      sl_event *event, sluice_error *error)
{
    if (enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    if (fake->refuse) {
        return refused(fake, error);
    }
    struct CUstream_st *waiting = fake_resolve(fake, stream);
    fake_expect_locked(fake, event->open, "wait for a closed event");
    fake_expect_locked(fake, event->recorded > 0, "wait for an event never recorded");
    const bool broken = waiting->own ? fake->options.ignore_releases : fake->options.ignore_ready;
    if (!broken) {
        const fake_work work = {.kind = FAKE_WAIT, .event = event, .record = event->recorded};
        fake_give_locked(waiting, &work);
    }
    return leave(fake);
}

/* ---- memory ---- */

static fake_block *find_block_locked(fake_device *fake, const void *address)
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
    if (enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    fake_expect_locked(fake, fake->slab == NULL, "slab registered twice");
    fake->slab = slab->base;
    fake->slab_bytes = slab->bytes;
    return leave(fake);
}

static bool copies_pending(const fake_device *fake)
{
    for (size_t i = 0; i < fake->block_count; i++) {
        if (fake->blocks[i]->copies_done < fake->blocks[i]->copies) {
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
    leave(fake);
}

static sluice_status fake_memory_open(sl_device *device, size_t bytes, void **memory,
                                      sluice_error *error)
{
    if (enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    fake_block *block = calloc(1, sizeof(*block));
    assert(block != NULL && fake->block_count < THINGS_MAX);
    block->bytes = aligned_alloc(256, (bytes + 255) / 256 * 256);
    assert(block->bytes != NULL);
    memset(block->bytes, 0xA5, bytes);
    block->size = bytes;
    block->open = true;
    fake->blocks[fake->block_count++] = block;
    *memory = block->bytes;
    return leave(fake);
}

static void fake_memory_close(sl_device *device, void *memory)
{
    fake_device *fake = fake_of(device);
    sl_lock(&fake->mutex);
    fake_block *block = find_block_locked(fake, memory);
    fake_expect_locked(fake, block != NULL, "closed memory that is not open");
    if (block != NULL) {
        fake_expect_locked(fake, block->copies_done == block->copies, "closed memory under a copy");
        fake_expect_locked(fake, block->kernels_done == block->kernels,
                           "closed memory under a kernel");
        block->open = false;
    }
    leave(fake);
}

static sluice_status fake_copy_to_device(sl_device *device, void *to, const void *from,
                                         size_t bytes, struct CUstream_st *stream,
                                         sluice_error *error)
{
    if (enter(device, error) != SLUICE_OK) {
        return SLUICE_DEVICE;
    }
    fake_device *fake = fake_of(device);
    fake_block *block = find_block_locked(fake, to);
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
                                .before = block->kernels};
        block->copies++;
        fake_give_locked(fake_resolve(fake, stream), &work);
    }
    return leave(fake);
}

/* ---- the device ---- */

static void fake_close(sl_device *device)
{
    fake_device *fake = fake_of(device);
    sl_lock(&fake->mutex);
    fake_expect_locked(fake, fake->open, "device closed twice");
    fake_expect_locked(fake, fake->slab == NULL, "slab left registered");
    for (size_t i = 0; i < fake->block_count; i++) {
        fake_expect_locked(fake, !fake->blocks[i]->open, "device memory left open");
    }
    for (size_t i = 0; i < fake->event_count; i++) {
        fake_expect_locked(fake, !fake->events[i]->open, "event left open");
    }
    for (size_t i = 0; i < fake->stream_count; i++) {
        struct CUstream_st *stream = fake->streams[i];
        fake_expect_locked(fake, !stream->own || !stream->open, "stream left open");
    }
    fake->open = false;
    leave(fake);
}

static const sl_device_ops fake_ops = {
    .name = "fake",
    .close = fake_close,
    .slab_register = fake_slab_register,
    .slab_unregister = fake_slab_unregister,
    .memory_open = fake_memory_open,
    .memory_close = fake_memory_close,
    .stream_open = fake_stream_open,
    .stream_close = fake_stream_close,
    .event_open = fake_event_open,
    .event_close = fake_event_close,
    .event_record = fake_event_record,
    .event_query = fake_event_query,
    .event_synchronize = fake_event_synchronize,
    .stream_wait = fake_stream_wait,
    .copy_to_device = fake_copy_to_device,
};

fake_device *fake_device_new(const fake_options *options)
{
    fake_device *fake = calloc(1, sizeof(*fake));
    assert(fake != NULL);
    fake->base.ops = &fake_ops;
    fake->base.number = 0;
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
    leave(fake);
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

/* ---- the test's side ---- */

void fake_fail(fake_device *fake, uint64_t nth, bool sticky)
{
    sl_lock(&fake->mutex);
    fake->fail_in = nth;
    fake->sticky = sticky;
    fake->failed = false;
    leave(fake);
}

bool fake_has_failed(fake_device *fake)
{
    sl_lock(&fake->mutex);
    const bool failed = fake->failed;
    sl_unlock(&fake->mutex);
    return failed;
}

void fake_refuse_streams(fake_device *fake, bool refuse)
{
    sl_lock(&fake->mutex);
    fake->refuse = refuse;
    leave(fake);
}

void fake_hold(fake_device *fake, bool hold)
{
    sl_lock(&fake->mutex);
    for (size_t i = 0; i < fake->stream_count; i++) {
        fake->streams[i]->hold = hold;
    }
    leave(fake);
}

void fake_hold_stream(fake_device *fake, struct CUstream_st *stream, bool hold)
{
    sl_lock(&fake->mutex);
    fake_resolve(fake, stream)->hold = hold;
    leave(fake);
}

struct CUstream_st *fake_stream_new(fake_device *fake)
{
    sl_lock(&fake->mutex);
    struct CUstream_st *stream = fake_stream_make_locked(fake, false);
    leave(fake);
    return stream;
}

void fake_kernel(fake_device *fake, struct CUstream_st *stream, const void *address,
                 void (*run)(void *ctx), void *ctx)
{
    sl_lock(&fake->mutex);
    fake_block *block = find_block_locked(fake, address);
    fake_expect_locked(fake, block != NULL, "kernel on memory that is not the device's");
    if (block != NULL) {
        const fake_work work = {
            .kind = FAKE_KERNEL, .block = block, .before = block->copies, .run = run, .ctx = ctx};
        block->kernels++;
        fake_give_locked(fake_resolve(fake, stream), &work);
    }
    leave(fake);
}

void fake_stream_synchronize(fake_device *fake, struct CUstream_st *stream)
{
    sl_lock(&fake->mutex);
    const struct CUstream_st *waited = fake_resolve(fake, stream);
    const uint64_t given = waited->given;
    while (waited->done < given) {
        sl_cond_wait(&fake->changed, &fake->mutex);
    }
    sl_unlock(&fake->mutex);
}

uint64_t fake_violations(fake_device *fake)
{
    sl_lock(&fake->mutex);
    const uint64_t violations = fake->violations;
    sl_unlock(&fake->mutex);
    return violations;
}

const char *fake_first_violation(fake_device *fake)
{
    return fake->first;
}

uint64_t fake_copies(fake_device *fake)
{
    sl_lock(&fake->mutex);
    const uint64_t copies = fake->copies;
    sl_unlock(&fake->mutex);
    return copies;
}
