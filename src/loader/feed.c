/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: opening, the locks and the end of the feed; feed_ask, feed_items and feed_rows have the
 * rest. The fetch thread requests; workers and the consumer call in under the mutex.
 */
#include "feed.h"

#include "clock.h"
#include "error.h"
#include "memory.h"
#include "thread.h"

#include <assert.h>
#include <string.h>

/* Allocates each slot's part in one block. */
static bool open_meetings(sl_feed *feed)
{
    const sluice_loader_options *o = &feed->config->options;
    const size_t each = (size_t)o->batch_size * feed->columns->mixers;
    if (each == 0) {
        return true;
    }
    feed->met = sl_calloc(o->prefetch, each * sizeof(*feed->met));
    for (uint32_t i = 0; i < o->prefetch && feed->met != NULL; i++) {
        feed->slots[i].meeting =
            (sl_meeting){.capacity = o->batch_size, .met = feed->met + i * each};
    }
    return feed->met != NULL;
}

sl_order_source sl_feed_plain(const sl_config *config, const sl_dataset *dataset)
{
    const sluice_loader_options *o = &config->options;
    const bool mixed = dataset->mix != NULL;
    return (sl_order_source){.kind = mixed ? &sl_mixed_order : &sl_plain_order,
                             .set = dataset->mix,
                             .shuffle = (sluice_shuffle)o->shuffle,
                             .block = o->block_samples,
                             .window = o->window_blocks,
                             .count = sl_dataset_epoch_samples(dataset)};
}

sluice_status sl_feed_open(sl_feed *feed, const sl_config *config, const sl_dataset *dataset,
                           sluice_error *error)
{
    const sluice_loader_options *o = &config->options;
    feed->config = config;
    feed->dataset = dataset;
    feed->plain = sl_feed_plain(config, dataset);
    feed->order = feed->order != NULL ? feed->order : &feed->plain;
    sl_mutex_init(&feed->mutex);
    feed->short_from = UINT64_MAX;
    feed->pending = sl_calloc(config->lookahead, sizeof(*feed->pending));
    feed->slots = sl_calloc(o->prefetch, sizeof(*feed->slots));
    feed->members = feed->columns->members;
    const size_t all_rows = (size_t)o->prefetch * o->batch_size;
    feed->gatherings = sl_calloc(all_rows, sizeof(*feed->gatherings));
    feed->jobs = sl_calloc(all_rows * feed->members, sizeof(*feed->jobs));
    bool missing = feed->pending == NULL || feed->slots == NULL || feed->jobs == NULL ||
                   feed->gatherings == NULL;
    if (dataset->shares_pages) {
        feed->by_page = sl_calloc(all_rows, sizeof(*feed->by_page));
        feed->delivered = sl_calloc(all_rows, sizeof(*feed->delivered));
        missing = missing || feed->by_page == NULL || feed->delivered == NULL;
    }
    if (feed->order->kind->by_class) {
        feed->finals = sl_calloc(all_rows, sizeof(*feed->finals));
        missing = missing || feed->finals == NULL;
    }
    if (missing || !open_meetings(feed)) {
        return sl_no_memory(error, "loader", "for the row tables");
    }
    return sl_leveling_open(&feed->leveling, config, error);
}

void sl_feed_close(sl_feed *feed)
{
    sl_free(feed->pending);
    sl_free(feed->slots);
    sl_free(feed->met);
    sl_free(feed->gatherings);
    sl_free(feed->finals);
    sl_free(feed->jobs);
    sl_free(feed->by_page);
    sl_free(feed->delivered);
    sl_leveling_close(&feed->leveling);
    sl_shard_walk_close(&feed->walk);
    sl_mutex_destroy(&feed->mutex);
}

sluice_status sl_feed_use_shards(sl_feed *feed, const sl_shard_set *shards, sluice_error *error)
{
    feed->shards = shards;
    feed->by_shards = feed->order->kind->samples == NULL;
    return feed->by_shards ? sl_shard_walk_open(&feed->walk, shards, error) : SLUICE_OK;
}

/* Returns the order of all samples, regardless of the loader's order. */
static sl_order plain_order(const sl_feed *feed, sluice_shuffle shuffle, uint64_t seed,
                            uint64_t epoch)
{
    sl_order_source source = feed->plain;
    source.shuffle = shuffle;
    return sl_order_of(&source, seed, epoch);
}

