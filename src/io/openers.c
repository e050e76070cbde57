/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openers: the backend that opens objects: its thread, a ring of requests and one of completions.
 * The mutex guards both rings; the thread pins without it.
 */
#include "openers.h"

#include "clock.h"
#include "error.h"
#include "memory.h"
#include "thread.h"

#include <assert.h>

typedef struct openers {
    sl_backend base;
    sl_backend *inner;
    sl_objects *objects;
    sl_thread thread;
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    /* under mutex */
    sl_read **queue;        /* ring */
    sl_completion *results; /* ring */
    uint32_t depth, queue_head, queued, result_head, finished;
    bool busy, stopped;
} openers;

static void open_object(const openers *o, const sl_read *read)
{
    sluice_error error;
    sl_opening *opening = read->opening;
    const sl_pin_how how = {.direct = read->direct};
    sl_error_clear(&error);
    opening->status = sl_objects_pin(o->objects, read->object, how, &opening->pin, &error);
    opening->sys_errno = error.sys_errno;
    opening->offset = error.offset;
}

static sl_read *take_locked(openers *o)
{
    sl_read *read = o->queue[o->queue_head];
    o->queue_head = (o->queue_head + 1) % o->depth;
    o->queued--;
    return read;
}

/* Opens the object of the oldest request, without the lock. */
static void open_one_locked(openers *o)
{
    sl_read *read = take_locked(o);
    o->busy = true;
    sl_unlock(&o->mutex);
    open_object(o, read);
    sl_lock(&o->mutex);
    o->busy = false;
    assert(o->finished < o->depth);
    o->results[(o->result_head + o->finished++) % o->depth] = (sl_completion){.read = read};
    if (o->stopped) {
        sl_cond_signal(&o->done);
    } else {
        o->inner->ops->wake(o->inner); /* a signal, or a write that does not block */
    }
}

static void openers_run(void *argument)
{
    openers *o = argument;
    sl_lock(&o->mutex);
    while (!o->stopped) {
        if (o->queued == 0) {
            sl_cond_wait(&o->work, &o->mutex);
        } else {
            open_one_locked(o);
        }
    }
    sl_unlock(&o->mutex);
}

/* ---- the owner ---- */

static sluice_status openers_start(openers *o, sluice_error *error)
{
    return o->thread.running ? SLUICE_OK
                             : sl_thread_start(&o->thread, "sluice-open", openers_run, o, error);
}

static void queue_open(openers *o, sl_read *read)
{
    const bool runs = openers_start(o, NULL) == SLUICE_OK;
    sl_lock(&o->mutex);
    assert(o->queued < o->depth);
    o->queue[(o->queue_head + o->queued++) % o->depth] = read;
    if (runs) {
        sl_cond_signal(&o->work);
    } else {
        open_one_locked(o); /* no thread can be started: opens it on this one */
    }
    sl_unlock(&o->mutex);
}

static void openers_submit(sl_backend *backend, sl_read *const *reads, uint32_t count)
{
    openers *o = (openers *)backend;
    uint32_t first = 0; /* start of the inner backend's requests that are not submitted yet */
    for (uint32_t i = 0; i < count; i++) {
        if (reads[i]->kind != SL_READ_OPEN) {
            continue;
        }
        if (i > first) {
            o->inner->ops->submit(o->inner, reads + first, i - first);
        }
        first = i + 1;
        queue_open(o, reads[i]);
    }
    if (count > first) {
        o->inner->ops->submit(o->inner, reads + first, count - first);
    }
}

static uint32_t openers_take(openers *o, sl_completion *completions, uint32_t capacity)
{
    uint32_t count = 0;
    sl_lock(&o->mutex);
    while (count < capacity && o->finished > 0) {
        completions[count++] = o->results[o->result_head];
        o->result_head = (o->result_head + 1) % o->depth;
        o->finished--;
    }
    sl_unlock(&o->mutex);
    return count;
}

