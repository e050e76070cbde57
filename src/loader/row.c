/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row: a worker's processing of a task: unpacks, decodes and writes rows into the slot. Worker
 * threads, each with its own scratch memory. A bad sample never stops the others.
 */
#include "row.h"

#include "clock.h"
#include "draw_memory.h"
#include "error.h"
#include "memory.h"
#include "trace.h"

#include <stdio.h>
#include <string.h>

#define CACHE_LINE 64
/* Prefetching more would evict useful lines. */
#define BRING_MOST ((size_t)8 << 10)

sluice_status sl_row_maker_open(sl_row_maker *maker, sl_feed *feed, uint32_t workers,
                                sluice_error *error)
{
    const size_t jobs_bytes = sl_row_jobs_bytes(feed->members);
    maker->feed = feed;
    const size_t draws_bytes = sl_draw_memory_bytes(feed->columns);
    maker->workers = sl_calloc(workers, sizeof(*maker->workers));
    maker->draws = draws_bytes > 0 ? sl_calloc(workers, draws_bytes) : NULL;
    if (maker->workers == NULL || (draws_bytes > 0 && maker->draws == NULL)) {
        sl_row_maker_close(maker);
        return sl_no_memory(error, "loader", "for rows");
    }
    for (uint32_t i = 0; i < workers; i++) {
        sl_row_worker *w = &maker->workers[i];
        uint8_t *draws = draws_bytes > 0 ? maker->draws + i * draws_bytes : NULL;
        sl_draw_memory_place(feed->columns, &w->row, draws);
        w->jobs = sl_calloc(1, jobs_bytes);
        const sluice_status status = w->jobs != NULL ? sl_row_open(feed->columns, &w->row, error)
                                                     : sl_no_memory(error, "loader", "for rows");
        if (status != SLUICE_OK) {
            sl_free(w->jobs);
            sl_row_maker_close(maker);
            return status;
        }
        maker->worker_count++;
        w->handles = (uint32_t *)(void *)(w->jobs + (size_t)2 * feed->members);
        sl_values_begin(&w->row.values, feed->columns->wanted);
        w->row.seed = feed->config->options.seed;
        w->row.exact = feed->config->options.exact != 0;
        w->row.timed = true;
        w->share = w->bound = UINT64_MAX;
    }
    return SLUICE_OK;
}

/* ---- a worker's share ---- */

static bool row_charge(void *ctx, uint64_t bytes)
{
    sl_row_worker *w = ctx;
    const uint64_t held = w->row.values.buffers.held;
    if (held > w->share || bytes > w->share - held) {
        return false;
    }
    const uint64_t left = w->share - held - bytes;
    if (left < w->bound) { /* the decoder's memory of the previous row must go first */
        sl_decoder_bind(w->row.decoder, left);
        w->bound = left;
    }
    return true;
}

static void row_give_back(void *ctx, uint64_t bytes)
{
    (void)ctx; /* the buffers track their memory */
    (void)bytes;
}

void sl_row_maker_share(sl_row_maker *maker, uint64_t bytes)
{
    for (uint32_t i = 0; i < maker->worker_count; i++) {
        sl_row_worker *w = &maker->workers[i];
        w->share = w->bound = bytes;
        w->allowance = (sl_allowance){.charge = row_charge, .give_back = row_give_back, .ctx = w};
        w->row.values.buffers.allowance = &w->allowance;
    }
}

void sl_row_maker_close(sl_row_maker *maker)
{
    for (uint32_t i = 0; maker->workers != NULL && i < maker->worker_count; i++) {
        sl_values_end(&maker->workers[i].row.values);
        sl_row_close(maker->feed->columns, &maker->workers[i].row);
        sl_free(maker->workers[i].jobs);
    }
    sl_free(maker->workers);
    sl_free(maker->draws);
    maker->workers = NULL;
    maker->draws = NULL;
    maker->worker_count = 0;
}

uint64_t sl_row_maker_unpacked(const sl_row_maker *maker)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < maker->worker_count; i++) {
        /* Relaxed: a statistic. */
        const uint64_t own =
            atomic_load_explicit(&maker->workers[i].unpacked, memory_order_relaxed);
        bytes += own > SL_ROW_BYTES_MIN ? own - SL_ROW_BYTES_MIN : 0;
    }
    return bytes;
}

