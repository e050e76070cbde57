/* SPDX-License-Identifier: Apache-2.0 */
/* rows: a simple model of an epoch, and the comparison with it.
 *
 * Purpose: computes the place in the epoch's list of each row of each step on each rank (the rules
 * of sluice/loader.h, implemented again). Checks each row on its own, that a place has the same row
 * in all runs of a case, and at the end of a run that the list is complete. Any difference ends the
 * program (sim_fail). Threads: fibers. */
#ifndef SIM_ROWS_H
#define SIM_ROWS_H

#include "cases.h"

/* The position of a rank. */
typedef struct sim_place {
    uint32_t rank, world;
    uint32_t epoch; /* index among the case's epochs, from 0 */
    uint32_t start; /* place in the epoch's list where the run entered */
    uint32_t step;  /* steps since `start` */
} sim_place;

/* Forgets all rows, for another case. */
void sim_rows_begin(const sim_case *of);
/* Begins another run: no place has been seen. */
void sim_rows_begin_run(void);
/* From now on, reads may hang, and any sample, and so any row, may be bad because of it. */
void sim_rows_let_fail(void);
/* Returns the number of steps from `start` on. */
uint32_t sim_rows_steps(const sim_place *at);
/* Checks a batch. Returns a digest of its rows. */
uint64_t sim_rows_check(const sluice_batch *batch, const sim_place *at);
/* Returns the digest of the same batch later. */
uint64_t sim_rows_digest(const sluice_batch *batch);
/* True if a place of the step has a bad sample and the policy lets the step fail. */
bool sim_rows_may_fail(const sim_place *at, int64_t sample);
/* Checks that all places of an epoch were seen, with the right contents. */
void sim_rows_end_epoch(uint32_t epoch);

#endif