sl_plan sl_feed_plan(const sl_feed *feed, uint64_t epoch, uint64_t start)
{
    const sluice_loader_options *o = &feed->config->options;
    const sl_plan plan = {
        .order = sl_order_of(feed->order, o->seed, epoch),
        .start = start,
        .batch = o->batch_size,
        .rank = o->rank,
        .world = o->world_size,
        .last = (sluice_last_batch)o->last_batch,
    };
    return plan;
}

/* In a mix: returns another position of the partner's order, whose sources follow the weights. */
static uint64_t other_of_mix(const sl_feed *feed, const sl_row_want *want, uint64_t own)
{
    const sluice_loader_options *o = &feed->config->options;
    const sl_order order = plain_order(feed, (sluice_shuffle)o->shuffle,
                                       sl_partner_seed(o->seed, want->member), want->epoch);
    const uint64_t at = sl_partner_anywhere(&(sl_partner_key){.seed = o->seed,
                                                              .epoch = want->epoch,
                                                              .position = want->position,
                                                              .partner = want->member,
                                                              .attempt = want->attempt},
                                            order.count);
    const uint64_t sample = sl_order_sample(&order, at);
    return sample != own ? sample : sl_order_sample(&order, (at + 1) % order.count);
}

/* Returns a partner by the rule any. If an epoch has more positions than samples, as with episodes,
 * each round of all samples has a separate order. */
static uint64_t any_partner(const sl_feed *feed, const sl_row_want *want)
{
    const sluice_loader_options *o = &feed->config->options;
    const sluice_shuffle shuffle =
        o->shuffle == SLUICE_SHUFFLE_BLOCK ? SLUICE_SHUFFLE_BLOCK : SLUICE_SHUFFLE_FULL;
    const uint64_t seed = sl_partner_seed(o->seed, want->member);
    sl_order order = plain_order(feed, shuffle, seed, want->epoch);
    const uint64_t round = want->position / order.count;
    if (round > 0) {
        order = plain_order(feed, shuffle, sl_partner_seed(seed, (uint32_t)round), want->epoch);
    }
    const uint64_t at = want->position % order.count;
    return sl_order_sample(
        &order, feed->dataset->mix != NULL ? sl_partner_shift(&order, want->epoch, at) : at);
}

uint64_t sl_feed_partner(const sl_feed *feed, const sl_row_want *want, uint64_t own)
{
    const sluice_loader_options *o = &feed->config->options;
    const sl_partner_rule rule = sl_partners_rule(feed->partners, want->member);
    if (rule == SL_PARTNER_ANY && want->attempt == 0) {
        return any_partner(feed, want);
    }
    if (rule == SL_PARTNER_ANY && feed->dataset->mix != NULL) {
        return other_of_mix(feed, want, own);
    }
    return sl_partner_drawn(rule, feed->classes, feed->dataset->info.samples,
                            &(sl_partner_key){.seed = o->seed,
                                              .epoch = want->epoch,
                                              .position = want->position,
                                              .sample = own,
                                              .partner = want->member,
                                              .attempt = want->attempt});
}

uint64_t sl_feed_member(const sl_feed *feed, const sl_row_want *want, uint64_t own)
{
    if (feed->order->kind->members != NULL) {
        return own * feed->members + want->member;
    }
    return want->member > 0 ? sl_feed_partner(feed, want, own) : own;
}

uint32_t sl_feed_members(const sl_step *step, const sl_order *order, uint32_t row, uint32_t usual)
{
    return order->kind->members == NULL
               ? usual
               : order->kind->members(order, sl_step_position(step, order, row));
}

/* ---- slots ---- */

/* Fills a begun slot, for the step at the cursor, with the rows without a sample. Returns the
 * number of samples that the others need. */
