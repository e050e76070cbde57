/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts: the arrays that every batch has after the parts of its columns: `index`, `mask` and
 * `status`, one number for each row. Threads: as for columns (columns.h). Invariant: they are the
 * last SL_FACTS parts of a bound set.
 */
#ifndef SL_FACTS_H
#define SL_FACTS_H

#include "row.h"

#define SL_FACTS 3U

/* Returns whether the name is one of theirs, which no column can have. */
bool sl_is_fact(const char *name);
/* Returns the column's name for a field named like a fact: "field.index". NULL: it is not. */
const char *sl_fact_of_field(const char *name);
/* Adds them after all other parts, for which SL_FACTS of SL_PARTS_MAX were left. */
void sl_facts_add(sl_column_set *set);
/* Writes those of one row; `good`: it is in the mask. */
void sl_facts_write(const sl_column_set *set, const sl_row_place *place, bool good,
                    sl_part_view parts);

#endif
