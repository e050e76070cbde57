/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: from the plan to rows. The only place that knows which item of the fetch sequence, which
 * slot and which sample belong together.
 *
 * Two cursors walk the same sequence of steps (epoch after epoch, until end_epoch):
 *   ask    one sample at a time, far ahead, on the fetch thread: what to read (by shards, in the
 *          order of reading, which is another than that of rows);
 *   begin  one step at a time, whenever a slot is empty: where it will go. Beginning a step raises
 *          the fetch credit by the samples in it.
 * A step's number in that sequence is its ticket; tickets of one run are consecutive, and staging
 * hands batches out in their order. `first_ticket` is the run's first.
 *
 * Rows of several samples: a row may want MEMBERS, its own sample, number 0, and partners of it
 * (plan/partners.h), as many as its epoch's columns make rows of. An order may also give each row a
 * number of members of its own (sl_order_kind.members): they have no partners, and the row is lost
 * as a whole if one of them is bad. Each member is an item of the sequence, a row's one behind the
 * other, and has a job; the row is handed over when the last of them is there. A row that waits
 * never holds the fetch's reserve: what came by the reserve is copied where its row waits for other
 * members, and where it waits for a substitute, since these may have no other memory to come by. A
 * bad member alone is replaced: the others wait for it.
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
 * `short_from` on are not asked for: begin hands their rows to the workers, which find the bytes
 * themselves. A row whose bytes they do not find is inserted into the fetch, whose errors say why.
 *
 * Lock: `mutex` guards both cursors, running, credit and tickets. It may be held while the lock of
 * staging, fetch or the workers' queue is taken, never the other way round; never during reads or
 * decoding. An order may plan a window of documents under it (packing.h), about 1 ms, and a step's
 * rows may be levelled (leveling.h), 0.3 to 0.6 us a row of the global batch. pending[] and what
 * collects tasks belong to the fetch thread. A row's job belongs to the thread that has the
 * row: the fetch thread until its task is submitted, the worker until it is done or inserted again.
 * `waiting` of a row says who has it: whoever brings it to 0 goes on.
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

/* Tasks that are handed over together, at most. */
#define SL_TASKS_MAX 64U

/* A place in the sequence of steps. */
typedef struct sl_feed_cursor {
    sl_plan plan; /* of `epoch` */
    sl_step at;   /* of `step` */
    uint64_t epoch, step, steps, ticket;
    uint64_t entered; /* steps of the epoch before the plan's first */
    uint32_t row, member;
    uint32_t members; /* of a row of the epoch, as the columns say */
    /* Of the row at hand, set when its first member is asked for: */
    uint32_t row_members;
    uint64_t row_sample; /* as the order has it */
    bool done;           /* behind the last epoch */
} sl_feed_cursor;

/* One row that wants a sample. */
typedef struct sl_row_want {
    uint64_t epoch, ticket, position;
    uint64_t repetition; /* as sl_visit has it */
    uint32_t row;
    uint32_t member;  /* 0: the row's own sample; else the partner of that number */
    uint32_t members; /* of the row */
    uint32_t attempt; /* 0: the plan's own sample; else the attempt-th substitute */
    sl_sample sample; /* its number alone, until it is located */
} sl_row_want;

/* What a step is being made in. */
typedef struct sl_feed_slot {
    uint32_t number; /* staging's */
    uint32_t rows;
    uint32_t members;        /* of a row, as the columns say */
    _Atomic uint32_t left;   /* rows that are not done */
    _Atomic uint32_t parked; /* of those: feed_parking.c */
    _Atomic bool dropped;    /* some of them were not made: nobody will see the step */
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
    uint8_t *copy; /* of the bytes, to be freed; NULL: they are the fetch's */
    uint32_t next; /* the first member's: of the next row of its task; the last does not count */
} sl_job;

/* A row whose members are on their way. */
typedef struct sl_gathering {
    _Atomic uint32_t waiting; /* members that are not here */
    _Atomic bool failed;      /* one of them will not be used, or came to nothing: */
    _Atomic bool canceled;
    bool parked; /* feed->mutex */
} sl_gathering;

/* What a worker gets: rows that became ready together. */
typedef struct sl_task {
    sl_feed_slot *slot; /* rows [first, first + count) of it (of its by_page, where there is one),
                           by the short path; NULL: */
    uint32_t first;     /* a list of jobs that begins with this one */
    uint32_t count;
} sl_task;

