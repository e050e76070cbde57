/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader: wires the stages together; the only module that knows them all.
 *
 * Purpose: life cycle (open, epochs, close), the consumer's side (next, save, restore), statistics
 * and the first error.
 * Threads: start_epoch and next by one consumer thread at a time; the rest from any thread.
 * Lock: `mutex` guards the fields named below and is held for a few instructions only, never while
 * waiting for a stage. A next that returns a batch locks it once; one that returns none never does.
 * Close, in this order: reject new calls, wake the consumer, wait until no call is inside, stop the
 * feed (cancels undelivered items), close fetch (drains reads), close workers, close staging
 * (memory stays for held batches), free.
 */
#ifndef SL_LOADER_H
#define SL_LOADER_H

#include "bucketing.h"
#include "config.h"
#include "feed.h"
#include "orders.h"
#include "packed_sources.h"
#include "populate.h"
#include "processors.h"
#include "quarantine.h"
#include "row.h"
#include "shard_order.h"
#include "watchdog.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct sluice_loader {
    /* immutable after open */
    uint64_t forks; /* sl_fork_count of the process that opened it */
    sl_config config;
    sl_budget budget;
    sl_dataset *dataset;
    sl_device *device;  /* until staging takes it over */
    sl_processors near; /* the threads' where `is_near` */
    bool is_near;
    sl_staging *staging;
    sl_fetch *fetch;
    sl_workers *workers;
    sl_quarantine quarantine;
    sl_column_set columns;
    sl_notices *notices; /* of the columns */
    sl_partners partners;
    sl_classes classes; /* none, unless a rule of partners, or episodes, use them */
    sl_loader_order order;
    const sl_packed_sources *packing; /* the dataset's; NULL: rows are not packed */
    /* of the samples of a row: their number, their rules, and the classes in these */
    uint64_t rows_hash;
    sl_row_maker maker;
    sl_bucketing buckets; /* of aspect ratio; count 0: there are none */
    sl_shard_set shards;  /* if they are read front to back */
    sl_feed feed;
    bool feed_open;
    sl_populate populate; /* the memory of the first batch */
    uint64_t end_epoch;   /* from the options; the feed's copy is that of its run */

    /* the consumer thread's */
    bool run; /* the feed has been started */
    sl_watchdog watch;
    sl_populate populate_rest; /* of slots and read buffers: opened by the first next */

    /* Number of calls except close in progress, and SL_LOADER_CLOSING, which is set under mutex. A
     * call that leaves while it is set does so under mutex, too. */
    _Atomic uint32_t calls;
    pthread_mutex_t mutex;
    pthread_cond_t no_calls;
    /* under mutex */
    bool started; /* an epoch; written by the consumer thread, which reads it without the mutex */
    bool canceled, restoring;
    bool endless;                 /* epoch after epoch, without an end between them */
    uint64_t epoch, taken, steps; /* of the current epoch; taken: batches returned */
    uint64_t end_ticket;          /* staging's number of the ticket after it */
    sl_plan plan;
    uint64_t restore_epoch, restore_position;
    uint64_t open_ns, first_batch_ns;
    uint64_t batches;
    sluice_error error;   /* the first one; status 0: none */
    sluice_error refusal; /* of the latest call that failed, until the next start */
};

/*
 * `options` and `error` are full-size. `recipe` NULL: there is none. The dataset gets a reference.
 * `fault` makes the I/O backend misbehave, for tests; NULL: no.
 */
sluice_status sl_loader_open(sluice_loader **loader, sl_dataset *dataset,
                             const sluice_augment *recipe, const sluice_loader_options *options,
                             const sl_fault_config *fault, sluice_error *error);
