/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The feed alone: the test stands in for staging, fetch and workers (--wrap), and delivers, makes,
 * damages and drops rows in any order. In all cases each row of each step is requested once, handed
 * over once and reported once, with the samples of the plan. Read data are returned once, and a row
 * that waits for more data never keeps the reserve. Each row has several members: the same number
 * for all rows or, in an uneven order, a number per row.
 */
#include "feed.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 1000, SLOTS = 4, BATCH = 37, LOOKAHEAD = 200, BYTES = 700, TASKS_MAX = 4096 };
enum { MEMBERS_MAX = 4, HANDLES_MAX = SLOTS * BATCH * MEMBERS_MAX, RESERVE = HANDLES_MAX };

/* ---- replaced by the test ---- */

/* Batches are returned in the order of their tickets, and taken at once. */
typedef struct played_slot {
    bool used, filling;
    uint64_t ticket;
} played_slot;

static struct {
    played_slot slots[SLOTS];
    uint64_t begun, filled, failed;
    uint64_t credit;
    uint32_t wakes;
    bool resident;
    sl_task tasks[TASKS_MAX];
    uint32_t task_count;
    sl_fetch_item inserted[HANDLES_MAX];
    uint32_t inserted_count;
    bool held[HANDLES_MAX + 1]; /* indexed by handle */
    uint32_t held_count;
} played;

static uint8_t *part_arrays[SL_PARTS_MAX];
static uint8_t memory[1 << 16];
static sl_resident resident;

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
sluice_status __wrap_sl_staging_begin(sl_staging *staging, const sl_batch_facts *facts,
                                      uint32_t *slot, sl_part_view *parts);
void __wrap_sl_staging_filled(sl_staging *staging, uint32_t slot,
                              const uint64_t sizes[SL_RAGGED_MAX]);
void __wrap_sl_staging_fail(sl_staging *staging, uint32_t slot, const sluice_error *error);
uint64_t __wrap_sl_staging_begun(sl_staging *staging);
void __wrap_sl_staging_drain(sl_staging *staging);
void __wrap_sl_fetch_credit(sl_fetch *fetch, uint64_t limit);
void __wrap_sl_fetch_wake(sl_fetch *fetch);
void __wrap_sl_fetch_insert(sl_fetch *fetch, const sl_fetch_item *item);
void __wrap_sl_fetch_restart(sl_fetch *fetch);
void __wrap_sl_fetch_release(sl_fetch *fetch, const uint32_t *handles, uint32_t count);
bool __wrap_sl_fetch_is_reserve(const sl_fetch *fetch, uint32_t handle);
const sl_resident *__wrap_sl_fetch_resident(const sl_fetch *fetch);
sluice_status __wrap_sl_workers_submit(sl_workers *workers, const void *jobs, size_t count);

sluice_status __wrap_sl_staging_begin(sl_staging *staging, const sl_batch_facts *facts,
                                      uint32_t *slot, sl_part_view *parts)
{
    (void)staging;
    (void)facts;
    uint64_t oldest = UINT64_MAX; /* not yet filled */
    for (uint32_t i = 0; i < SLOTS; i++) {
        const played_slot *other = &played.slots[i];
        oldest = other->filling && other->ticket < oldest ? other->ticket : oldest;
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        played_slot *own = &played.slots[i];
        if (!own->used || (!own->filling && own->ticket < oldest)) {
            *own = (played_slot){true, true, played.begun++};
            *slot = i;
            *parts = part_arrays;
            return SLUICE_OK;
        }
    }
    return SLUICE_AGAIN;
}

void __wrap_sl_staging_filled(sl_staging *staging, uint32_t slot,
                              const uint64_t sizes[SL_RAGGED_MAX])
{
    (void)staging;
    (void)sizes;
    assert_true(played.slots[slot].filling);
    played.slots[slot].filling = false;
    played.filled++;
}

void __wrap_sl_staging_fail(sl_staging *staging, uint32_t slot, const sluice_error *error)
{
    (void)staging;
    (void)error;
    assert_true(played.slots[slot].filling);
    played.failed++;
}

uint64_t __wrap_sl_staging_begun(sl_staging *staging)
{
    (void)staging;
    return played.begun;
}

void __wrap_sl_staging_drain(sl_staging *staging)
{
    (void)staging;
}

void __wrap_sl_fetch_credit(sl_fetch *fetch, uint64_t limit)
{
    (void)fetch;
    assert_true(limit > played.credit);
    played.credit = limit;
}

