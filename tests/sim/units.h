/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units: rows that are no samples: windows, and packed rows.
 *
 * Purpose: a window's bytes follow from its number. Which documents a packed row has is learnt from
 * an epoch without faults by one worker; each row says which samples it has, and must have whole
 * parts of these, and all rows together each sample exactly once. Any difference ends the program
 * (sim_fail). Threads: fibers.
 */
#ifndef SIM_UNITS_H
#define SIM_UNITS_H

#include "cases.h"

/* Another case. */
void sim_units_begin(const sim_case *of);
/* Learns the rows of a batch of packed ones. */
void sim_units_learn(const sim_case *of, const sluice_batch *batch);
/* All were learnt: marks those of bad samples. */
void sim_units_mark(sim_case *of);
/* `unit` < 0: a row that has none. */
void sim_units_check(const sim_case *of, const sluice_batch *batch, uint32_t row, int64_t unit);

#endif
