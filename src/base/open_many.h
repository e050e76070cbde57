/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_many: what opening a dataset has to do for each of its files, by several threads.
 *
 * Purpose: most of opening is waiting for storage, which answers many reads at once faster than one
 * after the other, so there are more threads than processors, 64 at most, and one for each 64 MiB
 * of the memory limit that the caller works under (memory.h), which is theirs together; the
 * caller's is one of them. Threads: `job` is called on any of them, for each number once; it must
 * not touch what belongs to other numbers without a lock. The threads work under the caller's stop
 * (stop.h), which the caller goes on asking for.
 */
#ifndef SL_OPEN_MANY_H
#define SL_OPEN_MANY_H

#include <sluice/common.h>

/*
 * Calls job(ctx, number) for 0 to count - 1, and waits. Once one fails (< 0), those that were not
 * begun are left out, with CANCELED where it is the stop. The status and error of the failed one
 * with the smallest number.
 */
sluice_status sl_open_many(uint32_t count,
                           sluice_status (*job)(void *ctx, uint32_t number, sluice_error *error),
                           void *ctx, sluice_error *error);

#endif
