/* SPDX-License-Identifier: Apache-2.0 */
/* packing_count: each job counts a run of windows. The results are added up under a lock, in any
 * order: sums, and between equal lengths the document with the smaller number. */
#include "packing_count.h"

#include "error.h"
#include "fnv.h"
#include "minmax.h"
#include "open_many.h"
#include "stop.h"
#include "thread.h"

#include <assert.h>

#define STAGE "plan"

/* windows of a job: about 30 ms, enough to be worth a thread */
enum { JOB_WINDOWS = 64 };

typedef struct row_counter {
    const sl_packing_windows *windows;
    uint64_t run;     /* windows of a job */
    uint64_t *before; /* rows of each window, while they are counted */
    pthread_mutex_t mutex;
    sl_packing_count *count; /* guarded by it */
} row_counter;

static void add_longest(sl_packing_count *to, const sl_packing_count *from)
{
    if (from->facts.longest > to->facts.longest ||
        (from->facts.longest == to->facts.longest &&
         from->facts.longest_document < to->facts.longest_document)) {
        to->facts.longest = from->facts.longest;
        to->facts.longest_document = from->facts.longest_document;
    }
    if (from->widest > to->widest ||
        (from->widest == to->widest && from->widest_document < to->widest_document)) {
        to->widest = from->widest;
        to->widest_document = from->widest_document;
    }
}

static void packing_add_count(sl_packing_count *to, const sl_packing_count *from)
{
    add_longest(to, from);
    to->facts.rows += from->facts.rows;
    to->facts.pieces += from->facts.pieces;
    /* A sum beyond 2^64 stays above the limit of check_lengths. */
    if (__builtin_add_overflow(to->facts.tokens, from->facts.tokens, &to->facts.tokens)) {
        to->facts.tokens = UINT64_MAX;
    }
    to->facts.cut += from->facts.cut;
    to->facts.empty += from->facts.empty;
    to->facts.closed += from->facts.closed;
    to->facts.most_pieces = sl_max_u32(to->facts.most_pieces, from->facts.most_pieces);
    to->facts.hash += from->facts.hash;
    to->facts.lengths_hash += from->facts.lengths_hash;
    to->aligned += from->aligned;
    to->torn = sl_min_u64(to->torn, from->torn);
}

static sluice_status count_windows(row_counter *counter, uint64_t first, sl_packing_plan *plan,
                                   sl_packing_planner *planner, sluice_error *error)
{
    const sl_packing_windows *windows = counter->windows;
    const uint64_t end = sl_min_u64(first + counter->run, windows->windows);
    sl_packing_count count = sl_packing_count_begin();
    for (uint64_t i = first; i < end; i++) {
        const sluice_status status = sl_stop_check(STAGE, error);
        if (status != SLUICE_OK) {
            return status;
        }
        sl_packing_plan_make(plan, planner, windows, i, &count);
        counter->before[i] = plan->rows;
        const uint64_t hash = sl_fnv1a(sl_fnv1a(SL_FNV1A_BEGIN, i), count.facts.rows);
        count.facts.hash += sl_fnv1a(hash, count.facts.tokens);
    }
    sl_lock(&counter->mutex);
    packing_add_count(counter->count, &count);
    sl_unlock(&counter->mutex);
    return SLUICE_OK;
}

static sluice_status count_job(void *ctx, uint32_t number, sluice_error *error)
{
    row_counter *counter = ctx;
    sl_packing_plan plan = {.rows = 0};
    sl_packing_planner planner = {.needs = NULL};
    sluice_status status = sl_packing_plan_open(&plan, &counter->windows->shape, error);
    if (status == SLUICE_OK) {
        status = sl_packing_planner_open(&planner, &counter->windows->shape, error);
    }
    if (status == SLUICE_OK) {
        status = count_windows(counter, number * counter->run, &plan, &planner, error);
    }
    sl_packing_planner_close(&planner);
    sl_packing_plan_close(&plan);
    return status;
}

sluice_status sl_packing_count_rows(const sl_packing_windows *windows, uint64_t *before,
                                    sl_packing_count *count, sluice_error *error)
{
    row_counter counter = {.windows = windows, .before = before, .count = count};
    counter.run = sl_max_u64(JOB_WINDOWS, (windows->windows - 1) / INT32_MAX + 1);
    *count = sl_packing_count_begin();
    sl_mutex_init(&counter.mutex);
    const uint64_t jobs = (windows->windows - 1) / counter.run + 1;
    const sluice_status status = sl_open_many((uint32_t)jobs, count_job, &counter, error);
    sl_mutex_destroy(&counter.mutex);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < windows->windows && status == SLUICE_OK; i++) {
        const uint64_t rows = before[i];
        before[i] = sum;
        sum += rows;
    }
    before[windows->windows] = sum;
    return status;
}
