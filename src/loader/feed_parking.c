/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed_parking: rows of episodes whose own substitutes have run out.
 *
 * The remaining samples of the class depend on the final samples of the episode's other rows, and
 * must not depend on which row came first. So such a row is parked until all rows of its slot
 * except parked ones are finished; then these are tried one after the other, in the order of rows,
 * each with the remaining samples.
 *
 * Threads: the thread that has the row parks it; a thread that finishes a row continues with parked
 * ones. Lock: feed->mutex guards which rows are parked; it is not held while one is inserted.
 */
#include "episode_order.h"
#include "feed.h"
#include "thread.h"

static uint64_t *finals_of(const sl_feed *feed, const sl_feed_slot *slot)
{
    return feed->finals + (size_t)(slot - feed->slots) * feed->config->options.batch_size;
}

void sl_feed_final(sl_feed *feed, const sl_feed_slot *slot, uint32_t row, uint64_t sample)
{
    if (feed->finals != NULL) {
        finals_of(feed, slot)[row] = sample;
    }
}

void sl_feed_begin_finals(sl_feed *feed, sl_feed_slot *slot)
{
    /* Relaxed: there are no rows of the step yet. */
    atomic_store_explicit(&slot->parked, 0, memory_order_relaxed);
    for (uint32_t row = 0; feed->finals != NULL && row < slot->rows; row++) {
        finals_of(feed, slot)[row] = UINT64_MAX;
    }
}

/* Returns the rows of a class of an episode. */
static uint32_t rows_of_class(const sl_feed *feed)
{
    const sl_episode_set *set = feed->order->set;
    return set->samples;
}

/* Returns whether a row of the same class and episode has the sample. */
static bool is_used(const sl_feed *feed, const sl_feed_slot *slot, uint32_t row, uint64_t sample)
{
    const uint32_t each = rows_of_class(feed);
    const uint64_t *finals = finals_of(feed, slot) + (size_t)(row / each) * each;
    bool used = false;
    for (uint32_t i = 0; i < each; i++) {
        used = used || finals[i] == sample;
    }
    return used;
}

/* Finds, for the number-th try, from 0, of a row, a sample of its class that is not in the episode;
 * false: there are not so many. */
static bool find_unused(const sl_feed *feed, const sl_row_want *want, uint64_t number,
                        uint64_t *sample)
{
    const sl_feed_slot *slot = sl_feed_slot_of(feed, want->ticket);
    const sl_order *order = &slot->order;
    const uint64_t others = sl_episode_choices(order, want->position) - rows_of_class(feed);
    for (uint64_t attempt = sl_episode_own(order, want->position) + 1; attempt <= others;
         attempt++) {
        *sample = sl_episode_substitute(order, want->position, (uint32_t)attempt);
        if (!is_used(feed, slot, want->row, *sample) && number-- == 0) {
            return true;
        }
    }
    return false;
}

bool sl_feed_must_park(const sl_feed *feed, const sl_row_want *want)
{
    return feed->finals != NULL && want->member == 0 &&
           want->attempt >
               sl_episode_own(&sl_feed_slot_of(feed, want->ticket)->order, want->position);
}

/* Unparks the first parked row of the slot if all others are finished; false: none is to be tried
 * now. */
static bool unpark_locked(sl_feed *feed, sl_feed_slot *slot, uint32_t *row)
{
    /* seq_cst, all of them: see sl_feed_park. The load of `left` also acquires the finals of
     * rows that are done. */
    const uint32_t parked = atomic_load_explicit(&slot->parked, memory_order_seq_cst);
    if (parked == 0 || !feed->running ||
        parked != atomic_load_explicit(&slot->left, memory_order_seq_cst)) {
        return false;
    }
    sl_gathering *gatherings = &feed->gatherings[sl_feed_row_of(feed, slot->ticket, 0)];
    for (*row = 0; !gatherings[*row].parked; (*row)++) {
        /* there is one */
    }
    gatherings[*row].parked = false;
    atomic_fetch_sub_explicit(&slot->parked, 1, memory_order_seq_cst);
    return true;
}

