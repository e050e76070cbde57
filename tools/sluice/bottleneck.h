/* SPDX-License-Identifier: Apache-2.0 */
/* bottleneck: which part of the loader limits its speed, told from its statistics. Pure. */
#ifndef TOOL_BOTTLENECK_H
#define TOOL_BOTTLENECK_H

#include <sluice/loader.h>

#include <stddef.h>
#include <stdint.h>

enum bottleneck {
    BOTTLENECK_CONSUMER, /* batches wait for the (emulated) training step */
    BOTTLENECK_DECODE,   /* workers are busy, mostly decoding */
    BOTTLENECK_AUGMENT,  /* workers are busy, mostly resizing and converting */
    BOTTLENECK_READ,     /* workers wait for bytes */
    BOTTLENECK_UPLOAD,   /* batches wait for the copy to the device */
    BOTTLENECK_NONE      /* nothing is busy: epochs too short, or the machine is shared */
};

/* What is known of a run. */
struct bottleneck_run {
    const sluice_loader_stats *stats;
    double seconds;    /* of the run, > 0 */
    double wait_share; /* part of the run that the consumer waited for a batch, 0..1 */
    double step_s;     /* emulated step; 0: the consumer takes batches as fast as they come */
    uint32_t processors;
};

enum bottleneck bottleneck_find(const struct bottleneck_run *run);

/* One sentence: which stage limits, why, and what would help. */
void bottleneck_describe(const struct bottleneck_run *run, char *text, size_t bytes);

/* Mean depth of the queue in front of a stage, 0 (always empty) .. 1 (always full). */
double bottleneck_queue_fill(const sluice_stage_stats *stage);
/* Part of the items that found it empty, or nearly (below 1/16 of its capacity). */
double bottleneck_queue_empty(const sluice_stage_stats *stage);

#endif
