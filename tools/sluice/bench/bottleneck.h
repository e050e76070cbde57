/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bottleneck: which part limits, told from the loader's statistics: the verdict of a benchmark.
 * Pure.
 */
#ifndef TOOL_BOTTLENECK_H
#define TOOL_BOTTLENECK_H

#include <sluice/loader.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bottleneck {
    BOTTLENECK_CONSUMER, /* batches wait for the training step: as it should be */
    BOTTLENECK_DECODE,   /* workers are busy, mostly decoding */
    BOTTLENECK_AUGMENT,  /* workers are busy, mostly resizing and converting */
    BOTTLENECK_READ,     /* workers wait for bytes */
    BOTTLENECK_COPY,     /* batches wait for the copy to the device */
    BOTTLENECK_NONE,     /* nothing is busy: too short a run, or the machine is shared */
    BOTTLENECK_UNKNOWN   /* too few batches to tell */
};

/*
 * Batches from which on there is a verdict. What is on its way when the measured time begins, and
 * when it ends, is counted on the wrong side: about a batch at either end. Of ten that moves a
 * share by a tenth at most, which is less than is between a stage that limits (0.85) and one that
 * is half idle; of fewer the verdict would be that of the filling pipeline.
 */
enum { BOTTLENECK_BATCHES_LEAST = 10 };

enum bottleneck_consumer {
    CONSUMER_FREE,     /* takes batches as fast as they come */
    CONSUMER_EMULATED, /* an emulated accelerator */
    CONSUMER_GPU
};

enum { BOTTLENECK_OPERATIONS = 48 };

struct bottleneck_stages {
    sluice_stage_stats read, decode, augment, upload;
    uint32_t operation_count;
    sluice_operation_stats operations[BOTTLENECK_OPERATIONS]; /* on pictures: parts of `augment` */
};

/* The operation that took most; NULL: none took any time. */
const sluice_operation_stats *bottleneck_operation(const struct bottleneck_stages *stages);

/* What is known of a run. */
struct bottleneck_run {
    const sluice_loader_stats *stats;
    const struct bottleneck_stages *stages;
    uint64_t batches; /* that were taken in it */
    double seconds;   /* of the run, > 0 */
    enum bottleneck_consumer consumer;
    double data_idle;  /* part of the run that the consumer did nothing for want of data, 0..1 */
    double rows_per_s; /* what steps without waits would take; not with CONSUMER_FREE */
    uint32_t processors;
    /* what packing is known to save, "" where no figure is; NULL: it is no help */
    const char *packing;
    bool files;         /* each sample is a file of its own */
    const char *advice; /* of how the dataset is stored, "compressed: ..."; NULL: none */
    const char *store;  /* the object store it is read from, and its latency; NULL: none */
};

enum bottleneck bottleneck_find(const struct bottleneck_run *run);

/* One sentence: which stage limits, why, and what would help. */
void bottleneck_describe(const struct bottleneck_run *run, char *text, size_t bytes);
/* One line for a run that fed training steps: how long they wait, and what to do about it. */
void bottleneck_advise(const struct bottleneck_run *run, char *text, size_t bytes);

/* Mean depth of the queue in front of a stage, 0 (always empty) .. 1 (always full). */
double bottleneck_queue_fill(const sluice_stage_stats *stage);
/* Part of the items that found it empty, or nearly (below 1/16 of its capacity). */
double bottleneck_queue_empty(const sluice_stage_stats *stage);

/* Adds what was counted between `before` and `after` to `sum`, and takes over the facts (workers,
 * device, ...) of `after`. Maxima are those since the loader's open. */
void bottleneck_add_stats(sluice_loader_stats *sum, const sluice_loader_stats *before,
                          const sluice_loader_stats *after);
void bottleneck_add_stages(struct bottleneck_stages *sum, const struct bottleneck_stages *before,
                           const struct bottleneck_stages *after);

#endif
