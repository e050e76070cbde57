/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_picture: several IMAGE columns of one field, made from one image.
 *
 * Purpose: views of an image (two crops, or two large and eight small ones) cost one header and as
 * few decodes as pay. On the turn of the first of such columns all of them are drawn; those with
 * the same scaling whose rectangles cost less together are decoded as one rectangle, and each
 * column's program runs on that.
 *
 * Invariant: the results do not depend on sharing. A decoded pixel does not depend on the rectangle
 * that it is decoded with, each column is scaled as it would be alone, and filters stop where the
 * program ends. A column with any error here is not made, without an error: it is made again on its
 * turn, alone, and reports then. So damage that only the shared rectangle has does no harm, and
 * errors are reported in the columns' order.
 *
 * Threads and memory: those of the row.
 */
#ifndef SL_SHARED_PICTURE_H
#define SL_SHARED_PICTURE_H

#include "row.h"

/* Once all columns are bound: finds those that share. */
void sl_shared_bind(sl_column_set *set);
/* Makes the columns that share an image with `first`. Returns the bits of those that are made. */
uint64_t sl_shared_make(const sl_column *first, sl_row *row, sl_part_view parts);

#endif
