/* SPDX-License-Identifier: Apache-2.0 */
/* search: binary search in sorted arrays. Threads: pure functions. */
#ifndef SL_SEARCH_H
#define SL_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Returns the number of the last of `count` items whose key is at most `key`: the range of a
 * position, if each item has the beginning of its range. `keys` is the first item's key, the next
 * one's is `stride` bytes after it: &items->first, sizeof(*items). Keys must not decrease; of equal
 * ones the last is found, so an empty range never is. 0 if the first key is larger, or there is at
 * most one item.
 */
static inline uint64_t sl_last_at_or_before(const uint64_t *keys, size_t stride, uint64_t count,
                                            uint64_t key)
{
    uint64_t low = 0;
    uint64_t high = count;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        uint64_t found;
        memcpy(&found, (const char *)keys + middle * stride, sizeof(found));
        if (found <= key) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

#endif
