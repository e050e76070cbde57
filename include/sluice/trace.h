/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/trace.h: what the library's threads did, when: reads, decoding, the life of each slot.
 *
 * A recording is of the process, all loaders together. Each thread writes into a ring of its own
 * and the newest events stay, so a recording may run for as long as one likes. While none runs, an
 * event costs a branch; while one does, two clock readings and some stores.
 *
 * Threads: all functions from any thread; each ends before another begins. In a forked child they
 * do nothing: STATE, or 0.
 */
#ifndef SLUICE_TRACE_H
#define SLUICE_TRACE_H

#include <sluice/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Spans (begin_ns < end_ns), then moments (begin_ns == end_ns) in the life of a slot. In order:
 *   host slot h:    FILL FULL [COPY DONE]
 *   device slot d:  READY TAKEN FREE
 * With host memory a slot is both, and there is neither COPY nor DONE. A batch dropped by
 * start_epoch, cancel or close has no further moment, except the DONE of a copy in flight.
 */
typedef enum sluice_trace_kind {
    SLUICE_TRACE_READ = 0,    /* a read, from its submission to its completion */
    SLUICE_TRACE_DECODE = 1,  /* a sample, from bytes to pixels of its crop */
    SLUICE_TRACE_AUGMENT = 2, /* the same sample, from there to its row */
    SLUICE_TRACE_FILL = 3,    /* the first row may be written from now on */
    SLUICE_TRACE_FULL = 4,    /* its last row is made */
    SLUICE_TRACE_COPY = 5,    /* its copy to the device is being queued */
    SLUICE_TRACE_DONE = 6,    /* its copy is known to be done: the slot is free again */
    SLUICE_TRACE_READY = 7,   /* sluice_loader_next can have it */
    SLUICE_TRACE_TAKEN = 8,   /* sluice_loader_next returned it */
    SLUICE_TRACE_FREE = 9     /* it was released */
} sluice_trace_kind;

typedef struct sluice_trace_event {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t ticket;           /* number of the batch since its loader was opened; READ: 0 */
    int64_t sample;            /* index in the dataset; -1: of no one sample */
    uint64_t bytes;            /* READ: those read; else 0 */
    uint32_t kind;             /* a sluice_trace_kind */
    uint32_t slot;             /* where the batch is, as above; READ: 0 */
    uint32_t thread;           /* number of the ring */
    uint32_t reserved;         /* 0 */
} sluice_trace_event;

#define SLUICE_TRACE_EVENT_INIT    \
    {                              \
        0, 0, 0, -1, 0, 0, 0, 0, 0 \
    }

/*
 * Begins a recording, forgetting the one before: rings for `threads` threads (1..4096; events of
 * further ones are only counted) of `events` each (1..2^24). Everything is allocated here. Errors:
 * INVALID, NOMEM, STATE (one is running).
 */
SLUICE_API sluice_status sluice_trace_start(uint32_t threads, uint32_t events);

/* Ends it; when it returns nothing is written any more. Without one: does nothing. */
SLUICE_API void sluice_trace_stop(void);

/*
 * Copies up to `capacity` events of the recording that was ended, thread by thread, each in the
 * order in which they ended, and returns how many there are (`events` may be NULL with space 0).
 * `event_bytes` is sizeof(sluice_trace_event): the events are that far apart and no more is written
 * of each. `*lost`, when not NULL: how many were overwritten or had no ring. 0 while one is
 * running.
 */
SLUICE_API size_t sluice_trace_read(sluice_trace_event *events, size_t event_bytes, size_t capacity,
                                    uint64_t *lost);

/* The name of the thread that wrote ring `thread`: "sluice-dec-0"; "" if no thread did. */
SLUICE_API void sluice_trace_get_thread_name(uint32_t thread, char *name, size_t bytes);

/* Ends a recording and frees it. */
SLUICE_API void sluice_trace_discard(void);

#ifdef __cplusplus
}
#endif
#endif
