/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache_plan: gives the chunk cache of remote data (remote/caching.h) the reads of epochs.
 *
 * Purpose: finds the first and the last use of each chunk in the current epoch, by all ranks of
 * this host, and its first use in the next epoch; and reports the reading position. Orders are
 * functions, so the next epoch is known, whether or not this run reads it. A dataset of local files
 * has no cache plan, and nothing is computed.
 *
 * Ranks of this host: those that the launcher counts there (sluice/ranks.h), if its numbers are the
 * loader's; they are assumed to be consecutive. Otherwise this rank alone.
 *
 * Threads: one of its own, of low priority, which walks a sample in about 60 ns, and those of
 * caching. enter and advance by the feed, under its mutex. Lock: one mutex. Memory: 32 bytes a
 * chunk, 64 more while a plan is made, and caching's.
 */
#ifndef SL_CACHE_PLAN_H
#define SL_CACHE_PLAN_H

#include <sluice/common.h>

struct sl_feed;
struct sl_objects;
struct sl_budget;
struct sl_caching_stats;
struct sl_chunk_hits;
struct sl_chunk_waits;

typedef struct sl_cache_plan sl_cache_plan;

/* Opens the plan of a feed that is open, and charges `budget` with its memory. OK with `*plan`
 * NULL: none of the dataset is kept. Errors: NOMEM. */
sluice_status sl_cache_plan_open(sl_cache_plan **plan, const struct sl_feed *feed,
                                 struct sl_budget *budget, sluice_error *error);
/* Closes it, before the feed and its dataset are closed; no thread may advance any more. NULL is a
 * no-op. */
void sl_cache_plan_close(sl_cache_plan *plan);
/* Returns the waits of the loader's reads; holders may outlive the plan. NULL for no plan. */
struct sl_chunk_waits *sl_cache_plan_waits(const sl_cache_plan *plan);

/* Begins a run at (epoch, start). */
void sl_cache_plan_enter(sl_cache_plan *plan, uint64_t epoch, uint64_t start);
/* Reports the row requested last, by its number in the epoch. Begins a later epoch than the one
 * before. */
void sl_cache_plan_advance(sl_cache_plan *plan, uint64_t epoch, uint64_t row);

/* Returns statistics of the chunks of the current epoch so far. */
void sl_cache_plan_get_stats(sl_cache_plan *plan, struct sl_caching_stats *stats);
/* Finds the bytes of this rank that any policy and LRU could serve in `epoch` without a download,
 * after the epoch before, with the whole cache. Walks both. INVALID: epoch 0. Errors: NOMEM. */
sluice_status sl_cache_plan_simulate(sl_cache_plan *plan, uint64_t epoch,
                                     struct sl_chunk_hits *hits, sluice_error *error);

#endif
