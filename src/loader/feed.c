/* SPDX-License-Identifier: Apache-2.0 */
#include "feed.h"

#include "error.h"
#include "memory.h"
#include "thread.h"

#include <assert.h>
#include <string.h>

#define ATTEMPTS_MAX 8

sluice_status sl_feed_open(sl_feed *feed, const sl_config *config, const sl_dataset *dataset,
                           sluice_error *error)
{
    const sluice_loader_options *o = &config->options;
    feed->config = config;
    feed->dataset = dataset;
    sl_mutex_init(&feed->mutex);
    feed->pending = sl_calloc(config->lookahead, sizeof(*feed->pending));
    feed->slots = sl_calloc(o->prefetch, sizeof(*feed->slots));
    feed->substitutes = sl_calloc(config->inserts, sizeof(*feed->substitutes));
    feed->free_substitutes = sl_calloc(config->inserts, sizeof(*feed->free_substitutes));
    if (feed->pending == NULL || feed->slots == NULL || feed->substitutes == NULL ||
        feed->free_substitutes == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, "loader", "out of memory for the row tables");
    }
    for (uint32_t i = 0; i < config->inserts; i++) {
        feed->free_substitutes[feed->free_count++] = i;
    }
    return SLUICE_OK;
}

void sl_feed_close(sl_feed *feed)
{
    sl_free(feed->pending);
    sl_free(feed->slots);
    sl_free(feed->substitutes);
    sl_free(feed->free_substitutes);
    sl_mutex_destroy(&feed->mutex);
}

sl_plan sl_feed_plan(const sl_feed *feed, uint64_t epoch, uint64_t start)
{
    const sluice_loader_options *o = &feed->config->options;
    const sl_plan plan = {
        .order = sl_order_make((sluice_shuffle)o->shuffle, feed->dataset->info.samples,
                               o->block_samples, o->window_blocks, o->seed, epoch),
        .start = start,
        .batch = o->batch_size,
        .rank = o->rank,
        .world = o->world_size,
        .last = (sluice_last_batch)o->last_batch,
    };
    return plan;
}

/* ---- cursors ---- */

/* Settles on the first step at or behind (epoch, start) that exists. */
static void cursor_enter(const sl_feed *feed, sl_feed_cursor *cursor, uint64_t epoch,
                         uint64_t start)
{
    for (;; epoch++, start = 0) {
        cursor->done = epoch >= feed->config->options.end_epoch;
        if (cursor->done) {
            return;
        }
        cursor->plan = sl_feed_plan(feed, epoch, start);
        cursor->epoch = epoch;
        cursor->steps = sl_plan_steps(&cursor->plan);
        cursor->step = 0;
        cursor->row = 0;
        if (cursor->steps > 0) {
            cursor->at = sl_plan_step(&cursor->plan, 0);
            return;
        }
    }
}

static void cursor_next_step(const sl_feed *feed, sl_feed_cursor *cursor)
{
    cursor->ticket++;
    cursor->row = 0;
    if (++cursor->step < cursor->steps) {
        cursor->at = sl_plan_step(&cursor->plan, cursor->step);
        return;
    }
    cursor_enter(feed, cursor, cursor->epoch + 1, 0);
}

/* ---- slots ---- */

static sl_feed_slot *slot_of(const sl_feed *feed, uint64_t ticket)
{
    return &feed->slots[ticket % feed->config->options.prefetch];
}

/* `rows` more rows are made. The last one sees all of them, and fills the slot. */
static void rows_done(sl_feed *feed, sl_feed_slot *slot, uint32_t rows)
{
    uint64_t sizes[SL_RAGGED_MAX] = {0};
    if (atomic_fetch_sub_explicit(&slot->left, rows, memory_order_acq_rel) == rows) {
        sl_columns_finish(feed->columns, slot->rows, slot->parts, sizes);
        sl_staging_filled(feed->staging, slot->number, sizes);
    }
}

/* Fills a slot that is begun, for `step`, with the rows that want no sample. */
static void open_slot(sl_feed *feed, sl_feed_slot *slot, const sl_step *step)
{
    slot->rows = step->rows;
    atomic_store_explicit(&slot->left, step->rows + 1, memory_order_relaxed);
    for (uint32_t row = step->filled; row < step->rows; row++) {
        sl_columns_blank(feed->columns, &(sl_row_place){-1, row, SLUICE_ROW_PADDING}, slot->parts);
    }
    rows_done(feed, slot, step->rows - step->filled + 1);
}

/* Takes the next empty slot for the next step; false when there is none of either. */
static bool begin_step_locked(sl_feed *feed)
{
    sl_feed_cursor *cursor = &feed->begin;
    if (!feed->running || cursor->done) {
        return false;
    }
    const sl_batch_facts facts = {
        .epoch = cursor->epoch, .step = cursor->step, .rows = cursor->at.rows};
    sl_feed_slot *slot = slot_of(feed, cursor->ticket);
    if (sl_staging_begin(feed->staging, &facts, &slot->number, &slot->parts) != SLUICE_OK) {
        return false;
    }
    open_slot(feed, slot, &cursor->at);
    feed->credit += cursor->at.filled;
    cursor_next_step(feed, cursor);
    return true;
}