void __wrap_sl_fetch_wake(sl_fetch *fetch)
{
    (void)fetch;
    played.wakes++;
}

void __wrap_sl_fetch_insert(sl_fetch *fetch, const sl_fetch_item *item)
{
    (void)fetch;
    assert_true(played.inserted_count < HANDLES_MAX);
    played.inserted[played.inserted_count] = *item;
    played.inserted[played.inserted_count++].sequence = SL_INSERTED;
}

void __wrap_sl_fetch_restart(sl_fetch *fetch)
{
    (void)fetch; /* the test cancels its own items first */
}

void __wrap_sl_fetch_release(sl_fetch *fetch, const uint32_t *handles, uint32_t count)
{
    (void)fetch;
    for (uint32_t i = 0; i < count; i++) {
        if (handles[i] != SL_HANDLE_NONE) {
            assert_true(played.held[handles[i]]);
            played.held[handles[i]] = false;
            played.held_count--;
        }
    }
}

bool __wrap_sl_fetch_is_reserve(const sl_fetch *fetch, uint32_t handle)
{
    (void)fetch;
    return handle == RESERVE;
}

const sl_resident *__wrap_sl_fetch_resident(const sl_fetch *fetch)
{
    (void)fetch;
    return played.resident ? &resident : NULL;
}

sluice_status __wrap_sl_workers_submit(sl_workers *workers, const void *jobs, size_t count)
{
    (void)workers;
    assert_true(played.task_count + count <= TASKS_MAX);
    memcpy(&played.tasks[played.task_count], jobs, count * sizeof(sl_task));
    played.task_count += (uint32_t)count;
    return SLUICE_OK;
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

/* ---- a dataset of contiguous samples ---- */

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    (void)dataset;
    (void)lookup;
    (void)why;
    *sample = (sl_sample){.place = {.offset = index * BYTES, .bytes = BYTES}};
    return SLUICE_OK;
}

static const sl_dataset_ops ops = {.locate = locate};
static sl_dataset dataset = {.ops = &ops};
/* A column without data from partners, so that rows have some; parts: index, mask, status. */
static const sl_column_kind nothing = {.name = "nothing"};
static sl_column column = {.kind = &nothing};
static sl_column_set columns = {.columns = &column, .count = 1, .part_count = 3};
static const sl_partners partners;

/* ---- an order of rows with 1 to columns.members members ---- */

static uint32_t members_of(uint64_t number)
{
    return 1 + (uint32_t)(number * 2654435761U >> 7) % columns.members;
}

static uint32_t members_at(const sl_order *order, uint64_t position)
{
    return members_of(sl_order_sample(order, position));
}

static void uneven_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples)
{
    sl_permutation_apply_run(&order->outer, first, count, samples);
}

static sl_order uneven_make(const sl_order_source *source, uint64_t seed, uint64_t epoch);

static const sl_order_kind uneven_kind = {.name = "uneven",
                                          .make = uneven_make,
                                          .samples = uneven_samples,
                                          .members = members_at};
static const sl_order_source uneven_source = {.kind = &uneven_kind, .count = SAMPLES};

static sl_order uneven_make(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    return (sl_order){.kind = source->kind,
                      .count = source->count,
                      .outer = sl_permutation_make(source->count, seed + 7 * epoch)};
}

/* ---- the run of a feed ---- */

typedef struct rig {
    sl_config config;
    sl_feed feed;
    sl_quarantine quarantine;
    uint32_t seed;
    bool uneven;
    sl_fetch_item waiting[LOOKAHEAD]; /* requested, but not delivered */
    uint32_t waiting_count;
    uint64_t asked;
    bool asleep; /* next returned END */
    uint32_t seen[MEMBERS_MAX][SAMPLES];
    uint64_t rows;
} rig;

static uint32_t below(rig *r, uint32_t bound)
{
    r->seed = r->seed * 1664525U + 1013904223U;
    return (r->seed >> 8) % bound;
}

