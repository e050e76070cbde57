/* SPDX-License-Identifier: Apache-2.0 */
/* Tests orders with repetitions: against the rule of DeiT's RASampler, written as a list dealt to
 * ranks, and for bad samples. */
#include "plan.h"
#include "repeat_order.h"
#include "test.h"

enum { SAMPLES = 31, MOST = SAMPLES * 5 };

static sl_repeat_set set_of(uint32_t repeats, uint32_t batch, uint32_t world, uint64_t entries)
{
    sl_repeat_set set = {.samples = SAMPLES,
                         .entries = entries > 0 ? entries : (uint64_t)SAMPLES * repeats,
                         .repeats = repeats,
                         .batch = batch,
                         .world = world};
    set.hash = sl_repeat_hash(&set);
    return set;
}

static sl_plan plan_of(const sl_repeat_set *set, sluice_shuffle shuffle, uint32_t rank)
{
    const sl_order_source source = {
        .kind = &sl_repeat_order, .set = set, .shuffle = shuffle, .count = set->entries};
    return (sl_plan){.order = sl_order_of(&source, 7, 3),
                     .batch = set->batch,
                     .rank = rank,
                     .world = set->world,
                     .last = SLUICE_LAST_SHORT};
}

/* Compares each row of whole steps with the list. Counts all rows by sample and repetition. */
static void expect_list(const sl_plan *plan, const sl_repeat_set *set, uint8_t *seen)
{
    const sl_order plain =
        sl_order_make(plan->order.shuffle, SAMPLES, 0, 0, plan->order.seed, plan->order.epoch);
    const uint64_t whole = set->entries / ((uint64_t)set->batch * set->world);
    for (uint64_t s = 0; s < sl_plan_steps(plan); s++) {
        const sl_step step = sl_plan_step(plan, s);
        for (uint32_t row = 0; row < step.filled; row++) {
            const uint64_t position = sl_step_position(&step, &plan->order, row);
            const uint64_t sample = sl_order_sample(&plan->order, position);
            const uint64_t repetition = sl_repeat_order.repetition(&plan->order, position);
            const uint64_t entry = (s * set->batch + row) * set->world + plan->rank;
            if (s < whole) {
                assert_int_equal(sample, sl_order_sample(&plain, entry / set->repeats));
                assert_int_equal(repetition, entry % set->repeats);
            }
            seen[sample * set->repeats + repetition]++;
        }
    }
}

TEST(ranks_are_dealt_the_list)
{
    static const sluice_shuffle shuffles[] = {SLUICE_SHUFFLE_FULL, SLUICE_SHUFFLE_NONE};
    for (uint32_t number = 0; number < 4 * 4 * 4 * 2; number++) {
        const uint32_t world = number / 2 % 4 + 1;
        const sl_repeat_set set = set_of(number / 8 % 4 + 2, number / 32 + 1, world, 0);
        uint8_t seen[MOST] = {0};
        for (uint32_t rank = 0; rank < world; rank++) {
            const sl_plan plan = plan_of(&set, shuffles[number % 2], rank);
            expect_list(&plan, &set, seen);
        }
        for (uint64_t i = 0; i < set.entries; i++) {
            assert_int_equal(seen[i], 1);
        }
    }
}

TEST(a_bad_sample_is_replaced_by_another_of_the_epoch)
{
    const sl_repeat_set set =
        set_of(3, 4, 2, SAMPLES); /* the first 11 samples of the permutation */
    const sl_plan plan = plan_of(&set, SLUICE_SHUFFLE_FULL, 0);
    uint8_t stands[SAMPLES] = {0};
    for (uint64_t p = 0; p < set.entries; p++) {
        stands[sl_order_sample(&plan.order, p)] = 1;
    }
    assert_int_equal(sl_plan_choices(&plan, 0), 11);
    for (uint64_t p = 0; p < set.entries; p++) {
        for (uint32_t attempt = 1; attempt < 9; attempt++) {
            const uint64_t found = sl_plan_substitute(&plan, 7, 3, p, attempt);
            assert_true(stands[found] && found != sl_order_sample(&plan.order, p));
        }
    }
}

TEST(a_hash_is_of_all_that_counts)
{
    const sl_repeat_set one = set_of(3, 4, 2, 0);
    const sl_repeat_set same = set_of(3, 2, 4, 0); /* global batches of the same samples */
    const sl_repeat_set others[] = {set_of(4, 4, 2, 0), set_of(3, 4, 3, 0), set_of(3, 4, 2, 50)};
    assert_true(one.hash == same.hash && one.hash != 0);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        assert_true(others[i].hash != one.hash);
    }
}
