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
    /* Items whose own have run out begin at different ones. */
    const uint64_t more = places % items; /* items that have one more than the others */
    const uint64_t begin = item >= more ? item - more : item;
    uint64_t left = (begin + attempt - own) % (places - own);
    uint64_t place = places - 1;
    while (left > 0 || place % items == item) {
        left -= place % items != item;
        place--;
    }
    return place;
}
