/* SPDX-License-Identifier: Apache-2.0 */
/* packing_check: reports shapes and lengths that cannot be packed. Threads: pure functions. */
#ifndef SL_PACKING_CHECK_H
#define SL_PACKING_CHECK_H

#include "packing_plan.h"

/* Checks a shape before any length is read. Errors: INVALID. */
sluice_status sl_packing_check_shape(const sl_packing_shape *shape, uint64_t documents,
                                     sluice_error *error);
/* Checks the lengths of all windows. Errors: INVALID. */
sluice_status sl_packing_check_lengths(const sl_packing_shape *shape, const sl_packing_count *count,
                                       sluice_error *error);

#endif
