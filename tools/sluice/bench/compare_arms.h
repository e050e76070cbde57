/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_arms: feeds the same training steps in three ways, in one run, so that they differ only
 * in the feeding:
 *
 *   synchronous  no read-ahead of batches. The next batch is requested, decoded and copied when the
 *                step has ended, and the next step begins when the copy has ended. The same library
 *                decodes it with the same workers: the loader has two slots, and one of them is
 * held for the whole arm, so decoding can begin only when the other is released, at the step's end.
 * (The fetch thread still reads encoded bytes ahead, which favours this arm. So does decoding by
 * all workers: a plain loader such as PyTorch's with num_workers=0 decodes on the training thread.)
 * On a GPU the batch comes from pageable memory and the copy blocks, like tensor.to("cuda"). sluice
 * the loader in its normal use. resident     a batch that is on the accelerator already: the lower
 * bound.
 *
 * Every repeat runs all three, each from a fresh loader, in a rotating order. With `supply`,
 * batches are taken as fast as they come before and after the arm of sluice, and the mean counts,
 * because other programs' use of the machine changes by the minute. Main thread; returns exit
 * codes.
 */
#ifndef TOOL_BENCH_COMPARE_ARMS_H
#define TOOL_BENCH_COMPARE_ARMS_H

#include "accelerator.h"
#include "feed.h"
#include "pace.h"
#include "trace_capture.h"

/* "synchronous", "sluice", "resident". */
extern const char *const bench_arm_names[BENCH_ARMS];

struct bench_arms_plan {
    const struct bench_source *source; /* for sluice: with its device */
    struct accelerator *accelerator;
    uint64_t steps; /* counted steps, of each arm in each repeat */
    uint64_t repeats;
    bool supply, trace;
    const char *quarantine; /* of sluice's arms; NULL: none */
    struct bench_pace pace; /* expected times, for the progress */
    double limit_s;         /* no repeat begins that would end much later; 0: none */
};

struct bench_repeat {
    struct bench_step_figures arms[BENCH_ARMS];
    double supply; /* rows/s, mean of before and after; NaN: not measured */
};

struct bench_arms_result {
    struct bench_repeat *repeats;
    uint64_t done; /* whole repeats */
    bool part;     /* Ctrl-C in the first one: repeats[0] has the measured part, NaN elsewhere */
    bool interrupted;
    sluice_loader_stats stats;       /* of the sluice arms' windows, summed; facts of the last */
    struct bottleneck_stages stages; /* likewise */
    double seconds;                  /* the windows' length, summed */
    double from, to;                 /* of the whole, on clock_seconds' scale */
    struct bench_steps steps[BENCH_ARMS];      /* of the last repeat that `repeats` has */
    struct trace_capture captures[BENCH_ARMS]; /* of the first repeat, with trace */
};

/* Runs the arms. Returns TOOL_FINE also if Ctrl-C ended it after something was measured. Free
 * the result in any case. */
int bench_arms_run(const struct bench_arms_plan *plan, struct bench_arms_result *result);
/* Returns the number of repeats to show. */
uint64_t bench_arms_shown(const struct bench_arms_result *result);
/* Returns the number of uncounted steps at the beginning of an arm. */
uint64_t bench_arms_skip(const sluice_loader_options *options, enum bench_arm arm);
void bench_arms_free(struct bench_arms_result *result);

/* Measures the rows/s if the batches are released at once, over `batches` after the pipeline has
 * filled. */
int bench_supply(const struct bench_source *source, uint64_t batches, double *rows_per_s);

#endif
