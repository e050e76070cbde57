/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"
#include "fake_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void violation_locked(fake_device *fake, const char *text)
{
    if (fake->violations++ == 0) {
        snprintf(fake->first, sizeof(fake->first), "%s", text);
    }
}

void fake_expect_locked(fake_device *fake, bool condition, const char *text)
{
    if (!condition) {
        violation_locked(fake, text);
    }
}

uint64_t fake_hash(const void *memory, size_t size)
{
    const uint8_t *bytes = memory;
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

/* xorshift64*: any generator works */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* Skips a copy that breaks a rule, which would also be a data race under a sanitizer. */
static void run_copy(fake_device *fake, const fake_work *work)
{
    const fake_counts *done = &work->block->done;
    const bool converted = done->conversions_from >= work->before.conversions_from;
    const bool seen = done->kernels >= work->before.kernels;
    const bool read = converted && seen;
    fake_expect_locked(fake, converted, "copy over a batch that a conversion still has to read");
    fake_expect_locked(fake, seen, "copy over a batch that a kernel still has to read");
    fake_expect_locked(fake, work->block->open, "copy into closed memory");
    if (read && work->block->open) {
        sl_unlock(&fake->mutex);
        const bool same = fake_hash(work->from, work->size) == work->hash;
        memcpy(work->block->bytes, work->from, work->size);
        sl_lock(&fake->mutex);
        fake_expect_locked(fake, same, "source changed before it was copied");
    }
    work->block->done.copies++;
    fake->copies++;
}

/* True if all earlier writes to the block are done. */
static bool is_there(const fake_block *block, const fake_counts *before)
{
    return block->done.copies >= before->copies &&
           block->done.conversions_to >= before->conversions_to;
}

static void run_kernel(fake_device *fake, const fake_work *work)
{
    const bool there = is_there(work->block, &work->before) &&
                       (work->other == NULL || is_there(work->other, &work->before_other));
    const bool open = work->block->open && (work->other == NULL || work->other->open);
    fake_expect_locked(fake, there, "kernel on a batch that is not ready");
    fake_expect_locked(fake, open, "kernel on closed memory");
    if (there && open) {
        sl_unlock(&fake->mutex);
        work->run(work->ctx);
        sl_lock(&fake->mutex);
    }
    work->block->done.kernels++;
    if (work->other != NULL) {
        work->other->done.kernels++;
    }
}

static void run_locked(fake_device *fake, const fake_work *work)
{
    switch (work->kind) {
    case FAKE_COPY:
        run_copy(fake, work);
        break;
    case FAKE_CONVERT:
        fake_run_conversion(fake, work);
        break;
    case FAKE_KERNEL:
        run_kernel(fake, work);
        break;
    case FAKE_RECORD:
        work->event->done = work->record;
        work->event->done_ns = sl_now_ns();
        break;
    case FAKE_WAIT:
        while (work->event->done < work->record) {
            sl_cond_wait(&fake->changed, &fake->mutex);
        }
        break;
    }
}

static void stream_run(void *argument)
{
    struct CUstream_st *stream = argument;
    fake_device *fake = stream->fake;
    sl_lock(&fake->mutex);
    for (;;) {
        while (stream->hold || (stream->given == stream->done && stream->open)) {
            sl_cond_wait(&fake->changed, &fake->mutex);
        }
        if (stream->given == stream->done) {
            break;
        }
        if (fake->options.delay_us > 0) {
            const uint64_t delay_us = next_random(&stream->random) % (fake->options.delay_us + 1);
            sl_unlock(&fake->mutex);
            sl_sleep_until_ns(sl_now_ns() + delay_us * 1000);
            sl_lock(&fake->mutex);
        }
        run_locked(fake, &stream->queue[stream->done % QUEUE_MAX]);
        stream->done++;
        sl_cond_broadcast(&fake->changed);
    }
    sl_unlock(&fake->mutex);
}

struct CUstream_st *fake_resolve(fake_device *fake, struct CUstream_st *stream)
{
    return stream != NULL ? stream : fake->streams[0];
}

void fake_give_locked(struct CUstream_st *stream, const fake_work *work)
{
    fake_device *fake = stream->fake;
    fake_expect_locked(fake, stream->open, "work for a closed stream");
    if (!stream->open) {
        return;
    }
    while (stream->given - stream->done == QUEUE_MAX) {
        sl_cond_wait(&fake->changed, &fake->mutex);
    }
    stream->queue[stream->given++ % QUEUE_MAX] = *work;
}

struct CUstream_st *fake_stream_make_locked(fake_device *fake, bool own, bool urgent)
{
    struct CUstream_st *stream = calloc(1, sizeof(*stream));
    assert(stream != NULL && fake->stream_count < THINGS_MAX);
    stream->fake = fake;
    stream->open = true;
    stream->own = own;
    stream->urgent = urgent;
    stream->random = (fake->options.seed + fake->stream_count + 1) * UINT64_C(0x9E3779B97F4A7C15);
    fake->streams[fake->stream_count++] = stream;
    const sluice_status status =
        sl_thread_start(&stream->thread, "fake-stream", stream_run, stream, NULL);
    assert(status == SLUICE_OK);
    (void)status;
    return stream;
}
