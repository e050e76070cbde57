/* SPDX-License-Identifier: Apache-2.0 */
/* Tests steps, ranks, last batches and resumption against a model that marks each position. */
#include "plan.h"
#include "test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 4200, BATCH_MAX = 256 };

static const sluice_last_batch rules[] = {SLUICE_LAST_DROP, SLUICE_LAST_PAD, SLUICE_LAST_SHORT,
                                          SLUICE_LAST_REPEAT, SLUICE_LAST_WRAP};
static const uint32_t worlds[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 64};
static const uint32_t batches[] = {1, 2, 3, 7, 32, 256};

#define WORLDS  (sizeof(worlds) / sizeof(worlds[0]))
#define BATCHES (sizeof(batches) / sizeof(batches[0]))
#define RULES   (sizeof(rules) / sizeof(rules[0]))

/* How often each position was requested. */
static unsigned char marks[COUNT_MAX];

static bool mark(uint64_t position, uint64_t count)
{
    return position < count && ++marks[position] == 1;
}

static bool repeats(const sl_plan *plan)
{
    return plan->last == SLUICE_LAST_REPEAT || plan->last == SLUICE_LAST_WRAP;
}

/* Checks the samples of a rank's rows: its own, then repeated ones, which are the epoch's from
 * `*again` on. Read at once and in two parts. */
static unsigned check_samples(const sl_plan *plan, const sl_step *at, uint64_t *again)
{
    unsigned faults = 0;
    uint64_t samples[BATCH_MAX];
    uint64_t parts[BATCH_MAX];
    const uint32_t half = at->filled / 2;
    sl_step_samples(at, &plan->order, 0, at->filled, samples);
    sl_step_samples(at, &plan->order, 0, half, parts);
    sl_step_samples(at, &plan->order, half, at->filled - half, parts + half);
    for (uint32_t row = 0; row < at->filled; row++) {
        const uint64_t wanted = row < at->own ? at->first + row : (*again)++ % plan->order.count;
        faults += sl_step_position(at, &plan->order, row) != wanted;
        faults += samples[row] != sl_order_sample(&plan->order, wanted);
        faults += parts[row] != samples[row];
    }
    return faults;
}

/* Checks one step on all ranks. Counts the rows that break a rule: a position requested twice or
 * out of range, ranks that do not follow each other, or shares that differ by more than one row. */
static unsigned check_step(sl_plan plan, uint64_t step, uint64_t *next)
{
    unsigned faults = 0;
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    uint64_t again = 0;
    for (plan.rank = 0; plan.rank < plan.world; plan.rank++) {
        const sl_step at = sl_plan_step(&plan, step);
        faults += at.first != *next || at.filled > at.rows;
        faults += at.rows != (plan.last == SLUICE_LAST_SHORT ? at.own : plan.batch);
        faults += at.filled != (repeats(&plan) ? plan.batch : at.own);
        for (uint32_t i = 0; i < at.own; i++) {
            faults += !mark(at.first + i, plan.order.count);
        }
        faults += check_samples(&plan, &at, &again);
        *next = at.first + at.own;
        least = at.own < least ? at.own : least;
        most = at.own > most ? at.own : most;
    }
    return faults + (plan.last != SLUICE_LAST_WRAP && most - least > 1) + (most == 0);
}

/* Runs an epoch from plan.start for up to `steps` steps. Returns the position after them, or
 * UINT64_MAX. */
static uint64_t run(const sl_plan *plan, uint64_t steps)
{
    uint64_t next = plan->start;
    unsigned faults = 0;
    for (uint64_t step = 0; step < steps; step++) {
        faults += check_step(*plan, step, &next);
        faults += next != sl_plan_position(plan, step + 1);
    }
    return faults == 0 ? next : UINT64_MAX;
}

/* True if all ranks have the same number of steps. */
static bool ranks_agree(sl_plan plan)
{
    plan.rank = 0;
    const uint64_t steps = sl_plan_steps(&plan);
    for (; plan.rank < plan.world; plan.rank++) {
        if (sl_plan_steps(&plan) != steps) {
            return false;
        }
    }
    return true;
}

