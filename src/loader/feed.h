/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: from the plan to rows. The only module that maps between items of the fetch sequence, slots
 * and samples.
 *
 * Two cursors walk the same sequence of steps (epoch after epoch, until end_epoch):
 *   ask    one sample at a time, far ahead, on the fetch thread: chooses the reads (by shards,
 *          in the order of reading, which differs from that of rows);
 *   begin  one step at a time, whenever a slot is empty: assigns the slot. Beginning a step raises
 *          the fetch credit by the samples in it.
 * A step's number in that sequence is its ticket; tickets of one run are consecutive, and staging
 * returns batches in their order. `first_ticket` is the run's first.
 *
 * Rows of several samples: a row may want MEMBERS: its own sample, number 0, and its partners
 * (plan/partners.h), as many as the epoch's columns need. An order may also set each row's number
 * of members (sl_order_kind.members): they have no partners, and one bad member loses the whole
 * row. Each member is an item of the sequence, those of a row are consecutive, and each has a job;
 * the row is passed on when its last member arrives. A waiting row never holds the fetch's reserve:
 * a member that was read into the reserve is copied while its row waits for other members or for a
 * substitute, since these may have no other memory to be read into. Only a bad member itself is
 * replaced; the others wait for the substitute.
 *
 * Walk of one sample: ask (and learn, when an index entry had to be read) -> fetch reads -> deliver
 * (fetch thread; its slot is begun, or there would be no credit) -> its job, in a task for the
 * workers with others that came with it -> sl_row_run -> done. A sample that cannot be read or
 * decoded ends in sl_feed_bad: fail, replace (another sample is inserted into the fetch) or mask.
 * However it ends, its row is counted in sl_feed_done or _drop exactly once, and the last row fills
 * the slot.
 *
 * Rows of episodes whose own substitutes have run out wait for the others of their slot, so that no
 * sample is in an episode twice (feed_parking.c).
 *
 * The short path: once the whole dataset is in memory (io/resident.h), steps from ticket
 * `short_from` on are not requested: begin passes their rows to the workers, which find the bytes
 * themselves. A row whose bytes they do not find is inserted into the fetch, whose errors give the
 * reason.
 *
 * Lock: `mutex` guards both cursors, running, credit and tickets. It may be held while the lock of
 * staging, fetch or the workers' queue is taken, never the other way round; never during reads or
 * decoding. An order may plan a window of documents under it (packing.h), about 1 ms, and a step's
 * rows may be levelled (leveling.h), 0.3 to 0.6 us a row of the global batch. pending[] and what
 * collects tasks belong to the fetch thread. A row's job belongs to the thread that has the row:
 * the fetch thread until its task is submitted, the worker until it is done or inserted again.
 * `waiting` of a row decides its owner: the thread that brings it to 0 continues with the row.
 */
#ifndef SL_FEED_H
#define SL_FEED_H

#include "cache_plan.h"
#include "columns.h"
#include "config.h"
#include "leveling.h"
#include "page_order.h"
#include "partners.h"
#include "plan.h"
#include "quarantine.h"
#include "shard_order.h"
#include "staging.h"
#include "workers.h"

#include <pthread.h>

/* Most tasks that are passed on together. */
#define SL_TASKS_MAX 64U

/* A position in the sequence of steps. */
typedef struct sl_feed_cursor {
    sl_plan plan; /* of `epoch` */
    sl_step at;   /* of `step` */
    uint64_t epoch, step, steps, ticket;
    uint64_t entered; /* steps of the epoch before the plan's first */
    uint32_t row, member;
    uint32_t members; /* members of a row of the epoch, by the columns */
    /* Of the current row, set when its first member is requested: */
    uint32_t row_members;
    uint64_t row_sample; /* in the order */
    bool done;           /* past the last epoch */
} sl_feed_cursor;

/* One row that needs a sample. */
typedef struct sl_row_want {
    uint64_t epoch, ticket, position;
    uint64_t repetition; /* like sl_visit's */
    uint32_t row;
    uint32_t member;  /* 0: the row's own sample; else the partner of that number */
    uint32_t members; /* of the row */
    uint32_t attempt; /* 0: the plan's own sample; else the attempt-th substitute */
    sl_sample sample; /* only its number, until it is located */
} sl_row_want;

/* A slot whose step is being made. */
typedef struct sl_feed_slot {
    uint32_t number; /* staging's */
    uint32_t rows;
    uint32_t members;        /* of a row, as the columns say */
    _Atomic uint32_t left;   /* rows that are not finished */
    _Atomic uint32_t parked; /* of those: feed_parking.c */
    _Atomic bool dropped;    /* some rows were not made: the step will not be returned */
    sl_part_view parts;
    uint64_t epoch, ticket; /* of the step */
    sl_step step;
    sl_order order;     /* of the epoch */
    sl_meeting meeting; /* of rows that are mixed */
} sl_feed_slot;