/* Tries the row's next sample; if all are in the episode, another one of it. */
static void try_parked(sl_feed *feed, sl_feed_slot *slot, uint32_t row)
{
    sl_row_want want = feed->jobs[sl_feed_job_of(feed, slot->ticket, row)].want;
    sl_gathering *gathering = sl_feed_gathering(feed, &want);
    const uint64_t number = want.attempt - sl_episode_own(&slot->order, want.position) - 1;
    if (!find_unused(feed, &want, number, &want.sample.index)) {
        const uint64_t others =
            sl_episode_choices(&slot->order, want.position) - rows_of_class(feed);
        want.sample.index =
            sl_episode_substitute(&slot->order, want.position, (uint32_t)(others + 1 + number));
    }
    if (!sl_feed_insert(feed, &want)) {
        /* Relaxed: released by the subtraction, which is acq_rel as in sl_feed_deliver. */
        atomic_store_explicit(&gathering->canceled, true, memory_order_relaxed);
        if (atomic_fetch_sub_explicit(&gathering->waiting, 1, memory_order_acq_rel) == 1) {
            sl_feed_gathered(feed, want.ticket, want.row);
        }
    }
}

static void go_on(sl_feed *feed, sl_feed_slot *slot)
{
    uint32_t row;
    sl_lock(&feed->mutex);
    const bool found = unpark_locked(feed, slot, &row);
    sl_unlock(&feed->mutex);
    if (found) {
        try_parked(feed, slot, row);
    }
}

bool sl_feed_park(sl_feed *feed, const sl_row_want *want)
{
    sl_feed_slot *slot = sl_feed_slot_of(feed, want->ticket);
    sl_lock(&feed->mutex);
    const bool possible = feed->running;
    if (possible) {
        feed->jobs[sl_feed_job_of(feed, want->ticket, want->row)].want = *want;
        sl_feed_gathering(feed, want)->parked = true;
        /* seq_cst, with `left` in sl_feed_done: either it sees this row, or go_on that it was the
         * last. */
        atomic_fetch_add_explicit(&slot->parked, 1, memory_order_seq_cst);
    }
    sl_unlock(&feed->mutex);
    if (possible) {
        go_on(feed, slot);
    }
    return possible;
}

void sl_feed_done_beside_parked(sl_feed *feed, sl_feed_slot *slot)
{
    /* seq_cst: see sl_feed_park. */
    if (atomic_load_explicit(&slot->parked, memory_order_seq_cst) > 0) {
        go_on(feed, slot);
    }
}

/* Returns whether the row is dropped with those not requested: some of its members were not. */
static bool is_unasked(const sl_feed *feed, const sl_feed_slot *slot, uint32_t row)
{
    const sl_feed_cursor *ask = &feed->ask;
    return ask->ticket < feed->begin.ticket && ask->ticket < feed->short_from &&
           slot->ticket == ask->ticket && row >= ask->row;
}

void sl_feed_drop_parked(sl_feed *feed)
{
    if (feed->finals == NULL) {
        return;
    }
    const uint32_t batch = feed->config->options.batch_size;
    for (uint32_t i = 0; i < feed->config->options.prefetch; i++) {
        sl_feed_slot *slot = &feed->slots[i];
        for (uint32_t row = 0; row < batch; row++) {
            sl_gathering *gathering = &feed->gatherings[i * batch + row];
            sl_lock(&feed->mutex);
            const bool parked = gathering->parked;
            gathering->parked = false;
            sl_unlock(&feed->mutex);
            /* seq_cst, as everywhere; no row is made any more. */
            if (parked) {
                atomic_fetch_sub_explicit(&slot->parked, 1, memory_order_seq_cst);
            }
            if (parked && !is_unasked(feed, slot, row)) {
                sl_job *jobs = &feed->jobs[sl_feed_job_of(feed, slot->ticket, row)];
                sl_feed_release(feed, jobs, jobs->want.members);
                sl_feed_drop(feed, slot, 1);
            }
        }
    }
}