static void rig_open(rig *r, bool uneven, int32_t on_bad, uint32_t seed)
{
    memset(r, 0, sizeof(*r));
    r->uneven = uneven;
    memset(&played, 0, sizeof(played));
    for (uint32_t i = 0; i < 3; i++) {
        part_arrays[i] = memory + (size_t)i * 4096;
    }
    r->seed = seed;
    r->quarantine.fd = -1;
    sluice_loader_options *o = &r->config.options;
    *o = (sluice_loader_options)SLUICE_LOADER_OPTIONS_INIT;
    o->batch_size = BATCH;
    o->prefetch = SLOTS;
    o->world_size = 1;
    o->last_batch = SLUICE_LAST_SHORT;
    o->on_bad_sample = on_bad;
    o->end_epoch = 2;
    o->max_sample_bytes = BYTES;
    r->config.lookahead = LOOKAHEAD;
    r->config.task_rows = 10;
    column.member = seed % MEMBERS_MAX;
    column.set = &columns;
    columns.members = column.member + 1;
    r->feed.columns = &columns;
    r->feed.partners = &partners;
    r->feed.order = uneven ? &uneven_source : NULL;
    dataset.info.samples = (uint64_t)SAMPLES * (uneven ? columns.members : 1);
    assert_int_equal(sl_feed_open(&r->feed, &r->config, &dataset, NULL), SLUICE_OK);
    r->feed.quarantine = &r->quarantine;
}

static void rig_close(rig *r)
{
    sl_feed_close(&r->feed);
}

/* Returns the oldest undelivered item: fetch requests no more than LOOKAHEAD past it. */
static uint64_t oldest_waiting(const rig *r)
{
    uint64_t oldest = r->asked;
    for (uint32_t i = 0; i < r->waiting_count; i++) {
        oldest = r->waiting[i].sequence < oldest ? r->waiting[i].sequence : oldest;
    }
    return oldest;
}

static void ask(rig *r)
{
    sl_fetch_item item;
    const uint64_t end = oldest_waiting(r) + LOOKAHEAD;
    while (r->asked < end && !r->asleep) {
        r->asleep = sl_feed_next(&r->feed, &item) != SLUICE_OK;
        if (!r->asleep) {
            item.sequence = r->asked++;
            r->waiting[r->waiting_count++] = item;
        }
    }
}

/* Returns an unused handle; occasionally the reserve. */
static uint32_t hold(rig *r)
{
    uint32_t handle = below(r, 8) == 0 && !played.held[RESERVE] ? RESERVE : 0;
    while (played.held[handle]) {
        handle++;
        assert_true(handle < HANDLES_MAX);
    }
    played.held[handle] = true;
    played.held_count++;
    return handle;
}

static void deliver(rig *r, const sl_fetch_item *item, sluice_status status)
{
    static const uint8_t bytes[BYTES];
    const uint64_t number = item->sequence == SL_INSERTED
                                ? item->tag
                                : item->sequence; /* number of its want, which identifies the row */
    const sl_row_want want = item->sequence == SL_INSERTED ? r->feed.jobs[number].want
                                                           : r->feed.pending[number % LOOKAHEAD];
    const sl_fetch_bytes there = {{bytes, BYTES}, status == SLUICE_OK ? hold(r) : SL_HANDLE_NONE};
    const bool was_reserve = there.handle == RESERVE;
    sluice_error error = {.status = status};
    sl_feed_deliver(&r->feed, item, status, &there, &error);
    const sl_gathering *gathering = sl_feed_gathering(&r->feed, &want);
    if (was_reserve && atomic_load_explicit(&gathering->waiting, memory_order_relaxed) > 0) {
        assert_false(played.held[RESERVE]);
    }
}

/* Delivers any item that is deliverable; false: there is none. */
static bool deliver_any(rig *r, sluice_status status)
{
    const uint32_t first = r->waiting_count > 0 ? below(r, r->waiting_count) : 0;
    for (uint32_t tries = 0; tries < r->waiting_count; tries++) {
        const uint32_t i = (first + tries) % r->waiting_count;
        if (r->waiting[i].sequence < played.credit || status == SLUICE_CANCELED) {
            const sl_fetch_item item = r->waiting[i];
            r->waiting[i] = r->waiting[--r->waiting_count];
            deliver(r, &item, status);
            return true;
        }
    }
    if (played.inserted_count == 0) {
        return false;
    }
    const sl_fetch_item item = played.inserted[--played.inserted_count];
    deliver(r, &item, status);
    return true;
}

/* Returns the plan's own sample, or a sample of the order of the partners with that number. */
static uint64_t planned(const rig *r, const sl_job *job)
{
    const sl_order *own = &job->slot->order;
    if (r->uneven) {
        return sl_order_sample(own, job->want.position) * columns.members + job->want.member;
    }
    const sl_order order = sl_order_make(SLUICE_SHUFFLE_FULL, SAMPLES, 0, 0,
                                         sl_partner_seed(0, job->want.member), job->want.epoch);
    return sl_order_sample(job->want.member == 0 ? own : &order, job->want.position);
}