static uint64_t rows_of(const sl_plan *plan)
{
    uint64_t rows = 0;
    for (uint64_t step = 0; step < sl_plan_steps(plan); step++) {
        rows += sl_plan_step(plan, step).own;
    }
    return rows;
}

/* Returns the total over all ranks, or UINT64_MAX if a rank does not know its own number. */
static uint64_t rows_of_all(sl_plan plan)
{
    uint64_t rows = 0;
    for (plan.rank = 0; plan.rank < plan.world; plan.rank++) {
        if (sl_plan_rows(&plan) != rows_of(&plan)) {
            return UINT64_MAX;
        }
        rows += sl_plan_rows(&plan);
    }
    return rows;
}

/* Counts positions in [begin, end) that were not requested exactly once. */
static uint64_t unmarked(uint64_t begin, uint64_t end)
{
    uint64_t wrong = 0;
    for (uint64_t i = begin; i < end; i++) {
        wrong += marks[i] != 1;
    }
    return wrong;
}

static void expect_epoch(const sl_plan *plan)
{
    const uint64_t count = plan->order.count;
    const uint64_t global = (uint64_t)plan->batch * plan->world;
    memset(marks, 0, sizeof(marks));
    assert_true(ranks_agree(*plan));
    const uint64_t end = run(plan, sl_plan_steps(plan));
    assert_true(end <= count);
    assert_true(plan->last == SLUICE_LAST_DROP ? count - end < global : end == count);
    assert_int_equal(unmarked(plan->start, end), 0);
    assert_int_equal(rows_of_all(*plan), end - plan->start);
    for (uint64_t i = 0; i < plan->start; i++) {
        assert_int_equal(marks[i], 0);
    }
    assert_true(sl_plan_position(plan, 0) == plan->start);
}

static void expect_epochs_of(uint64_t count, uint64_t start)
{
    sl_plan plan = {
        .order = sl_order_make(SLUICE_SHUFFLE_NONE, count, 0, 0, 0, 0),
        .start = start,
    };
    for (size_t w = 0; w < WORLDS; w++) {
        for (size_t b = 0; b < BATCHES; b++) {
            for (size_t r = 0; r < RULES; r++) {
                plan.world = worlds[w];
                plan.batch = batches[b];
                plan.last = rules[r];
                expect_epoch(&plan);
            }
        }
    }
}

TEST(each_position_once_in_every_shape)
{
    for (uint64_t count = 1; count <= 24; count += TEST_AMOUNT(1, 4)) {
        expect_epochs_of(count, 0);
        expect_epochs_of(count, count / 3);
        expect_epochs_of(count, count);
    }
    for (uint64_t count = 25; count <= COUNT_MAX; count += count / TEST_AMOUNT(4, 1) + 3) {
        expect_epochs_of(count, 0);
        expect_epochs_of(count, count / 2 | 1);
        expect_epochs_of(count, count - 1);
    }
}

/* Marks the samples of this rank. True if none had been marked before. */
static bool mark_samples(const sl_plan *plan)
{
    bool fine = true;
    for (uint64_t step = 0; step < sl_plan_steps(plan); step++) {
        const sl_step at = sl_plan_step(plan, step);
        for (uint32_t i = 0; i < at.filled; i++) {
            fine = fine && mark(sl_order_sample(&plan->order, at.first + i), plan->order.count);
        }
    }
    return fine;
}

static void expect_samples_once(sluice_shuffle shuffle, uint64_t count)
{
    sl_plan plan = {
        .order = sl_order_make(shuffle, count, 16, 4, 1, count),
        .batch = 5,
        .world = 3,
        .last = SLUICE_LAST_PAD,
    };
    memset(marks, 0, sizeof(marks));
    for (plan.rank = 0; plan.rank < plan.world; plan.rank++) {
        assert_true(mark_samples(&plan));
    }
    assert_int_equal(unmarked(0, count), 0);
}

