/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing_count: counts the rows of all windows on several threads.
 *
 * Purpose: the work before a packing knows its number of rows. Threads: under the caller's stop and
 * memory limit (open_many.h); blocks. A stop is noticed within a window, at most about 10 ms.
 * Memory: a plan and a planner for each thread, released at the end.
 */
#ifndef SL_PACKING_COUNT_H
#define SL_PACKING_COUNT_H

#include "packing_plan.h"

/* Writes the number of rows before each window to `before`, and the total after the last:
 * windows + 1 numbers. Adds up `count`, with facts.hash of the windows' rows and tokens. Errors:
 * CANCELED, NOMEM. */
sluice_status sl_packing_count_rows(const sl_packing_windows *windows, uint64_t *before,
                                    sl_packing_count *count, sluice_error *error);

#endif
