/* SPDX-License-Identifier: Apache-2.0 */
/* box_count: counts the boxes in columns of boxes, that is, those that the recipes kept. Main
 * thread. */
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
        bool unknown; /* padded rows in device memory are not counted */
        uint64_t boxes;
    } of[OPTION_LIST_MAX];
};

/* Returns the set's columns of boxes, with nothing counted yet. */
struct box_counts box_counts_of(const struct column_set *columns);
void box_counts_add(struct box_counts *counts, const sluice_batch *batch);

/* Prints a line for each column, if any. */
void box_counts_print(const struct box_counts *counts, uint64_t samples, double seconds);
void box_counts_write(const struct box_counts *counts, struct json *json, uint64_t samples,
                      double seconds);

#endif
