/* SPDX-License-Identifier: Apache-2.0 */
/* buckets: which samples come together when the images of a batch have one aspect ratio.
 *
 * Purpose: reimplements the rules of option `buckets` for three buckets: the steps of an epoch and
 * the rows of each. Whole batches come first, then the remainder of each bucket. Threads:
 * fibers. */
#ifndef SIM_BUCKETS_H
#define SIM_BUCKETS_H

#include "cases.h"

#define SIM_BUCKETS_TEXT "16x16,24x12,12x24"

enum { SIM_BUCKETS = 3 };

uint32_t sim_bucket_of(const sim_case *of, uint32_t sample);
sluice_size sim_bucket_size(uint32_t bucket);
/* Total number of steps in an epoch. */
uint32_t sim_bucket_steps(const sim_case *of);
/* Samples of a step, on all ranks. */
uint32_t sim_bucket_rows(const sim_case *of, uint32_t step);
/* Without a shuffle: the sample of the step's row `number`. */
uint32_t sim_bucket_sample(const sim_case *of, uint32_t step, uint32_t number);

#endif
