/* SPDX-License-Identifier: Apache-2.0 */
/* feed_rows: finishes rows. Called by workers, and by the fetch thread for samples that cannot be
 * read. */
#include "feed.h"

#include "error.h"
#include "over.h"

#include <assert.h>
#include <string.h>

/* ---- the short path ---- */

/* Locates the want's sample, looking up from memory. */
static bool feed_rows_locate(const sl_feed *feed, const sl_resident *resident, sl_row_want *want)
{
    const uint64_t index = want->sample.index;
    sl_place lookup;
    sl_refusal why;
    sluice_status status = sl_dataset_locate_at(feed->dataset, sl_feed_visit(want), index,
                                                &want->sample, &lookup, &why);
    while (status == SLUICE_AGAIN) {
        const sl_bytes bytes = {
            sl_resident_at(resident, lookup.object, lookup.offset, lookup.bytes), lookup.bytes};
        if (bytes.data == NULL) {
            return false;
        }
        status = sl_dataset_learn(feed->dataset, index, bytes, &want->sample, &lookup, &why);
    }
    return status == SLUICE_OK;
}

/* Finds the job's bytes, if they are in memory. */
static bool feed_rows_find(const sl_feed *feed, sl_job *job)
{
    const sl_resident *resident = sl_fetch_resident(feed->fetch);
    const sl_place *place = &job->want.sample.place;
    if (!feed_rows_locate(feed, resident, &job->want) ||
        place->bytes > feed->config->options.max_sample_bytes) {
        return false;
    }
    const uint8_t *data = sl_resident_at(resident, place->object, place->offset, place->bytes);
    job->bytes = (sl_fetch_bytes){{data, place->bytes}, SL_HANDLE_NONE};
    return data != NULL;
}

/* Makes the row wait for members that were not found: `missing` have no bytes. */
static void feed_rows_insert(sl_feed *feed, const sl_job *found, uint32_t missing)
{
    const sl_row_want *want = &found->want;
    const uint32_t count = found->want.members;
    sl_gathering *gathering = sl_feed_gathering(feed, want);
    sl_job *jobs = &feed->jobs[sl_feed_job_of(feed, want->ticket, want->row)];
    uint32_t refused = 0;
    memcpy(jobs, found, count * sizeof(*jobs));
    /* Relaxed: sl_feed_insert hands it on under the locks of the feed and of fetch. */
    atomic_store_explicit(&gathering->waiting, missing, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++) {
        refused += found[i].bytes.bytes.data == NULL && !sl_feed_insert(feed, &found[i].want);
    }
    if (refused == 0) {
        return;
    }
    /* Relaxed: released by the subtraction, which is acq_rel as in sl_feed_deliver. */
    atomic_store_explicit(&gathering->canceled, true, memory_order_relaxed);
    if (atomic_fetch_sub_explicit(&gathering->waiting, refused, memory_order_acq_rel) == refused) {
        sl_feed_gathered(feed, want->ticket, want->row);
    }
}

bool sl_feed_find(sl_feed *feed, sl_feed_slot *slot, uint32_t row, uint64_t index, sl_job *jobs)
{
    uint32_t missing = 0;
    const uint64_t position = sl_step_position(&slot->step, &slot->order, row);
    const uint64_t repetition = sl_feed_repetition(feed, &slot->order, position);
    const uint32_t members = sl_feed_members(&slot->step, &slot->order, row, slot->members);
    for (uint32_t i = 0; i < members; i++) {
        jobs[i] = (sl_job){.want = {.epoch = slot->epoch,
                                    .ticket = slot->ticket,
                                    .position = position,
                                    .repetition = repetition,
                                    .row = row,
                                    .member = i,
                                    .members = members},
                           .slot = slot,
                           .bytes = {.handle = SL_HANDLE_NONE}};
        const uint64_t sample = sl_feed_member(feed, &jobs[i].want, index);
        jobs[i].want.sample.index = sample;
        if (!feed_rows_find(feed, &jobs[i])) {
            jobs[i].want.sample = (sl_sample){.index = sample};
            missing++;
        }
    }
    if (missing != 0) {
        feed_rows_insert(feed, jobs, missing);
    }
    return missing == 0;
}

/* ---- ends of a row ---- */

void sl_feed_done(sl_feed *feed, sl_feed_slot *slot, uint32_t rows)
{
    uint64_t sizes[SL_RAGGED_MAX] = {0};
    /* seq_cst: see sl_feed_park. */
    const uint32_t left = atomic_fetch_sub_explicit(&slot->left, rows, memory_order_seq_cst);
    if (left == rows) {
        /* Relaxed: ordered by `left`. Of rows that were not made there are only old offsets. */
        if (!atomic_load_explicit(&slot->dropped, memory_order_relaxed)) {
            sl_columns_finish(feed->columns, slot->rows, slot->step.bucket, slot->parts, sizes);
        }
        sl_staging_filled(feed->staging, slot->number, sizes);
    } else if (feed->finals != NULL) {
        sl_feed_done_beside_parked(feed, slot);
    }
}