static void end_row(rig *r, sl_job *jobs, uint32_t bad_percent)
{
    const uint32_t members = jobs->want.members;
    bool has_reserve = false;
    const uint64_t number = (uint64_t)sl_feed_shown(&r->feed, &jobs->want);
    assert_int_equal(members, r->uneven ? members_of(number) : columns.members);
    for (uint32_t i = 0; i < members; i++) {
        const sl_row_want *want = &jobs[i].want;
        assert_int_equal(want->member, i);
        assert_int_equal(want->row, jobs->want.row);
        assert_int_equal(want->position,
                         sl_step_position(&jobs->slot->step, &jobs->slot->order, want->row));
        if (want->attempt == 0) {
            assert_int_equal(want->sample.index, planned(r, &jobs[i]));
        }
        assert_non_null(jobs[i].bytes.bytes.data);
        has_reserve = has_reserve || jobs[i].bytes.handle == RESERVE;
    }
    if (below(r, 100) < bad_percent) {
        const uint32_t bad = members > 1 ? below(r, members) : 0;
        const sluice_error error = {.status = SLUICE_CORRUPT,
                                    .sample = (int64_t)jobs[bad].want.sample.index};
        sl_feed_bad(&r->feed, jobs, bad, &error);
        /* The row waits for a substitute or is lost: either may need the reserve. */
        assert_false(has_reserve && played.held[RESERVE]);
        return;
    }
    for (uint32_t i = 0; i < members; i++) {
        r->seen[i][sl_feed_shown(&r->feed, &jobs[i].want)]++;
    }
    r->rows++;
    sl_feed_release(&r->feed, jobs, members);
    sl_feed_done(&r->feed, jobs->slot, 1);
}

static void run_task(rig *r, uint32_t bad_percent)
{
    const uint32_t i = below(r, played.task_count);
    const sl_task task = played.tasks[i];
    played.tasks[i] = played.tasks[--played.task_count];
    assert_in_range(task.count, 1, SL_TASK_ROWS);
    uint32_t number = task.first;
    for (uint32_t row = 0; row < task.count; row++) {
        sl_job jobs[MEMBERS_MAX];
        if (task.slot != NULL) {
            const uint64_t sample =
                sl_order_sample(&task.slot->order, task.slot->step.first + task.first + row);
            if (!sl_feed_find(&r->feed, task.slot, task.first + row, sample, jobs)) {
                continue;
            }
        } else {
            memcpy(jobs, &r->feed.jobs[number], columns.members * sizeof(*jobs));
            number = jobs->next;
        }
        end_row(r, jobs, bad_percent);
    }
}

static bool step(rig *r, uint32_t bad_percent, uint32_t unread_percent)
{
    ask(r);
    bool moved = deliver_any(r, below(r, 100) < unread_percent ? SLUICE_IO : SLUICE_OK);
    if (below(r, 4) == 0 || !moved) {
        sl_feed_flush(&r->feed);
    }
    if (played.task_count > 0 && (below(r, 3) == 0 || !moved)) {
        run_task(r, bad_percent);
        moved = true;
    }
    const uint64_t before = played.begun;
    sl_feed_begin_steps(&r->feed);
    r->asleep = r->asleep && !played.wakes;
    played.wakes = 0;
    return moved || played.begun != before || played.task_count > 0;
}

static uint64_t steps_of_epoch(void)
{
    return (SAMPLES + BATCH - 1) / BATCH;
}

static void start(rig *r)
{
    r->asleep = false;
    r->asked = 0;
    played.credit = 0;
    sl_feed_start(&r->feed, 0, 0);
}

static void finish(const rig *r, uint64_t rows)
{
    assert_int_equal(played.begun, 2 * steps_of_epoch());
    assert_int_equal(played.filled, played.begun);
    assert_int_equal(r->waiting_count, 0);
    assert_int_equal(played.held_count, 0);
    assert_int_equal(r->rows, rows);
}

static void expect_each_twice(const rig *r)
{
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t member = 0; member < columns.members; member++) {
            const bool has = !r->uneven || member < members_of(i);
            assert_int_equal(r->seen[member][i], has ? 2 : 0); /* once in each epoch */
        }
    }
}

static void make_every_row_once(bool uneven)
{
    static rig r;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        rig_open(&r, uneven, SLUICE_BAD_FAIL, seed);
        start(&r);
        while (step(&r, 0, 0)) {
        }
        finish(&r, UINT64_C(2) * SAMPLES);
        expect_each_twice(&r);
        sl_feed_stop(&r.feed);
        rig_close(&r);
    }
}

TEST(every_row_once)
{
    make_every_row_once(false);
}

