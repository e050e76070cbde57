/* SPDX-License-Identifier: Apache-2.0 */
#include "name_set.h"

#include "checksum.h"
#include "memory.h"
#include "unicode.h"

#include <assert.h>
#include <string.h>

enum { NAME_BYTES = 4096, ROOM_FIRST = 1024 };

static uint64_t name_set_key_of(sl_name_kind kind, const char *name, size_t length)
{
    char whole[NAME_BYTES];
    char folded[NAME_BYTES];
    assert(length < sizeof(whole));
    memcpy(whole, name, length);
    whole[length] = '\0';
    sl_case_fold(whole, folded);
    const uint64_t key =
        sl_checksum(folded, strlen(folded)) ^ (uint64_t)kind * UINT64_C(0x9E3779B97F4A7C15);
    return key != 0 ? key : 1;
}

/* Returns the slot of the key, or the free slot for it. */
static size_t name_set_find(const sl_name_set *set, uint64_t key)
{
    size_t at = key & (set->capacity - 1);
    while (set->slots[at] != 0 && set->slots[at] != key) {
        at = (at + 1) & (set->capacity - 1);
    }
    return at;
}

static bool name_set_grow(sl_name_set *set)
{
    sl_name_set larger = {.capacity = set->capacity > 0 ? set->capacity * 2 : ROOM_FIRST,
                          .count = set->count};
    larger.slots = sl_calloc(larger.capacity, sizeof(*larger.slots));
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i] != 0) {
            larger.slots[name_set_find(&larger, set->slots[i])] = set->slots[i];
        }
    }
    sl_free(set->slots);
    *set = larger;
    return true;
}

bool sl_name_set_has(const sl_name_set *set, sl_name_kind kind, const char *name, size_t length)
{
    return set->capacity > 0 &&
           set->slots[name_set_find(set, name_set_key_of(kind, name, length))] != 0;
}

bool sl_name_set_add(sl_name_set *set, sl_name_kind kind, const char *name, size_t length)
{
    const uint64_t key = name_set_key_of(kind, name, length);
    if (set->count >= set->capacity / 4 * 3 && !name_set_grow(set)) {
        return false;
    }
    const size_t at = name_set_find(set, key);
    set->count += set->slots[at] == 0;
    set->slots[at] = key;
    return true;
}

void sl_name_set_clear(sl_name_set *set)
{
    if (set->capacity > 0) {
        memset(set->slots, 0, set->capacity * sizeof(*set->slots));
    }
    set->count = 0;
}

void sl_name_set_close(sl_name_set *set)
{
    sl_free(set->slots);
    *set = (sl_name_set){0};
}
