/* SPDX-License-Identifier: Apache-2.0 */
#include "name_table.h"

#include "checksum.h"
#include "memory.h"

#include <string.h>

enum { ROOM_LEAST = 64 };

typedef struct sl_name_slot {
    const char *name; /* NULL: free */
    uint32_t hash, number;
} slot;

static uint32_t name_table_hash_of(const char *name)
{
    return (uint32_t)sl_checksum(name, strlen(name));
}

void sl_name_table_close(sl_name_table *table)
{
    sl_free(table->slots);
    *table = (sl_name_table){.capacity = 0};
}

/* Returns the slot of a name, or the free slot for it. */
static slot *name_table_find(const sl_name_table *table, const char *name, uint32_t hash)
{
    const uint32_t mask = table->capacity - 1;
    slot *at = &table->slots[hash & mask];
    while (at->name != NULL && (at->hash != hash || strcmp(at->name, name) != 0)) {
        at = &table->slots[(uint32_t)(at - table->slots + 1) & mask];
    }
    return at;
}

static bool name_table_grow(sl_name_table *table)
{
    const uint32_t capacity = table->capacity == 0 ? ROOM_LEAST : table->capacity * 2;
    sl_name_table wider = {.capacity = capacity, .count = table->count};
    wider.slots = capacity > table->capacity ? sl_calloc(capacity, sizeof(*wider.slots)) : NULL;
    if (wider.slots == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < table->capacity; i++) {
        const slot *own = &table->slots[i];
        if (own->name != NULL) {
            *name_table_find(&wider, own->name, own->hash) = *own;
        }
    }
    sl_free(table->slots);
    *table = wider;
    return true;
}

uint32_t sl_name_table_find(const sl_name_table *table, const char *name)
{
    if (table->capacity == 0) {
        return SL_NAME_NONE;
    }
    const slot *found = name_table_find(table, name, name_table_hash_of(name));
    return found->name != NULL ? found->number : SL_NAME_NONE;
}

bool sl_name_table_add(sl_name_table *table, const char *name, uint32_t number)
{
    if (table->count >= table->capacity / 2 && !name_table_grow(table)) {
        return false;
    }
    const uint32_t hash = name_table_hash_of(name);
    *name_table_find(table, name, hash) = (slot){.name = name, .hash = hash, .number = number};
    table->count++;
    return true;
}
