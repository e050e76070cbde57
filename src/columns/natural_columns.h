/* SPDX-License-Identifier: Apache-2.0 */
/*
 * natural_columns: what a loader gives that was asked for no columns: one of each field whose rows
 * are all of one shape. Pictures take the loader's recipe, dtype and layout.
 * Threads: pure. Memory: the caller's.
 */
#ifndef SL_NATURAL_COLUMNS_H
#define SL_NATURAL_COLUMNS_H

#include "column.h"

/* The column of field `number` < config->field_count. END: it has none. INVALID: it is a picture
 * without a recipe, or one that looks like the mask of another, which has to be said. */
sluice_status sl_natural_column(const sl_columns_config *config, uint32_t number,
                                sl_column_request *request, sluice_error *error);

#endif
