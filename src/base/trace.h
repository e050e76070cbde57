/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: a recording of events, a bounded ring a thread (public side: sluice/trace.h).
 *
 * Purpose: to show the times of events, at the cost of one predictable branch when nothing is
 * recorded. Writers never block and never allocate; a thread takes one of the rings made by start
 * when it writes its first event.
 *
 * Threads: write functions from any thread, also under any lock; control functions are serialised
 * by a lock of their own. Rings are read only without writers: stop waits for them.
 */
#ifndef SL_TRACE_H
#define SL_TRACE_H

#include <sluice/trace.h>

#include <stdatomic.h>
#include <stdbool.h>

#define SL_TRACE_THREADS_MAX 4096
#define SL_TRACE_EVENTS_MAX  (UINT32_C(1) << 24)

extern _Atomic bool sl_trace_on;

/* Returns a hint: relaxed; sl_trace_write checks again. */
static inline bool sl_trace_running(void)
{
    return atomic_load_explicit(&sl_trace_on, memory_order_relaxed);
}

/* Stores the event with the calling thread's number; does nothing without a recording. */
void sl_trace_write(const sluice_trace_event *event);

/* Writes a moment, now. */
void sl_trace_write_moment(sluice_trace_kind kind, uint64_t ticket, uint32_t slot);
static inline void sl_trace_moment(sluice_trace_kind kind, uint64_t ticket, uint32_t slot)
{
    if (sl_trace_running()) {
        sl_trace_write_moment(kind, ticket, slot);
    }
}

/* Destination of copied events. */
typedef struct sl_trace_capacity {
    void *events;
    size_t event_bytes; /* from one to the next; may differ from the library's */
    size_t count;       /* that there is space for */
} sl_trace_capacity;

/* Like the public functions. */
sluice_status sl_trace_start(uint32_t threads, uint32_t events);
void sl_trace_stop(void);
size_t sl_trace_read(const sl_trace_capacity *capacity, uint64_t *lost);
void sl_trace_thread_name(uint32_t thread, char *name, size_t bytes);
void sl_trace_discard(void);

#endif
