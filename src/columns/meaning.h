/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meaning: fills in what a request leaves open and its field knows (sl_meaning): formats and units
 * of boxes and points, and which boxes a column belongs to.
 *
 * Threads: the opener's. Memory: none.
 */
#ifndef SL_COLUMNS_MEANING_H
#define SL_COLUMNS_MEANING_H

#include "column.h"

/* Fills in the column's request, and gives notice of contradictions. The column is number
 * set->count. INVALID: the field does not say enough. */
sluice_status sl_column_take_meaning(sl_column_set *set, const sl_columns_config *config,
                                     sl_column *column, sluice_error *error);

#endif
