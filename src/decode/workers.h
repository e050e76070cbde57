/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workers: the threads that turn bytes into rows.
 *
 * Purpose: N threads, each with its own decoder, take jobs from one bounded queue and run the
 * owner's function on them.
 *
 * Threads: submit is called by any thread; run is called on the workers.
 *
 * Life: close stops accepting, runs the queued jobs, joins and frees. Every submitted job is run
 * exactly once.
 */
#ifndef SL_WORKERS_H
#define SL_WORKERS_H

#include "decoder.h"
#include "histogram.h"
#include "processors.h"

typedef struct sl_workers sl_workers;

typedef struct sl_workers_config {
    uint32_t threads;
    const sl_processors *near; /* where they run; used by open only. NULL: anywhere */
    size_t queue_capacity;
    size_t job_bytes;
    sl_decoder_config decoder;
    /* Called on worker `number`, 0 .. threads - 1; `job` is its own copy. */
    void (*run)(void *ctx, uint32_t number, sl_decoder *decoder, void *job);
    void *ctx;
} sl_workers_config;

sluice_status sl_workers_open(sl_workers **workers, const sl_workers_config *config,
                              sluice_error *error);
/* Submits `count` jobs, stored one after the other. Waits while the queue is full. CANCELED after
 * close began. */
sluice_status sl_workers_submit(sl_workers *workers, const void *jobs, size_t count);
/* Returns whether no job is queued or running; and how many were taken so far. */
bool sl_workers_are_idle(sl_workers *workers, uint64_t *taken);
void sl_workers_depths(sl_workers *workers, uint64_t bins[SL_DEPTH_BINS]);
void sl_workers_close(sl_workers *workers);

#endif
