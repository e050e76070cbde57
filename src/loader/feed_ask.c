/* SPDX-License-Identifier: Apache-2.0 */
/* feed_ask: the cursors, and the next row to request: in the order of batches, or, for shards, of
 * reading. */
#include "feed.h"

#include "thread.h"

/* ---- cursors ---- */

/* Sets the cursor's step of that number. */
static void set_step(sl_feed *feed, sl_feed_cursor *cursor, uint64_t step)
{
    const uint32_t whose = cursor == &feed->ask ? SL_LEVELING_ASK : SL_LEVELING_BEGIN;
    cursor->step = step;
    cursor->at = sl_plan_step(&cursor->plan, step);
    sl_leveling_place(&feed->leveling, whose, cursor->ticket, &cursor->plan, step, &cursor->at);
}

void sl_feed_enter(sl_feed *feed, sl_feed_cursor *cursor, uint64_t epoch, uint64_t start)
{
    for (;; epoch++, start = 0) {
        cursor->done = epoch >= feed->config->options.end_epoch;
        if (cursor->done) {
            return;
        }
        cursor->plan = sl_feed_plan(feed, epoch, start);
        cursor->epoch = epoch;
        cursor->steps = sl_plan_steps(&cursor->plan);
        cursor->entered = sl_plan_entered(&cursor->plan);
        cursor->row = 0;
        cursor->member = 0;
        cursor->members = sl_columns_members(feed->columns, epoch);
        if (cursor->steps > 0) {
            set_step(feed, cursor, 0);
            return;
        }
    }
}

void sl_feed_next_step(sl_feed *feed, sl_feed_cursor *cursor)
{
    cursor->ticket++;
    cursor->row = 0;
    cursor->member = 0;
    if (cursor->step + 1 < cursor->steps) {
        set_step(feed, cursor, cursor->step + 1);
        return;
    }
    sl_feed_enter(feed, cursor, cursor->epoch + 1, 0);
}

/* ---- in the order of batches ---- */

/* Moves to the next step with a row to fill. A rank whose share of an epoch is empty has the same
 * share in every epoch: one whole epoch without a row is the end of the run. */
static void skip_steps(sl_feed *feed)
{
    sl_feed_cursor *ask = &feed->ask;
    const uint64_t entered = ask->epoch;
    while (!ask->done && ask->row >= ask->at.filled) {
        sl_feed_next_step(feed, ask);
        if (!ask->done && ask->epoch > entered + 1) {
            ask->done = true;
        }
    }
}

/* Finds the sample requested after the present one in the same epoch; false: there is none. */
static bool look_ahead(const sl_feed_cursor *ask, uint64_t *sample)
{
    sl_step step = ask->at;
    uint32_t row = ask->row + 1;
    if (row >= step.filled && ask->step + 1 < ask->steps) {
        step = sl_plan_step(&ask->plan, ask->step + 1);
        row = 0;
    }
    if (row >= step.filled) {
        return false;
    }
    *sample = sl_order_sample(&ask->plan.order, sl_step_position(&step, &ask->plan.order, row));
    return true;
}

static bool is_in(const sl_shard_span *shard, uint64_t sample)
{
    return sample >= shard->first && sample - shard->first < shard->count;
}

/* Sets an item's pass through a file, and whether it is the last. Repeated reads were checked
 * before. */
static void tell_pass(sl_feed *feed, uint64_t sample, sl_fetch_item *item)
{
    const sl_shard_set *set = feed->shards;
    uint64_t behind;
    if (!is_in(&set->shards[feed->shard], sample)) {
        feed->shard = sl_shard_set_find(set, sample);
    }
    item->pass = feed->passes;
    if (!look_ahead(&feed->ask, &behind) || behind <= sample ||
        !is_in(&set->shards[feed->shard], behind)) {
        const bool again = feed->ask.row >= feed->ask.at.own;
        item->end = again ? SL_PASS_CLOSES : SL_PASS_FINISHES;
        feed->passes++;
    }
}

static bool ask_in_order(sl_feed *feed, sl_row_want *want, sl_fetch_item *item)
{
    sl_feed_cursor *ask = &feed->ask;
    skip_steps(feed);
    if (ask->done || ask->ticket >= feed->short_from) {
        return false;
    }
    want->epoch = ask->epoch;
    want->ticket = ask->ticket;
    want->row = ask->row;
    want->position = sl_step_position(&ask->at, &ask->plan.order, ask->row);
    want->repetition = sl_feed_repetition(feed, &ask->plan.order, want->position);
    want->member = ask->member;
    if (ask->member == 0) {
        ask->row_members = sl_feed_members(&ask->at, &ask->plan.order, ask->row, ask->members);
        ask->row_sample = sl_order_sample(&ask->plan.order, want->position);
    }
    want->members = ask->row_members;
    want->sample.index = sl_feed_member(feed, want, ask->row_sample);
    if (feed->shards != NULL) {
        tell_pass(feed, want->sample.index, item);
    }
    if (++ask->member == ask->row_members) {
        ask->member = 0;
        ask->row++;
    }
    return true;
}

/* ---- in the order of reading ---- */

