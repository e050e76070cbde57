/* SPDX-License-Identifier: Apache-2.0 */
#include "substitutes.h"

#include <assert.h>

uint64_t sl_substitute_own(uint64_t places, uint64_t item, uint64_t items)
{
    return places > item ? (places - item - 1) / items + 1 : 0;
}

uint64_t sl_substitute_place(uint64_t places, uint64_t item, uint64_t items, uint64_t attempt)
{
    const uint64_t own = sl_substitute_own(places, item, items);
    assert(item < items && attempt < places);
    if (attempt < own) {
        return item + attempt * items;
    }
    /* Items without own places left begin at different places. */
    const uint64_t more = places % items; /* items that have one more than the others */
    const uint64_t begin = item >= more ? item - more : item;
    const uint64_t left = (begin + attempt - own) % (places - own);
    /* Counts down from the last place, without the item's own: one of each `items`. */
    const uint64_t skipped = (places - 1 + items - item) % items;
    const uint64_t within = left % (items - 1);
    const uint64_t down = left / (items - 1) * items + within + (within >= skipped);
    return places - 1 - down;
}
