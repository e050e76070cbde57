/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing_check: what cannot be packed, and why. Threads: pure functions.
 */
#ifndef SL_PACKING_CHECK_H
#define SL_PACKING_CHECK_H

#include "packing_plan.h"

/* Before any length is looked at. Errors: INVALID. */
sluice_status sl_packing_check_shape(const sl_packing_shape *shape, uint64_t documents,
                                     sluice_error *error);
/* By the lengths of all windows. Errors: INVALID. */
sluice_status sl_packing_check_lengths(const sl_packing_shape *shape, const sl_packing_count *count,
                                       sluice_error *error);

#endif