/* Checks the samples themselves, through both shuffles. */
TEST(each_sample_once_over_all_ranks)
{
    for (uint64_t count = 1; count < COUNT_MAX; count += count + 2) {
        expect_samples_once(SLUICE_SHUFFLE_FULL, count);
        expect_samples_once(SLUICE_SHUFFLE_BLOCK, count);
    }
}

/* Stops after every step and resumes with another number of ranks and another batch size. */
static void expect_resumable(const sl_plan *plan)
{
    const uint64_t count = plan->order.count;
    for (uint64_t steps = 0; steps <= sl_plan_steps(plan); steps++) {
        memset(marks, 0, sizeof(marks));
        assert_true(run(plan, steps) != UINT64_MAX);
        sl_plan rest = *plan;
        rest.start = sl_plan_position(plan, steps);
        rest.world = worlds[(steps + plan->world) % WORLDS];
        rest.batch = batches[(steps + plan->batch) % BATCHES];
        const uint64_t end = run(&rest, sl_plan_steps(&rest));
        assert_true(end <= count);
        assert_int_equal(unmarked(0, end), 0);
        const uint64_t left_out = rest.last == SLUICE_LAST_DROP ? count - end : 0;
        assert_true(left_out < (uint64_t)rest.batch * rest.world && end + left_out == count);
    }
}

static void expect_resumable_in_all_shapes(uint64_t count)
{
    sl_plan plan = {.order = sl_order_make(SLUICE_SHUFFLE_NONE, count, 0, 0, 0, 0)};
    for (size_t w = 0; w < WORLDS; w += 2) {
        for (size_t b = 0; b < 4; b++) {
            for (size_t r = 0; r < RULES; r++) {
                plan.world = worlds[w];
                plan.batch = batches[b];
                plan.last = rules[r];
                expect_resumable(&plan);
            }
        }
    }
}

TEST(every_step_can_be_resumed_with_another_shape)
{
    for (uint64_t count = 1; count < TEST_AMOUNT(700, 150); count += count / 3 + 1) {
        expect_resumable_in_all_shapes(count);
    }
}

TEST(large_figures_do_not_overflow)
{
    sl_plan plan = {
        .order = sl_order_make(SLUICE_SHUFFLE_NONE, (uint64_t)1 << 62, 0, 0, 0, 0),
        .batch = UINT32_MAX,
        .world = UINT32_MAX,
        .last = SLUICE_LAST_SHORT,
    };
    assert_true(sl_plan_steps(&plan) == 1); /* the global batch is larger */
    uint64_t next = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        plan.rank = (uint32_t)i;
        const sl_step at = sl_plan_step(&plan, 0);
        assert_true(at.first == next);
        next = at.first + at.filled;
    }
    plan.rank = UINT32_MAX - 1;
    const sl_step last = sl_plan_step(&plan, 0);
    assert_true(last.first + last.filled == (uint64_t)1 << 62);
    plan.batch = 256;
    plan.world = 1024;
    plan.rank = 1023;
    const uint64_t steps = sl_plan_steps(&plan);
    assert_true(steps == (uint64_t)1 << 44);
    assert_true(sl_plan_step(&plan, steps - 1).first == ((uint64_t)1 << 62) - 256);
}

TEST(a_start_behind_the_end_is_an_empty_epoch)
{
    const sl_plan plan = {
        .order = sl_order_make(SLUICE_SHUFFLE_NONE, 10, 0, 0, 0, 0),
        .start = 11,
        .batch = 2,
        .world = 1,
        .last = SLUICE_LAST_PAD,
    };
    assert_true(sl_plan_steps(&plan) == 0);
}