void sl_feed_begin_steps(sl_feed *feed)
{
    sl_lock(&feed->mutex);
    bool any = false;
    while (begin_step_locked(feed)) {
        any = true;
    }
    const uint64_t credit = feed->credit;
    if (any) {
        sl_fetch_credit(feed->fetch, credit);
    }
    sl_unlock(&feed->mutex);
}

/* ---- runs ---- */

void sl_feed_start(sl_feed *feed, uint64_t epoch, uint64_t start)
{
    sl_lock(&feed->mutex);
    assert(!feed->running);
    feed->first_ticket = sl_staging_begun(feed->staging);
    feed->ask = (sl_feed_cursor){.ticket = feed->first_ticket};
    cursor_enter(feed, &feed->ask, epoch, start);
    feed->begin = feed->ask;
    feed->asked = 0;
    feed->credit = 0;
    feed->running = true;
    atomic_store_explicit(&feed->stopping, false, memory_order_relaxed);
    sl_unlock(&feed->mutex);
    sl_feed_begin_steps(feed);
    sl_fetch_wake(feed->fetch);
}

/* Rows of steps that were begun but whose samples nobody had asked for yet. */
static void complete_unasked(sl_feed *feed)
{
    sl_feed_cursor *ask = &feed->ask;
    while (ask->ticket < feed->begin.ticket) {
        if (ask->row < ask->at.filled) {
            rows_done(feed, slot_of(feed, ask->ticket), ask->at.filled - ask->row);
        }
        cursor_next_step(feed, ask);
    }
}

void sl_feed_stop(sl_feed *feed)
{
    sl_lock(&feed->mutex);
    feed->running = false;
    atomic_store_explicit(&feed->stopping, true, memory_order_relaxed);
    sl_unlock(&feed->mutex);
    sl_fetch_restart(feed->fetch);
    complete_unasked(feed);
    sl_staging_drain(feed->staging);
}

/* ---- fetch source ---- */

/* Moves to the next step with a row to fill. A rank whose share of an epoch is empty has the same
 * share in every epoch: one whole epoch without a row is the end of the run. */
static void ask_skip_steps(sl_feed *feed)
{
    sl_feed_cursor *ask = &feed->ask;
    const uint64_t entered = ask->epoch;
    while (!ask->done && ask->row >= ask->at.filled) {
        cursor_next_step(feed, ask);
        if (!ask->done && ask->epoch > entered + 1) {
            ask->done = true;
        }
    }
}

/* The next row that wants a sample, or false at the end of the run. */
static bool ask_next(sl_feed *feed, sl_row_want *want, uint64_t *sequence)
{
    sl_feed_cursor *ask = &feed->ask;
    sl_lock(&feed->mutex);
    if (feed->running) {
        ask_skip_steps(feed);
    }
    const bool found = feed->running && !ask->done;
    if (found) {
        want->epoch = ask->epoch;
        want->ticket = ask->ticket;
        want->row = ask->row;
        want->attempt = 0;
        want->position = ask->at.first + ask->row;
        want->sample.index = sl_order_sample(&ask->plan.order, want->position);
        *sequence = feed->asked++;
        ask->row++;
    }
    sl_unlock(&feed->mutex);
    return found;
}

/* What to read for a sample whose look-up ended in `status`. */
static sl_fetch_item item_at(const sl_place *place, sluice_status status)
{
    return (sl_fetch_item){.offset = place->offset,
                           .bytes = place->bytes,
                           .object = place->object,
                           .lookup = status == SLUICE_AGAIN};
}

/*
 * What to read for a want whose sample's number is known. An index entry that is bad fails the want
 * when it is learned: there it takes its turn, with the entry's bytes read once more.
 */
static sl_fetch_item locate(const sl_feed *feed, sl_row_want *want)
{
    const uint64_t index = want->sample.index;
    sl_place lookup;
    sl_refusal why;
    const sluice_status status =
        sl_dataset_locate(feed->dataset, index, &want->sample, &lookup, &why);
    return status == SLUICE_OK ? item_at(&want->sample.place, status)
                               : item_at(&lookup, SLUICE_AGAIN);
}

sluice_status sl_feed_next(void *ctx, sl_fetch_item *item)
{
    sl_feed *feed = ctx;
    uint64_t sequence;
    sl_row_want want;
    if (!ask_next(feed, &want, &sequence)) {
        return SLUICE_END;
    }
    *item = locate(feed, &want);
    item->tag = sequence;
    feed->pending[sequence % feed->config->lookahead] = want;
    return SLUICE_OK;
}

/* The want of an item that is on its way. */
static sl_row_want *want_of(sl_feed *feed, const sl_fetch_item *item)
{
    return item->sequence != SL_INSERTED ? &feed->pending[item->sequence % feed->config->lookahead]
                                         : &feed->substitutes[item->tag];
}

