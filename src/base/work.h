/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work: what may still be spent on a row, and whether anybody waits for it.
 *
 * Purpose: limits of single things (a shape, a text) are multiplied by how many of them a sample
 * claims to have. So whatever draws or follows shapes charges all of them to one amount, before it
 * begins, and looks at `stop` meanwhile. A unit is about the time of looking at one pixel, some
 * nanoseconds: what takes more of it counts as several.
 * Owner: a worker's row. Threads: one owner, except for `stop`, which any thread may set.
 */
#ifndef SL_WORK_H
#define SL_WORK_H

#include <sluice/common.h>

#include <stdatomic.h>
#include <stdbool.h>

/* Units of a point of a polygon, or a run of a mask. */
enum { SL_WORK_POINT = 8 };
/* Where nothing is charged, `stop` is looked at after as many turns of a loop. */
enum { SL_WORK_TURNS = 1 << 14 };

typedef struct sl_work {
    uint64_t left;
    const _Atomic bool *stop; /* set: nobody waits for the row. NULL: never */
} sl_work;

/* NULL: no limit, and no stop. */
bool sl_work_is_stopped(const sl_work *work);
/* Takes `units` of what is left. Errors: CANCELED (`stop`), UNSUPPORTED (there is not as much). */
sluice_status sl_work_take(sl_work *work, uint64_t units, sluice_error *error);

#endif
