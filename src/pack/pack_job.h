/* SPDX-License-Identifier: Apache-2.0 */
/* pack_job: samples made into records (maker.h), as a job of prepare.h. Its config is an
 * sl_maker_config, what it makes an sl_made. Pure. */
#ifndef SL_PACK_JOB_H
#define SL_PACK_JOB_H

#include "maker.h"
#include "prepare.h"

extern const sl_prepare_job sl_pack_job;

#endif
