/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/trace.h: a timeline of the library's threads: reads, decoding, the life of each slot.
 *
 * A recording covers the process, with all its loaders. Each thread writes into its own ring, which
 * keeps the newest events, so a recording may run indefinitely. Without a recording an event costs
 * a branch; with one, two clock readings and some stores.
 *
 * Threads: any thread may call these functions; a lock serializes the calls. In a forked child they
 * do nothing: STATE, or 0.
 */
#ifndef SLUICE_TRACE_H
#define SLUICE_TRACE_H

#include <sluice/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Kinds of events: spans (begin_ns < end_ns), then moments (begin_ns == end_ns) in the life of a
 * slot, in this order:
 *   host slot h:    FILL FULL [COPY DONE]
 *   device slot d:  READY TAKEN FREE
 * With host memory a slot is both, without COPY and DONE. A batch dropped by start_epoch, cancel or
 * close has no further moment, except the DONE of a copy in flight.
 */
typedef enum sluice_trace_kind {
    SLUICE_TRACE_READ = 0,    /* a read, from its submission to its completion */
    SLUICE_TRACE_DECODE = 1,  /* a sample, bytes to pixels of its crop */
    SLUICE_TRACE_AUGMENT = 2, /* a sample, pixels to its row */
    SLUICE_TRACE_FILL = 3,    /* its first row may be written */
    SLUICE_TRACE_FULL = 4,    /* its last row is complete */
    SLUICE_TRACE_COPY = 5,    /* its copy to the device is being queued */
    SLUICE_TRACE_DONE = 6,    /* its copy is known to be complete: the slot is free again */
    SLUICE_TRACE_READY = 7,   /* sluice_loader_next can return it */
    SLUICE_TRACE_TAKEN = 8,   /* sluice_loader_next returned it */
    SLUICE_TRACE_FREE = 9     /* it was released */
} sluice_trace_kind;

typedef struct sluice_trace_event {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t ticket;           /* number of the batch since its loader was opened; READ: 0 */
    int64_t sample;            /* index in the dataset; -1: not a single sample's */
    uint64_t bytes;            /* READ: bytes read; else 0 */
    uint32_t kind;             /* a sluice_trace_kind */
    uint32_t slot;             /* the batch's slot, as above; READ: 0 */
    uint32_t thread;           /* number of the ring */
    uint32_t reserved;         /* 0 */
} sluice_trace_event;

#define SLUICE_TRACE_EVENT_INIT    \
    {                              \
        0, 0, 0, -1, 0, 0, 0, 0, 0 \
    }

/*
 * Begins a recording and discards the previous one. Allocates rings for `threads` threads (1..4096;
 * events of further threads are only counted) of `events` each (1..2^24). Errors: INVALID, NOMEM,
 * STATE (a recording is running).
 */
SLUICE_API sluice_status sluice_trace_start(uint32_t threads, uint32_t events);

/* Ends the recording: no event is written after it returns. Without a recording: a no-op. */
SLUICE_API void sluice_trace_stop(void);

/*
 * Copies up to `capacity` events of the ended recording, thread by thread, each in the order in
 * which they ended. Returns the number of all events (`events` may be NULL with capacity 0), or 0
 * while a recording is running. `event_bytes` is sizeof(sluice_trace_event): the distance between
 * events, and the most that is written of each. `*lost`, unless NULL, gets the number of events
 * that were overwritten or had no ring.
 */
SLUICE_API size_t sluice_trace_read(sluice_trace_event *events, size_t event_bytes, size_t capacity,
                                    uint64_t *lost);

/* Writes the name of the thread of ring `thread`: "sluice-dec-0"; "" if no thread wrote it. */
SLUICE_API void sluice_trace_get_thread_name(uint32_t thread, char *name, size_t bytes);

/* Ends a recording and frees it. */
SLUICE_API void sluice_trace_discard(void);

#ifdef __cplusplus
}
#endif
#endif
