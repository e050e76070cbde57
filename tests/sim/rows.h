/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows: the plain model of an epoch, and the comparison with it.
 *
 * Purpose: says which place of the epoch's list each row of each step has on each rank (the rules
 * of sluice/loader.h, written again), checks each row for itself, that a place has the same row in
 * all runs of a case, and at the end of a run that the list is complete. Any difference ends the
 * program (sim_fail). Threads: fibers.
 */
#ifndef SIM_ROWS_H
#define SIM_ROWS_H

#include "cases.h"

/* Where a rank stands. */
typedef struct sim_place {
    uint32_t rank, world;
    uint32_t epoch; /* of the case's, from 0 */
    uint32_t start; /* of the epoch's list: where it was entered */
    uint32_t step;  /* since then */
} sim_place;

/* Forgets all rows: another case. */
void sim_rows_begin(const sim_case *of);
/* Another run: no place was seen. */
void sim_rows_begin_run(void);
/* From here on reads may hang, and any sample be bad for that: so may a row. */
void sim_rows_let_fail(void);
/* Steps from `start` on. */
uint32_t sim_rows_steps(const sim_place *at);
/* What a batch has to be. A digest of its rows. */
uint64_t sim_rows_check(const sluice_batch *batch, const sim_place *at);
/* The same batch, later: only its digest. */
uint64_t sim_rows_digest(const sluice_batch *batch);
/* Whether a place of the step has a bad sample, and the policy lets the step fail. */
bool sim_rows_may_fail(const sim_place *at, int64_t sample);
/* All places of an epoch were seen, and have what they should. */
void sim_rows_end_epoch(uint32_t epoch);

#endif