/* The fetch thread's: jobs that are delivered and not handed over. */
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
    const sl_classes *classes;    /* NULL: no partner's rule looks at them */
    sl_cache_plan *cache_plan;    /* NULL: nothing is kept in the chunk cache. Set before start */
    uint32_t members;             /* of a row, at most */
    sl_order_source plain;        /* all samples, in a plain order, or of a mix in its own */
    const sl_order_source *order; /* the loader's; `plain`, unless it was set before open */

    pthread_mutex_t mutex;
    bool running;
    sl_feed_cursor ask, begin;
    sl_leveling leveling; /* of their steps */
    uint64_t first_ticket, asked, credit;
    uint64_t short_from; /* UINT64_MAX: no step */
    /* Of a dataset that is read from front to back, else NULL; and whether that is the order in
     * which rows are asked for, which `walk` tells. */
    const sl_shard_set *shards;
    bool by_shards;
    sl_shard_walk walk;
    uint64_t rows_asked, rows_before; /* of the run; before the walk's epoch */
    uint64_t shard, passes; /* in order: of the sample that was asked for last; files read so far */
    _Atomic uint64_t alone; /* items that were asked for outside of any pass */
    sl_feed_slot *slots;    /* of ticket t: slots[t % prefetch] */
    _Atomic uint8_t *met;   /* of their meetings */

    /* Of episodes, else NULL: the sample that each row of each slot came to, UINT64_MAX: none. */
    uint64_t *finals;
    sl_gathering *gatherings; /* of each row of each slot: [slot x batch + row] */
    sl_job *jobs; /* of each member: [(slot x batch + row) x members + member]; rows with fewer
                     members leave the rest unused */
    /* Where samples share pages, else NULL. Of each row of each slot, like jobs: the rows that go
     * the short path, in the order of their pages. And jobs that are delivered and not in a task
     * yet; fetch thread. */
    sl_paged_row *by_page, *delivered;
    uint32_t delivered_count;
    sl_row_want *pending; /* of item s: pending[s % lookahead]; fetch thread */
    sl_feed_tasks tasks;

    /* What is still queued need not be decoded. Set before the run is torn down, read by workers;
     * only a hint, so relaxed. */
    _Atomic bool stopping;
    bool lost; /* rows were, between stages: sl_feed_stop drops them. Set by who stops */
    _Atomic uint64_t samples, bad, replaced;
    _Atomic uint64_t short_bytes; /* stored bytes of rows that went the short path */
} sl_feed;

/* A plain order of all samples of the dataset, or of a mix its own. */
sl_order_source sl_feed_plain(const sl_config *config, const sl_dataset *dataset);
/* Allocates, for feed->columns and feed->order (NULL: the plain one); staging, fetch and workers
 * are set by the loader afterwards, before start. */
sluice_status sl_feed_open(sl_feed *feed, const sl_config *config, const sl_dataset *dataset,
                           sluice_error *error);
void sl_feed_close(sl_feed *feed);
/* Before start; `shards` stay. Errors: NOMEM. */
sluice_status sl_feed_use_shards(sl_feed *feed, const sl_shard_set *shards, sluice_error *error);

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

/* Gives tasks to the workers. */
void sl_feed_submit(sl_feed *feed, const sl_task *tasks, uint32_t count);

/* Samples that an epoch drops, on all ranks together. */
static inline uint64_t sl_feed_dropped(const sluice_loader_options *options, uint64_t samples)
{
    const uint64_t global = (uint64_t)options->batch_size * options->world_size;
    return options->last_batch == SLUICE_LAST_DROP ? samples % global : 0;
}

/* ---- feed_ask.c: the cursors; with the mutex, except for sl_feed_ask ---- */

/* Settles on the first step at or behind (epoch, start) that exists. */
void sl_feed_enter(sl_feed *feed, sl_feed_cursor *cursor, uint64_t epoch, uint64_t start);
void sl_feed_next_step(sl_feed *feed, sl_feed_cursor *cursor);
/* The cursor that asks was entered somewhere: so is the walk, where there is one. */
void sl_feed_enter_shards(sl_feed *feed);
/* The next row that wants a sample read. Of `item` are set: tag, its place in the fetch sequence;
 * and what says in which order it is due and in which pass. False at the end of the run. Fetch
 * thread. */
bool sl_feed_ask(sl_feed *feed, sl_row_want *want, sl_fetch_item *item);
/* The run has ended: drops rows of steps that were begun but whose samples nobody asked for, and
 * would have. Alone with the feed. */
void sl_feed_drop_unasked(sl_feed *feed);

/* ---- feed_items.c: source functions of fetch; `ctx` is the feed ---- */

sluice_status sl_feed_next(void *ctx, sl_fetch_item *item);
sluice_status sl_feed_learn(void *ctx, sl_fetch_item *item, sl_bytes bytes, sl_failure *failure);
sl_piece sl_feed_piece(void *ctx, const sl_fetch_item *item, uint32_t number);
void sl_feed_deliver(void *ctx, const sl_fetch_item *item, sluice_status status,
                     const sl_fetch_bytes *bytes, const sluice_error *error);
void sl_feed_flush(void *ctx);

/* Asks for the want's sample outside the sequence, for its row, which waits for it; false when the
 * run is ending. */
bool sl_feed_insert(sl_feed *feed, const sl_row_want *want);
/* Copies the bytes of a job whose row will wait for another sample, if they are in the fetch's
 * reserve, and releases the reserve. Errors: NOMEM. */
sluice_status sl_feed_keep(const sl_feed *feed, sl_job *job, sluice_error *error);
/*
 * Reads a remote job's bytes once more, from the store itself, because they are corrupt: a cache on
 * the way may have changed them. True if they are other bytes now, in job->copy; the handle stays
 * the job's. Blocks, unless the run is being stopped.
 */
