/* SPDX-License-Identifier: Apache-2.0 */
/* feed_items: the fetch thread's callbacks into the feed. */
#include "feed.h"

#include "error.h"
#include "memory.h"
#include "stop.h"
#include "store.h"
#include "thread.h"

#include <assert.h>
#include <string.h>

/* Pass of an item that shares it with no other. */
#define ALONE ((uint64_t)1 << 63)

/* ---- requesting ---- */

/* Sets the item to read for a sample whose look-up ended in `status`. */
static void feed_items_aim(sl_fetch_item *item, const sl_place *place, sluice_status status)
{
    item->offset = place->offset;
    item->bytes = place->bytes;
    item->object = place->object;
    item->lookup = status == SLUICE_AGAIN;
    item->once = place->once;
}

/*
 * Sets the item to read for a want whose sample's number is known. A bad index entry fails the want
 * when it is learned: there it takes its turn, with the entry's bytes read again.
 */
static void feed_items_locate(const sl_feed *feed, sl_row_want *want, sl_fetch_item *item)
{
    const uint64_t index = want->sample.index;
    sl_place lookup;
    sl_refusal why;
    const sluice_status status = sl_dataset_locate_at(feed->dataset, sl_feed_visit(want), index,
                                                      &want->sample, &lookup, &why);
    if (status != SLUICE_OK) {
        feed_items_aim(item, &lookup, SLUICE_AGAIN);
        return;
    }
    feed_items_aim(item, &want->sample.place, status);
    item->pieces = want->sample.pieces;
}

sluice_status sl_feed_next(void *ctx, sl_fetch_item *item)
{
    sl_feed *feed = ctx;
    sl_row_want want;
    if (!sl_feed_ask(feed, &want, item)) {
        return SLUICE_END;
    }
    feed_items_locate(feed, &want, item);
    feed->pending[item->tag % feed->config->lookahead] = want;
    return SLUICE_OK;
}

/* Returns the want of an item in flight. An inserted one's tag is the number of its row's job. */
static sl_row_want *want_of(sl_feed *feed, const sl_fetch_item *item)
{
    return item->sequence != SL_INSERTED ? &feed->pending[item->sequence % feed->config->lookahead]
                                         : &feed->jobs[item->tag].want;
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
    feed_items_aim(item, status == SLUICE_OK ? &sample->place : &lookup, status);
    item->pieces = status == SLUICE_OK ? sample->pieces : 0;
    return SLUICE_OK;
}

sl_piece sl_feed_piece(void *ctx, const sl_fetch_item *item, uint32_t number)
{
    sl_feed *feed = ctx;
    const sl_sample *sample = &want_of(feed, item)->sample;
    return feed->dataset->ops->piece(feed->dataset, sample, number);
}

/*
 * Under the mutex: sl_feed_stop must not go on to close fetch while this is in it.
 */
bool sl_feed_insert(sl_feed *feed, const sl_row_want *want)
{
    sl_row_want located = *want;
    sl_fetch_item item = {.tag = sl_feed_job_of(feed, want->ticket, want->row) + want->member,
                          /* Relaxed: a unique number. */
                          .pass = ALONE |
                                  atomic_fetch_add_explicit(&feed->alone, 1, memory_order_relaxed),
                          .end = SL_PASS_CLOSES};
    feed_items_locate(feed, &located, &item);
    sl_lock(&feed->mutex);
    const bool possible = feed->running;
    if (possible) {
        feed->jobs[item.tag].want = located;
        sl_fetch_insert(feed->fetch, &item);
    }
    sl_unlock(&feed->mutex);
    return possible;
}

void sl_feed_release(const sl_feed *feed, sl_job *jobs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sl_fetch_release(feed->fetch, &jobs[i].bytes.handle, 1);
        sl_free(jobs[i].copy);
        jobs[i].bytes = (sl_fetch_bytes){.handle = SL_HANDLE_NONE};
        jobs[i].copy = NULL;
    }
}

/* ---- tasks ---- */

static void close_task(sl_feed *feed)
{
    sl_feed_tasks *tasks = &feed->tasks;
    if (tasks->open.count > 0) {
        tasks->closed[tasks->count++] = tasks->open;
        tasks->open.count = 0;
        tasks->bytes = 0;
    }
}