static uint64_t open_slot(sl_feed *feed, sl_feed_slot *slot, const sl_feed_cursor *cursor)
{
    const sl_step *step = &cursor->at;
    slot->rows = step->rows;
    slot->members = cursor->members;
    slot->epoch = cursor->epoch;
    slot->ticket = cursor->ticket;
    slot->step = *step;
    sl_leveling_keep(&feed->leveling, (uint32_t)(slot - feed->slots), &slot->step);
    slot->order = cursor->plan.order;
    sl_meeting_begin(&slot->meeting,
                     &(sl_mixing_batch){.seed = feed->config->options.seed,
                                        .epoch = cursor->epoch,
                                        .first = step->first,
                                        .rows = step->filled},
                     feed->columns->mixers);
    /* Relaxed, all of them: rows reach other threads through the locks of fetch and of the
     * workers' queue. */
    atomic_store_explicit(&slot->left, step->rows + 1, memory_order_relaxed);
    atomic_store_explicit(&slot->dropped, false, memory_order_relaxed);
    sl_feed_begin_finals(feed, slot);
    sl_gathering *gatherings = &feed->gatherings[sl_feed_row_of(feed, slot->ticket, 0)];
    uint64_t items = 0;
    for (uint32_t row = 0; row < step->filled; row++) {
        const uint32_t members = sl_feed_members(step, &slot->order, row, slot->members);
        items += members;
        atomic_store_explicit(&gatherings[row].waiting, members, memory_order_relaxed);
        atomic_store_explicit(&gatherings[row].failed, false, memory_order_relaxed);
        atomic_store_explicit(&gatherings[row].canceled, false, memory_order_relaxed);
        gatherings[row].parked = false;
    }
    for (uint32_t row = step->filled; row < step->rows; row++) {
        sl_columns_blank(
            feed->columns,
            &(sl_row_place){
                .index = -1, .number = row, .status = SLUICE_ROW_PADDING, .bucket = step->bucket},
            slot->parts);
    }
    sl_feed_done(feed, slot, step->rows - step->filled + 1);
    return items;
}

void sl_feed_submit(sl_feed *feed, const sl_task *tasks, uint32_t count)
{
    if (count > 0) {
        /* The queue has space for a task of each row: it is never full. */
        const sluice_status status = sl_workers_submit(feed->workers, tasks, count);
        assert(status == SLUICE_OK); /* the workers are closed last */
        (void)status;
    }
}

/* Returns the rows of each task, except the last, of `filled` rows: about `wanted`, without a small
 * last task that is hardly worth waking a worker for. */
static uint32_t rows_each(uint32_t filled, uint32_t wanted)
{
    const uint32_t tasks = (filled + wanted / 2) / wanted;
    const uint32_t each = tasks > 1 ? (filled - 1) / tasks + 1 : filled;
    return each < SL_TASK_ROWS ? each : SL_TASK_ROWS;
}

/* Orders rows by page. A sample's byte range is known without reading; one that is not found counts
 * as being alone. */
static void order_by_page(const sl_feed *feed, const sl_feed_slot *slot)
{
    const uint32_t filled = slot->step.filled;
    sl_paged_row *rows = sl_feed_by_page(feed, slot);
    uint64_t samples[SL_TASK_ROWS];
    for (uint32_t row = 0; rows != NULL && row < filled; row++) {
        const uint32_t at = row % SL_TASK_ROWS;
        if (at == 0) {
            const uint32_t rest = filled - row;
            sl_step_samples(&slot->step, &slot->order, row,
                            rest < SL_TASK_ROWS ? rest : SL_TASK_ROWS, samples);
        }
        sl_sample sample;
        sl_place lookup;
        sl_refusal why;
        const uint64_t first = sl_feed_member(feed, &(sl_row_want){.member = 0}, samples[at]);
        const bool found = sl_dataset_locate_at(feed->dataset, (sl_visit){slot->epoch, 0}, first,
                                                &sample, &lookup, &why) == SLUICE_OK;
        rows[row] = (sl_paged_row){.offset = found ? sample.place.offset : samples[at],
                                   .sample = samples[at],
                                   .object = found ? sample.place.object : UINT32_MAX,
                                   .number = row};
    }
    if (rows != NULL) {
        sl_page_order_sort(rows, filled);
    }
}

