/* SPDX-License-Identifier: Apache-2.0 */
#include "pace.h"

#include <math.h>

static const uint64_t steps_most = 10000000;

static double supply_s(const struct bench_pace *pace, uint64_t steps)
{
    const double skipped = (double)pace->skip[ARM_SLUICE] * pace->batch_s;
    return skipped + fmax(bench_supply_least_s, 0.5 * (double)steps * pace->batch_s);
}

double bench_pace_arm_s(const struct bench_pace *pace, enum bench_arm arm, uint64_t steps)
{
    const double all = (double)(steps + pace->skip[arm]);
    switch (arm) {
    case ARM_SYNCHRONOUS:
        return all * (pace->step_s + pace->batch_s);
    case ARM_SLUICE:
        return pace->batch_s + all * fmax(pace->step_s, pace->batch_s) +
               (pace->supply ? 2 * supply_s(pace, steps) : 0);
    default:
        return all * pace->step_s;
    }
}

double bench_pace_repeat_s(const struct bench_pace *pace, uint64_t steps)
{
    double sum = 0;
    for (int arm = 0; arm < BENCH_ARMS; arm++) {
        sum += bench_pace_arm_s(pace, (enum bench_arm)arm, steps);
    }
    return sum;
}

/* Returns the maximum steps of a repeat that fit in `seconds`; 0: not even one. */
static uint64_t steps_in(const struct bench_pace *pace, double seconds)
{
    uint64_t fits = 0;
    uint64_t above = steps_most + 1;
    while (above - fits > 1) {
        const uint64_t middle = fits + (above - fits) / 2;
        if (bench_pace_repeat_s(pace, middle) <= seconds) {
            fits = middle;
        } else {
            above = middle;
        }
    }
    return fits;
}

struct bench_length bench_pace_fit(const struct bench_pace *pace, double seconds, uint64_t repeats)
{
    uint64_t steps = steps_in(pace, seconds / (double)repeats);
    while (steps < BENCH_STEPS_LEAST && repeats > 1) {
        repeats--;
        steps = steps_in(pace, seconds / (double)repeats);
    }
    return (struct bench_length){.steps = steps < BENCH_STEPS_LEAST ? BENCH_STEPS_LEAST : steps,
                                 .repeats = repeats};
}
