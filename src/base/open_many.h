/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_many: the work of opening a dataset for each of its files, by several threads.
 *
 * Purpose: most of opening is waiting for storage, which answers many reads at once faster than one
 * after the other. So there are more threads than processors: at most 64, and one for each 64 MiB
 * of the memory limit that the caller works under (memory.h), which they share; the caller's is one
 * of them. Threads: `job` is called on any of them, once for each number; it must not touch data of
 * other numbers without a lock. The threads work under the caller's stop (stop.h), which the caller
 * keeps checking.
 */
#ifndef SL_OPEN_MANY_H
#define SL_OPEN_MANY_H

#include <sluice/common.h>

/*
 * Calls job(ctx, number) for 0 to count - 1, and waits. Once one fails (< 0), numbers not begun are
 * skipped, with CANCELED if the stop ended them. Returns the status and error of the failed one
 * with the smallest number.
 */
sluice_status sl_open_many(uint32_t count,
                           sluice_status (*job)(void *ctx, uint32_t number, sluice_error *error),
                           void *ctx, sluice_error *error);

#endif
