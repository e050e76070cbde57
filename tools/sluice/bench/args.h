/* SPDX-License-Identifier: Apache-2.0 */
/* args: the arguments of `sluice bench`, and its two ways to run. Main thread. */
#ifndef TOOL_BENCH_ARGS_H
#define TOOL_BENCH_ARGS_H

#include "data.h"
#include "feed.h"
#include "ranks.h"
#include "stats.h"

#include <stdbool.h>

struct bench_args {
    uint64_t size, padding, epochs;
    uint64_t steps, repeats, ahead;
    double seconds, area_min, area_max;
    double step_s, supply_ratio, scale; /* 0: not given */
    double price_get;                   /* likewise */
    int pipeline;
    int preset;                    /* -1: none */
    sluice_loader_options options; /* last_batch, shuffle: -1 if not given */
    struct data_folder folder;
    bool json, supply;
    const char *dataset, *yardstick, *augment, *trace, *report;
    struct option_list columns;
    struct ranks_given ranks;
    const char *rank_files; /* NULL: the system's temporary folder */
    double rank_wait_s;
};

/* The common inputs of both ways. */
struct bench_job {
    const struct bench_args *args;
    struct bench_source source;
    struct bench_setting setting; /* options: the source's */
    sluice_dataset *yardstick;
    sluice_ranks ranks;
    uint64_t samples;
};

/* Measures batches as fast as they come. Returns an exit code. */
int bench_deliver(struct bench_job *job);

/* Measures training steps, fed in three ways. Returns an exit code. */
int bench_accelerate(struct bench_job *job);

#endif
