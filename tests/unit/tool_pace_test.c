/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how long the arms of a benchmark take, and how many fit into a given time. */
#include "test.h"

#include "../../tools/sluice/bench/pace.h"

#include <math.h>

/* Starved: a batch takes five times as long as the step. */
static const struct bench_pace starved = {.step_s = 0.02, .batch_s = 0.1, .skip = {2, 18, 2}};

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

TEST(test_arms)
{
    struct bench_pace pace = starved;
    assert_true(near(bench_pace_arm_s(&pace, ARM_SYNCHRONOUS, 10), 12 * 0.12));
    assert_true(near(bench_pace_arm_s(&pace, ARM_SLUICE, 10), 0.1 + 28 * 0.1));
    assert_true(near(bench_pace_arm_s(&pace, ARM_RESIDENT, 10), 12 * 0.02));
    assert_true(near(bench_pace_repeat_s(&pace, 10), 1.44 + 2.9 + 0.24));
    pace.supply = true;
    assert_true(near(bench_pace_arm_s(&pace, ARM_SLUICE, 10), 2.9 + 2 * (1.8 + 1)));
    assert_true(near(bench_pace_arm_s(&pace, ARM_SLUICE, 40), 5.9 + 2 * (1.8 + 2)));
    pace.batch_s = 0.01;
    pace.supply = false;
    assert_true(near(bench_pace_arm_s(&pace, ARM_SLUICE, 10), 0.01 + 28 * 0.02));
}

TEST(test_fits)
{
    const double times[] = {0.01, 1, 5, 8, 30, 300, 1e9};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const struct bench_length length = bench_pace_fit(&starved, times[i], 5);
        const double repeats = (double)length.repeats;
        assert_true(length.repeats >= 1 && length.repeats <= 5);
        assert_true(length.steps >= BENCH_STEPS_LEAST);
        if (length.repeats > 1) {
            assert_true(repeats * bench_pace_repeat_s(&starved, length.steps) <= times[i]);
        }
        if (times[i] < 1e6 && length.steps > BENCH_STEPS_LEAST) {
            assert_true(repeats * bench_pace_repeat_s(&starved, length.steps + 1) > times[i]);
        }
    }
    assert_int_equal(bench_pace_fit(&starved, 8, 5).repeats, 1);
    assert_int_equal(bench_pace_fit(&starved, 24, 5).repeats, 5);
    assert_int_equal(bench_pace_fit(&starved, 0.01, 5).steps, BENCH_STEPS_LEAST);
}
