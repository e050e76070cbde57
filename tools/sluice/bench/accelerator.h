/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator: what runs the training steps of a benchmark: an emulated one (emulated.h) or a
 * GPU (gpu_step.h). Main thread. Functions that can fail return an exit code and have reported why.
 *
 * A step may still be under way when `step` returns: as in a training loop, the host gives steps to
 * the accelerator ahead of time. `ahead` of them may be under way; with 0, each is over.
 */
#ifndef TOOL_BENCH_ACCELERATOR_H
#define TOOL_BENCH_ACCELERATOR_H

#include "steps.h"

#include <sluice/loader.h>

#define BENCH_AHEAD_MAX 8

struct accelerator;

struct accelerator_ops {
    /* An arm begins: its steps go on this record. */
    int (*begin)(struct accelerator *accelerator, struct bench_steps *steps);
    /* Copies a batch in host memory to the accelerator and waits for that. */
    int (*copy)(struct accelerator *accelerator, const sluice_batch *batch);
    /* Starts a step on `batch` as soon as it is there, and releases it behind the step; NULL: on
     * memory that it has already. `asked` and `got`: of the consumer's wait for the batch. */
    int (*step)(struct accelerator *accelerator, sluice_batch *batch, double asked, double got);
    /* Waits until all steps are over, and on record. */
    int (*finish)(struct accelerator *accelerator);
    void (*close)(struct accelerator *accelerator);
};

struct accelerator {
    const struct accelerator_ops *ops;
    double step_s;  /* of a step, as set or as calibrated */
    uint32_t ahead; /* 0..BENCH_AHEAD_MAX */
    bool real;      /* a device, whose times are measured on it */
    char text[160]; /* what it is, for people */
};

#endif
