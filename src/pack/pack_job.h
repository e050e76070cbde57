/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_job: makes records of samples (maker.h), as a job of prepare.h. Its config is an
 * sl_pack_job_config, its result an sl_made. Pure.
 */
#ifndef SL_PACK_JOB_H
#define SL_PACK_JOB_H

#include "maker.h"
#include "permutation.h"
#include "prepare.h"

typedef struct sl_pack_job_config {
    sl_maker_config maker;
    /*
     * Selects the samples whose images become pixels: those that this permutation maps below
     * `raw_samples`, regardless of the writing order.
     */
    sl_permutation draw;
    uint64_t raw_samples;
} sl_pack_job_config;

/* Sets `draw` and `raw_samples` for a dataset of `samples`: a fraction of them, 0..1. */
void sl_pack_job_draw(sl_pack_job_config *config, uint64_t samples, double share);

extern const sl_prepare_job sl_pack_job;

#endif
