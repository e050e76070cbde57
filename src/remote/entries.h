/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entries: the entries of a remote folder, with the facts from its listing.
 *
 * Purpose: pages of a listing append to one array in any order; `sort` then drops duplicates and
 * makes lookups fast. Threads: one writer; immutable once sorted. Memory: 32 bytes an entry, its
 * name and its ETag. Ownership: sl_entries_close.
 */
#ifndef SL_ENTRIES_H
#define SL_ENTRIES_H

#include "store.h"

#include <stdint.h>

typedef struct sl_named_entry {
    uint64_t bytes;
    int64_t modified_s;
    uint32_t name, etag; /* offsets in the text */
    uint8_t kind;        /* SL_ENTRY_FILE, SL_ENTRY_FOLDER */
} sl_named_entry;

/* May be zero-initialised. */
typedef struct sl_entries {
    char *text;
    uint64_t text_bytes, text_capacity;
    sl_named_entry *entries;
    uint64_t count, capacity;
    bool found;    /* the folder exists: something in it was seen, or its own marker */
    bool has_dots; /* a name is "", "." or "..": no path can name it */
} sl_entries;

/* The facts of a new entry. `name` need not end with a NUL. */
typedef struct sl_entry_facts {
    sl_bytes name;
    sl_entry_kind kind;
    uint64_t bytes;
    int64_t modified_s;
    const char *etag;
} sl_entry_facts;

/* Adds an entry. False: no memory. */
bool sl_entries_add(sl_entries *entries, const sl_entry_facts *facts);
/* Sorts by name, files before folders, and drops duplicates. */
void sl_entries_sort(sl_entries *entries);
/* Finds an entry of a sorted array. If a file and a folder have the same name, returns the file.
 * NULL: not found. */
const sl_named_entry *sl_entries_find(const sl_entries *entries, sl_bytes name);
const char *sl_entries_name(const sl_entries *entries, const sl_named_entry *entry);
const char *sl_entries_etag(const sl_entries *entries, const sl_named_entry *entry);
uint64_t sl_entries_memory(const sl_entries *entries);
void sl_entries_close(sl_entries *entries);

#endif
