/* SPDX-License-Identifier: Apache-2.0 */
/* pack_job: samples made into records (maker.h), as a job of prepare.h. Its config is an
 * sl_pack_job_config, what it makes an sl_made. Pure. */
#ifndef SL_PACK_JOB_H
#define SL_PACK_JOB_H

#include "maker.h"
#include "permutation.h"
#include "prepare.h"

typedef struct sl_pack_job_config {
    sl_maker_config maker;
    /* Samples whose pictures become pixels: those that this takes below `raw_samples`, whatever
     * the order in which they are written. */
    sl_permutation draw;
    uint64_t raw_samples;
} sl_pack_job_config;

/* Sets `draw` and `raw_samples` of a dataset of so many samples: a share of them, 0..1. */
void sl_pack_job_draw(sl_pack_job_config *config, uint64_t samples, double share);

extern const sl_prepare_job sl_pack_job;

#endif
