/* SPDX-License-Identifier: Apache-2.0 */
/*
 * level: deals the rows of a step to ranks so that every rank's rows cost about the same.
 *
 * Purpose: ranks wait for the rank whose rows cost most. Within one step, this chooses the rank of
 * each row. The step's rows stay the same, and so does each rank's number of rows, including the
 * uneven numbers of an epoch's last step (plan.h). A rank's rows are in the order of positions.
 * So everything that depends on a step's end (saved states, epochs) is unchanged. Three ways:
 *   plain    as in plan.h: consecutive rows;
 *   longest  rows by cost, the largest first, equal ones by position. Each goes to the rank with
 *            the smallest sum that has space, of several to the first rank (Graham's LPT, with a
 *            capacity);
 *   snake    rows in that order, to the ranks with space forward, backward, forward, ...
 * The way with the smallest maximum sum is taken, of equal ones the first in this list. The result
 * is a function of the order, the step and the number of ranks, so ranks agree without
 * communication. again    rows that are repeated in a last step (REPEAT, WRAP) stay with their
 * ranks, and count in their sums. costs    are the order's (sl_order_kind.costs): up to
 * SL_ROW_COST_MAX, 2^48. A rank has up to 65,536 rows, so a sum is at most 2^64. That is one above
 * UINT64_MAX, and only if every row has the largest cost; a sum stops at UINT64_MAX, which is at
 * most 1 too low. Time: O(rows log rows) a step, and the order's costs. Memory: 20 bytes a row of a
 * global batch and 28 bytes a rank, allocated by open only. Threads: one at a time.
 */
#ifndef SL_LEVEL_H
#define SL_LEVEL_H

#include "plan.h"

#include <sluice/common.h>

/* Maximum rows of a global batch: a step of this size takes about 0.6 s of planning. */
#define SL_LEVEL_ROWS_MAX (UINT64_C(1) << 20)
#define SL_ROW_COST_MAX   (UINT64_C(1) << 48)

typedef struct sl_level_rank {
    uint64_t again; /* cost of rows that come again */
    uint64_t sum;
    uint32_t rows; /* to deal to it */
    uint32_t left; /* of these, rows not dealt to it yet */
} sl_level_rank;

typedef struct sl_level {
    uint32_t world;
    uint64_t *costs;            /* of each row of the step, by its offset from the first position */
    uint32_t *owners;           /* the rank of each */
    uint32_t *sorted, *swapped; /* places */
    sl_level_rank *ranks;
    uint32_t *heap; /* ranks with space */
} sl_level;

/* Returns the number of bytes that open allocates, for a global batch of `rows`. */
uint64_t sl_level_bytes(uint64_t rows, uint32_t world);
/* `rows` 1 .. SL_LEVEL_ROWS_MAX. Errors: NOMEM. A zeroed one may be closed. */
sluice_status sl_level_open(sl_level *level, uint64_t rows, uint32_t world, sluice_error *error);
void sl_level_close(sl_level *level);

/* Writes the places of the own rows of `plan`'s rank at `step` < sl_plan_steps, ascending
 * (sl_step.places). The plan's order has costs, and its global batch is one that open was given. */
void sl_level_step(sl_level *level, const sl_plan *plan, uint64_t step, uint32_t *places);
/* Deals the first `rows` of `costs` to ranks, whose `rows` add up to that number, and which have
 * `again`: sets `owners` and each rank's `sum`. Returns the largest sum. */
uint64_t sl_level_deal(sl_level *level, uint32_t rows);

#endif
