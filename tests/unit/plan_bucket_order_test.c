/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the promises of the order with buckets by brute force: each sample once, one bucket per
 * step on all ranks, separate shares, remainders by the rule, resuming anywhere; and the nearest
 * bucket against logarithms. The model of test_buckets.py pins the arrangements themselves. */
#include "bucket_order.h"
#include "bucketing.h"
#include "philox.h"
#include "plan.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MAX = 700, WORLD_MAX = 5 };

static const sluice_last_batch rules[] = {SLUICE_LAST_DROP, SLUICE_LAST_PAD, SLUICE_LAST_SHORT,
                                          SLUICE_LAST_REPEAT, SLUICE_LAST_WRAP};

/* One bucket set, and how often each sample was seen. */
typedef struct world {
    sl_bucket_set set;
    uint8_t bucket_of[SAMPLES_MAX];
    unsigned seen[SAMPLES_MAX], again[SAMPLES_MAX];
    uint64_t samples;
    uint32_t count;
} world;

static void open_world(world *w, sl_random *random, uint64_t global)
{
    memset(w, 0, sizeof(*w));
    w->samples = 1 + sl_random_below(random, SAMPLES_MAX);
    w->count = 1 + sl_random_below(random, SL_BUCKETS_MAX);
    /* Some buckets are empty, some hold nearly everything. */
    const uint32_t common = sl_random_below(random, w->count);
    const bool skewed = sl_random_below(random, 2) == 0;
    for (uint64_t i = 0; i < w->samples; i++) {
        const bool is_common = skewed && sl_random_below(random, 4) > 0;
        w->bucket_of[i] = (uint8_t)(is_common ? common : sl_random_below(random, w->count));
    }
    assert_int_equal(sl_bucket_set_open(&w->set, w->bucket_of, w->samples, w->count, global, NULL),
                     SLUICE_OK);
}

/* Checks the rows of one step on one rank: they share a bucket, and reading them in parts gives the
 * same. */
static void check_rows(world *w, const sl_plan *plan, const sl_step *at)
{
    uint64_t samples[64];
    uint64_t parts[64];
    const uint32_t half = at->filled / 2;
    assert_true(at->filled <= 64 && at->own <= at->filled && at->filled <= at->rows);
    sl_step_samples(at, &plan->order, 0, at->filled, samples);
    sl_step_samples(at, &plan->order, 0, half, parts);
    sl_step_samples(at, &plan->order, half, at->filled - half, parts + half);
    assert_memory_equal(samples, parts, at->filled * sizeof(samples[0]));
    for (uint32_t row = 0; row < at->filled; row++) {
        const uint64_t position = sl_step_position(at, &plan->order, row);
        assert_int_equal(samples[row], sl_order_sample(&plan->order, position));
        assert_int_equal(w->bucket_of[samples[row]], at->bucket);
        (row < at->own ? w->seen : w->again)[samples[row]]++;
    }
}

static void check_shape(const sl_plan *plan, const sl_step *at)
{
    if (at->own == plan->batch) {
        assert_true(at->rows == plan->batch && at->filled == plan->batch);
        return;
    }
    assert_int_not_equal(plan->last, SLUICE_LAST_DROP);
    assert_int_equal(at->rows, plan->last == SLUICE_LAST_SHORT ? at->own : plan->batch);
    const bool repeats = plan->last == SLUICE_LAST_REPEAT || plan->last == SLUICE_LAST_WRAP;
    assert_int_equal(at->filled, repeats ? plan->batch : at->own);
}

/* Runs all ranks from `start` on. Returns the number of steps. */
static uint64_t walk(world *w, sl_plan plan, uint64_t start)
{
    plan.start = start;
    const uint64_t steps = sl_plan_steps(&plan);
    uint64_t rows[WORLD_MAX] = {0};
    for (uint64_t step = 0; step < steps; step++) {
        uint32_t bucket = UINT32_MAX;
        uint32_t least = UINT32_MAX;
        uint32_t most = 0;
        for (plan.rank = 0; plan.rank < plan.world; plan.rank++) {
            const sl_step at = sl_plan_step(&plan, step);
            assert_true(bucket == UINT32_MAX || bucket == at.bucket);
            bucket = at.bucket;
            least = at.own < least ? at.own : least;
            most = at.own > most ? at.own : most;
            rows[plan.rank] += at.own;
            check_shape(&plan, &at);
            check_rows(w, &plan, &at);
        }
        assert_true(most - least <= 1);
        plan.rank = 0;
    }
    for (; plan.rank < plan.world; plan.rank++) {
        assert_int_equal(sl_plan_rows(&plan), rows[plan.rank]);
    }
    plan.rank = 0;
    assert_int_equal(sl_plan_position(&plan, 0), start);
    return steps;
}

