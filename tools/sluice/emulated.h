/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulated: an accelerator that is not there: each step sleeps a fixed time. It counts how much of
 * the time such an accelerator would have worked. The first step, which waits for the pipeline to
 * fill, is left out of every figure. One thread.
 *
 *   au_strict = steps * step time / window: no credit for sleeping too long
 *   au_mlperf = sum of the sleeps as measured / window: the formula of the MLPerf Storage benchmark
 *               (DLIO). The window is from the end of the first step to the end of the last.
 */
#ifndef TOOL_EMULATED_H
#define TOOL_EMULATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emulated {
    double step_s;
    double first_end, last_end; /* seconds, monotonic */
    double slept;
    double *waits; /* host wait of each counted step, seconds */
    size_t steps, capacity;
    bool started;
};

struct emulated_figures {
    uint64_t steps;
    double au_strict, au_mlperf; /* 0..1; NaN without a counted step */
    double wait_p50_ms, wait_p99_ms, wait_max_ms;
};

void emulated_begin(struct emulated *emulated, double step_s);
void emulated_free(struct emulated *emulated);

/* The batch is there: works on it for the step's time. False: no memory for the record. */
bool emulated_step(struct emulated *emulated);

/* The record of a step that had its batch at `got` and ended at `done`. False: no memory. */
bool emulated_record(struct emulated *emulated, double got, double done);

/* Sorts the record; call once, at the end. */
struct emulated_figures emulated_figures(struct emulated *emulated);

#endif