/* Memory that the buffers do not hold is the decoder's. */
static sluice_status row_unpack(sl_row_worker *w, const sl_dataset *dataset, const sl_job *job,
                                sluice_error *error)
{
    sl_row *row = &w->row;
    row->values.wanted = sl_column_set_wanted(w->row.columns, job->want.member);
    const sluice_status status =
        sl_dataset_unpack(dataset, &job->want.sample, job->bytes.bytes, &row->values, error);
    w->starved = status == SLUICE_NOMEM;
    if (w->share == UINT64_MAX) {
        return status;
    }
    const uint64_t held = row->values.buffers.held;
    const uint64_t left = held < w->share ? w->share - held : 0;
    if (left != w->bound) {
        sl_decoder_bind(row->decoder, left);
        w->bound = left;
    }
    return status;
}

static void row_trace(sluice_trace_kind kind, const sl_job *job, uint64_t begin, uint64_t end)
{
    if (sl_trace_running()) {
        sl_trace_write(&(sluice_trace_event){.begin_ns = begin,
                                             .end_ns = end,
                                             .ticket = job->want.ticket,
                                             .sample = (int64_t)job->want.sample.index,
                                             .kind = (uint32_t)kind,
                                             .slot = job->slot->number});
    }
}

/* Results of a task since it was last settled. */
typedef struct progress {
    sl_row_maker *maker;
    sl_row_worker *worker;
    sl_row *row; /* its */
    uint64_t since_ns;
    uint64_t decode_ns, augment_ns; /* of rows that were timed */
    uint64_t short_bytes;
    uint32_t rows, replaced;
    sl_feed_slot *slot; /* of the `good` rows that are done */
    uint32_t good;
    uint32_t handle_count; /* of the worker's, to be released */
    sluice_error error;    /* of the row; clear before it */
} progress;

static void row_add(_Atomic uint64_t *counter, uint64_t more)
{
    if (more > 0) {
        atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
    }
}

/* Counts times of operations, in the timed rows, times `scale`; that of mixing is of all rows. */
static void count_operations(const progress *p, double scale)
{
    uint64_t *ns = p->row->profile.ns;
    row_add(&p->maker->operation_ns[SL_OPERATION_MIXING], ns[SL_OPERATION_MIXING]);
    ns[SL_OPERATION_MIXING] = 0;
    for (size_t i = 0; i < SL_OPERATION_NUMBERS; i++) {
        row_add(&p->maker->operation_ns[i], (uint64_t)((double)ns[i] * scale));
        ns[i] = 0;
    }
}

/* Distributes the time since the last settling like that of the timed rows. */
static void count_time(progress *p)
{
    const uint64_t now = sl_now_ns();
    const uint64_t timed_ns = p->decode_ns + p->augment_ns;
    const double share = timed_ns > 0 ? (double)p->decode_ns / (double)timed_ns : 1;
    const uint64_t decode_ns = (uint64_t)((double)(now - p->since_ns) * share);
    sl_stage_add(&p->maker->decode, decode_ns, p->rows);
    sl_stage_add(&p->maker->augment, now - p->since_ns - decode_ns, p->good);
    if (p->maker->feed->columns->pictures > 0 && timed_ns > 0) {
        count_operations(p, (double)(now - p->since_ns) / (double)timed_ns);
    }
    p->since_ns = now;
}

/* Counts, releases, and then reports rows: a thread that sees them finds them counted, and the
 * memory free. */
static void row_settle(progress *p)
{
    sl_feed *feed = p->maker->feed;
    if (p->rows == 0) {
        return;
    }
    count_time(p);
    atomic_store_explicit(&p->worker->unpacked, p->row->values.buffers.held, memory_order_relaxed);
    row_add(&feed->samples, p->good);
    row_add(&feed->replaced, p->replaced);
    row_add(&feed->short_bytes, p->short_bytes);
    sl_fetch_release(feed->fetch, p->worker->handles, p->handle_count);
    if (p->good > 0) {
        sl_feed_done(feed, p->slot, p->good);
    }
    p->decode_ns = p->augment_ns = p->short_bytes = 0;
    p->rows = p->replaced = p->good = p->handle_count = 0;
}

/* ---- one row ---- */

