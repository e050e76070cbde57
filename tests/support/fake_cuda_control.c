/* SPDX-License-Identifier: Apache-2.0 */
/* The test's side of the fake. */
#include "fake_cuda_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static fake_cuda *lock(void)
{
    pthread_mutex_lock(&fake_cuda_the.mutex);
    return &fake_cuda_the;
}

static void unlock(void)
{
    fake_cuda_wake_locked();
    pthread_mutex_unlock(&fake_cuda_the.mutex);
}

static uint64_t read_locked(const uint64_t *value)
{
    lock();
    const uint64_t read = *value;
    unlock();
    return read;
}

/* ---- opening and resetting ---- */

static struct CUstream_st *default_stream_locked(void)
{
    fake_cuda *f = &fake_cuda_the;
    if (f->default_stream == NULL) {
        f->default_stream = fake_cuda_stream_make_locked(false, true);
    }
    return f->default_stream;
}

static void set(const fake_cuda_options *options)
{
    fake_cuda *f = lock();
    f->options = *options;
    (void)default_stream_locked();
    unlock();
}

static void free_thing(fake_cuda_thing *thing)
{
    if (thing->kind == KIND_MEMORY) {
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
        munmap((void *)thing->key, thing->bytes);
        free(thing->backing);
        free(thing->written);
    } else if (thing->kind == KIND_HOST && thing->backing != NULL) {
        munmap(thing->backing, thing->bytes);
    } else if (thing->kind == KIND_STREAM) {
        pthread_cond_destroy(&((struct CUstream_st *)(void *)thing)->more);
    }
    free(thing);
}

static void end_streams_locked(fake_cuda *f)
{
    for (size_t i = 0; i < f->thing_count; i++) {
        if (f->things[i]->kind == KIND_STREAM) {
            struct CUstream_st *stream = (struct CUstream_st *)(void *)f->things[i];
            stream->thing.open = false;
            stream->gone = true; /* no longer held */
        }
    }
    fake_cuda_wake_locked();
    while (f->workers > 0) {
        pthread_cond_wait(&f->changed, &f->mutex);
    }
}

static void reset(void)
{
    fake_cuda *f = lock();
    end_streams_locked(f);
    for (size_t i = 0; i < f->thing_count; i++) {
        free_thing(f->things[i]);
    }
    f->thing_count = 0;
    f->default_stream = NULL;
    memset(&f->options, 0, sizeof(f->options));
    memset(&f->fault, 0, sizeof(f->fault));
    f->unsafe_forbidden = f->unsafe_called = false;
    memset(f->violations_of, 0, sizeof(f->violations_of));
    memset(f->calls, 0, sizeof(f->calls));
    f->first[0] = '\0';
    f->failed = NULL;
    f->lost = SL_CU_SUCCESS;
    f->violations = f->copies = f->kernels = f->memory_used = 0;
    f->retained = f->pushed = 0;
    (void)default_stream_locked();
    unlock();
}

/* ---- faults ---- */

static void fail_call(const fake_cuda_fault *fault)
{
    fake_cuda *f = lock();
    f->fault = *fault;
    f->failed = NULL;
    unlock();
}

static const char *failed_call(void)
{
    const fake_cuda *f = lock();
    const char *failed = f->failed;
    unlock();
    return failed;
}

static void lose(unsigned code)
{
    lock()->lost = code;
    unlock();
}

/* ---- streams ---- */

static struct CUstream_st *stream_locked(struct CUstream_st *stream)
{
    return stream != NULL ? stream : default_stream_locked();
}

static void hold(bool on)
{
    fake_cuda *f = lock();
    for (size_t i = 0; i < f->thing_count; i++) {
        if (f->things[i]->kind == KIND_STREAM) {
            ((struct CUstream_st *)(void *)f->things[i])->hold = on;
        }
    }
    unlock();
}

static void hold_stream(struct CUstream_st *stream, bool on)
{
    lock();
    stream_locked(stream)->hold = on;
    unlock();
}

static struct CUstream_st *stream_new(bool blocking)
{
    lock();
    (void)default_stream_locked();
    struct CUstream_st *stream = fake_cuda_stream_make_locked(false, blocking);
    unlock();
    return stream;
}

static void set_home(struct CUstream_st *stream, fake_cuda_home home)
{
    lock();
    stream->home = home;
    unlock();
}

static void stream_end(struct CUstream_st *stream)
{
    lock();
    stream->thing.open = false; /* its thread ends when its work is done */
    unlock();
}

static void synchronize(struct CUstream_st *stream)
{
    fake_cuda *f = lock();
    const struct CUstream_st *waited = stream_locked(stream);
    const uint64_t given = waited->given;
    while (waited->done < given) {
        pthread_cond_wait(&f->changed, &f->mutex);
    }
    unlock();
}

static void capture(struct CUstream_st *stream, bool on)
{
    lock();
    stream_locked(stream)->capturing = on;
    unlock();
}