/* A member of a row, and its bytes. */
typedef struct sl_job {
    sl_row_want want;
    sl_feed_slot *slot;
    sl_fetch_bytes bytes;
    uint8_t *copy; /* to be freed, if not NULL; NULL: the fetch's bytes */
    uint32_t next; /* the first member's: next row of its task; the last one's is unused */
} sl_job;

/* A row whose members are in flight. */
typedef struct sl_gathering {
    _Atomic uint32_t waiting; /* members that have not arrived */
    _Atomic bool failed;      /* one of them will not be used, or failed: */
    _Atomic bool canceled;
    bool parked; /* feed->mutex */
} sl_gathering;

/* Input of a worker: rows that became ready together. */
typedef struct sl_task {
    /* rows [first, first + count) of it (of its by_page, if there is one), by the short path;
     * NULL: */
    sl_feed_slot *slot;
    uint32_t first; /* a list of jobs that begins with this one */
    uint32_t count;
} sl_task;

/* The fetch thread's: jobs that are delivered but not yet submitted. */
typedef struct sl_feed_tasks {
    sl_task open; /* being collected; count 0: none */
    uint32_t last;
    uint64_t bytes;
    sl_task closed[SL_TASKS_MAX];
    uint32_t count;
} sl_feed_tasks;

typedef struct sl_feed {
    /* immutable after open */
    const sl_config *config;
    const sl_dataset *dataset;
    sl_staging *staging;
    sl_fetch *fetch;
    sl_workers *workers;
    sl_quarantine *quarantine;
    const sl_column_set *columns;
    const sl_partners *partners;
    const sl_classes *classes;    /* NULL: no partner's rule uses them */
    sl_cache_plan *cache_plan;    /* NULL: nothing is kept in the chunk cache. Set before start */
    uint32_t members;             /* of a row, at most */
    sl_order_source plain;        /* all samples, in a plain order, or of a mix in its own */
    const sl_order_source *order; /* the loader's; `plain`, unless it was set before open */

    pthread_mutex_t mutex;
    bool running;
    sl_feed_cursor ask, begin;
    sl_leveling leveling; /* of their steps */
    uint64_t first_ticket, asked, credit;
    uint64_t short_from; /* first ticket on the short path; UINT64_MAX: none */
    /* The shards of a dataset that is read front to back, else NULL. by_shards: rows are requested
     * in that order, by the walk. */
    const sl_shard_set *shards;
    bool by_shards;
    sl_shard_walk walk;
    uint64_t rows_asked, rows_before; /* of the run; before the walk's epoch */
    uint64_t shard, passes; /* in order: shard of the last requested sample; files read so far */
    _Atomic uint64_t alone; /* items that were requested outside of any pass */
    sl_feed_slot *slots;    /* of ticket t: slots[t % prefetch] */
    _Atomic uint8_t *met;   /* of their meetings */

    /* With episodes, else NULL: the final sample of each row of each slot, UINT64_MAX: none. */
    uint64_t *finals;
    sl_gathering *gatherings; /* of each row of each slot: [slot x batch + row] */
    /* of each member: [(slot x batch + row) x members + member]; rows with fewer members leave
     * the rest unused */
    sl_job *jobs;
    /* If samples share pages, else NULL. Like jobs, for each row of each slot: the rows on the
     * short path, in the order of their pages. And jobs that are delivered but not in a task yet;
     * fetch thread. */
    sl_paged_row *by_page, *delivered;
    uint32_t delivered_count;
    sl_row_want *pending; /* of item s: pending[s % lookahead]; fetch thread */
    sl_feed_tasks tasks;

    /* Queued rows need not be decoded any more. Set before the run is torn down, read by workers;
     * only a hint, so relaxed. */
    _Atomic bool stopping;
    /* rows were lost between stages: sl_feed_stop drops them. Set by the stopping thread */
    bool lost;
    _Atomic uint64_t samples, bad, replaced;
    _Atomic uint64_t short_bytes; /* stored bytes of rows on the short path */
} sl_feed;

/* Returns a plain order of all samples of the dataset, or for a mix its own. */
sl_order_source sl_feed_plain(const sl_config *config, const sl_dataset *dataset);
/* Allocates, for feed->columns and feed->order (NULL: the plain one); staging, fetch and workers
 * are set by the loader afterwards, before start. */
sluice_status sl_feed_open(sl_feed *feed, const sl_config *config, const sl_dataset *dataset,
                           sluice_error *error);
void sl_feed_close(sl_feed *feed);
/* Before start; `shards` stay. Errors: NOMEM. */
sluice_status sl_feed_use_shards(sl_feed *feed, const sl_shard_set *shards, sluice_error *error);