TEST(every_uneven_row_once)
{
    make_every_row_once(true);
}

/* The copy in memory is completed somewhere along the way. */
static void go_the_short_road(bool uneven)
{
    static rig r;
    static uint8_t copy[(size_t)SAMPLES * BYTES * MEMBERS_MAX];
    static uint64_t starts[] = {0, sizeof(copy)};
    resident = (sl_resident){.slab = {.base = copy, .bytes = sizeof(copy)},
                             .starts = starts,
                             .objects = 1,
                             .loaded = sizeof(copy)};
    for (uint32_t seed = 1; seed <= 20; seed++) {
        rig_open(&r, uneven, SLUICE_BAD_FAIL, seed);
        start(&r);
        for (uint32_t steps = 0; steps < seed * 90; steps++) {
            (void)step(&r, 0, 0);
        }
        played.resident = true;
        while (step(&r, 0, 0)) {
        }
        finish(&r, UINT64_C(2) * SAMPLES);
        expect_each_twice(&r);
        sl_feed_stop(&r.feed);
        rig_close(&r);
    }
}

TEST(the_short_road)
{
    go_the_short_road(false);
}

TEST(the_short_road_of_uneven_rows)
{
    go_the_short_road(true);
}

/* Bad samples are replaced, by further reads; masked; or fail their step. Uneven rows are not
 * replaced. */
static void meet_bad_rows(bool uneven)
{
    static rig r;
    for (uint32_t seed = 0; seed < 12; seed++) {
        const int32_t policy = SLUICE_BAD_FAIL + (int32_t)(seed % 3);
        rig_open(&r, uneven, policy, seed + 7);
        start(&r);
        while (step(&r, 20, 10)) {
        }
        assert_int_equal(played.filled, 2 * steps_of_epoch());
        const uint64_t bad = atomic_load_explicit(&r.feed.bad, memory_order_relaxed);
        assert_true(bad > 0);
        if (uneven) { /* all samples of a row may be bad */
            assert_in_range(r.rows, UINT64_C(2) * SAMPLES - bad,
                            UINT64_C(2) * SAMPLES - bad / MEMBERS_MAX);
        } else if (policy == SLUICE_BAD_REPLACE) {
            assert_in_range(r.rows, 2 * SAMPLES - 20, 2 * SAMPLES);
        } else if (columns.members == 1) {
            assert_int_equal(r.rows, UINT64_C(2) * SAMPLES - bad);
        } else { /* several samples of a row may be bad */
            assert_in_range(r.rows, UINT64_C(2) * SAMPLES - bad, UINT64_C(2) * SAMPLES - bad / 2);
        }
        assert_int_equal(played.held_count, 0);
        assert_int_equal(played.failed > 0, policy == SLUICE_BAD_FAIL);
        sl_feed_stop(&r.feed);
        rig_close(&r);
    }
}

TEST(bad_rows)
{
    meet_bad_rows(false);
}

TEST(bad_uneven_rows)
{
    meet_bad_rows(true);
}

/* Cancelled at any point: all slots are still filled, and the next run loses nothing. */
static void give_up_anywhere(bool uneven)
{
    static rig r;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        rig_open(&r, uneven, SLUICE_BAD_REPLACE, seed);
        start(&r);
        for (uint32_t steps = 0; steps < seed * 17; steps++) {
            (void)step(&r, 5, 5);
        }
        atomic_store_explicit(&r.feed.stopping, true, memory_order_relaxed);
        while (played.task_count > 0) {
            run_task(&r, 0);
        }
        r.feed.running = false; /* like stop, before fetch cancels */
        while (deliver_any(&r, SLUICE_CANCELED)) {
        }
        sl_feed_flush(&r.feed);
        while (played.task_count > 0) {
            run_task(&r, 0);
        }
        sl_feed_stop(&r.feed);
        assert_int_equal(played.filled, played.begun);
        assert_int_equal(played.held_count, 0);
        memset(r.seen, 0, sizeof(r.seen));
        r.rows = 0;
        played.begun = played.filled = 0;
        memset(played.slots, 0, sizeof(played.slots));
        start(&r);
        while (step(&r, 0, 0)) {
        }
        finish(&r, UINT64_C(2) * SAMPLES);
        expect_each_twice(&r);
        sl_feed_stop(&r.feed);
        rig_close(&r);
    }
}

TEST(given_up_anywhere)
{
    give_up_anywhere(false);
}

TEST(uneven_rows_given_up_anywhere)
{
    give_up_anywhere(true);
}
