/* SPDX-License-Identifier: Apache-2.0 */
/* The emulated accelerator: how long its steps take, and who waits for whom. */
#include "test.h"

#include "../../tools/sluice/bench/emulated.h"
#include "../../tools/sluice/common/clock.h"

enum { STEPS = 6 };
static const double step_s = 0.004;

/* STEPS steps, each asked for `late_s` after the one before could be given. */
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

/* Ahead: a step begins when the one before is over, to the bit, however late the host wakes. */
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

/* No more than `ahead` steps are under way when another is asked for. */
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

/* Not ahead: the host sleeps through the step, and what it oversleeps is the step's. */
TEST(test_not_ahead_counts_the_sleep)
{
    struct bench_steps steps = run(0, 0);
    for (int i = 0; i < STEPS; i++) {
        assert_true(steps.at[i].begin == steps.at[i].got);
        assert_true(steps.at[i].end >= steps.at[i].begin + step_s);
    }
    bench_steps_free(&steps);
}

/* Data that comes late makes the accelerator wait. */
TEST(test_late_data)
{
    struct bench_steps steps = run(1, 2 * step_s);
    for (int i = 1; i < STEPS; i++) {
        assert_true(steps.at[i].begin >= steps.at[i].got);
        assert_true(steps.at[i].got - steps.at[i].asked >= 2 * step_s);
    }
    bench_steps_free(&steps);
}