/* Returns the plan of an epoch entered at position `start`. */
sl_plan sl_feed_plan(const sl_feed *feed, uint64_t epoch, uint64_t start);

/*
 * Begins a run at (epoch, start). Nothing may be in flight (after open or sl_feed_stop).
 * `end_epoch` is the first epoch that must not be read ahead.
 */
void sl_feed_start(sl_feed *feed, uint64_t epoch, uint64_t start);
/* Ends the run: no item is requested or delivered any more and all slots are empty or held. */
void sl_feed_stop(sl_feed *feed);

/* Called when a host slot became empty: begins as many steps as there are empty slots. Any
 * thread. */
void sl_feed_begin_steps(sl_feed *feed);

/* Submits tasks to the workers. */
void sl_feed_submit(sl_feed *feed, const sl_task *tasks, uint32_t count);

/* Returns the samples that an epoch drops, on all ranks together. */
static inline uint64_t sl_feed_dropped(const sluice_loader_options *options, uint64_t samples)
{
    const uint64_t global = (uint64_t)options->batch_size * options->world_size;
    return options->last_batch == SLUICE_LAST_DROP ? samples % global : 0;
}

/* ---- feed_ask.c: the cursors; with the mutex, except for sl_feed_ask ---- */

/* Settles on the first existing step at or after (epoch, start). */
void sl_feed_enter(sl_feed *feed, sl_feed_cursor *cursor, uint64_t epoch, uint64_t start);
void sl_feed_next_step(sl_feed *feed, sl_feed_cursor *cursor);
/* Enters the walk, if there is one, after the requesting cursor was entered. */
void sl_feed_enter_shards(sl_feed *feed);
/* Finds the next row that needs a sample read. Sets of `item`: tag, its place in the fetch
 * sequence; and its order of delivery and pass. False at the end of the run. Fetch thread. */
bool sl_feed_ask(sl_feed *feed, sl_row_want *want, sl_fetch_item *item);
/* Called after the end of the run: drops rows of begun steps whose samples were not requested yet.
 * No other thread may use the feed. */
void sl_feed_drop_unasked(sl_feed *feed);

/* ---- feed_items.c: source functions of fetch; `ctx` is the feed ---- */

sluice_status sl_feed_next(void *ctx, sl_fetch_item *item);
sluice_status sl_feed_learn(void *ctx, sl_fetch_item *item, sl_bytes bytes, sl_failure *failure);
sl_piece sl_feed_piece(void *ctx, const sl_fetch_item *item, uint32_t number);
void sl_feed_deliver(void *ctx, const sl_fetch_item *item, sluice_status status,
                     const sl_fetch_bytes *bytes, const sluice_error *error);
void sl_feed_flush(void *ctx);

/* Requests the want's sample outside the sequence, for its row, which waits for it; false if the
 * run is ending. */
bool sl_feed_insert(sl_feed *feed, const sl_row_want *want);
/* Copies the bytes of a job whose row will wait for another sample, if they are in the fetch's
 * reserve, and releases the reserve. Errors: NOMEM. */
sluice_status sl_feed_keep(const sl_feed *feed, sl_job *job, sluice_error *error);
/*
 * Reads a remote job's corrupt bytes again, from the store itself: a cache on the way may have
 * changed them. True if they differ now, in job->copy; the handle stays the job's. Blocks, unless
 * the run is being stopped.
 */
bool sl_feed_reread(const sl_feed *feed, sl_job *job);
/* Releases what these jobs hold. */
void sl_feed_release(const sl_feed *feed, sl_job *jobs, uint32_t count);

/* ---- feed_rows.c: the end of a row ---- */

/* Finds the jobs of the members of row `row`, sample `index`, of a slot on the short path. False:
 * missing ones were inserted, or the row dropped. */
bool sl_feed_find(sl_feed *feed, sl_feed_slot *slot, uint32_t row, uint64_t index, sl_job *jobs);
/* Counts `rows` more finished rows of the slot; the last one fills it. */
void sl_feed_done(sl_feed *feed, sl_feed_slot *slot, uint32_t rows);
/* Counts rows that are not made, since the run is being stopped. */
void sl_feed_drop(sl_feed *feed, sl_feed_slot *slot, uint32_t rows);
/* Applies the policy to a job whose sample cannot be used. True: another one was requested, and its
 * row waits. False: the row is lost, and the error reported. */
bool sl_feed_substitute(sl_feed *feed, const sl_job *job, const sluice_error *error);
/* Applies the policy to member `bad` of a row whose members have all arrived, and finishes the row
 * if it is lost. Releases the jobs' bytes, or keeps them for the row. */
void sl_feed_bad(sl_feed *feed, sl_job *jobs, uint32_t bad, const sluice_error *error);
/* Fails the row's batch, regardless of the policy: its samples may be good, but the machine lacks
 * memory for them, and results of good samples must not differ from run to run. */