/* Only DROP may omit samples: per bucket, the remainder of a global batch. */
static void check_seen(const world *w, sluice_last_batch last)
{
    uint64_t left[SL_BUCKETS_MAX] = {0};
    const uint64_t global =
        w->set.global > 0 ? w->set.global : 1; /* always > 0, which clang-tidy cannot know */
    for (uint64_t i = 0; i < w->samples; i++) {
        assert_true(w->seen[i] <= 1 && (last >= SLUICE_LAST_REPEAT || w->again[i] == 0));
        left[w->bucket_of[i]] += w->seen[i] == 0;
    }
    for (uint32_t b = 0; b < w->count; b++) {
        const uint64_t rest = sl_bucket_samples(&w->set, b) % global;
        assert_int_equal(left[b], last == SLUICE_LAST_DROP ? rest : 0);
    }
}

static void check_positions(const world *w, const sl_order *order)
{
    uint64_t all[SAMPLES_MAX];
    sl_order_samples(order, 0, (uint32_t)w->samples, all);
    for (uint64_t p = 0; p < w->samples; p++) {
        const sl_order_place at = sl_bucket_find(order, p);
        assert_int_equal(sl_bucket_position(order, at), p);
        assert_int_equal(w->bucket_of[all[p]], at.group);
        assert_int_equal(sl_order_sample(order, p), all[p]);
    }
}

static void check_substitutes(const world *w, const sl_plan *plan, sl_random *random)
{
    for (int i = 0; i < 20; i++) {
        const uint64_t position = sl_random_below(random, (uint32_t)w->samples);
        const uint64_t own = sl_order_sample(&plan->order, position);
        const uint32_t attempt = 1 + sl_random_below(random, 8);
        const uint64_t other = sl_plan_substitute(plan, 3, 4, position, attempt);
        assert_int_equal(w->bucket_of[other], w->bucket_of[own]);
        assert_int_equal(sl_plan_choices(plan, position),
                         sl_bucket_samples(&w->set, w->bucket_of[own]));
        assert_true((other != own) == (sl_plan_choices(plan, position) > 1));
    }
}

/* From each step on, the rest of the epoch is the same. */
static void check_resuming(world *w, const sl_plan *plan, uint64_t steps)
{
    for (uint64_t step = 0; step <= steps; step++) {
        sl_plan later = *plan;
        uint64_t number = 0;
        later.start = sl_plan_position(plan, step);
        assert_true(sl_bucket_step_at(&w->set, later.start, &number));
        assert_int_equal(number, step);
        assert_int_equal(sl_plan_entered(&later), step);
        assert_int_equal(sl_plan_steps(&later), steps - step);
        if (step < steps) {
            const sl_step one = sl_plan_step(plan, step);
            const sl_step other = sl_plan_step(&later, 0);
            assert_memory_equal(&one, &other, sizeof(one));
        }
    }
}

TEST(the_order_is_what_it_promises)
{
    for (uint32_t round = 0; round < TEST_AMOUNT(600, 100); round++) {
        sl_random random = sl_random_for(1, round, 0, 0);
        static world w;
        sl_plan plan = {.batch = 1 + sl_random_below(&random, 13),
                        .world = 1 + sl_random_below(&random, WORLD_MAX),
                        .last = rules[round % 4]};
        open_world(&w, &random, (uint64_t)plan.batch * plan.world);
        const bool shuffles = sl_random_below(&random, 4) > 0;
        plan.order = sl_order_make_buckets(
            &w.set, shuffles ? SLUICE_SHUFFLE_FULL : SLUICE_SHUFFLE_NONE, 7, round);
        check_positions(&w, &plan.order);
        const uint64_t steps = walk(&w, plan, 0);
        check_seen(&w, plan.last);
        check_resuming(&w, &plan, steps);
        check_substitutes(&w, &plan, &random);
        sl_bucket_set_close(&w.set);
    }
}

/* A position at which no step begins cannot be resumed. */
TEST(positions_between_steps_are_told)
{
    static const uint8_t bucket_of[] = {0, 1, 0, 1, 1, 0, 1, 0, 0, 2};
    sl_bucket_set set;
    assert_int_equal(sl_bucket_set_open(&set, bucket_of, 10, 3, 3, NULL), SLUICE_OK);
    static const bool begins[] = {true, false, false, true, false, false,
                                  true, false, true,  true, true};
    for (uint64_t i = 0; i <= 10; i++) {
        uint64_t step;
        assert_int_equal(sl_bucket_step_at(&set, i, &step), begins[i]);
    }
    uint64_t step;
    assert_false(sl_bucket_step_at(&set, 11, &step));
    sl_bucket_set_close(&set);
}

