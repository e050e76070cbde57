/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_arrays: determines this process's job in an array, from the variables of schedulers.
 *
 * Purpose: the rules of sluice_job_array_find, for any environment, so that each can be tested.
 * Threads: pure, except for the environment. Invariants: with OK and `found`, part < parts. Values
 * of variables are untrusted: numbers must be digits and in range.
 */
#ifndef SL_JOB_ARRAYS_H
#define SL_JOB_ARRAYS_H

#include "launchers.h"

/*
 * Fills `array` completely, also with INVALID: see sluice_job_array_find. `parts` 0: the
 * scheduler's.
 */
sluice_status sl_job_array_find(const sl_environment *environment, uint32_t parts,
                                sluice_job_array *array, sluice_error *error);

#endif