static void hand_over(sl_feed *feed)
{
    sl_feed_submit(feed, feed->tasks.closed, feed->tasks.count);
    feed->tasks.count = 0;
}

static void add_to_task(sl_feed *feed, uint32_t number, uint64_t bytes)
{
    sl_feed_tasks *tasks = &feed->tasks;
    if (tasks->open.count == 0) {
        tasks->open.first = number;
    } else {
        feed->jobs[tasks->last].next = number;
    }
    tasks->last = number;
    tasks->bytes += bytes;
    if (++tasks->open.count == SL_TASK_ROWS || tasks->bytes >= SL_TASK_BYTES) {
        close_task(feed);
    }
    if (tasks->count == SL_TASKS_MAX) {
        hand_over(feed);
    }
}

static uint64_t row_bytes(const sl_feed *feed, uint32_t number)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < feed->jobs[number].want.members; i++) {
        bytes += feed->jobs[number + i].bytes.bytes.size;
    }
    return bytes;
}

/* Like add_to_task, except that a page counts once and its rows stay together. */
static void add_paged(sl_feed *feed, const sl_paged_row *row, const sl_paged_row *before)
{
    uint64_t bytes = 0;
    if (before == NULL || !sl_page_order_same(row, before)) {
        bytes = row_bytes(feed, row->number);
        if (feed->tasks.bytes + bytes > SL_TASK_BYTES) {
            close_task(feed);
        }
        bytes = bytes < SL_TASK_BYTES ? bytes : SL_TASK_BYTES - 1; /* other rows of it may follow */
    }
    add_to_task(feed, row->number, bytes);
}

static void add_delivered(sl_feed *feed)
{
    sl_page_order_sort(feed->delivered, feed->delivered_count);
    for (uint32_t i = 0; i < feed->delivered_count; i++) {
        add_paged(feed, &feed->delivered[i], i > 0 ? &feed->delivered[i - 1] : NULL);
    }
    feed->delivered_count = 0;
}

void sl_feed_flush(void *ctx)
{
    add_delivered(ctx);
    close_task(ctx);
    hand_over(ctx);
}

static void add_job(sl_feed *feed, uint32_t number)
{
    const sl_job *job = &feed->jobs[number];
    const sl_sample *sample = &job->want.sample;
    if (feed->delivered == NULL) {
        add_to_task(feed, number, row_bytes(feed, number));
        return;
    }
    feed->delivered[feed->delivered_count++] = (sl_paged_row){.offset = sample->place.offset,
                                                              .sample = sample->index,
                                                              .object = sample->place.object,
                                                              .number = number};
}

/* ---- delivering ---- */

/* Returns whether the step of a want was begun, which may be false in a cancelled run. */
static bool is_begun(sl_feed *feed, const sl_row_want *want)
{
    sl_lock(&feed->mutex);
    const bool begun = want->ticket < feed->begin.ticket;
    sl_unlock(&feed->mutex);
    return begun;
}

/* The reserve must come back without help from items that are requested later. */
sluice_status sl_feed_keep(const sl_feed *feed, sl_job *job, sluice_error *error)
{
    const sl_bytes bytes = job->bytes.bytes;
    if (!sl_fetch_is_reserve(feed->fetch, job->bytes.handle)) {
        return SLUICE_OK;
    }
    job->copy = sl_malloc(bytes.size + SL_READABLE_BEHIND);
    if (job->copy == NULL) {
        return sl_no_memory(error, "loader", "for a sample that waits for others of its row");
    }
    memcpy(job->copy, bytes.data, bytes.size);
    memset(job->copy + bytes.size, 0, SL_READABLE_BEHIND);
    sl_fetch_release(feed->fetch, &job->bytes.handle, 1);
    job->bytes = (sl_fetch_bytes){{job->copy, bytes.size}, SL_HANDLE_NONE};
    return SLUICE_OK;
}

