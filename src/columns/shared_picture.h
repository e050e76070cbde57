/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_picture: several IMAGE columns of one field, made of one picture.
 *
 * Purpose: views of a picture (two crops, or two large and eight small ones) cost one header and as
 * few decodes as pay. When the first of such columns has its turn all of them are drawn; those that
 * scale the picture down alike and whose rectangles cost less together are decoded as one
 * rectangle, and each column's program runs on that.
 * Invariant: nobody can tell, but by the time it takes. A decoded pixel does not depend on the
 * rectangle that it is decoded with, each column is scaled as it would be alone, and filters stop
 * where the program says. A column of which anything goes wrong here is not made, without an error:
 * it is made again in its turn, for itself, which decides what is wrong with it. So damage that
 * only the shared rectangle has harms nobody, and what is reported is what the columns' order says.
 * Threads and memory: those of the row.
 */
#ifndef SL_SHARED_PICTURE_H
#define SL_SHARED_PICTURE_H

#include "row.h"

/* Once all columns are bound: finds those that share. */
void sl_shared_bind(sl_column_set *set);
/* Makes the columns that share a picture with `first`; the bits of those that are made. */
uint64_t sl_shared_make(const sl_column *first, sl_row *row, sl_part_view parts);

#endif
