/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: a loader as the benchmarks use it: batches without end, epoch after epoch, with
 * Ctrl-C noticed and failures reported. Main thread. Functions return exit codes.
 */
#ifndef TOOL_BENCH_FEED_H
#define TOOL_BENCH_FEED_H

#include "bottleneck.h"

#include <sluice/augment.h>
#include <sluice/dataset.h>
#include <sluice/loader.h>

struct bench_source {
    sluice_dataset *dataset;
    const sluice_augment *recipe;
    sluice_loader_options options;
};

struct bench_feed {
    sluice_loader *loader;
    uint64_t epoch;
};

int bench_loader_open(const struct bench_source *source, sluice_loader **loader);
/* What the loader's failure, or `status` where it has none on record, means. */
int bench_loader_failed(sluice_loader *loader, sluice_status status);
/* Of all that the batch holds. */
uint64_t bench_batch_bytes(const sluice_batch *batch);
void bench_loader_stats(sluice_loader *loader, sluice_loader_stats *stats,
                        struct bottleneck_stages *stages);

int bench_feed_open(const struct bench_source *source, struct bench_feed *feed);
/* TOOL_INTERRUPTED, unreported: Ctrl-C. */
int bench_feed_next(struct bench_feed *feed, sluice_batch **batch);
void bench_feed_close(struct bench_feed *feed);

#endif