sluice_status sl_feed_learn(void *ctx, sl_fetch_item *item, sl_bytes bytes, sl_failure *failure)
{
    sl_feed *feed = ctx;
    sl_sample *sample = &want_of(feed, item)->sample;
    const uint64_t index = sample->index;
    sl_place lookup = {.offset = item->offset, .bytes = item->bytes, .object = item->object};
    sl_refusal why;
    const sluice_status status =
        sl_dataset_learn(feed->dataset, index, bytes, sample, &lookup, &why);
    if (status < 0) {
        sample->index = index;
        failure->text = why.text;
        failure->offset = lookup.offset + why.offset;
        return status;
    }
    const sl_fetch_item next = item_at(status == SLUICE_OK ? &sample->place : &lookup, status);
    item->offset = next.offset;
    item->bytes = next.bytes;
    item->object = next.object;
    item->lookup = next.lookup;
    return SLUICE_OK;
}

/* Takes back the want of a delivered item. */
static sl_row_want collect(sl_feed *feed, const sl_fetch_item *item)
{
    const sl_row_want want = *want_of(feed, item);
    if (item->sequence == SL_INSERTED) {
        sl_lock(&feed->mutex);
        feed->free_substitutes[feed->free_count++] = (uint32_t)item->tag;
        sl_unlock(&feed->mutex);
    }
    return want;
}

/* Whether the step of a want was begun: it is not always, in a cancelled run. */
static bool is_begun(sl_feed *feed, const sl_row_want *want)
{
    sl_lock(&feed->mutex);
    const bool begun = want->ticket < feed->begin.ticket;
    sl_unlock(&feed->mutex);
    return begun;
}

/*
 * Asks for the want's sample outside the sequence; false when the run is ending or too many are on
 * their way. Under the mutex: sl_feed_stop must not go on to close fetch while this is in it.
 */
static bool insert(sl_feed *feed, sl_row_want *want)
{
    sl_fetch_item item = locate(feed, want);
    sl_lock(&feed->mutex);
    const bool possible = feed->running && feed->free_count > 0;
    if (possible) {
        const uint32_t tag = feed->free_substitutes[--feed->free_count];
        feed->substitutes[tag] = *want;
        item.tag = tag;
        sl_fetch_insert(feed->fetch, &item);
    }
    sl_unlock(&feed->mutex);
    return possible;
}

static void deliver_failure(sl_feed *feed, sl_job *job, const sluice_error *error)
{
    sluice_error reason = *error;
    reason.sample = (int64_t)job->want.sample.index;
    sl_feed_bad(feed, job, &reason);
}

void sl_feed_deliver(void *ctx, const sl_fetch_item *item, sluice_status status,
                     const sl_fetch_bytes *bytes, const sluice_error *error)
{
    sl_feed *feed = ctx;
    sl_job job = {.want = collect(feed, item)};
    if (!is_begun(feed, &job.want)) {
        assert(status == SLUICE_CANCELED);
        return;
    }
    job.slot = slot_of(feed, job.want.ticket);
    if (status == SLUICE_CANCELED) {
        sl_feed_drop(feed, &job);
    } else if (status != SLUICE_OK) {
        deliver_failure(feed, &job, error);
    } else {
        job.bytes = *bytes;
        const sluice_status submitted = sl_workers_submit(feed->workers, &job);
        assert(submitted == SLUICE_OK); /* fetch is closed before the workers */
        (void)submitted;
    }
}

/* ---- ends of a row ---- */

void sl_feed_good(sl_feed *feed, const sl_job *job)
{
    atomic_fetch_add_explicit(&feed->samples, 1, memory_order_relaxed);
    if (job->want.attempt > 0) {
        atomic_fetch_add_explicit(&feed->replaced, 1, memory_order_relaxed);
    }
    rows_done(feed, job->slot, 1);
}

void sl_feed_drop(sl_feed *feed, const sl_job *job)
{
    rows_done(feed, job->slot, 1);
}

/* Asks for another sample in place of the want's; false when there is no more to try. */
static bool insert_substitute(sl_feed *feed, const sl_row_want *bad)
{
    if (bad->attempt >= ATTEMPTS_MAX || feed->dataset->info.samples < 2) {
        return false;
    }
    const sl_plan plan = sl_feed_plan(feed, bad->epoch, 0);
    sl_row_want want = *bad;
    want.attempt++;
    want.sample.index = sl_plan_substitute(&plan, feed->config->options.seed, bad->epoch,
                                           bad->position, want.attempt);
    return insert(feed, &want);
}

void sl_feed_bad(sl_feed *feed, const sl_job *job, const sluice_error *error)
{
    const sl_row_want *want = &job->want;
    assert(error->status < 0);
    atomic_fetch_add_explicit(&feed->bad, 1, memory_order_relaxed);
    sl_quarantine_add(feed->quarantine, want->epoch, error);
    const int32_t policy = feed->config->options.on_bad_sample;
    if (policy == SLUICE_BAD_REPLACE && insert_substitute(feed, want)) {
        return;
    }
    if (policy == SLUICE_BAD_FAIL) {
        sl_staging_fail(feed->staging, job->slot->number, error);
    }
    sl_columns_blank(feed->columns,
                     &(sl_row_place){(int64_t)want->sample.index, want->row, SLUICE_ROW_BAD},
                     job->slot->parts);
    rows_done(feed, job->slot, 1);
}
