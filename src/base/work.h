/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work: the remaining allowance of work for a row, and whether anybody waits for it.
 *
 * Purpose: limits of single things (a shape, a text) are multiplied by the number of them that a
 * sample claims. So code that draws or follows shapes charges all of them to one amount, before it
 * begins, and checks `stop` meanwhile. A unit is about the time of reading one pixel, some
 * nanoseconds: a slower step counts as several. Owner: a worker's row. Threads: one owner, except
 * for `stop`, which any thread may set.
 */
#ifndef SL_WORK_H
#define SL_WORK_H

#include <sluice/common.h>

#include <stdatomic.h>
#include <stdbool.h>

/* Units of a point of a polygon, or a run of a mask. */
enum { SL_WORK_POINT = 8 };
/* Turns of a loop after which `stop` is checked if nothing is charged. */
enum { SL_WORK_TURNS = 1 << 14 };

typedef struct sl_work {
    uint64_t left;
    const _Atomic bool *stop; /* set: nobody waits for the row. NULL: never */
} sl_work;

/* Returns whether the row was stopped. NULL: no limit, and no stop. */
bool sl_work_is_stopped(const sl_work *work);
/* Takes `units` of the rest. Errors: CANCELED (`stop`), UNSUPPORTED (not as much is left). */
sluice_status sl_work_take(sl_work *work, uint64_t units, sluice_error *error);

#endif
