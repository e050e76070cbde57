/* SPDX-License-Identifier: Apache-2.0 */
/* mixes: which of the two datasets of a mix has each place, and how often its samples came.
 *
 * Purpose: implements the rules of sluice_dataset_mix by counting from the run's first place, for a
 * whole period of weights. Threads: fibers. */
#ifndef SIM_MIXES_H
#define SIM_MIXES_H

#include "cases.h"

/* Compares the samples of the case's epochs. samples[i * SIM_ROWS_MAX + k] is the sample at place k
 * of the i-th epoch, or -1 if that place has another one or was not seen. Any difference ends the
 * program (sim_fail). */
void sim_mixes_check(const sim_case *of, const int64_t *samples, uint32_t epochs);

#endif
