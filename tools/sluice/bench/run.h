/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: runs a loader over a dataset and measures the batches. First a warm-up on a separate loader
 * (an epoch, or five seconds of a long one), then the measured run on a fresh loader, so that all
 * counted work was done inside the measured time. Main thread.
 */
#ifndef TOOL_BENCH_RUN_H
#define TOOL_BENCH_RUN_H

#include "box_count.h"
#include "cache_use.h"
#include "feed.h"
#include "remote_use.h"

#include <stdbool.h>
#include <stdint.h>

struct bench_plan {
    struct bench_source source; /* the run sets options.end_epoch */
    const struct column_set *columns;
    uint64_t epochs;   /* 0: enough for three seconds, at least two */
    double seconds;    /* > 0: stop after this time instead */
    double at_least_s; /* a shorter run is repeated with more epochs; 0: it is not */
};

struct bench_warm_up {
    double first_batch_ms; /* from before the loader's open to its first batch */
    double seconds;        /* of the part that ran */
    uint64_t batches;
    uint64_t epoch_batches; /* of a whole epoch */
    bool whole_epoch;
};

struct bench_result {
    uint64_t samples; /* delivered, bad and padding rows included */
    uint64_t bytes;   /* of the delivered batches */
    uint64_t decoded; /* at least `samples`: also rows decoded ahead when the run stopped inside an
                         epoch; CPU time is divided by this */
    uint64_t batches, epochs; /* completed epochs */
    double seconds;           /* from start_epoch to the last batch's end */
    double cpu_s;             /* user and system, all threads of the process */
    bool interrupted;
    struct box_counts boxes; /* that came */
    struct remote_use remote;
    struct cache_use cache;
    sluice_loader_stats stats;
    struct bottleneck_stages stages;
};

/* Each returns an exit code; failures are reported. */
int bench_warm_up(const struct bench_plan *plan, struct bench_warm_up *warm_up);

/* Sets plan->epochs and at_least_s, or plan->seconds, from the warm-up if the user gave neither. */
void bench_choose_length(struct bench_plan *plan, const struct bench_warm_up *warm_up);
/* Returns the approximate seconds that the measured run will take. */
double bench_expected_s(const struct bench_plan *plan, const struct bench_warm_up *warm_up);

/* Returns the time per batch, after the first one. */
double bench_batch_s(const struct bench_warm_up *warm_up);

/* Returns TOOL_FINE also if Ctrl-C ended it early: result->interrupted. */
int bench_measure(struct bench_plan *plan, struct bench_result *result);

#endif