void sl_feed_drop(sl_feed *feed, sl_feed_slot *slot, uint32_t rows)
{
    /* Relaxed: released by the subtraction of `left`. */
    atomic_store_explicit(&slot->dropped, true, memory_order_relaxed);
    sl_feed_done(feed, slot, rows);
}

/* Makes the error of a member of a row that an order has put together name the dataset's sample of
 * the piece. */
static sluice_error feed_rows_error_of(const sl_feed *feed, const sl_row_want *want,
                                       const sluice_error *error)
{
    sluice_error told = *error;
    if (feed->order->kind->members != NULL && feed->dataset->over != NULL) {
        told.sample = (int64_t)sl_inner_of_sample(feed->dataset, want->sample.index).index;
    }
    return told;
}

/* Requests another sample in place of the want's; false if there is no more to try. */
static bool insert_substitute(sl_feed *feed, const sl_row_want *bad)
{
    sl_row_want want = *bad;
    want.attempt++;
    if (!sl_feed_other(feed, &want, &want.sample.index)) {
        return false;
    }
    return sl_feed_must_park(feed, &want) ? sl_feed_park(feed, &want) : sl_feed_insert(feed, &want);
}

void sl_feed_blank(sl_feed *feed, const sl_job *job)
{
    const sl_row_want *want = &job->want;
    sl_columns_blank(feed->columns,
                     &(sl_row_place){.index = sl_feed_shown(feed, want),
                                     .number = want->row,
                                     .status = SLUICE_ROW_BAD,
                                     .bucket = job->slot->step.bucket,
                                     .meeting = sl_feed_meeting(feed, job->slot)},
                     job->slot->parts);
    sl_feed_done(feed, job->slot, 1);
}

bool sl_feed_substitute(sl_feed *feed, const sl_job *job, const sluice_error *error)
{
    const sl_row_want *want = &job->want;
    assert(error->status < 0);
    const sluice_error told = feed_rows_error_of(feed, want, error);
    /* Relaxed: a statistic. */
    atomic_fetch_add_explicit(&feed->bad, 1, memory_order_relaxed);
    sl_quarantine_add(feed->quarantine, want->epoch, &told);
    const int32_t policy = feed->config->options.on_bad_sample;
    if (policy == SLUICE_BAD_REPLACE && insert_substitute(feed, want)) {
        return true;
    }
    if (policy == SLUICE_BAD_FAIL) {
        sl_staging_fail(feed->staging, job->slot->number, &told);
    }
    return false;
}

/* A row's kept bytes must not be in memory that its substitute needs. */
static sluice_status keep_others(const sl_feed *feed, sl_job *jobs, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (feed->config->options.on_bad_sample != SLUICE_BAD_REPLACE) {
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < jobs->want.members && status == SLUICE_OK; i++) {
        status = sl_feed_keep(feed, &jobs[i], error);
    }
    return status;
}

void sl_feed_bad(sl_feed *feed, sl_job *jobs, uint32_t bad, const sluice_error *error)
{
    const uint32_t count = jobs->want.members;
    const sl_row_want *want = &jobs->want;
    sl_job *kept = &feed->jobs[sl_feed_job_of(feed, want->ticket, want->row)];
    sluice_error why;
    sl_error_clear(&why);
    sl_feed_release(feed, &jobs[bad], 1);
    if (keep_others(feed, jobs, &why) != SLUICE_OK) {
        sl_feed_fail(feed, jobs, &why);
        return;
    }
    /* Before it may be delivered: the row as it will be found then. */
    memcpy(kept, jobs, count * sizeof(*jobs));
    /* Relaxed: handed on as in feed_rows_insert. */
    atomic_store_explicit(&sl_feed_gathering(feed, want)->waiting, 1, memory_order_relaxed);
    if (!sl_feed_substitute(feed, &jobs[bad], error)) {
        sl_feed_release(feed, kept, count);
        sl_feed_blank(feed, jobs);
    }
}

void sl_feed_fail(sl_feed *feed, sl_job *jobs, const sluice_error *error)
{
    assert(error->status < 0);
    sl_feed_release(feed, jobs, jobs->want.members);
    sl_staging_fail(feed->staging, jobs->slot->number, error);
    sl_feed_blank(feed, jobs);
}
