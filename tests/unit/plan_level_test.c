/* SPDX-License-Identifier: Apache-2.0 */
/* Compares how rows are dealt to ranks with every possible deal of a few rows and with a model of
 * the three ways of level.h. In whole epochs, checks that the ranks share out the rows of each
 * step. */
#include "level.h"
#include "test.h"

#include <stdbool.h>
#include <string.h>

enum { ROWS_MAX = 9, RANKS_MAX = 4 };

static uint32_t generator = 1;

static uint32_t drawn(uint32_t below)
{
    generator = generator * 1664525U + 1013904223U;
    return (generator >> 8) % below;
}

/* ---- few rows: every way ---- */

/* Returns the smallest largest sum over all ways to deal rows [place, rows). */
static uint64_t best_of_all(const uint64_t *costs, uint32_t place, uint32_t rows, uint64_t *sums,
                            uint32_t *space, uint32_t world)
{
    uint64_t least = UINT64_MAX;
    if (place == rows) {
        least = 0;
        for (uint32_t r = 0; r < world; r++) {
            least = sums[r] > least ? sums[r] : least;
        }
        return least;
    }
    for (uint32_t r = 0; r < world; r++) {
        if (space[r] == 0) {
            continue;
        }
        space[r]--;
        sums[r] += costs[place];
        const uint64_t found = best_of_all(costs, place + 1, rows, sums, space, world);
        sums[r] -= costs[place];
        space[r]++;
        least = found < least ? found : least;
    }
    return least;
}

static uint64_t best_deal(const sl_level *level, uint32_t rows)
{
    uint64_t sums[RANKS_MAX];
    uint32_t space[RANKS_MAX];
    for (uint32_t r = 0; r < level->world; r++) {
        sums[r] = level->ranks[r].again;
        space[r] = level->ranks[r].rows;
    }
    return best_of_all(level->costs, 0, rows, sums, space, level->world);
}