void sl_feed_fail(sl_feed *feed, sl_job *jobs, const sluice_error *error);
/* Makes a row without a sample after all, since the job's was bad. */
void sl_feed_blank(sl_feed *feed, const sl_job *job);
/* Handles a row whose last member arrived or failed: submits, finishes or drops it. The fetch
 * thread; and a worker, for a row that is not to be submitted. */
void sl_feed_gathered(sl_feed *feed, uint64_t ticket, uint32_t row);
/* Returns the sample that is partner `want->member` of a row's own, as planned. */
uint64_t sl_feed_partner(const sl_feed *feed, const sl_row_want *want, uint64_t own);
/* Returns the dataset's sample of member `want->member` of a row; `own`: the order's sample at the
 * row's position. */
uint64_t sl_feed_member(const sl_feed *feed, const sl_row_want *want, uint64_t own);
/* Returns the members of a row of a step of the order; `usual`: the columns' number. */
uint32_t sl_feed_members(const sl_step *step, const sl_order *order, uint32_t row, uint32_t usual);

/* ---- feed_parking.c: rows of episodes ---- */

/* Begins a step. */
void sl_feed_begin_finals(sl_feed *feed, sl_feed_slot *slot);
/* Records the sample of a row that is made, before it is counted. */
void sl_feed_final(sl_feed *feed, const sl_feed_slot *slot, uint32_t row, uint64_t sample);
/* Returns whether the want's attempt must wait for the other rows of its episode. */
bool sl_feed_must_park(const sl_feed *feed, const sl_row_want *want);
/* Makes the row wait for them, and requests its sample then; false if the run is ending. */
bool sl_feed_park(sl_feed *feed, const sl_row_want *want);
/* Called when rows of the slot are finished, but not the last one. */
void sl_feed_done_beside_parked(sl_feed *feed, sl_feed_slot *slot);
/* Called after the end of the run: drops parked rows, before those not requested. */
void sl_feed_drop_parked(sl_feed *feed);

/* ---- feed_substitutes.c ---- */

/* Finds the sample to try for a want whose earlier attempts were bad; false: there is no more to
 * try. It fits everything else that depends on the row's own sample: the bucket of its batch, the
 * class of its episode, and the class of its partners' rules. */
bool sl_feed_other(const sl_feed *feed, const sl_row_want *want, uint64_t *sample);

/* Returns the repetition, as if the dataset were repeated: a sample that repeats in an epoch gets
 * draws of its own. */
static inline uint64_t sl_feed_repetition(const sl_feed *feed, const sl_order *order,
                                          uint64_t position)
{
    return order->kind->repetition == NULL
               ? 0
               : order->kind->repetition(order, position) * feed->dataset->info.samples;
}

static inline sl_visit sl_feed_visit(const sl_row_want *want)
{
    return (sl_visit){want->epoch, want->repetition};
}

static inline sl_feed_slot *sl_feed_slot_of(const sl_feed *feed, uint64_t ticket)
{
    return &feed->slots[ticket % feed->config->options.prefetch];
}

/* Returns the slot's rows on the short path, by page; NULL: they keep their order. */
static inline sl_paged_row *sl_feed_by_page(const sl_feed *feed, const sl_feed_slot *slot)
{
    return feed->by_page != NULL
               ? feed->by_page + (size_t)(slot - feed->slots) * feed->config->options.batch_size
               : NULL;
}

/* Returns where a row with a sample meets its partner; NULL: rows are not mixed. */
static inline sl_meeting *sl_feed_meeting(const sl_feed *feed, sl_feed_slot *slot)
{
    return feed->columns->mixers > 0 ? &slot->meeting : NULL;
}

/* Returns the sample number that the batch shows: the order's. */
static inline int64_t sl_feed_shown(const sl_feed *feed, const sl_row_want *want)
{
    const uint64_t index = want->sample.index;
    return (int64_t)(feed->order->kind->members != NULL ? index / feed->members : index);
}

/* Returns the number of a row of a slot, and of the job of its first member. */
static inline uint32_t sl_feed_row_of(const sl_feed *feed, uint64_t ticket, uint32_t row)
{
    const sluice_loader_options *o = &feed->config->options;
    return (uint32_t)(ticket % o->prefetch) * o->batch_size + row;
}

static inline uint32_t sl_feed_job_of(const sl_feed *feed, uint64_t ticket, uint32_t row)
{
    return sl_feed_row_of(feed, ticket, row) * feed->members;
}

static inline sl_gathering *sl_feed_gathering(const sl_feed *feed, const sl_row_want *want)
{
    return &feed->gatherings[sl_feed_row_of(feed, want->ticket, want->row)];
}

#endif