static bool forbid_unsafe(bool forbid)
{
    fake_cuda *f = lock();
    const bool none = !f->unsafe_called;
    f->unsafe_forbidden = forbid;
    f->unsafe_called = false;
    unlock();
    return none;
}

static void hold_context(uint32_t us)
{
    const struct timespec time = {us / 1000000, (long)(us % 1000000) * 1000};
    lock();
    nanosleep(&time, NULL);
    unlock();
}

static void launch(struct CUstream_st *stream, const fake_cuda_reader *reader)
{
    lock();
    fake_cuda_work work = {.kind = WORK_READER, .run = reader->run, .ctx = reader->ctx};
    bool all = true;
    for (size_t i = 0; i < 2; i++) {
        const uintptr_t begin = (uintptr_t)reader->from[i];
        if (reader->bytes[i] > 0) {
            work.ranges[i] = (fake_cuda_range){begin, begin + reader->bytes[i], false};
            all = all &&
                  fake_cuda_holding_locked(KIND_MEMORY, reader->from[i], reader->bytes[i]) != NULL;
        }
    }
    if (fake_cuda_expect_locked(all, FAKE_CUDA_NO_TARGET, CALL_launch)) {
        fake_cuda_give_locked(stream_locked(stream), &work);
    }
    unlock();
}

static void *memory(const void *address)
{
    lock();
    void *backing = fake_cuda_backing_locked((uintptr_t)address);
    fake_cuda_thing *thing = fake_cuda_holding_locked(KIND_MEMORY, address, 1);
    if (thing != NULL) {
        thing->handed_out = true;
    }
    unlock();
    return backing;
}

/* ---- misuses and counts ---- */

static uint64_t violations(void)
{
    return read_locked(&fake_cuda_the.violations);
}

static uint64_t violations_of(fake_cuda_check check)
{
    return read_locked(&fake_cuda_the.violations_of[check]);
}

static const char *first_violation(void)
{
    return violations() > 0 ? fake_cuda_the.first : "";
}

static uint64_t leaks(char *text, size_t bytes)
{
    static const char *const names[KINDS] = {"events",     "streams",         "device memory",
                                             "registered", "driver's memory", "modules",
                                             "functions"};
    fake_cuda *f = lock();
    uint64_t counts[KINDS] = {0};
    for (size_t i = 0; i < f->thing_count; i++) {
        counts[f->things[i]->kind] += f->things[i]->own && f->things[i]->open;
    }
    uint64_t all = f->retained + f->pushed;
    int used = snprintf(text, bytes, "%s", "");
    for (size_t i = 0; i < KINDS; i++) {
        all += counts[i];
        if (counts[i] > 0 && used >= 0 && (size_t)used < bytes) {
            used +=
                snprintf(text + used, bytes - (size_t)used, "%s: %d; ", names[i], (int)counts[i]);
        }
    }
    if (f->retained + f->pushed > 0 && used >= 0 && (size_t)used < bytes) {
        snprintf(text + used, bytes - (size_t)used, "context retained: %d, pushed: %d",
                 (int)f->retained, (int)f->pushed);
    }
    unlock();
    return all;
}

static uint64_t calls(const char *symbol)
{
    const fake_cuda *f = lock();
    uint64_t sum = 0;
    for (fake_cuda_call call = 0; call < CALLS; call++) {
        if (symbol == NULL || strcmp(symbol, fake_cuda_call_name(call)) == 0) {
            sum += f->calls[call];
        }
    }
    unlock();
    return sum;
}

static uint64_t copies(void)
{
    return read_locked(&fake_cuda_the.copies);
}

static uint64_t kernels(void)
{
    return read_locked(&fake_cuda_the.kernels);
}

static uint64_t forked_calls(void)
{
    return atomic_load_explicit(&fake_cuda_the.forked_calls, memory_order_relaxed);
}

static uint64_t host_waits(void)
{
    return fake_cuda_host_waits;
}

static uint32_t context_depth(void)
{
    return fake_cuda_depth;
}

static uint32_t capture_mode(void)
{
    return fake_cuda_mode;
}

FAKE_CUDA_EXPORT const fake_cuda_control *fake_cuda_get_control(void)
{
    static const fake_cuda_control control = {
        .set = set,
        .reset = reset,
        .fail_call = fail_call,
        .failed_call = failed_call,
        .lose = lose,
        .hold = hold,
        .hold_stream = hold_stream,
        .stream_new = stream_new,
        .set_home = set_home,
        .stream_end = stream_end,
        .synchronize = synchronize,
        .capture = capture,
        .forbid_unsafe = forbid_unsafe,
        .hold_context = hold_context,
        .launch = launch,
        .memory = memory,
        .violations = violations,
        .violations_of = violations_of,
        .first_violation = first_violation,
        .leaks = leaks,
        .calls = calls,
        .copies = copies,
        .kernels = kernels,
        .forked_calls = forked_calls,
        .host_waits = host_waits,
        .context_depth = context_depth,
        .capture_mode = capture_mode,
    };
    return &control;
}