/* Checks owners and sums against what the ranks may have. Returns the largest sum. */
static uint64_t check_owners(const sl_level *level, uint32_t rows)
{
    uint64_t sums[RANKS_MAX] = {0};
    uint32_t counts[RANKS_MAX] = {0};
    uint64_t largest = 0;
    for (uint32_t place = 0; place < rows; place++) {
        assert_true(level->owners[place] < level->world);
        sums[level->owners[place]] += level->costs[place];
        counts[level->owners[place]]++;
    }
    for (uint32_t r = 0; r < level->world; r++) {
        const uint64_t sum = sums[r] + level->ranks[r].again;
        assert_int_equal(counts[r], level->ranks[r].rows);
        assert_int_equal(level->ranks[r].sum, sum);
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

/* Consecutive rows. */
static uint64_t plain_largest(const sl_level *level)
{
    uint64_t largest = 0;
    for (uint32_t r = 0, place = 0; r < level->world; r++) {
        uint64_t sum = level->ranks[r].again;
        for (uint32_t i = 0; i < level->ranks[r].rows; i++) {
            sum += level->costs[place++];
        }
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

/* Few distinct costs, so that many are equal, or a wide range in which some dwarf others. */
static uint64_t drawn_cost(uint32_t kind)
{
    return kind == 0 ? drawn(4) : (uint64_t)1 << drawn(kind == 1 ? 5 : 40) | drawn(8);
}

TEST(whole_batches_are_near_the_best)
{
    uint32_t exact = 0;
    enum { TIMES = 3000 };
    for (uint32_t i = 0; i < TIMES; i++) {
        sl_level level;
        const uint32_t world = 1 + drawn(RANKS_MAX);
        const uint32_t batch = 1 + drawn(ROWS_MAX / world);
        const uint32_t rows = world * batch;
        assert_int_equal(sl_level_open(&level, rows, world, NULL), SLUICE_OK);
        for (uint32_t place = 0; place < rows; place++) {
            level.costs[place] = drawn_cost(i % 3);
        }
        for (uint32_t r = 0; r < world; r++) {
            level.ranks[r].rows = batch;
        }
        const uint64_t largest = sl_level_deal(&level, rows);
        const uint64_t best = best_deal(&level, rows);
        assert_int_equal(check_owners(&level, rows), largest);
        assert_true(largest >= best && 3 * largest <= 4 * best);
        assert_true(largest <= plain_largest(&level));
        exact += largest == best;
        sl_level_close(&level);
    }
    assert_true(exact > TIMES * 9 / 10);
}

TEST(uneven_numbers_and_rows_that_come_again)
{
    for (uint32_t i = 0; i < 3000; i++) {
        sl_level level;
        const uint32_t world = 1 + drawn(RANKS_MAX);
        uint32_t rows = 0;
        assert_int_equal(sl_level_open(&level, ROWS_MAX, world, NULL), SLUICE_OK);
        for (uint32_t r = 0; r < world; r++) {
            level.ranks[r].rows = drawn(ROWS_MAX / RANKS_MAX + 1);
            level.ranks[r].again = drawn(2) * drawn_cost(i % 3);
            rows += level.ranks[r].rows;
        }
        for (uint32_t place = 0; place < rows; place++) {
            level.costs[place] = drawn_cost(i % 3);
        }
        const uint64_t largest = sl_level_deal(&level, rows);
        assert_int_equal(check_owners(&level, rows), largest);
        assert_true(largest >= best_deal(&level, rows) && largest <= plain_largest(&level));
        sl_level_close(&level);
    }
}

/* ---- a model of the three ways ---- */

typedef struct dealt {
    uint32_t owners[ROWS_MAX];
    uint64_t sums[RANKS_MAX];
    uint32_t left[RANKS_MAX];
} dealt;

static void begin_model(const sl_level *level, dealt *d)
{
    for (uint32_t r = 0; r < level->world; r++) {
        d->sums[r] = level->ranks[r].again;
        d->left[r] = level->ranks[r].rows;
    }
}

static void give(const sl_level *level, dealt *d, uint32_t place, uint32_t rank)
{
    assert_true(d->left[rank] > 0);
    d->owners[place] = rank;
    d->sums[rank] += level->costs[place];
    d->left[rank]--;
}

/* Returns the most expensive row without an owner; of equal ones, the first. */
static uint32_t next_longest(const sl_level *level, uint32_t rows, bool has_owner[ROWS_MAX])
{
    uint32_t found = rows;
    for (uint32_t i = 0; i < rows; i++) {
        if (!has_owner[i] && (found == rows || level->costs[i] > level->costs[found])) {
            found = i;
        }
    }
    has_owner[found] = true;
    return found;
}

static uint32_t least_with_space(const sl_level *level, const dealt *d)
{
    uint32_t found = level->world;
    for (uint32_t r = 0; r < level->world; r++) {
        if (d->left[r] > 0 && (found == level->world || d->sums[r] < d->sums[found])) {
            found = r;
        }
    }
    return found;
}

/* Deals as level.h describes `way`: 0 plain, 1 longest, 2 snake. Returns the largest sum. */
static uint64_t deal_by_model(const sl_level *level, uint32_t rows, uint32_t way, dealt *d)
{
    bool has_owner[ROWS_MAX] = {false};
    uint32_t turn = 0; /* snake: counts the ranks it has passed, forward and backward */
    uint64_t largest = 0;
    begin_model(level, d);
    for (uint32_t i = 0, rank = 0; i < rows; i++) {
        const uint32_t place = way == 0 ? i : next_longest(level, rows, has_owner);
        if (way == 1) {
            rank = least_with_space(level, d);
        }
        while (way == 0 && d->left[rank] == 0) {
            rank++;
        }
        for (bool found = false; way == 2 && !found; turn++) {
            const uint32_t at = turn % (2 * level->world);
            rank = at < level->world ? at : 2 * level->world - 1 - at;
            found = d->left[rank] > 0;
        }
        give(level, d, place, rank);
    }
    for (uint32_t r = 0; r < level->world; r++) {
        largest = d->sums[r] > largest ? d->sums[r] : largest;
    }
    return largest;
}

/* The best of the three ways is used, or the first of several that are equal. */
TEST(rows_are_dealt_by_the_best_way)
{
    uint32_t chosen[3] = {0};
    for (uint32_t i = 0; i < 3000; i++) {
        sl_level level;
        dealt best = {0};
        uint64_t least = UINT64_MAX;
        uint32_t rows = 0;
        uint32_t way = 0;
        const uint32_t world = 1 + drawn(RANKS_MAX);
        assert_int_equal(sl_level_open(&level, ROWS_MAX, world, NULL), SLUICE_OK);
        for (uint32_t r = 0; r < world; r++) {
            level.ranks[r].rows = 1 + drawn(ROWS_MAX / RANKS_MAX);
            level.ranks[r].again = i % 4 == 0 ? drawn_cost(i % 3) : 0;
            rows += level.ranks[r].rows;
        }
        for (uint32_t place = 0; place < rows; place++) {
            level.costs[place] = drawn_cost(i % 3);
        }
        for (uint32_t k = 0; k < 3; k++) {
            dealt d = {0};
            const uint64_t largest = deal_by_model(&level, rows, k, &d);
            if (largest < least) {
                least = largest;
                best = d;
                way = k;
            }
        }
        chosen[way]++;
        assert_int_equal(sl_level_deal(&level, rows), least);
        assert_memory_equal(level.owners, best.owners, rows * sizeof(*best.owners));
        sl_level_close(&level);
    }
    assert_true(chosen[0] > 0 && chosen[1] > 0 && chosen[2] > 0);
}

/* Rows that are already level stay in place. */
TEST(equal_rows_stay)
{
    sl_level level;
    assert_int_equal(sl_level_open(&level, 12, 3, NULL), SLUICE_OK);
    for (uint32_t r = 0; r < 3; r++) {
        level.ranks[r].rows = 4;
    }
    for (uint32_t place = 0; place < 12; place++) {
        level.costs[place] = 5;
    }
    assert_int_equal(sl_level_deal(&level, 12), 20);
    for (uint32_t place = 0; place < 12; place++) {
        assert_int_equal(level.owners[place], place / 4);
    }
    sl_level_close(&level);
}

TEST(sums_of_the_largest_rows_do_not_wrap)
{
    enum { BATCH = 65536, WORLD = 2 };
    sl_level level;
    assert_int_equal(sl_level_open(&level, (uint64_t)BATCH * WORLD, WORLD, NULL), SLUICE_OK);
    for (uint32_t place = 0; place < BATCH * WORLD; place++) {
        level.costs[place] = SL_ROW_COST_MAX;
    }
    level.ranks[0].rows = level.ranks[1].rows = BATCH;
    assert_true(sl_level_deal(&level, BATCH * WORLD) == UINT64_MAX);
    level.costs[BATCH] = SL_ROW_COST_MAX - 1;
    (void)sl_level_deal(&level, BATCH * WORLD);
    assert_true(level.ranks[1].sum == UINT64_MAX);
    level.costs[BATCH] = level.costs[0] = 1;
    assert_true(sl_level_deal(&level, BATCH * WORLD) == SL_ROW_COST_MAX * (BATCH - 1) + 1);
    sl_level_close(&level);
}

/* ---- steps of an epoch ---- */

static uint64_t cost_at(uint64_t position)
{
    const uint64_t hash = (position + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return (hash >> 40) % 1000 * ((hash >> 20) % 1000);
}

static void some_costs(const sl_order *order, uint64_t first, uint32_t count, uint64_t *costs)
{
    assert_true(first <= order->count && count <= order->count - first);
    for (uint32_t i = 0; i < count; i++) {
        costs[i] = cost_at(first + i);
    }
}

static void same_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples)
{
    (void)order;
    for (uint32_t i = 0; i < count; i++) {
        samples[i] = first + i;
    }
}

static const sl_order_kind some_order = {.name = "some",
                                         .samples = same_samples,
                                         .costs = some_costs};

enum { COUNT = 61, BATCH_MAX = 5, WORLD_MAX = 8 };

/* Checks the rank's step with its places: only the positions of its own rows may differ from the
 * plain step. Marks these positions. */
static uint64_t check_rank(sl_level *level, const sl_plan *plan, uint64_t number, uint8_t *seen)
{
    uint32_t places[BATCH_MAX];
    uint64_t samples[BATCH_MAX];
    const sl_step plain = sl_plan_step(plan, number);
    sl_step step = plain;
    uint64_t sum = 0;
    sl_level_step(level, plan, number, places);
    step.places = places;
    sl_step_samples(&step, &plan->order, 0, step.filled, samples);
    for (uint32_t row = 0; row < step.filled; row++) {
        const uint64_t position = sl_step_position(&step, &plan->order, row);
        assert_int_equal(samples[row], position);
        sum += cost_at(position);
        if (row >= step.own) {
            assert_int_equal(position, sl_step_position(&plain, &plan->order, row));
            continue;
        }
        assert_true(row == 0 || places[row] > places[row - 1]);
        assert_int_equal(position, plain.base + places[row]);
        seen[position]++;
    }
    return sum;
}

static uint64_t plain_sum(const sl_plan *plan, uint64_t number)
{
    const sl_step step = sl_plan_step(plan, number);
    uint64_t sum = 0;
    for (uint32_t row = 0; row < step.filled; row++) {
        sum += cost_at(sl_step_position(&step, &plan->order, row));
    }
    return sum;
}

/* Checks that all ranks' parts of a step together have each of its positions once. */
static void check_step(sl_level *level, sl_plan *plan, uint64_t number)
{
    uint8_t seen[COUNT] = {0};
    const uint64_t begin = sl_plan_position(plan, number);
    const uint64_t end = sl_plan_position(plan, number + 1);
    uint64_t largest = 0;
    uint64_t plain = 0;
    for (plan->rank = 0; plan->rank < plan->world; plan->rank++) {
        const uint64_t sum = check_rank(level, plan, number, seen);
        const uint64_t other = plain_sum(plan, number);
        largest = sum > largest ? sum : largest;
        plain = other > plain ? other : plain;
    }
    plan->rank = 0;
    for (uint64_t position = 0; position < COUNT; position++) {
        assert_int_equal(seen[position], position >= begin && position < end);
    }
    assert_true(largest <= plain);
}

/* Checks an epoch from several starting positions. */
static void check_epoch(uint32_t batch, uint32_t world, sluice_last_batch last)
{
    sl_level level;
    assert_int_equal(sl_level_open(&level, (uint64_t)batch * world, world, NULL), SLUICE_OK);
    for (uint64_t start = 0; start <= COUNT; start += 13) {
        sl_plan plan = {.order = {.kind = &some_order, .count = COUNT},
                        .start = start,
                        .batch = batch,
                        .world = world,
                        .last = last};
        const uint64_t steps = sl_plan_steps(&plan);
        for (uint64_t number = 0; number < steps; number++) {
            check_step(&level, &plan, number);
        }
    }
    sl_level_close(&level);
}

TEST(ranks_share_the_rows_of_each_step)
{
    static const uint32_t worlds[] = {1, 2, 3, WORLD_MAX};
    for (int32_t last = SLUICE_LAST_DROP; last <= SLUICE_LAST_WRAP; last++) {
        for (uint32_t i = 0; i < 4 * BATCH_MAX; i++) {
            check_epoch(1 + i / 4, worlds[i % 4], (sluice_last_batch)last);
        }
    }
}
