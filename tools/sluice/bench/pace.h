/* SPDX-License-Identifier: Apache-2.0 */
/* pace: how long the arms of a benchmark will take, and how many steps fit in a time. An estimate
 * from what the warm-up showed. Pure. */
#ifndef TOOL_BENCH_PACE_H
#define TOOL_BENCH_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum bench_arm { ARM_SYNCHRONOUS, ARM_SLUICE, ARM_RESIDENT, BENCH_ARMS };

/* The fewest steps of an arm that --seconds leaves, and how long a supply is measured at least. */
enum { BENCH_STEPS_LEAST = 10 };
static const double bench_supply_least_s = 1;

struct bench_pace {
    double step_s;             /* of the accelerator */
    double batch_s;            /* in which the loader makes a batch */
    uint64_t skip[BENCH_ARMS]; /* steps before those that are counted */
    bool supply;               /* measured before and after sluice's arm */
};

/* Of counted and other steps; with the supply's measurement where there is one. */
double bench_pace_arm_s(const struct bench_pace *pace, enum bench_arm arm, uint64_t steps);
/* Of all arms. */
double bench_pace_repeat_s(const struct bench_pace *pace, uint64_t steps);

struct bench_length {
    uint64_t steps, repeats; /* steps of an arm that are counted */
};

/* The most steps that fit in `seconds`, in `repeats` repeats; where those would be less than
 * BENCH_STEPS_LEAST, fewer repeats, but at least one. */
struct bench_length bench_pace_fit(const struct bench_pace *pace, double seconds, uint64_t repeats);

#endif
