/* SPDX-License-Identifier: Apache-2.0 */
#include "inode_set.h"

#include "memory.h"

#define ROOM_LEAST 64u

typedef struct sl_inode_slot {
    sl_inode inode;
    uint32_t generation;
} slot;

void sl_inode_set_clear(sl_inode_set *set)
{
    set->generation++;
    set->count = 0;
}

/* Returns the slot of `inode`, or the free one for it. */
static slot *inode_set_find(const sl_inode_set *set, sl_inode inode)
{
    uint64_t hash = (inode.inode ^ inode.device << 32) * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t at = (uint32_t)(hash >> 32) & (set->capacity - 1);
    for (;; at = (at + 1) & (set->capacity - 1)) {
        slot *s = &set->slots[at];
        if (s->generation != set->generation ||
            (s->inode.inode == inode.inode && s->inode.device == inode.device)) {
            return s;
        }
    }
}

static bool inode_set_grow(sl_inode_set *set)
{
    const uint32_t capacity = set->capacity == 0 ? ROOM_LEAST : set->capacity * 2;
    sl_inode_set wider = {.capacity = capacity, .count = set->count, .generation = set->generation};
    wider.slots = capacity > set->capacity ? sl_calloc(capacity, sizeof(*wider.slots)) : NULL;
    if (wider.slots == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < set->capacity; i++) {
        if (set->slots[i].generation == set->generation) {
            *inode_set_find(&wider, set->slots[i].inode) = set->slots[i];
        }
    }
    sl_free(set->slots);
    *set = wider;
    return true;
}

bool sl_inode_set_add(sl_inode_set *set, sl_inode inode, bool *added)
{
    if (set->count >= set->capacity / 2 && !inode_set_grow(set)) {
        return false;
    }
    slot *s = inode_set_find(set, inode);
    *added = s->generation != set->generation;
    set->count += *added;
    *s = (slot){inode, set->generation};
    return true;
}

bool sl_inode_set_has(const sl_inode_set *set, sl_inode inode)
{
    return set->capacity > 0 && inode_set_find(set, inode)->generation == set->generation;
}

void sl_inode_set_close(sl_inode_set *set)
{
    sl_free(set->slots);
    *set = (sl_inode_set){0};
}
