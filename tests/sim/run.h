/* SPDX-License-Identifier: Apache-2.0 */
/* run: loads the epoch of a case once, in a way drawn from a seed.
 *
 * Purpose: opens a loader for each rank, takes and checks batches (rows.h), and meanwhile cancels,
 * closes, saves, and resumes with another number of ranks. Returns when all threads have ended.
 * Threads: fibers; called by the first. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "cases.h"

/* `dataset`: the case's open dataset. */
void sim_run(const sim_case *of, sluice_dataset *dataset, uint64_t seed);
/* For packed rows, before any sample is spoilt: counts them and learns their contents. */
void sim_run_learn(sim_case *of, sluice_dataset *dataset);
/* Returns the number of epochs, or parts of one, that loaders have delivered. */
uint64_t sim_run_epochs(void);
/* The same for batches in device memory; and the number of lost devices. */
uint64_t sim_run_device_epochs(void);
uint64_t sim_run_devices_lost(void);

#endif
