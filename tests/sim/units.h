/* SPDX-License-Identifier: Apache-2.0 */
/* units: rows that are not samples: windows and packed rows.
 *
 * Purpose: a window's bytes follow from its number. The documents of a packed row are learnt from
 * an epoch without faults by one worker. Each row names its samples and must have whole parts of
 * them; all rows together have each sample exactly once. Any difference ends the program
 * (sim_fail). Threads: fibers. */
#ifndef SIM_UNITS_H
#define SIM_UNITS_H

#include "cases.h"

/* Begins another case. */
void sim_units_begin(const sim_case *of);
/* Learns the rows of a batch of packed rows. */
void sim_units_learn(const sim_case *of, const sluice_batch *batch);
/* All rows were learnt: marks those with bad samples. */
void sim_units_mark(sim_case *of);
/* `unit` < 0: a row without a unit. */
void sim_units_check(const sim_case *of, const sluice_batch *batch, uint32_t row, int64_t unit);

#endif
