/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps: when each training step of an arm requested and received its batch, computed and ended,
 * and the results from that. Pure except for the memory of the record. One thread. Times are
 * seconds on clock_seconds' scale.
 *
 * The first `skip` steps (at least one, which waits for the pipeline to fill) do not count. The
 * window goes from the end of the last skipped step to the end of the last step.
 *
 *   au_strict = steps * step time / window: no credit for a step that takes too long
 *   au_mlperf = sum of the steps as measured / window: the formula of the MLPerf Storage benchmark
 *               (DLIO)
 *   idle      = 1 - computing / window. Computing is as in au_strict for an emulated accelerator
 *               (it sleeps, and oversleeping is not work), and measured on a real one.
 *   data_idle = the part of idle in which the host waited for a batch, or the accelerator's stream
 *               for its copy. A better loader can remove it.
 */
#ifndef TOOL_BENCH_STEPS_H
#define TOOL_BENCH_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_step {
    double asked, got; /* the consumer's wait for the batch */
    double reached;    /* the accelerator's stream reached the point where it needs the batch */
    double begin, end; /* it computed */
};

struct bench_steps {
    struct bench_step *at;
    size_t count, capacity, skip;
};

struct bench_step_setting {
    double step_s; /* a step's time as set (emulated) or calibrated (GPU) */
    bool measured; /* begin and end are a real device's own times */
    uint32_t rows; /* of a batch */
};

struct bench_step_figures {
    uint64_t steps;
    double window_s;
    double step_mean_ms, step_p50_ms, step_p99_ms; /* from end to end */
    double rows_per_s;
    double au_strict, au_mlperf, idle, data_idle; /* 0..1 */
    double wait_p50_ms, wait_p99_ms, wait_max_ms;
};

/* Allocates space for skip + counted steps. False: no memory. */
bool bench_steps_begin(struct bench_steps *steps, size_t skip, size_t counted);
void bench_steps_free(struct bench_steps *steps);
/* Adds a step; the space must suffice. */
void bench_steps_add(struct bench_steps *steps, const struct bench_step *step);

/* Uses `scratch` (space for steps->count numbers). All NaN, and steps 0, if no step counts. */
struct bench_step_figures bench_steps_figures(const struct bench_steps *steps,
                                              const struct bench_step_setting *setting,
                                              double *scratch);

/* Sorts `values` and returns the nearest rank: part 0.5 is the median, 1 the largest. count > 0. */
double bench_percentile(double *values, size_t count, double part);

#endif