/* Batch sizes come mixed, and in another order in another epoch: no bucket comes late. */
TEST(batches_of_buckets_are_mixed)
{
    enum { BUCKETS = 4, EACH = 25, GLOBAL = 4 };
    uint8_t bucket_of[(size_t)BUCKETS * EACH * GLOBAL];
    for (size_t i = 0; i < sizeof(bucket_of); i++) {
        bucket_of[i] = (uint8_t)(i % BUCKETS);
    }
    sl_bucket_set set;
    assert_int_equal(sl_bucket_set_open(&set, bucket_of, sizeof(bucket_of), BUCKETS, GLOBAL, NULL),
                     SLUICE_OK);
    double sums[BUCKETS] = {0};
    for (uint64_t epoch = 0; epoch < 200; epoch++) {
        const sl_order order = sl_order_make_buckets(&set, SLUICE_SHUFFLE_FULL, 1, epoch);
        for (uint64_t step = 0; step < (uint64_t)BUCKETS * EACH; step++) {
            sums[sl_bucket_step_of(&order, step).group] += (double)step / (200.0 * EACH);
        }
    }
    for (size_t i = 0; i < BUCKETS; i++) { /* the mean step is 49.5, with an error of about 0.4 */
        assert_true(fabs(sums[i] - 49.5) < 2);
    }
    sl_bucket_set_close(&set);
}

static sl_bucketing bucketing_of(const char *text)
{
    sl_bucketing made = {.count = 0};
    assert_int_equal(sl_bucketing_read(&made, text, NULL), SLUICE_OK);
    return made;
}

TEST(lists_are_read)
{
    const sl_bucketing b = bucketing_of("1024x1024,832x1216,1x16384");
    assert_int_equal(b.count, 3);
    assert_true(b.sizes[1].width == 832 && b.sizes[1].height == 1216);
    assert_true(b.sizes[2].width == 1 && b.sizes[2].height == 16384);
    static const char *const bad[] = {"",
                                      "8",
                                      "8x",
                                      "x8",
                                      "8x8,",
                                      ",8x8",
                                      "8x8 ",
                                      " 8x8",
                                      "0x8",
                                      "8x0",
                                      "-8x8",
                                      "8x-8",
                                      "8x8;9x9",
                                      "8x16385",
                                      "8X8",
                                      "8x8,8x8",
                                      "08x8",
                                      "8x8x8",
                                      "99999999999999999999x8"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sl_bucketing other = {.count = 0};
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sl_bucketing_read(&other, bad[i], &error), SLUICE_INVALID);
        assert_non_null(strstr(error.text, "buckets"));
    }
}

TEST(a_sample_is_in_its_bucket_alone)
{
    enum { SAMPLES = 300, BUCKETS = 5 };
    uint8_t of[SAMPLES];
    sl_bucket_set set;
    sl_random random = sl_random_for(8, 0, 0, 0);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        of[i] = (uint8_t)(sl_random_below(&random, BUCKETS - 1)); /* the last bucket is empty */
    }
    assert_int_equal(sl_bucket_set_open(&set, of, SAMPLES, BUCKETS, 4, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
            assert_int_equal(sl_bucket_has(&set, bucket, i), of[i] == bucket);
        }
    }
    sl_bucket_set_close(&set);
}

TEST(the_nearest_is_that_of_logarithms)
{
    sl_random random = sl_random_for(2, 0, 0, 0);
    for (uint32_t round = 0; round < TEST_AMOUNT(4000, 500); round++) {
        sl_bucketing b = {.count = 1 + sl_random_below(&random, SL_BUCKETS_MAX)};
        for (uint32_t i = 0; i < b.count; i++) {
            b.sizes[i] =
                (sluice_size){1 + sl_random_below(&random, 40), 1 + sl_random_below(&random, 40)};
        }
        const uint32_t most = round % 2 == 0 ? 50 : INT32_MAX;
        const sluice_size size = {1 + sl_random_below(&random, most),
                                  1 + sl_random_below(&random, most)};
        const uint32_t found = sl_bucketing_nearest(&b, size);
        const double at = log((double)size.width / size.height);
        const double nearest = fabs(log((double)b.sizes[found].width / b.sizes[found].height) - at);
        for (uint32_t i = 0; i < b.count; i++) {
            const double own = fabs(log((double)b.sizes[i].width / b.sizes[i].height) - at);
            assert_true(nearest < own + 1e-9);
            const bool ties = fabs(own - nearest) < 1e-12;
            const uint64_t area = (uint64_t)b.sizes[i].width * b.sizes[i].height;
            const uint64_t taken = (uint64_t)b.sizes[found].width * b.sizes[found].height;
            assert_true(!ties || taken > area || (taken == area && found <= i));
        }
    }
}
