/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator: runs the training steps of a benchmark: an emulated one (emulated.h) or a GPU
 * (gpu_step.h). Main thread. Functions that can fail return an exit code and have reported the
 * error.
 *
 * A step may still be in progress when `step` returns: like a training loop, the host queues steps
 * ahead of time. At most `ahead` of them are in progress; with 0, each has ended.
 */
#ifndef TOOL_BENCH_ACCELERATOR_H
#define TOOL_BENCH_ACCELERATOR_H

#include "steps.h"

#include <sluice/loader.h>

#define BENCH_AHEAD_MAX 8

struct accelerator;

struct accelerator_ops {
    /* Begins an arm, whose steps are recorded in `steps`. */
    int (*begin)(struct accelerator *accelerator, struct bench_steps *steps);
    /* Copies a batch in host memory to the accelerator and waits for the copy. */
    int (*copy)(struct accelerator *accelerator, const sluice_batch *batch);
    /* Starts a step on `batch` as soon as it is available, and releases it after the step; NULL:
     * on memory that the accelerator has already. `asked` and `got`: times of the consumer's
     * wait for the batch. */
    int (*step)(struct accelerator *accelerator, sluice_batch *batch, double asked, double got);
    /* Waits until all steps have ended and are recorded. */
    int (*finish)(struct accelerator *accelerator);
    void (*close)(struct accelerator *accelerator);
};

struct accelerator {
    const struct accelerator_ops *ops;
    double step_s;  /* step time, as set or as calibrated */
    uint32_t ahead; /* 0..BENCH_AHEAD_MAX */
    bool real;      /* a device, which measures its own times */
    char text[160]; /* description for people */
};

#endif
