/* SPDX-License-Identifier: Apache-2.0 */
/*
 * populate: fresh memory made present ahead of its use.
 *
 * Purpose: the first touch of a page costs the kernel (and, in a virtual machine, the host) some
 * 0.1 to 2.5 ms for each MiB. A few threads do that for a list of ranges, in their order, while
 * others begin to use the memory: what is not present yet when it is used is made so by its user.
 * Threads: open, wait, close by the owner; its own threads, which end when all is done. They are
 * detached: a program may end with none of this closed.
 * Ownership: the memory is the caller's, mapped until close.
 */
#ifndef SL_POPULATE_H
#define SL_POPULATE_H

#include "thread.h"

#include <stdatomic.h>
#include <stdbool.h>

#define SL_POPULATE_RANGES  16U
#define SL_POPULATE_THREADS 8U

typedef struct sl_populate_range {
    uint8_t *base; /* any part of a slab */
    size_t bytes;
} sl_populate_range;

typedef struct sl_populate_config {
    sl_populate_range ranges[SL_POPULATE_RANGES];
    uint32_t count;
    uint32_t threads;
    const sl_processors *near; /* where they run; used by open only. NULL: anywhere */
    /* All of it is there, or will not be made so; on one of the threads, or inside open. Not after
     * close began. NULL: nobody asks. */
    void (*done)(void *ctx);
    void *ctx;
} sl_populate_config;

typedef struct sl_populate {
    sl_populate_config config;
    pthread_mutex_t mutex;
    pthread_cond_t gone;
    uint32_t inside; /* mutex: threads that still look at this */
    bool opened;
    _Atomic uint64_t next; /* bytes of all ranges, one behind the other, that are taken */
    _Atomic uint32_t working;
    _Atomic bool stop;
} sl_populate;

/* Starts the threads: as many as can be had; without any, users make the memory present. */
void sl_populate_open(sl_populate *populate, const sl_populate_config *config);
/* Waits for all of it; `done` has been called. */
void sl_populate_wait(sl_populate *populate);
/* Stops within milliseconds, and waits for that. A zeroed one may be closed. */
void sl_populate_close(sl_populate *populate);

#endif
