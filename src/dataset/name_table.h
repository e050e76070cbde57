/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_table: maps names to numbers with a hash table.
 *
 * Purpose: for the names of a file, which may be many; a few are faster to compare directly.
 * Threads: one owner. Ownership: sl_name_table_close; the caller owns the names, which must not
 * move. Memory: at most 64 bytes per name.
 */
#ifndef SL_NAME_TABLE_H
#define SL_NAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define SL_NAME_NONE UINT32_MAX

/* Zeroed: empty. */
typedef struct sl_name_table {
    struct sl_name_slot *slots; /* `capacity` slots, a power of two; at least half are free */
    uint32_t capacity, count;
} sl_name_table;

void sl_name_table_close(sl_name_table *table);
/* Returns the number of a name; SL_NAME_NONE: not found. */
uint32_t sl_name_table_find(const sl_name_table *table, const char *name);
/* Adds a new name with its number. False: no memory. */
bool sl_name_table_add(sl_name_table *table, const char *name, uint32_t number);

#endif