/* Returns the rank's positions that were consumed before the run. */
static uint64_t consumed(const sl_feed_cursor *ask)
{
    return ask->plan.start / ask->plan.world;
}

void sl_feed_enter_shards(sl_feed *feed)
{
    const sl_feed_cursor *ask = &feed->ask;
    const sl_plan *plan = &ask->plan;
    if (!feed->by_shards || ask->done) {
        return;
    }
    sl_shard_walk_begin(&feed->walk,
                        &(sl_shard_epoch){.seed = feed->config->options.seed,
                                          .epoch = ask->epoch,
                                          .start = consumed(ask),
                                          .dropped = sl_feed_dropped(&feed->config->options,
                                                                     feed->dataset->info.samples),
                                          .rank = plan->rank,
                                          .world = plan->world});
    feed->rows_before = feed->rows_asked;
}

/* Like skip_steps: one whole epoch without a row is the end of the run. */
static void skip_epochs(sl_feed *feed, sl_shard_next *next)
{
    sl_feed_cursor *ask = &feed->ask;
    const uint64_t entered = ask->epoch;
    while (!ask->done && !sl_shard_walk_next(&feed->walk, next)) {
        ask->ticket += ask->steps;
        sl_feed_enter(feed, ask, ask->epoch + 1, 0);
        ask->done = ask->done || ask->epoch > entered + 1;
        sl_feed_enter_shards(feed);
    }
}

static sl_pass_end pass_end(sl_shard_end end)
{
    switch (end) {
    case SL_SHARD_ENDS:
        return SL_PASS_FINISHES;
    case SL_SHARD_PASSED:
        return SL_PASS_CLOSES;
    case SL_SHARD_GOES_ON:
        break;
    }
    return SL_PASS_GOES_ON;
}

static bool ask_by_shards(sl_feed *feed, sl_row_want *want, sl_fetch_item *item)
{
    sl_feed_cursor *ask = &feed->ask;
    sl_shard_next next;
    skip_epochs(feed, &next);
    if (ask->done) {
        return false;
    }
    const uint64_t row = next.position - consumed(ask);
    want->epoch = ask->epoch;
    want->ticket = ask->ticket + row / ask->plan.batch;
    want->row = (uint32_t)(row % ask->plan.batch);
    want->position = next.position;
    want->members = ask->members;
    want->sample.index = next.sample;
    item->due = feed->rows_before + row;
    item->pass = ask->epoch * feed->shards->count + next.shard;
    item->end = pass_end(next.end);
    feed->rows_asked++;
    return true;
}

/* ---- both ---- */

static bool ask_locked(sl_feed *feed, sl_row_want *want, sl_fetch_item *item)
{
    *want = (sl_row_want){0};
    *item = (sl_fetch_item){0};
    return feed->by_shards ? ask_by_shards(feed, want, item) : ask_in_order(feed, want, item);
}

/* Reports to the chunk cache which row of the epoch was requested. */
static void tell_cache_plan(const sl_feed *feed, const sl_row_want *want)
{
    const sl_feed_cursor *ask = &feed->ask;
    sl_cache_plan_advance(feed->cache_plan, want->epoch,
                          feed->by_shards
                              ? want->position
                              : (ask->entered + ask->step) * ask->plan.batch + want->row);
}

bool sl_feed_ask(sl_feed *feed, sl_row_want *want, sl_fetch_item *item)
{
    sl_lock(&feed->mutex);
    const bool found = feed->running && ask_locked(feed, want, item);
    if (found) {
        item->tag = feed->asked++;
        if (feed->cache_plan != NULL) {
            tell_cache_plan(feed, want);
        }
    }
    sl_unlock(&feed->mutex);
    return found;
}

/* Returns the number of rows of the run below which all were requested. */
static uint64_t all_asked(const sl_feed *feed)
{
    const uint64_t given = sl_shard_walk_given(&feed->walk);
    const uint64_t before = consumed(&feed->ask);
    return feed->rows_before + (given > before ? given - before : 0);
}

static void drop_unasked_shards(sl_feed *feed)
{
    sl_row_want want;
    sl_fetch_item item;
    while (!feed->ask.done && all_asked(feed) < feed->credit && ask_locked(feed, &want, &item)) {
        if (item.due < feed->credit) {
            sl_feed_drop(feed, sl_feed_slot_of(feed, want.ticket), 1);
        }
    }
}

/* Drops a row with some members requested: they have arrived, or were canceled. */
static void drop_asked_in_part(sl_feed *feed, const sl_feed_cursor *ask)
{
    sl_feed_release(feed, &feed->jobs[sl_feed_job_of(feed, ask->ticket, ask->row)], ask->member);
}

void sl_feed_drop_unasked(sl_feed *feed)
{
    sl_feed_cursor *ask = &feed->ask;
    if (feed->by_shards) {
        drop_unasked_shards(feed);
        return;
    }
    while (ask->ticket < feed->begin.ticket && ask->ticket < feed->short_from) {
        if (ask->member > 0) {
            drop_asked_in_part(feed, ask);
        }
        if (ask->row < ask->at.filled) {
            sl_feed_drop(feed, sl_feed_slot_of(feed, ask->ticket), ask->at.filled - ask->row);
        }
        sl_feed_next_step(feed, ask);
    }
}
