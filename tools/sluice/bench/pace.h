/* SPDX-License-Identifier: Apache-2.0 */
/* pace: estimates how long the arms of a benchmark will take, and how many steps fit in a time,
 * from the warm-up. Pure. */
#ifndef TOOL_BENCH_PACE_H
#define TOOL_BENCH_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum bench_arm { ARM_SYNCHRONOUS, ARM_SLUICE, ARM_RESIDENT, BENCH_ARMS };

/* Minimum steps of an arm under --seconds, and minimum length of a supply measurement. */
enum { BENCH_STEPS_LEAST = 10 };
static const double bench_supply_least_s = 1;

struct bench_pace {
    double step_s;             /* of the accelerator */
    double batch_s;            /* time in which the loader makes a batch */
    uint64_t skip[BENCH_ARMS]; /* uncounted steps at the beginning */
    bool supply;               /* measured before and after sluice's arm */
};

/* Returns the time of counted and other steps, and of the supply's measurement if any. */
double bench_pace_arm_s(const struct bench_pace *pace, enum bench_arm arm, uint64_t steps);
/* Returns the time of all arms. */
double bench_pace_repeat_s(const struct bench_pace *pace, uint64_t steps);

struct bench_length {
    uint64_t steps, repeats; /* counted steps of an arm */
};

/* Returns the most steps that fit in `seconds`, in `repeats` repeats; if those are fewer than
 * BENCH_STEPS_LEAST, fewer repeats, but at least one. */
struct bench_length bench_pace_fit(const struct bench_pace *pace, double seconds, uint64_t repeats);

#endif
