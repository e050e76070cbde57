/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: loads the epoch of a case once, in the way that a seed draws.
 *
 * Purpose: opens a loader for each rank, takes batches, looks at each of them (rows.h), and on the
 * way cancels, closes, saves and goes on with another number of ranks. Ends when all threads have.
 * Threads: fibers; called by the first.
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "cases.h"

/* `dataset`: the case's, opened. */
void sim_run(const sim_case *of, sluice_dataset *dataset, uint64_t seed);
/* Of packed rows, before any sample is spoilt: counts them and learns what they are. */
void sim_run_learn(sim_case *of, sluice_dataset *dataset);
/* Epochs, or parts of one, that loaders gave so far. */
uint64_t sim_run_epochs(void);
/* The same, with batches in device memory; and devices that were lost. */
uint64_t sim_run_device_epochs(void);
uint64_t sim_run_devices_lost(void);

#endif