/* As in unpackers.c, a result that arrives while the inner one is not asked is taken first. */
static uint32_t openers_reap(sl_backend *backend, sl_completion *completions, uint32_t capacity,
                             uint64_t timeout_ns)
{
    openers *o = (openers *)backend;
    uint32_t count = openers_take(o, completions, capacity);
    if (count < capacity) {
        count += o->inner->ops->reap(o->inner, completions + count, capacity - count,
                                     count > 0 ? 0 : timeout_ns);
    }
    return count > 0 ? count : openers_take(o, completions, capacity);
}

static void openers_wake(sl_backend *backend)
{
    const openers *o = (openers *)backend;
    o->inner->ops->wake(o->inner);
}

static void openers_present(sl_backend *backend)
{
    const openers *o = (openers *)backend;
    if (o->inner->ops->present != NULL) {
        o->inner->ops->present(o->inner);
    }
}

/* ---- life ---- */

static void openers_free(openers *o)
{
    sl_cond_destroy(&o->work);
    sl_cond_destroy(&o->done);
    sl_mutex_destroy(&o->mutex);
    sl_free((void *)o->queue);
    sl_free(o->results);
    sl_free(o);
}

/* Ends the thread. Returns 1 if it does not come back, and keeps everything. */
static uint32_t openers_end(openers *o, uint64_t deadline, const sl_read_ends *ends)
{
    sl_lock(&o->mutex);
    o->stopped = true;
    while (o->queued > 0) {
        sl_read_ended(ends, take_locked(o));
    }
    sl_cond_signal(&o->work);
    while (o->busy && sl_cond_wait_until(&o->done, &o->mutex, deadline)) {
    }
    const uint32_t abandoned = o->busy;
    for (; o->finished > 0; o->finished--) {
        sl_read_ended(ends, o->results[o->result_head].read);
        o->result_head = (o->result_head + 1) % o->depth;
    }
    sl_unlock(&o->mutex);
    if (abandoned == 0) {
        sl_thread_join(&o->thread);
        openers_free(o);
    }
    return abandoned;
}

static uint32_t openers_close(sl_backend *backend, uint64_t drain_ns, const sl_read_ends *ends)
{
    openers *o = (openers *)backend;
    sl_backend *inner = o->inner;
    const uint64_t now = sl_now_ns();
    const uint64_t deadline = drain_ns > UINT64_MAX - now ? UINT64_MAX : now + drain_ns;
    const uint32_t abandoned = openers_end(o, deadline, ends);
    return abandoned + inner->ops->close(inner, drain_ns, ends);
}

static const sl_backend_ops openers_ops = {
    "openers", NULL, openers_submit, openers_reap, openers_wake, openers_present, openers_close};

static sluice_status openers_make(openers *o, const sl_openers_config *config, sluice_error *error)
{
    o->base.ops = &openers_ops;
    o->inner = config->inner;
    o->objects = config->objects;
    o->depth = config->depth;
    sl_mutex_init(&o->mutex);
    sl_cond_init(&o->work);
    sl_cond_init(&o->done);
    o->queue = (sl_read **)sl_calloc(o->depth, sizeof(sl_read *));
    o->results = sl_calloc(o->depth, sizeof(*o->results));
    if (o->queue == NULL || o->results == NULL) {
        return sl_no_memory(error, "io", "for the thread that opens files");
    }
    return config->rare ? SLUICE_OK : openers_start(o, error);
}

sluice_status sl_openers_open(sl_backend **backend, const sl_openers_config *config,
                              sluice_error *error)
{
    assert(config->depth > 0);
    openers *o = sl_calloc(1, sizeof(*o));
    if (o == NULL) {
        (void)config->inner->ops->close(config->inner, UINT64_MAX, NULL);
        return sl_no_memory(error, "io", "for the thread that opens files");
    }
    const sluice_status status = openers_make(o, config, error);
    if (status < 0) {
        (void)openers_close(&o->base, UINT64_MAX, NULL);
        return status;
    }
    *backend = &o->base;
    return SLUICE_OK;
}
