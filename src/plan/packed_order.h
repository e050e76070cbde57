/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_order: the order of the rows of a packing (packing.h) in an epoch.
 *
 * Purpose: `sl_order_samples` returns row numbers. Rows are the same in every epoch, so all epochs
 * have equally many; an epoch draws
 *   windows   their order, by (seed, epoch);
 *   groups    SL_PACKING_GROUP consecutive windows of that order; the rows of a group are permuted
 *             by (seed, epoch, group).
 * So the row at a position is computed without a table of the epoch's rows, and rows that are read
 * at about the same time are from at most two groups, whose plans are kept. A packing that is not
 * shuffled keeps its rows in order.
 * A row costs the sum of the squares of its pieces' elements, which is the cost of attention within
 * each document; padding costs nothing.
 * Memory: 8 bytes a group for each of the SL_PACKED_EPOCHS most recently used epochs, and the
 * windows of some groups, so that they are not drawn again for each row. Threads: any; a lock is
 * held while a group is looked up, or the table of an epoch is made: 20 ns a window. Ownership:
 * `set` of the order is the packing, which must stay.
 */
#ifndef SL_PACKED_ORDER_H
#define SL_PACKED_ORDER_H

#include "order.h"
#include "packing.h"

#define SL_PACKED_EPOCHS 4U

/* Returns the cost of a row (sl_order_kind.costs): the sum of the squares of its pieces'
 * lengths. */
uint64_t sl_packed_row_cost(const sl_packed_rows *packing, uint64_t row);

extern const sl_order_kind sl_packed_order; /* of an sl_packed_rows; `count` is its rows */

#endif