bool sl_feed_reread(const sl_feed *feed, sl_job *job)
{
    const sl_bytes was = job->bytes.bytes;
    if (was.size == 0 || !sl_dataset_is_remote(feed->dataset)) {
        return false;
    }
    uint8_t *copy = sl_malloc(was.size + SL_READABLE_BEHIND);
    if (copy == NULL) {
        return false;
    }
    size_t size = 0;
    const _Atomic bool *stop = sl_stop_work_under(&feed->stopping);
    const bool bypass = sl_store_bypass_caches(true);
    const sluice_status status =
        sl_dataset_read(feed->dataset, &job->want.sample, (sl_buffer){copy, was.size}, &size, NULL);
    (void)sl_store_bypass_caches(bypass);
    (void)sl_stop_work_under(stop);
    if (status != SLUICE_OK || size != was.size || memcmp(copy, was.data, size) == 0) {
        sl_free(copy);
        return false;
    }
    memset(copy + size, 0, SL_READABLE_BEHIND);
    sl_free(job->copy);
    job->copy = copy;
    job->bytes.bytes = (sl_bytes){copy, size};
    return true;
}

static sluice_status take_delivered(const sl_feed *feed, sl_job *job, const sl_fetch_bytes *bytes,
                                    sluice_error *error)
{
    const sl_gathering *gathering = sl_feed_gathering(feed, &job->want);
    job->bytes = *bytes;
    /* Relaxed: it only falls. A thread that sees it late keeps a copy in vain. */
    return atomic_load_explicit(&gathering->waiting, memory_order_relaxed) > 1
               ? sl_feed_keep(feed, job, error)
               : SLUICE_OK;
}

/* Settles a member that has arrived or failed; false: another one will come for it. */
static bool settle_member(sl_feed *feed, sl_job *job, sluice_status status,
                          const sl_fetch_bytes *bytes, const sluice_error *error)
{
    sl_gathering *gathering = sl_feed_gathering(feed, &job->want);
    sluice_error reason = {.status = SLUICE_OK};
    if (status == SLUICE_CANCELED) {
        /* Relaxed, here and below: the subtraction of `waiting` in sl_feed_deliver releases it. */
        atomic_store_explicit(&gathering->canceled, true, memory_order_relaxed);
        return true;
    }
    if (status != SLUICE_OK) {
        reason = *error;
        reason.sample = (int64_t)job->want.sample.index;
        if (sl_feed_substitute(feed, job, &reason)) {
            return false;
        }
    } else if (take_delivered(feed, job, bytes, &reason) == SLUICE_OK) {
        return true;
    } else {
        sl_feed_release(feed, job, 1);
        sl_staging_fail(feed->staging, job->slot->number, &reason);
    }
    atomic_store_explicit(&gathering->failed, true, memory_order_relaxed);
    return true;
}

void sl_feed_deliver(void *ctx, const sl_fetch_item *item, sluice_status status,
                     const sl_fetch_bytes *bytes, const sluice_error *error)
{
    sl_feed *feed = ctx;
    const sl_row_want want = *want_of(feed, item);
    if (status == SLUICE_CANCELED && !is_begun(feed, &want)) {
        return;
    }
    sl_job *job = &feed->jobs[sl_feed_job_of(feed, want.ticket, want.row) + want.member];
    *job = (sl_job){.want = want,
                    .slot = sl_feed_slot_of(feed, want.ticket),
                    .bytes = {.handle = SL_HANDLE_NONE}};
    /* acq_rel: the last member to arrive sees the others' writes to the jobs, `failed` and
     * `canceled`. */
    if (settle_member(feed, job, status, bytes, error) &&
        atomic_fetch_sub_explicit(&sl_feed_gathering(feed, &want)->waiting, 1,
                                  memory_order_acq_rel) == 1) {
        sl_feed_gathered(feed, want.ticket, want.row);
    }
}

void sl_feed_gathered(sl_feed *feed, uint64_t ticket, uint32_t row)
{
    const uint32_t number = sl_feed_job_of(feed, ticket, row);
    sl_job *jobs = &feed->jobs[number];
    const sl_gathering *gathering = sl_feed_gathering(feed, &jobs->want);
    sl_feed_slot *slot = jobs->slot;
    /* Relaxed, both: the subtraction of `waiting` acquired them. */
    if (atomic_load_explicit(&gathering->canceled, memory_order_relaxed)) {
        sl_feed_release(feed, jobs, jobs->want.members);
        sl_feed_drop(feed, slot, 1);
    } else if (atomic_load_explicit(&gathering->failed, memory_order_relaxed)) {
        sl_feed_release(feed, jobs, jobs->want.members);
        sl_feed_blank(feed, jobs);
    } else {
        add_job(feed, number);
    }
}
