/* SPDX-License-Identifier: Apache-2.0 */
/*
 * substitutes: which spare places each of several items tries, so that no two items get the same
 * one while there are enough.
 *
 * Item i of n first tries the places i, i + n, i + 2 n, ..., which no other item tries before its
 * own have run out. Then it tries the places of the others, from the last one, which they try last.
 * Threads: pure.
 */
#ifndef SL_SUBSTITUTES_H
#define SL_SUBSTITUTES_H

#include <stdint.h>

/* Returns the number of an item's own places. */
uint64_t sl_substitute_own(uint64_t places, uint64_t item, uint64_t items);
/* Returns the place that `item` < items tries at attempt 0 .. places - 1; each place occurs
 * once. */
uint64_t sl_substitute_place(uint64_t places, uint64_t item, uint64_t items, uint64_t attempt);

#endif