static bool is_replaced(const sl_job *jobs)
{
    bool replaced = false;
    for (uint32_t i = 0; i < jobs->want.members; i++) {
        replaced = replaced || jobs[i].want.attempt > 0;
    }
    return replaced;
}

static uint8_t status_of(const sl_job *jobs, bool again)
{
    if (is_replaced(jobs)) {
        return SLUICE_ROW_REPLACED;
    }
    return again ? SLUICE_ROW_REPEATED : SLUICE_ROW_OK;
}

static uint64_t epoch_of_draws(const sl_job *job)
{
    const sl_order *order = &job->slot->order;
    return order->kind->round == NULL ? job->want.epoch
                                      : order->kind->round(order, job->want.position);
}

static void row_prepare(const sl_feed *feed, sl_row *row, const sl_job *job)
{
    const bool again = job->want.row >= job->slot->step.own;
    row->blame = NULL;
    row->decode_ns = 0;
    row->epoch = epoch_of_draws(job);
    row->attempt = 0;
    row->at = (sl_row_place){.index = sl_feed_shown(feed, &job->want),
                             .number = job->want.row,
                             .status = status_of(job, again),
                             .again = again,
                             .meeting = sl_feed_meeting(feed, job->slot),
                             .bucket = job->slot->step.bucket};
    row->repetition = job->want.repetition;
    sl_columns_wish(feed->columns, row, job->slot->parts);
}

/* Makes a member's part of the row. */
static sluice_status make_row_member(const progress *p, const sl_job *job, sluice_error *error)
{
    const sl_feed *feed = p->maker->feed;
    const sluice_status status = row_unpack(p->worker, feed->dataset, job, error);
    return status == SLUICE_OK ? sl_columns_make(feed->columns, p->row, job->slot->parts, error)
                               : status;
}

/* Does the same; measures unpacking and decoding together, and the rest. */
static sluice_status make_row_member_timed(progress *p, const sl_job *job, sluice_error *error)
{
    const sl_feed *feed = p->maker->feed;
    sl_row *row = p->row;
    const uint64_t start = sl_now_ns();
    row->decode_ns = 0;
    sluice_status status = row_unpack(p->worker, feed->dataset, job, error);
    const uint64_t unpacked = sl_now_ns();
    if (status == SLUICE_OK) {
        status = sl_columns_make(feed->columns, row, job->slot->parts, error);
    }
    const uint64_t done = sl_now_ns();
    const uint64_t decoded = unpacked + row->decode_ns;
    p->decode_ns += decoded - start;
    row_trace(SLUICE_TRACE_DECODE, job, start, decoded);
    if (status == SLUICE_OK) {
        p->augment_ns += done - decoded;
        row_trace(SLUICE_TRACE_AUGMENT, job, decoded, done);
    }
    return status;
}

/* Makes all members. CANCELED: the run is being stopped, since a row of many samples, or drawn many
 * times, takes long. */
