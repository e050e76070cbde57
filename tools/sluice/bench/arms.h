/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arms: the same training steps fed in three ways, in one run, so that the difference is the
 * feeding:
 *
 *   synchronous  no read-ahead of batches. The next batch is asked for, decoded and copied when the
 *                step is over, and the step begins when the copy is over. It is decoded by the same
 *                library with the same workers: the loader has two slots, and one of them is held
 *                for the whole arm, so decoding can begin only when the other is released, which is
 *                at the step's end. (The fetch thread still reads encoded bytes ahead: in favour of
 *                this arm. So is decoding by all workers: a plain loader such as PyTorch's with
 *                num_workers=0 decodes on the one thread that trains.) On a GPU the batch comes
 *                from pageable memory and the copy blocks, as tensor.to("cuda") does.
 *   sluice       the loader as it is meant to be used.
 *   resident     a batch that is on the accelerator already: the floor.
 *
 * Every repeat runs all three, each from a fresh loader, in an order that rotates. With `supply`
 * batches are taken as fast as they come before and after the arm of sluice, and the mean counts:
 * other programs' use of the machine changes by the minute. Main thread; returns exit codes.
 */
#ifndef TOOL_BENCH_ARMS_H
#define TOOL_BENCH_ARMS_H

#include "accelerator.h"
#include "feed.h"
#include "trace_capture.h"

enum bench_arm { ARM_SYNCHRONOUS, ARM_SLUICE, ARM_RESIDENT, BENCH_ARMS };

/* "synchronous", "sluice", "resident". */
extern const char *const bench_arm_names[BENCH_ARMS];

struct bench_arms_plan {
    const struct bench_source *source; /* for sluice: device and all */
    struct accelerator *accelerator;
    uint64_t steps; /* counted, of each arm in each repeat */
    uint64_t repeats;
    bool supply, trace;
};

struct bench_repeat {
    struct bench_step_figures arms[BENCH_ARMS];
    double supply; /* rows/s, mean of before and after; NaN: not measured */
};

struct bench_arms_result {
    struct bench_repeat *repeats;
    uint64_t done;
    bool interrupted;
    sluice_loader_stats stats;       /* of the sluice arms' windows, summed; facts of the last */
    struct bottleneck_stages stages; /* likewise */
    double seconds;                  /* the windows' length, summed */
    double from, to;                 /* of the whole, on clock_seconds' scale */
    struct bench_steps steps[BENCH_ARMS];      /* of the last whole repeat */
    struct trace_capture captures[BENCH_ARMS]; /* of the first repeat, with trace */
};

/* TOOL_FINE also when Ctrl-C ended it after a whole repeat. Free the result in any case. */
int bench_arms_run(const struct bench_arms_plan *plan, struct bench_arms_result *result);
void bench_arms_free(struct bench_arms_result *result);

/* Rows/s when nothing holds the batches, over `batches` after the pipeline has filled. */
int bench_supply(const struct bench_source *source, uint64_t batches, double *rows_per_s);

#endif
