/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: from the plan to rows. The only place that knows which item of the fetch sequence, which
 * slot and which sample belong together.
 *
 * Two cursors walk the same sequence of steps (epoch after epoch, until end_epoch):
 *   ask    one sample at a time, far ahead, on the fetch thread: what to read;
 *   begin  one step at a time, whenever a slot is empty: where it will go. Beginning a step raises
 *          the fetch credit by the samples in it.
 * A step's number in that sequence is its ticket; tickets of one run are consecutive, and staging
 * hands batches out in their order. `first_ticket` is the run's first.
 *
 * Walk of one sample: ask (and learn, when an index entry had to be read) -> fetch reads -> deliver
 * (fetch thread; its slot is begun, or there would be no credit) -> a job for the workers ->
 * sl_row_run -> row_done. A sample that cannot be read or decoded ends in sl_feed_bad: fail,
 * replace (another sample is inserted into the fetch) or mask. However it ends, row_done is called
 * exactly once per row, and the last row's fills the slot.
 *
 * Lock: `mutex` guards both cursors, running, credit, tickets and the substitutes' free list. It
 * may be held while staging's or fetch's lock is taken, never the other way round; never during
 * reads or decoding. pending[] belongs to the fetch thread.
 */
#ifndef SL_FEED_H
#define SL_FEED_H

#include "columns.h"
#include "config.h"
#include "plan.h"
#include "quarantine.h"
#include "staging.h"
#include "workers.h"

#include <pthread.h>

/* A place in the sequence of steps. */
typedef struct sl_feed_cursor {
    sl_plan plan; /* of `epoch` */
    sl_step at;   /* of `step` */
    uint64_t epoch, step, steps, ticket;
    uint32_t row;
    bool done; /* behind the last epoch */
} sl_feed_cursor;

/* One row that wants a sample. */
typedef struct sl_row_want {
    uint64_t epoch, ticket, position;
    uint32_t row;
    uint32_t attempt; /* 0: the plan's own sample; else the attempt-th substitute */
    sl_sample sample; /* its number alone, until it is located */
} sl_row_want;

/* What a worker gets. */
typedef struct sl_job {
    sl_row_want want;
    struct sl_feed_slot *slot;
    sl_fetch_bytes bytes;
} sl_job;

/* What a step is being made in. */
typedef struct sl_feed_slot {
    uint32_t number; /* staging's */
    uint32_t rows;
    _Atomic uint32_t left; /* rows that are not done */
    sl_part_view parts;
} sl_feed_slot;

typedef struct sl_feed {
    /* immutable after open */
    const sl_config *config;
    const sl_dataset *dataset;
    sl_staging *staging;
    sl_fetch *fetch;
    sl_workers *workers;
    sl_quarantine *quarantine;
    const sl_column_set *columns;

    pthread_mutex_t mutex;
    bool running;
    sl_feed_cursor ask, begin;
    uint64_t first_ticket, asked, credit;
    sl_feed_slot *slots;      /* of ticket t: slots[t % prefetch] */
    sl_row_want *substitutes; /* inserted items, by tag */
    uint32_t *free_substitutes, free_count;

    sl_row_want *pending; /* of item s: pending[s % lookahead]; fetch thread */

    /* What is still queued need not be decoded. Set before the run is torn down, read by workers;
     * only a hint, so relaxed. */
    _Atomic bool stopping;
    _Atomic uint64_t samples, bad, replaced;
} sl_feed;

/* Allocates; staging, fetch and workers are set by the loader afterwards, before start. */
sluice_status sl_feed_open(sl_feed *feed, const sl_config *config, const sl_dataset *dataset,
                           sluice_error *error);
void sl_feed_close(sl_feed *feed);

/* The plan of an epoch entered at position `start`. */
sl_plan sl_feed_plan(const sl_feed *feed, uint64_t epoch, uint64_t start);

/*
 * Begins a run at (epoch, start). Nothing may be in flight (after open or sl_feed_stop).
 * `end_epoch` is the first epoch not to be read ahead into.
 */
void sl_feed_start(sl_feed *feed, uint64_t epoch, uint64_t start);
/* Ends the run: no item is asked for or delivered any more and all slots are empty or held. */
void sl_feed_stop(sl_feed *feed);

/* A host slot became empty: begins as many steps as there are empty slots. Any thread. */
void sl_feed_begin_steps(sl_feed *feed);

/* source functions of fetch; `ctx` is the feed. */
sluice_status sl_feed_next(void *ctx, sl_fetch_item *item);
sluice_status sl_feed_learn(void *ctx, sl_fetch_item *item, sl_bytes bytes, sl_failure *failure);
void sl_feed_deliver(void *ctx, const sl_fetch_item *item, sluice_status status,
                     const sl_fetch_bytes *bytes, const sluice_error *error);

/* The row is made: completes it. */
void sl_feed_good(sl_feed *feed, const sl_job *job);
/* Completes a row that nobody will see: the run is being stopped. */
void sl_feed_drop(sl_feed *feed, const sl_job *job);
/* The row's sample cannot be used: applies the policy. `error` says why. */
void sl_feed_bad(sl_feed *feed, const sl_job *job, const sluice_error *error);

#endif