bool sl_feed_reread(const sl_feed *feed, sl_job *job);
/* Gives back what these jobs hold. */
void sl_feed_release(const sl_feed *feed, sl_job *jobs, uint32_t count);

/* ---- feed_rows.c: what becomes of a row ---- */

/* Row `row`, sample `index`, of a slot that goes the short path: the jobs of its members. False:
 * what is missing of them was inserted, or the row dropped. */
bool sl_feed_find(sl_feed *feed, sl_feed_slot *slot, uint32_t row, uint64_t index, sl_job *jobs);
/* `rows` more rows of the slot are made; the last one fills it. */
void sl_feed_done(sl_feed *feed, sl_feed_slot *slot, uint32_t rows);
/* The same of rows that are not made, since the run is being stopped. */
void sl_feed_drop(sl_feed *feed, sl_feed_slot *slot, uint32_t rows);
/* The job's sample cannot be used: applies the policy. True: another one was asked for, and its row
 * waits. False: the row is lost, and the error told. */
bool sl_feed_substitute(sl_feed *feed, const sl_job *job, const sluice_error *error);
/* Member `bad` of a row whose members are all here cannot be used: the same, and does the row where
 * it is lost. Gives back what the jobs hold, or keeps it for the row. */
void sl_feed_bad(sl_feed *feed, sl_job *jobs, uint32_t bad, const sluice_error *error);
/* The row's samples may be good, and the machine has no memory for them: its batch fails, whatever
 * the policy, since what is made of good samples must not differ from run to run. */
void sl_feed_fail(sl_feed *feed, sl_job *jobs, const sluice_error *error);
/* A row that holds no sample after all, since the job's was bad. */
void sl_feed_blank(sl_feed *feed, const sl_job *job);
/* A row whose last member came, or will not: handed over, done or dropped. The fetch thread; and a
 * worker, of a row that is not to be handed over. */
void sl_feed_gathered(sl_feed *feed, uint64_t ticket, uint32_t row);
/* The sample that is partner `want->member` of a row's own, as planned. */
uint64_t sl_feed_partner(const sl_feed *feed, const sl_row_want *want, uint64_t own);
/* The dataset's sample that member `want->member` of a row is; `own`: the order's sample at the
 * row's position. */
uint64_t sl_feed_member(const sl_feed *feed, const sl_row_want *want, uint64_t own);
/* Members of a row of a step of the order; `usual`: as the columns say. */
uint32_t sl_feed_members(const sl_step *step, const sl_order *order, uint32_t row, uint32_t usual);

/* ---- feed_parking.c: rows of episodes ---- */

/* A step begins. */
void sl_feed_begin_finals(sl_feed *feed, sl_feed_slot *slot);
/* A row that is made, before it is done, has this sample. */
void sl_feed_final(sl_feed *feed, const sl_feed_slot *slot, uint32_t row, uint64_t sample);
/* Whether the want's attempt has to wait for the other rows of its episode. */
bool sl_feed_must_park(const sl_feed *feed, const sl_row_want *want);
/* Has the row wait for them, and asks for its sample then; false when the run is ending. */
bool sl_feed_park(sl_feed *feed, const sl_row_want *want);
/* Rows of the slot are done, but not the last one. */
void sl_feed_done_beside_parked(sl_feed *feed, sl_feed_slot *slot);
/* The run has ended: drops those that are parked. Before unasked ones are. */
void sl_feed_drop_parked(sl_feed *feed);

/* ---- feed_substitutes.c ---- */

/* The sample to be tried for a want whose earlier attempts were bad; false: there is no more to
 * try. It fits what else depends on the row's own sample: the bucket of its batch, the class of its
 * episode, and the class that its partners go by. */
bool sl_feed_other(const sl_feed *feed, const sl_row_want *want, uint64_t *sample);

/* As if the dataset stood several times behind itself: a sample that comes again in an epoch is
 * drawn as another one. */
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

/* The slot's rows that go the short path; NULL: they do so in their own order. */
static inline sl_paged_row *sl_feed_by_page(const sl_feed *feed, const sl_feed_slot *slot)
{
    return feed->by_page != NULL
               ? feed->by_page + (size_t)(slot - feed->slots) * feed->config->options.batch_size
               : NULL;
}

/* Where a row with a sample meets its partner; NULL: rows are not mixed. */
static inline sl_meeting *sl_feed_meeting(const sl_feed *feed, sl_feed_slot *slot)
{
    return feed->columns->mixers > 0 ? &slot->meeting : NULL;
}

/* The number of a row's sample that its batch shows: the one that the order has. */
static inline int64_t sl_feed_shown(const sl_feed *feed, const sl_row_want *want)
{
    const uint64_t index = want->sample.index;
    return (int64_t)(feed->order->kind->members != NULL ? index / feed->members : index);
}

/* Number of a row of a slot, and of the job of its first member. */
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
