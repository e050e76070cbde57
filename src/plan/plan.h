/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: the rows of each step of an epoch on one rank.
 *
 * A global batch is world_size x batch positions. Step s of an epoch that starts at position
 * `start` covers [start + s*G, start + (s+1)*G), and rank r takes the r-th slice of `batch` of it.
 * The remainder that fills no global batch is dropped, or makes one last step in which rank r takes
 * positions [base + r*rest/world, base + (r+1)*rest/world): every rank has the same number of
 * steps, and the ranks' shares differ by at most one row. With pad, the rows after its share are
 * padding. With repeat, they are the positions from 0 on: each rank continues where the previous
 * one ended, around the epoch as often as needed. With wrap, the remainder is not spread: rank r
 * takes its positions [r*batch, (r+1)*batch), and the ranks fill up as with repeat. With an order
 * of groups (buckets), each group has such a remainder, and so a last step. Those come after all
 * whole ones, repeat continues within the group, and an epoch is (re)entered only where a step
 * begins. With an order of units (episodes), a rank's share of a remainder has whole units. Option
 * level_rows gives a rank equally many other positions of the same step: sl_step.places, level.h.
 * Threads: pure; a plan is a value.
 */
#ifndef SL_PLAN_H
#define SL_PLAN_H

#include "order.h"

#include <stdbool.h>

typedef struct sl_plan {
    sl_order order;
    uint64_t start; /* position at which the epoch is (re)entered */
    uint32_t batch, rank, world;
    sluice_last_batch last;
} sl_plan;

/* The rows of one step on this rank. */
typedef struct sl_step {
    uint64_t base;  /* global position of the step's first row, on all ranks together */
    uint64_t first; /* global position of its first row */
    /* Of own rows: offsets from `base`, ascending, owned by the caller. NULL, as sl_plan_step
     * sets it: own rows are consecutive from `first` on. */
    const uint32_t *places;
    uint32_t rows;   /* rows of the batch, padding included */
    uint32_t filled; /* rows with a sample; the others are padding */
    uint32_t own;    /* of those, rows [own, filled) are repeated: */
    uint64_t again;  /* position of row `own`, counted on over the end of the epoch; with groups
                        place of it in the group, over its end */
    uint32_t bucket; /* the group's number; 0 without groups */
} sl_step;

/* Returns the number of steps of the epoch, the same on every rank. */
uint64_t sl_plan_steps(const sl_plan *plan);
/* Returns the number of `own` rows of all steps. */
uint64_t sl_plan_rows(const sl_plan *plan);
/* Returns step < sl_plan_steps. */
sl_step sl_plan_step(const sl_plan *plan, uint64_t step);
/* Returns the position and sample of a row < step->filled. */
uint64_t sl_step_position(const sl_step *step, const sl_order *order, uint32_t row);
/* Finds the samples of rows [row, row + count), all of them < step->filled. */
void sl_step_samples(const sl_step *step, const sl_order *order, uint32_t row, uint32_t count,
                     uint64_t *samples);
/* Returns the global position after `steps` steps, where a cursor saved then resumes. */
uint64_t sl_plan_position(const sl_plan *plan, uint64_t steps);
/* Returns the number of steps of the epoch before `start`, for batches like these; rounded up if
 * `start` is inside one. */
uint64_t sl_plan_entered(const sl_plan *plan);
/*
 * Returns the substitute for a bad sample at `position`: by the order's kind, or another sample of
 * the epoch, with groups of the same group; a function of (seed, epoch, position, attempt). attempt
 * 1.. ; never the position's own sample if there is another (sl_plan_choices).
 */
uint64_t sl_plan_substitute(const sl_plan *plan, uint64_t seed, uint64_t epoch, uint64_t position,
                            uint32_t attempt);
/* Returns how many samples may be at `position`, its own included. */
uint64_t sl_plan_choices(const sl_plan *plan, uint64_t position);

#endif
