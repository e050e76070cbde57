/* SPDX-License-Identifier: Apache-2.0 */
/* shared_draws: checks that columns draw their shared steps the same. Once. Threads: pure. */
#ifndef SL_SHARED_DRAWS_H
#define SL_SHARED_DRAWS_H

#include "column.h"

/* Once all columns are bound: checks them. INVALID: names the column, the step and the remedy. */
sluice_status sl_shared_draws_check(const sl_column_set *set, sluice_error *error);

#endif
