/* SPDX-License-Identifier: Apache-2.0 */
/* bottleneck: finds the limiting part from the loader's statistics: the verdict of a benchmark.
 * Pure. */
#ifndef TOOL_BOTTLENECK_H
#define TOOL_BOTTLENECK_H

#include <sluice/loader.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bottleneck {
    BOTTLENECK_CONSUMER, /* batches wait for the training step, as they should */
    BOTTLENECK_DECODE,   /* workers are busy, mostly decoding */
    BOTTLENECK_AUGMENT,  /* workers are busy, mostly resizing and converting */
    BOTTLENECK_READ,     /* workers wait for bytes */
    BOTTLENECK_COPY,     /* batches wait for the copy to the device */
    BOTTLENECK_NONE,     /* nothing is busy: the run is too short, or the machine is shared */
    BOTTLENECK_UNKNOWN   /* too few batches for a verdict */
};

/*
 * Minimum batches for a verdict. Work in progress when the measured time begins or ends is counted
 * on the wrong side: about a batch at either end. With ten batches, that changes a fraction by at
 * most a tenth, less than the difference between a limiting stage (0.85) and one that is half idle.
 * With fewer, the verdict would describe the filling pipeline.
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
    sluice_operation_stats operations[BOTTLENECK_OPERATIONS]; /* on images: parts of `augment` */
};

/* Returns the operation that took most time; NULL: none took any. */
const sluice_operation_stats *bottleneck_operation(const struct bottleneck_stages *stages);

/* The facts about a run. */
struct bottleneck_run {
    const sluice_loader_stats *stats;
    const struct bottleneck_stages *stages;
    uint64_t batches; /* taken in the run */
    double seconds;   /* of the run, > 0 */
    enum bottleneck_consumer consumer;
    double data_idle;  /* fraction of the run in which the consumer waited for data, 0..1 */
    double rows_per_s; /* rate of steps without waits; not with CONSUMER_FREE */
    uint32_t processors;
    /* known savings from packing, "" without a number; NULL: it does not help */
    const char *packing;
    bool files;         /* each sample is a separate file */
    const char *advice; /* about the dataset's storage, "compressed: ..."; NULL: none */
    const char *store;  /* the object store it is read from, with its latency; NULL: none */
};

enum bottleneck bottleneck_find(const struct bottleneck_run *run);

/* Writes one sentence: the limiting stage, the cause, and the remedy. */
void bottleneck_describe(const struct bottleneck_run *run, char *text, size_t bytes);
/* Writes one line for a run that fed training steps: how long they wait, and the remedy. */
void bottleneck_advise(const struct bottleneck_run *run, char *text, size_t bytes);

/* Returns the mean depth of the queue before a stage, 0 (always empty) .. 1 (always full). */
double bottleneck_queue_fill(const sluice_stage_stats *stage);
/* Returns the fraction of the items that found it empty, or nearly (below 1/16 of its capacity). */
double bottleneck_queue_empty(const sluice_stage_stats *stage);

/* Adds the counts between `before` and `after` to `sum`, and copies the facts (workers, device,
 * ...) of `after`. Maxima are those since the loader's open. */
void bottleneck_add_stats(sluice_loader_stats *sum, const sluice_loader_stats *before,
                          const sluice_loader_stats *after);
void bottleneck_add_stages(struct bottleneck_stages *sum, const struct bottleneck_stages *before,
                           const struct bottleneck_stages *after);

#endif