TEST(substitutes_are_other_samples)
{
    for (uint64_t count = 2; count < 40; count++) {
        const sl_plan plan = {
            .order = sl_order_make(SLUICE_SHUFFLE_FULL, count, 0, 0, 4, 2), .batch = 4, .world = 1};
        for (uint64_t position = 0; position < count; position++) {
            for (uint32_t attempt = 1; attempt < 20; attempt++) {
                const uint64_t got = sl_plan_substitute(&plan, 4, 2, position, attempt);
                assert_true(got < count && got != sl_order_sample(&plan.order, position));
                assert_true(got == sl_plan_substitute(&plan, 4, 2, position, attempt));
            }
        }
    }
    const sl_plan one = {
        .order = sl_order_make(SLUICE_SHUFFLE_FULL, 1, 0, 0, 4, 2), .batch = 1, .world = 1};
    assert_true(sl_plan_substitute(&one, 4, 2, 0, 1) == 0);
}

/* Every other sample is equally likely, over positions, epochs and attempts alike. */
TEST(substitutes_are_spread)
{
    enum { COUNT = 11, DRAWS = 10000 };
    const sl_plan plan = {
        .order = sl_order_make(SLUICE_SHUFFLE_NONE, COUNT, 0, 0, 0, 0), .batch = 1, .world = 1};
    for (int what = 0; what < 3; what++) {
        unsigned bins[COUNT] = {0};
        for (uint32_t i = 0; i < DRAWS; i++) {
            const uint64_t seed = what == 0 ? i : 1;
            const uint64_t epoch = what == 1 ? i : 1;
            bins[sl_plan_substitute(&plan, seed, epoch, 4, what == 2 ? i + 1 : 1)]++;
        }
        for (size_t i = 0; i < COUNT; i++) {
            assert_in_range(bins[i], i == 4 ? 0 : 850, i == 4 ? 0 : 1150);
        }
    }
}

enum { RANKS = 1000, GLOBAL = RANKS * 256 };

/* The samples of one step, rank after rank. */
static void step_samples(sl_plan plan, uint64_t step, uint64_t samples[GLOBAL])
{
    for (plan.rank = 0; plan.rank < plan.world; plan.rank++) {
        const sl_step at = sl_plan_step(&plan, step);
        assert_int_equal(at.filled, plan.batch);
        sl_order_samples(&plan.order, at.first, at.filled,
                         samples + (size_t)plan.rank * plan.batch);
    }
}

static int compare_samples(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Counts samples that come twice or are outside the dataset. Sorts them. */
static uint64_t wrong_ones(uint64_t samples[GLOBAL], uint64_t count)
{
    qsort(samples, GLOBAL, sizeof(*samples), compare_samples);
    uint64_t wrong = samples[GLOBAL - 1] >= count;
    for (size_t i = 1; i < GLOBAL; i++) {
        wrong += samples[i] == samples[i - 1];
    }
    return wrong;
}

/* 10 G samples on 1,000 ranks: steps anywhere in the epoch have each sample once, and a run resumed
 * there, by as many ranks with another batch size, has the same samples. */
TEST(ten_billion_samples_on_a_thousand_ranks)
{
    static uint64_t samples[GLOBAL];
    static uint64_t again[GLOBAL];
    const uint64_t count = UINT64_C(10000000000);
    for (sluice_shuffle shuffle = SLUICE_SHUFFLE_FULL; shuffle <= SLUICE_SHUFFLE_NONE; shuffle++) {
        const sl_plan plan = {.order = sl_order_make(shuffle, count, 64, 16, 5, 3),
                              .batch = 256,
                              .world = RANKS,
                              .last = SLUICE_LAST_DROP};
        assert_true(ranks_agree(plan));
        const uint64_t steps = sl_plan_steps(&plan);
        assert_int_equal(steps, count / GLOBAL);
        const uint64_t looked[] = {0, UINT32_MAX / GLOBAL, steps / 2, steps - 1};
        for (size_t i = 0; i < sizeof(looked) / sizeof(looked[0]); i++) {
            step_samples(plan, looked[i], samples);
            sl_plan resumed = plan;
            resumed.start = sl_plan_position(&plan, looked[i]);
            resumed.batch = 128;
            resumed.world = 2 * RANKS;
            step_samples(resumed, 0, again);
            assert_memory_equal(samples, again, sizeof(samples));
            assert_int_equal(wrong_ones(samples, count), 0);
        }
    }
}
