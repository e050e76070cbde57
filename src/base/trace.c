/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings of events, one a thread. Any thread writes, without a lock: each is counted in `writers`
 * while it writes to its own ring; start, stop and read are serialised by `control`, and wait until
 * there are no writers before they touch the rings.
 */
#include "trace.h"

#include "clock.h"
#include "memory.h"
#include "thread.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct ring {
    sluice_trace_event *events;
    uint64_t count; /* written so far; the thread's own, then the reader's */
    char name[16];  /* of a thread, as the kernel keeps it */
} ring;

/* Written with no writer inside: by start before it lets them in, by discard after stop. */
typedef struct recording {
    ring *rings;
    sluice_trace_event *memory;
    uint32_t threads, events;
    pid_t pid;
} recording;

_Atomic bool sl_trace_on;

static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
static recording current;
static _Atomic uint32_t writers;    /* inside sl_trace_write */
static _Atomic uint32_t rings_used; /* may pass current.threads */
static _Atomic uint64_t homeless;   /* events of threads without a ring */
static _Atomic uint64_t generation; /* of recordings, from 1 */

/* This thread's ring, and the recording that it is of. */
static _Thread_local uint32_t own_ring;
static _Thread_local uint64_t own_generation;

static bool find_ring(void)
{
    /* Relaxed: generation changes only while no writer is inside, and coming in was ordered. */
    const uint64_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    if (own_generation != now) {
        own_generation = now;
        own_ring = atomic_fetch_add_explicit(&rings_used, 1, memory_order_relaxed);
        if (own_ring < current.threads) {
            ring *mine = &current.rings[own_ring];
            (void)pthread_getname_np(pthread_self(), mine->name, sizeof(mine->name));
        }
    }
    return own_ring < current.threads;
}

static void trace_append(const sluice_trace_event *event)
{
    if (!find_ring()) {
        /* Relaxed: a count, read once no writer is inside. */
        atomic_fetch_add_explicit(&homeless, 1, memory_order_relaxed);
        return;
    }
    ring *mine = &current.rings[own_ring];
    sluice_trace_event *place = &mine->events[mine->count++ % current.events];
    *place = *event;
    place->thread = own_ring;
}

void sl_trace_write(const sluice_trace_event *event)
{
    /* Sequentially consistent with stop: either stop sees this writer, or the writer sees the
     * recording off. */
    atomic_fetch_add_explicit(&writers, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&sl_trace_on, memory_order_seq_cst)) {
        trace_append(event);
    }
    /* Release: when stop sees the count fall, it sees the event, too. */
    atomic_fetch_sub_explicit(&writers, 1, memory_order_release);
}

void sl_trace_write_moment(sluice_trace_kind kind, uint64_t ticket, uint32_t slot)
{
    const uint64_t now = sl_now_ns();
    const sluice_trace_event event = {.begin_ns = now,
                                      .end_ns = now,
                                      .ticket = ticket,
                                      .sample = -1,
                                      .kind = (uint32_t)kind,
                                      .slot = slot};
    sl_trace_write(&event);
}

static void stop_locked(void)
{
    if (current.pid != getpid()) {
        return; /* a thread that wrote during the fork stays inside forever */
    }
    /* seq_cst, both: with the add and the load in sl_trace_write. The last load also acquires
     * what writers wrote. */
    atomic_store_explicit(&sl_trace_on, false, memory_order_seq_cst);
    while (atomic_load_explicit(&writers, memory_order_seq_cst) > 0) {
        (void)sched_yield();
    }
}

static void discard_locked(void)
{
    stop_locked();
    if (current.pid == getpid()) {
        sl_free(current.rings);
        sl_free(current.memory);
        current = (recording){0};
    }
}

static sluice_status make_locked(uint32_t threads, uint32_t events)
{
    current.rings = sl_calloc(threads, sizeof(*current.rings));
    current.memory = sl_calloc((size_t)threads * events, sizeof(*current.memory));
    current.pid = getpid();
    if (current.rings == NULL || current.memory == NULL) {
        discard_locked();
        return SLUICE_NOMEM;
    }
    for (uint32_t i = 0; i < threads; i++) {
        current.rings[i].events = current.memory + (size_t)i * events;
    }
    current.threads = threads;
    current.events = events;
    return SLUICE_OK;
}

static sluice_status start_locked(uint32_t threads, uint32_t events)
{
    if (sl_trace_running() || (current.pid != 0 && current.pid != getpid())) {
        return SLUICE_STATE;
    }
    discard_locked();
    const sluice_status status = make_locked(threads, events);
    if (status != SLUICE_OK) {
        return status;
    }
    /* Relaxed: the store of sl_trace_on below publishes them. */
    atomic_store_explicit(&rings_used, 0, memory_order_relaxed);
    atomic_store_explicit(&homeless, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
    /* Lets the writers in, and publishes the stores above to their load of it. */
    atomic_store_explicit(&sl_trace_on, true, memory_order_seq_cst);
    return SLUICE_OK;
}

sluice_status sl_trace_start(uint32_t threads, uint32_t events)
{
    if (threads == 0 || threads > SL_TRACE_THREADS_MAX || events == 0 ||
        events > SL_TRACE_EVENTS_MAX) {
        return SLUICE_INVALID;
    }
    sl_lock(&control);
    const sluice_status status = start_locked(threads, events);
    sl_unlock(&control);
    return status;
}

void sl_trace_stop(void)
{
    sl_lock(&control);
    stop_locked();
    sl_unlock(&control);
}

static uint64_t kept(const ring *from)
{
    return from->count < current.events ? from->count : current.events;
}

/* Copies an event. A caller with an older header has smaller events; members of a newer one are
 * 0. */
static void copy_event(const sluice_trace_event *event, const sl_trace_capacity *to, size_t place)
{
    uint8_t *at = (uint8_t *)to->events + place * to->event_bytes;
    const size_t known = to->event_bytes < sizeof(*event) ? to->event_bytes : sizeof(*event);
    memcpy(at, event, known);
    memset(at + known, 0, to->event_bytes - known);
}

static void copy_ring(const ring *from, const sl_trace_capacity *to, size_t *total)
{
    const uint64_t count = kept(from);
    for (uint64_t i = from->count - count; i < from->count; i++) {
        if (*total < to->count) {
            copy_event(&from->events[i % current.events], to, *total);
        }
        ++*total;
    }
}

static size_t read_locked(const sl_trace_capacity *to, uint64_t *lost)
{
    size_t total = 0;
    /* Relaxed: stop_locked has waited for the writers. */
    *lost = atomic_load_explicit(&homeless, memory_order_relaxed);
    for (uint32_t i = 0; i < current.threads; i++) {
        copy_ring(&current.rings[i], to, &total);
        *lost += current.rings[i].count - kept(&current.rings[i]);
    }
    return total;
}

size_t sl_trace_read(const sl_trace_capacity *capacity, uint64_t *lost)
{
    uint64_t unread = 0;
    size_t total = 0;
    sl_lock(&control);
    if (!sl_trace_running() && current.pid == getpid()) {
        total = read_locked(capacity, &unread);
    }
    sl_unlock(&control);
    if (lost != NULL) {
        *lost = unread;
    }
    return total;
}

void sl_trace_thread_name(uint32_t thread, char *name, size_t bytes)
{
    sl_lock(&control);
    const bool known = !sl_trace_running() && current.pid == getpid() && thread < current.threads;
    (void)snprintf(name, bytes, "%s", known ? current.rings[thread].name : "");
    sl_unlock(&control);
}

void sl_trace_discard(void)
{
    sl_lock(&control);
    discard_locked();
    sl_unlock(&control);
}