void sl_loader_close(sluice_loader *loader);
sluice_status sl_loader_start_epoch(sluice_loader *loader, uint64_t epoch);
sluice_status sl_loader_start_endless(sluice_loader *loader, uint64_t epoch);
sluice_status sl_loader_next(sluice_loader *loader, sluice_batch **batch, int64_t timeout_ns);
void sl_loader_cancel(sluice_loader *loader);
sluice_status sl_loader_save(sluice_loader *loader, void *cursor, size_t *bytes);
sluice_status sl_loader_save_at(sluice_loader *loader, uint64_t epoch, uint64_t steps, void *cursor,
                                size_t *bytes);
/* A full-size struct, zeroed. */
sluice_status sl_loader_get_position(sluice_loader *loader, sluice_loader_position *position);
sluice_status sl_loader_restore(sluice_loader *loader, const void *cursor, size_t bytes,
                                uint64_t *epoch);
/* Full-size structs, zeroed. */
sluice_status sl_loader_get_stats(sluice_loader *loader, sluice_loader_stats *stats);
/* Describes the state. `text` has space for `bytes` > 0, and is "" if the loader is closing. */
sluice_status sl_loader_describe(sluice_loader *loader, char *text, size_t bytes);
/* Returns an operation. INVALID: there is none of that number. */
sluice_status sl_loader_get_operation(sluice_loader *loader, uint32_t number,
                                      sluice_operation_stats *stats);
sluice_status sl_loader_get_stage(sluice_loader *loader, sluice_stage stage,
                                  sluice_stage_stats *stats);
/* Returns the cache's statistics, all zero without a cache. NOMEM, which get_error explains. */
sluice_status sl_loader_get_cache(sluice_loader *loader, uint64_t epoch,
                                  sluice_loader_cache *cache);
sluice_status sl_loader_get_error(sluice_loader *loader, sluice_error *error);
/* Keeps the reason a call failed, for get_error, until the next start. Inside a call; returns its
 * status. */
sluice_status sl_loader_refuse(sluice_loader *loader, const sluice_error *why);
/* ---- open_memory.c ---- */

/* Charges the budget with the memory of each row of each slot, each sample in flight and each
 * worker, except slots and read buffers; fetch charges its own. Errors: NOMEM. */
sluice_status sl_loader_charge_tables(sluice_loader *loader, sluice_error *error);
/* Checks that memory_bytes, less the part already taken, and the system suffice for the slots.
 * Errors: NOMEM, with the column that needs the most. */
sluice_status sl_loader_check_slots(const sluice_loader *loader, sluice_error *error);
/* Checks the same before the sizes of images are known, for columns whose rows do not depend on
 * them. `set` is bound to some sizes. */
sluice_status sl_loader_check_fixed_slots(const sluice_loader *loader, const sl_column_set *set,
                                          sluice_error *error);
/*
 * Checks that memory suffices for everything charged to the budget and for fetch, which is still to
 * come; before any of it is touched, so that none is counted twice. Gives up the copy of the
 * dataset if there is none for it. Errors: NOMEM.
 */
sluice_status sl_loader_check_memory(sluice_loader *loader, sluice_error *error);
/*
 * Returns the memory in which each worker may decode: its share of memory_bytes after slots,
 * buffers and tables (0: no limit). It depends on nothing that changes while the loader runs, so
 * that the limit on images does not, either. The copy of the dataset goes first: it is given up if
 * it would take more than half. Before fetch is opened.
 */
uint64_t sl_loader_share_scratch(sluice_loader *loader);
/* Except for `fault`. */
sl_fetch_config sl_loader_fetch_config(sluice_loader *loader);
/* Returns the processors for threads, for all configs that start some. */
const sl_processors *sl_loader_near(const sluice_loader *loader);
/* Makes the memory present that the first batch does not need. Once. */
void sl_loader_populate_rest(sluice_loader *loader);
/* false in a forked child */
bool sl_loader_is_ours(const sluice_loader *loader);

#define SL_LOADER_CLOSING (UINT32_C(1) << 31)

/* Begins and ends every call except close, which waits for the others; false: it has begun. */
bool sl_loader_enter(sluice_loader *loader);
void sl_loader_leave(sluice_loader *loader);

#endif
