/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_table: numbers of names, found by a hash of theirs.
 *
 * Purpose: for names of a file, of which there may be many; a few are compared faster. Threads: one
 * owner. Ownership: sl_name_table_close; names are the caller's, and stay where they are.
 * Memory: 64 bytes a name at most.
 */
#ifndef SL_NAME_TABLE_H
#define SL_NAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define SL_NAME_NONE UINT32_MAX

/* All zero: empty. */
typedef struct sl_name_table {
    struct sl_name_slot *slots; /* `capacity` of them, a power of two; half of them are free */
    uint32_t capacity, count;
} sl_name_table;

void sl_name_table_close(sl_name_table *table);
/* The number of a name; SL_NAME_NONE: it is not there. */
uint32_t sl_name_table_find(const sl_name_table *table, const char *name);
/* Adds a name that is not there, with its number. False: no memory. */
bool sl_name_table_add(sl_name_table *table, const char *name, uint32_t number);

#endif
