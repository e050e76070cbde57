/* SPDX-License-Identifier: Apache-2.0 */
/*
 * populate: makes fresh memory present ahead of its use.
 *
 * Purpose: the first touch of a page costs the kernel (and, in a virtual machine, the host) some
 * 0.1 to 2.5 ms for each MiB. A few threads touch the pages of a list of ranges, in their order,
 * while other threads begin to use the memory: pages that are not present yet become so on use.
 *
 * Threads: open, wait, close by the owner; its own threads end when all is done. They are detached:
 * a program may end with none of this closed. Ownership: the memory is the caller's, mapped until
 * close.
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
    const sl_processors *near; /* processors of the threads; used by open only. NULL: any */
    /* Called once every range is populated or abandoned, on one of the threads or inside open;
     * never after close has begun. May be NULL. */
    void (*done)(void *ctx);
    void *ctx;
} sl_populate_config;

typedef struct sl_populate {
    sl_populate_config config;
    pthread_mutex_t mutex;
    pthread_cond_t gone;
    uint32_t inside; /* mutex: threads that still use this */
    bool opened;
    _Atomic uint64_t next; /* bytes of all ranges, in their order, that are taken */
    _Atomic uint32_t working;
    _Atomic bool stop;
} sl_populate;

/* Starts as many threads as possible; without any, the memory becomes present on use. */
void sl_populate_open(sl_populate *populate, const sl_populate_config *config);
/* Waits for all ranges; `done` has been called then. */
void sl_populate_wait(sl_populate *populate);
/* Stops within milliseconds, and waits for that. A zeroed one may be closed. */
void sl_populate_close(sl_populate *populate);

#endif
