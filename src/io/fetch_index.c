/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_index: a sorted array of the wants that may be merged. Moving at most `lookahead` 4-byte
 * indexes costs less than a tree's pointers would, and neighbours are neighbours.
 */
#include "fetch_internal.h"

#include <assert.h>
#include <string.h>

static bool comes_before(const sl_fetch *fetch, uint32_t a, uint32_t b)
{
    const sl_fetch_item *x = &fetch->wants[a].item;
    const sl_fetch_item *y = &fetch->wants[b].item;
    if (x->file != y->file) {
        return x->file < y->file;
    }
    if (x->offset != y->offset) {
        return x->offset < y->offset;
    }
    return a < b;
}

/* The number of entries that come before want `index`. */
static uint32_t place_of(const sl_fetch *fetch, uint32_t index)
{
    uint32_t low = 0;
    uint32_t high = fetch->order_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (comes_before(fetch, fetch->order[middle], index)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void sl_fetch_index_add(sl_fetch *fetch, uint32_t index)
{
    uint32_t place = place_of(fetch, index);
    assert(fetch->order_count < fetch->config.lookahead);
    memmove(fetch->order + place + 1, fetch->order + place,
            (fetch->order_count - place) * sizeof(*fetch->order));
    fetch->order[place] = index;
    fetch->order_count++;
}

uint32_t sl_fetch_index_find(const sl_fetch *fetch, uint32_t index)
{
    uint32_t place = place_of(fetch, index);
    assert(place < fetch->order_count && fetch->order[place] == index);
    return place;
}

void sl_fetch_index_remove(sl_fetch *fetch, uint32_t place, uint32_t count)
{
    assert(place + count <= fetch->order_count);
    fetch->order_count -= count;
    memmove(fetch->order + place, fetch->order + place + count,
            (fetch->order_count - place) * sizeof(*fetch->order));
}
