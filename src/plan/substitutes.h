/* SPDX-License-Identifier: Apache-2.0 */
/*
 * substitutes: which of some spare places each of several items tries, so that no two items get the
 * same one while there are enough.
 *
 * Item i of n tries the places i, i + n, i + 2 n, ... first, which no other item tries before its
 * own have run out; then the places of the others, from the last one, which they come to last.
 * Threads: pure.
 */
#ifndef SL_SUBSTITUTES_H
#define SL_SUBSTITUTES_H

#include <stdint.h>

/* Places of an item's own. */
uint64_t sl_substitute_own(uint64_t places, uint64_t item, uint64_t items);
/* Of `places` the one that `item` < items tries at attempt 0 .. places - 1; all of them, once. */
uint64_t sl_substitute_place(uint64_t places, uint64_t item, uint64_t items, uint64_t attempt);

#endif
