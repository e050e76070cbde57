/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare: the arms of a benchmark against each other, over its repeats. Pure.
 *
 *   idle_points = idle of synchronous - idle of sluice, in points of 100
 *   relative    = 1 - idle of sluice / idle of synchronous
 *   recovered   = (T synchronous - T sluice) / (T synchronous - T resident), T a step's mean time:
 *                 the recovered fraction of the time that feeding costs
 *   predicted   = min(1, supply / demand): the utilisation that this supply allows
 * Each is computed within a repeat; the result is the median with the smallest and the largest.
 */
#ifndef TOOL_BENCH_COMPARE_H
#define TOOL_BENCH_COMPARE_H

#include "compare_arms.h"
#include "spread.h"

struct bench_arm_spreads {
    uint64_t steps; /* counted in each repeat */
    struct bench_spread step_mean_ms, step_p50_ms, step_p99_ms, rows_per_s;
    struct bench_spread au_strict, au_mlperf, idle, data_idle;
    struct bench_spread wait_p50_ms, wait_p99_ms, wait_max_ms;
};

struct bench_comparison {
    struct bench_arm_spreads arms[BENCH_ARMS];
    struct bench_spread idle_points, relative, recovered;
    struct bench_spread supply, supply_ratio, predicted, prediction_error; /* in points of 100 */
    double demand;                                                         /* rows/s */
};

/* Compares. `step_s`, `rows`: time and rows of a step. False: no memory. */
bool bench_compare(const struct bench_repeat *repeats, uint64_t count, double step_s, uint32_t rows,
                   struct bench_comparison *comparison);

/* Sorts `values` and returns their spread. All NaN if one value is. */
struct bench_spread bench_spread_of(double *values, size_t count);

#endif