static sluice_status make_members(progress *p, const sl_job *jobs, sluice_error *error)
{
    const _Atomic bool *stop = &p->maker->feed->stopping;
    sl_row *row = p->row;
    row->members = jobs->want.members;
    for (uint32_t i = 0; i < row->members; i++) {
        /* Relaxed: a worker that sees it late makes a member in vain. */
        if (atomic_load_explicit(stop, memory_order_relaxed)) {
            return SLUICE_CANCELED;
        }
        row->member = i;
        const sluice_status status = row->timed ? make_row_member_timed(p, &jobs[i], error)
                                                : make_row_member(p, &jobs[i], error);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

/* Makes a row, again if its columns request it. */
static sluice_status row_make(progress *p, const sl_job *jobs, sluice_error *error)
{
    const sl_feed *feed = p->maker->feed;
    sluice_status status = SLUICE_OK;
    do {
        status = make_members(p, jobs, error);
    } while (status == SLUICE_OK && feed->columns->redraws &&
             sl_columns_redraw(feed->columns, p->row));
    if (status == SLUICE_OK) {
        sl_columns_end(feed->columns, p->row, jobs->slot->parts);
    }
    return status;
}

/* Drops a row of a run that is being stopped. */
static void drop_one(progress *p, sl_job *jobs)
{
    sl_feed *feed = p->maker->feed;
    row_settle(p);
    sl_feed_release(feed, jobs, jobs->want.members);
    sl_feed_drop(feed, jobs->slot, 1);
}

/* On NOMEM, empties the value buffers and retries once, since earlier samples may have filled them.
 * `*shortages`: the count before the final attempt. */
static sluice_status make_fitting(progress *p, const sl_job *job, uint64_t *shortages,
                                  sluice_error *error)
{
    *shortages = sl_memory_shortages();
    const bool was_empty = p->row->values.buffers.held == 0;
    const sluice_status status = row_make(p, job, error);
    if (status != SLUICE_NOMEM || was_empty) {
        return status;
    }
    p->row->timed = false;
    sl_value_buffers_empty(&p->row->values.buffers);
    sl_error_clear(error);
    row_prepare(p->maker->feed, p->row, job);
    *shortages = sl_memory_shortages();
    return row_make(p, job, error);
}

/* Adds advice: pages belong to a dataset, not to a sample, so fewer workers could load the same
 * samples. */
static void row_advise(const progress *p, sluice_error *error)
{
    enum { KEPT_BYTES = 300 };
    sl_error_add(error, KEPT_BYTES,
                 "; each of %u workers has %llu MiB for unpacking and decoding: raise " SL_OPTION(
                     "memory_bytes") ", or use fewer " SL_OPTION("workers"),
                 p->maker->worker_count, (unsigned long long)(p->worker->share >> 20));
}

/* Releases the jobs' bytes at the next settling. Copies are few. */
static void release_later(progress *p, sl_job *jobs)
{
    const uint32_t count = jobs->want.members;
    for (uint32_t i = 0; i < count; i++) {
        p->worker->handles[p->handle_count++] = jobs[i].bytes.handle;
        sl_free(jobs[i].copy);
    }
    if (p->handle_count > SL_TASK_ROWS) { /* the next row's might not fit */
        row_settle(p);
    }
}

static void lose_row(progress *p, sl_job *jobs, sluice_status status, uint64_t shortages)
{
    sl_feed *feed = p->maker->feed;
    sluice_error *error = &p->error;
    row_settle(p);
    sl_sample_blame(feed->dataset, &jobs[p->row->member].want.sample, p->row->blame, error);
    if (sl_memory_shortages() > shortages) {
        (void)sl_error_after_shortage(status, true, error);
        sl_feed_fail(feed, jobs, error);
    } else if (status == SLUICE_NOMEM && p->worker->starved) {
        row_advise(p, error);
        sl_feed_fail(feed, jobs, error);
    } else {
        sl_feed_bad(feed, jobs, p->row->member, error);
    }
    sl_error_clear(error);
}

/* Rereads corrupt bytes of remote samples once. */
static sluice_status make_reread(progress *p, sl_job *jobs, uint64_t *shortages)
{
    sluice_status status = make_fitting(p, jobs, shortages, &p->error);
    for (uint32_t i = 0; status == SLUICE_CORRUPT && i < jobs->want.members; i++) {
        if (!sl_feed_reread(p->maker->feed, &jobs[p->row->member])) {
            break;
        }
        sl_error_clear(&p->error);
        row_prepare(p->maker->feed, p->row, jobs);
        status = make_fitting(p, jobs, shortages, &p->error);
    }
    return status;
}

/* Makes a row from the jobs of its members, which are the worker's own. */
static void run_job(progress *p, sl_job *jobs)
{
    sl_feed *feed = p->maker->feed;
    if (p->good > 0 && p->slot != jobs->slot) {
        row_settle(p);
    }
    /* Relaxed: a worker that sees it late makes a row in vain. */
    if (atomic_load_explicit(&feed->stopping, memory_order_relaxed)) {
        drop_one(p, jobs);
        return;
    }
    p->slot = jobs->slot;
    row_prepare(feed, p->row, jobs);
    p->row->timed = p->rows++ == 0 || sl_trace_running();
    uint64_t shortages;
    const sluice_status status = make_reread(p, jobs, &shortages);
    if (status == SLUICE_CANCELED) {
        drop_one(p, jobs);
        sl_error_clear(&p->error);
    } else if (status != SLUICE_OK) {
        lose_row(p, jobs, status, shortages);
    } else {
        sl_feed_final(feed, jobs->slot, jobs->want.row, jobs->want.sample.index);
        p->good++;
        p->replaced += is_replaced(jobs);
        release_later(p, jobs);
    }
}

/* ---- tasks ---- */

static void run_list(progress *p, const sl_task *task)
{
    const sl_feed *feed = p->maker->feed;
    uint32_t number = task->first;
    for (uint32_t i = 0; i < task->count; i++) {
        sl_job *jobs = p->worker->jobs; /* the slot may be reused once it is full */
        memcpy(jobs, &feed->jobs[number], feed->jobs[number].want.members * sizeof(*jobs));
        number = jobs->next;
        run_job(p, jobs);
    }
}

/* Prefetches a row's input into the caches while the row before is made. */
static void bring(const sl_job *job)
{
    const sl_bytes bytes = job->bytes.bytes;
    const size_t end = bytes.size < BRING_MOST ? bytes.size : BRING_MOST;
    for (size_t at = 0; at < end; at += CACHE_LINE) {
        __builtin_prefetch(bytes.data + at);
    }
}

/* Lists the task's rows and their samples. */
static void list_short(const sl_feed *feed, const sl_task *task, uint32_t *rows, uint64_t *samples)
{
    const sl_paged_row *by_page = sl_feed_by_page(feed, task->slot);
    if (by_page == NULL) {
        sl_step_samples(&task->slot->step, &task->slot->order, task->first, task->count, samples);
        for (uint32_t i = 0; i < task->count; i++) {
            rows[i] = task->first + i;
        }
        return;
    }
    for (uint32_t i = 0; i < task->count; i++) {
        rows[i] = by_page[task->first + i].number;
        samples[i] = by_page[task->first + i].sample;
    }
}

static void run_short(progress *p, const sl_task *task)
{
    sl_feed *feed = p->maker->feed;
    sl_job *jobs[2] = {p->worker->jobs, p->worker->jobs + feed->members};
    uint32_t rows[SL_TASK_ROWS] = {0};
    uint64_t samples[SL_TASK_ROWS] = {0};
    list_short(feed, task, rows, samples);
    bool found = sl_feed_find(feed, task->slot, rows[0], samples[0], jobs[0]);
    for (uint32_t i = 0; i < task->count; i++) {
        const bool have = found;
        sl_job *job = jobs[i % 2];
        if (i + 1 < task->count) {
            sl_job *next = jobs[(i + 1) % 2];
            found = sl_feed_find(feed, task->slot, rows[i + 1], samples[i + 1], next);
            if (found) {
                bring(next);
            }
        }
        for (uint32_t k = 0; have && k < job->want.members; k++) {
            p->short_bytes += job[k].bytes.bytes.size;
        }
        if (have) {
            run_job(p, job);
        }
    }
}

/* Drops the rows of a run that is being stopped. After the last one the fetch may be gone. */
static void drop_list(sl_feed *feed, const sl_task *task)
{
    uint32_t number = task->first;
    for (uint32_t i = 0; i < task->count; i++) {
        sl_job *jobs = &feed->jobs[number];
        number = jobs->next;
        sl_feed_release(feed, jobs, jobs->want.members);
    }
    number = task->first;
    for (uint32_t i = 0; i < task->count; i++) {
        sl_feed_slot *slot = feed->jobs[number].slot;
        number = feed->jobs[number].next;
        sl_feed_drop(feed, slot, 1);
    }
}

void sl_row_run(void *ctx, uint32_t worker, sl_decoder *decoder, void *task_memory)
{
    sl_row_maker *maker = ctx;
    sl_feed *feed = maker->feed;
    const sl_task *task = task_memory;
    progress p = {.maker = maker,
                  .worker = &maker->workers[worker],
                  .row = &maker->workers[worker].row,
                  .since_ns = sl_now_ns()};
    sl_error_clear(&p.error);
    p.row->decoder = decoder;
    /* Relaxed: see run_job. */
    const bool stopping = atomic_load_explicit(&feed->stopping, memory_order_relaxed);
    if (stopping && task->slot != NULL) {
        sl_feed_drop(feed, task->slot, task->count);
    } else if (stopping) {
        drop_list(feed, task);
    } else if (task->slot != NULL) {
        run_short(&p, task);
    } else {
        run_list(&p, task);
    }
    row_settle(&p);
}
