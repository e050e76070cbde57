/* SPDX-License-Identifier: Apache-2.0 */
/* feed: a loader as the benchmarks use it: endless batches, epoch after epoch, with Ctrl-C
 * noticed and failures reported. Main thread. Functions return exit codes. */
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
/* Reports the loader's error, or `status` if it has none. Returns the exit code. */
int bench_loader_failed(sluice_loader *loader, sluice_status status);
/* Returns the bytes of all columns of the batch. */
uint64_t bench_batch_bytes(const sluice_batch *batch);
void bench_loader_stats(sluice_loader *loader, sluice_loader_stats *stats,
                        struct bottleneck_stages *stages);

int bench_feed_open(const struct bench_source *source, struct bench_feed *feed);
/* Returns the next batch. TOOL_INTERRUPTED, unreported: Ctrl-C. */
int bench_feed_next(struct bench_feed *feed, sluice_batch **batch);
void bench_feed_close(struct bench_feed *feed);

#endif
