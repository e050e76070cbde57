/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixes: which of the two datasets of a mix stands at each place, and how often its samples came.
 *
 * Purpose: the rules of sluice_dataset_mix, by counting from the run's first place on, for a whole
 * period of weights. Threads: fibers.
 */
#ifndef SIM_MIXES_H
#define SIM_MIXES_H

#include "cases.h"

/* Compares the samples of the case's epochs; samples[i * SIM_ROWS_MAX + k] is that at place k of
 * its i-th epoch; -1: another stands there, or none was seen. Ends the program where one differs
 * (sim_fail). */
void sim_mixes_check(const sim_case *of, const int64_t *samples, uint32_t epochs);

#endif