/* Passes the slot's rows with a sample to the workers, by the short path. */
static void begin_short(sl_feed *feed, sl_feed_slot *slot)
{
    sl_task tasks[SL_TASKS_MAX];
    const uint32_t filled = slot->step.filled;
    order_by_page(feed, slot);
    const uint32_t each = rows_each(filled, feed->config->task_rows);
    uint32_t count = 0;
    for (uint32_t row = 0; row < filled; row += each) {
        const uint32_t rest = filled - row;
        tasks[count++] = (sl_task){.slot = slot, .first = row, .count = rest < each ? rest : each};
        if (count == SL_TASKS_MAX) {
            sl_feed_submit(feed, tasks, count);
            count = 0;
        }
    }
    sl_feed_submit(feed, tasks, count);
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
    sl_feed_slot *slot = sl_feed_slot_of(feed, cursor->ticket);
    if (sl_staging_begin(feed->staging, &facts, &slot->number, &slot->parts) != SLUICE_OK) {
        return false;
    }
    const bool is_short = cursor->ticket >= feed->short_from;
    const uint64_t items = open_slot(feed, slot, cursor);
    sl_feed_next_step(feed, cursor);
    if (is_short) {
        begin_short(feed, slot);
    } else {
        feed->credit += items;
    }
    return true;
}

/* Once the dataset is resident, steps without a requested sample take the short path. */
static void shorten_locked(sl_feed *feed)
{
    if (feed->short_from != UINT64_MAX || !feed->running ||
        sl_fetch_resident(feed->fetch) == NULL) {
        return;
    }
    const uint64_t asked = feed->ask.ticket + (feed->ask.row > 0 || feed->ask.member > 0);
    feed->short_from = asked > feed->begin.ticket ? asked : feed->begin.ticket;
}

void sl_feed_begin_steps(sl_feed *feed)
{
    sl_lock(&feed->mutex);
    shorten_locked(feed);
    const uint64_t before = feed->credit;
    while (begin_step_locked(feed)) {
        /* while there are a slot and a step */
    }
    if (feed->credit != before) { /* on the short path nothing is read: no need to wake anybody */
        sl_fetch_credit(feed->fetch, feed->credit);
    }
    sl_unlock(&feed->mutex);
}

/* ---- runs ---- */

void sl_feed_start(sl_feed *feed, uint64_t epoch, uint64_t start)
{
    sl_lock(&feed->mutex);
    assert(!feed->running);
    feed->first_ticket = sl_staging_begun(feed->staging);
    sl_leveling_begin(&feed->leveling);
    feed->ask = (sl_feed_cursor){.ticket = feed->first_ticket};
    feed->begin = feed->ask;
    sl_feed_enter(feed, &feed->ask, epoch, start);
    sl_feed_enter(feed, &feed->begin, epoch, start);
    feed->asked = 0;
    feed->credit = 0;
    feed->rows_asked = 0;
    sl_feed_enter_shards(feed);
    feed->short_from = UINT64_MAX;
    if (feed->cache_plan != NULL) {
        sl_cache_plan_enter(feed->cache_plan, epoch, start);
    }
    feed->running = true;
    /* Relaxed: tasks reach the workers through the lock of their queue. */
    atomic_store_explicit(&feed->stopping, false, memory_order_relaxed);
    sl_unlock(&feed->mutex);
    sl_feed_begin_steps(feed);
    sl_fetch_wake(feed->fetch);
}

/* Drops rows that no stage has any more, once no stage is working. */
static void drop_lost(sl_feed *feed)
{
    enum { LOOK_AGAIN_NS = 1000000 };
    uint64_t taken;
    while (!sl_workers_are_idle(feed->workers, &taken)) {
        sl_sleep_until_ns(sl_deadline_ns(LOOK_AGAIN_NS));
    }
    for (uint32_t i = 0; i < feed->config->options.prefetch; i++) {
        /* Relaxed: ordered by the lock of the workers' queue. */
        const uint32_t left = atomic_load_explicit(&feed->slots[i].left, memory_order_relaxed);
        if (left > 0) {
            sl_feed_drop(feed, &feed->slots[i], left);
        }
    }
}

void sl_feed_stop(sl_feed *feed)
{
    sl_lock(&feed->mutex);
    feed->running = false;
    /* Relaxed: a worker that sees it late makes a row in vain. */
    atomic_store_explicit(&feed->stopping, true, memory_order_relaxed);
    sl_unlock(&feed->mutex);
    sl_fetch_restart(feed->fetch);
    sl_feed_drop_parked(feed);
    sl_feed_drop_unasked(feed);
    if (feed->lost) {
        drop_lost(feed);
    }
    sl_staging_drain(feed->staging);
}
