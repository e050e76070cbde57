/* SPDX-License-Identifier: Apache-2.0 */
/* A table of open addressing, at most half full, whose capacity is a power of 2. */
#include "size_set.h"

#include "memory.h"

enum { FIRST_SLOTS = 64 };

static uint64_t size_key(uint32_t width, uint32_t height)
{
    return (uint64_t)width << 32 | height;
}

/* Returns the slot of the key, or the free one for it. */
static uint64_t *slot_of(const sl_size_set *set, uint64_t key)
{
    /* the golden ratio's bits spread keys with equal lower bits */
    uint64_t at = (key * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
    while (set->slots[at & (set->capacity - 1)] != 0 &&
           set->slots[at & (set->capacity - 1)] != key) {
        at++;
    }
    return &set->slots[at & (set->capacity - 1)];
}

bool sl_size_set_has(const sl_size_set *set, uint32_t width, uint32_t height)
{
    return set->capacity > 0 && *slot_of(set, size_key(width, height)) != 0;
}

static bool grow_sizes(sl_size_set *set)
{
    sl_size_set larger = {.capacity = set->capacity > 0 ? 2 * set->capacity : FIRST_SLOTS,
                          .count = set->count};
    larger.slots = sl_calloc(larger.capacity, sizeof(*larger.slots));
    if (larger.slots == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < set->capacity; i++) {
        if (set->slots[i] != 0) {
            *slot_of(&larger, set->slots[i]) = set->slots[i];
        }
    }
    sl_free(set->slots);
    *set = larger;
    return true;
}

bool sl_size_set_add(sl_size_set *set, uint32_t width, uint32_t height)
{
    if (2 * set->count >= set->capacity && !grow_sizes(set)) {
        return false;
    }
    *slot_of(set, size_key(width, height)) = size_key(width, height);
    set->count++;
    return true;
}

void sl_size_set_close(sl_size_set *set)
{
    sl_free(set->slots);
    *set = (sl_size_set){.count = 0};
}
