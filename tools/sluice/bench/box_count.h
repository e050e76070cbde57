/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box_count: how many boxes came in columns of boxes, that is, how many the recipes left. Main
 * thread.
 */
#ifndef TOOL_BENCH_BOX_COUNT_H
#define TOOL_BENCH_BOX_COUNT_H

#include "column_set.h"
#include "json.h"

#include <sluice/loader.h>

#include <stdbool.h>
#include <stdint.h>

struct box_counts {
    uint32_t count; /* of columns */
    struct box_count {
        const char *column; /* borrowed from the set */
        bool padded;
        bool unknown; /* padded rows in a device's memory are not looked at */
        uint64_t boxes;
    } of[OPTION_LIST_MAX];
};

/* The set's columns of boxes, none counted yet. */
struct box_counts box_counts_of(const struct column_set *columns);
void box_counts_add(struct box_counts *counts, const sluice_batch *batch);

/* A line for each column; nothing where there is none. */
void box_counts_print(const struct box_counts *counts, uint64_t samples, double seconds);
void box_counts_write(const struct box_counts *counts, struct json *json, uint64_t samples,
                      double seconds);

#endif
