/* SPDX-License-Identifier: Apache-2.0 */
/* shared_draws: whether what columns share is drawn alike in all of them. Once. Threads: pure. */
#ifndef SL_SHARED_DRAWS_H
#define SL_SHARED_DRAWS_H

#include "column.h"

/* Once all columns are bound. INVALID: which column cannot share what, and what to write. */
sluice_status sl_shared_draws_check(const sl_column_set *set, sluice_error *error);

#endif
