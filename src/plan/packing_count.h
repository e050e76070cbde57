/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing_count: the rows of all windows, counted by several threads.
 *
 * Purpose: what opening a packing does before it can say how many rows there are. Threads: under
 * the caller's stop and memory limit (open_many.h); blocks. A stop is noticed within a window, at
 * most some 10 ms. Memory: a plan and a planner for each thread, given back at the end.
 */
#ifndef SL_PACKING_COUNT_H
#define SL_PACKING_COUNT_H

#include "packing_plan.h"

/* Writes the rows before each window to `before`, and the number of all behind the last one:
 * windows + 1 of them. Adds up `count`, with facts.hash of the windows' rows and tokens. Errors:
 * CANCELED, NOMEM. */
sluice_status sl_packing_count_rows(const sl_packing_windows *windows, uint64_t *before,
                                    sl_packing_count *count, sluice_error *error);

#endif
