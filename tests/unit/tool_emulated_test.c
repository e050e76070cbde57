/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the emulated accelerator: how long its steps take, and which side waits. */
#include "test.h"

#include "../../tools/sluice/bench/emulated.h"
#include "../../tools/sluice/common/clock.h"

enum { STEPS = 6 };
static const double step_s = 0.004;

/* Runs STEPS steps, each requested `late_s` after the previous one allowed it. */
static struct bench_steps run(uint32_t ahead, double late_s)
{
    struct accelerator *accelerator = emulated_open(step_s, ahead);
    struct bench_steps steps;
    assert_non_null(accelerator);
    assert_true(bench_steps_begin(&steps, 1, STEPS - 1));
    assert_int_equal(accelerator->ops->begin(accelerator, &steps), 0);
    for (int i = 0; i < STEPS; i++) {
        const double asked = clock_seconds();
        clock_sleep_until(asked + late_s);
        assert_int_equal(accelerator->ops->step(accelerator, NULL, asked, clock_seconds()), 0);
    }
    assert_int_equal(accelerator->ops->finish(accelerator), 0);
    assert_true(clock_seconds() >= steps.at[STEPS - 1].end);
    accelerator->ops->close(accelerator);
    assert_int_equal(steps.count, STEPS);
    return steps;
}

/* Ahead: a step begins exactly when the previous one ends, however late the host wakes. */
TEST(test_ahead_steps_touch)
{
    struct bench_steps steps = run(2, 0);
    for (int i = 1; i < STEPS; i++) {
        assert_true(steps.at[i].begin >= steps.at[i - 1].end);
        assert_true(steps.at[i].begin == steps.at[i - 1].end ||
                    steps.at[i].begin == steps.at[i].got);
        assert_true(steps.at[i].end == steps.at[i].begin + step_s);
    }
    bench_steps_free(&steps);
}

/* At most `ahead` steps are in flight when another is requested. */
TEST(test_ahead_is_bounded)
{
    for (uint32_t ahead = 0; ahead <= 3; ahead++) {
        struct bench_steps steps = run(ahead, 0);
        for (uint32_t i = ahead + 1; i < STEPS; i++) {
            assert_true(steps.at[i].asked >= steps.at[i - ahead - 1].end);
        }
        bench_steps_free(&steps);
    }
}

/* Not ahead: the host sleeps through the step, and its oversleeping counts as part of the step. */
TEST(test_not_ahead_counts_the_sleep)
{
    struct bench_steps steps = run(0, 0);
    for (int i = 0; i < STEPS; i++) {
        assert_true(steps.at[i].begin == steps.at[i].got);
        assert_true(steps.at[i].end >= steps.at[i].begin + step_s);
    }
    bench_steps_free(&steps);
}

/* Late data make the accelerator wait. */
TEST(test_late_data)
{
    struct bench_steps steps = run(1, 2 * step_s);
    for (int i = 1; i < STEPS; i++) {
        assert_true(steps.at[i].begin >= steps.at[i].got);
        assert_true(steps.at[i].got - steps.at[i].asked >= 2 * step_s);
    }
    bench_steps_free(&steps);
}
