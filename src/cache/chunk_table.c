/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_table: the table of open chunks by object and number, and the set of known files. */
#include "checksum.h"
#include "chunk_state.h"
#include "memory.h"
#include "minmax.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ENTRIES_LEAST = 8, LIMIT_SHARE = 4, SWEEP = 4, KNOWN_FIRST = 1024 };

#define KNOWN_MOST (UINT64_C(1) << 26)

/* ---- opening ---- */

bool sl_chunk_table_open(sl_chunk_table *table)
{
    struct rlimit limit;
    uint64_t most = SL_CHUNK_ENTRIES_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        most = sl_min_u64(most, sl_max_u64(limit.rlim_cur / LIMIT_SHARE, ENTRIES_LEAST));
    }
    table->capacity = (uint32_t)most;
    table->entries = sl_calloc(table->capacity, sizeof(*table->entries));
    if (table->entries == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < table->capacity; i++) {
        table->entries[i].fd = -1;
        table->entries[i].next = i + 1 < table->capacity ? i + 1 : SL_CHUNK_NO_ENTRY;
    }
    memset(table->buckets, 0xff, sizeof(table->buckets)); /* SL_CHUNK_NO_ENTRY */
    table->free = 0;
    table->oldest = table->newest = SL_CHUNK_NO_ENTRY;
    return true;
}

void sl_chunk_table_close(sl_chunk_table *table)
{
    for (uint32_t i = 0; table->entries != NULL && i < table->capacity; i++) {
        if (table->entries[i].fd >= 0) {
            (void)close(table->entries[i].fd);
        }
    }
    sl_free(table->entries);
    table->entries = NULL;
}

/* ---- finding ---- */

static uint32_t bucket_of(const sl_cached_object *object, uint64_t chunk)
{
    return (uint32_t)((object->hash ^ (chunk * UINT64_C(0x9e3779b97f4a7c15)) >> 40) %
                      SL_CHUNK_BUCKETS);
}

uint32_t sl_chunk_table_find(const sl_chunk_table *table, const sl_cached_object *object,
                             uint64_t chunk)
{
    uint32_t at = table->buckets[bucket_of(object, chunk)];
    while (at != SL_CHUNK_NO_ENTRY &&
           (table->entries[at].object != object || table->entries[at].chunk != chunk)) {
        at = table->entries[at].next;
    }
    return at;
}

static void unchain(sl_chunk_table *table, uint32_t entry)
{
    const sl_chunk_entry *e = &table->entries[entry];
    uint32_t *link = &table->buckets[bucket_of(e->object, e->chunk)];
    while (*link != entry) {
        link = &table->entries[*link].next;
    }
    *link = e->next;
}

/* ---- unused entries ---- */

static void idle_push(sl_chunk_table *table, uint32_t entry)
{
    sl_chunk_entry *e = &table->entries[entry];
    e->older = table->newest;
    e->newer = SL_CHUNK_NO_ENTRY;
    if (table->newest != SL_CHUNK_NO_ENTRY) {
        table->entries[table->newest].newer = entry;
    } else {
        table->oldest = entry;
    }
    table->newest = entry;
}

static void idle_remove(sl_chunk_table *table, uint32_t entry)
{
    const sl_chunk_entry *e = &table->entries[entry];
    if (e->older != SL_CHUNK_NO_ENTRY) {
        table->entries[e->older].newer = e->newer;
    } else {
        table->oldest = e->newer;
    }
    if (e->newer != SL_CHUNK_NO_ENTRY) {
        table->entries[e->newer].older = e->older;
    } else {
        table->newest = e->older;
    }
}

/* Frees an entry that is in no list. */
static void free_entry(sl_chunk_table *table, uint32_t entry, sl_chunk_left *left)
{
    sl_chunk_entry *e = &table->entries[entry];
    *left = (sl_chunk_left){.fd = e->fd, .object = e->object};
    *e = (sl_chunk_entry){.fd = -1, .next = table->free};
    table->free = entry;
}

/* ---- changing ---- */

uint32_t sl_chunk_table_add(sl_chunk_table *table, sl_cached_object *object, uint64_t chunk, int fd,
                            sl_chunk_left *left)
{
    *left = (sl_chunk_left){.fd = -1};
    if (table->free == SL_CHUNK_NO_ENTRY && table->oldest != SL_CHUNK_NO_ENTRY) {
        sl_chunk_table_forget(table, table->oldest, left);
    }
    const uint32_t entry = table->free;
    if (entry == SL_CHUNK_NO_ENTRY) {
        return entry;
    }
    sl_chunk_entry *e = &table->entries[entry];
    uint32_t *bucket = &table->buckets[bucket_of(object, chunk)];
    table->free = e->next;
    *e = (sl_chunk_entry){.object = object, .chunk = chunk, .fd = fd, .uses = 1, .next = *bucket};
    *bucket = entry;
    object->uses++;
    return entry;
}

void sl_chunk_table_use(sl_chunk_table *table, uint32_t entry)
{
    if (table->entries[entry].uses++ == 0) {
        idle_remove(table, entry);
    }
}

void sl_chunk_table_unuse(sl_chunk_table *table, uint32_t entry, sl_chunk_left *left)
{
    sl_chunk_entry *e = &table->entries[entry];
    *left = (sl_chunk_left){.fd = -1};
    if (--e->uses > 0) {
        return;
    }
    if (e->gone) {
        free_entry(table, entry, left);
    } else {
        idle_push(table, entry);
    }
}

void sl_chunk_table_forget(sl_chunk_table *table, uint32_t entry, sl_chunk_left *left)
{
    sl_chunk_entry *e = &table->entries[entry];
    *left = (sl_chunk_left){.fd = -1};
    unchain(table, entry);
    e->gone = true;
    if (e->uses == 0) {
        idle_remove(table, entry);
        free_entry(table, entry, left);
    }
}

void sl_chunk_table_sweep(sl_chunk_table *table, sl_chunk_left *left)
{
    struct stat facts;
    *left = (sl_chunk_left){.fd = -1};
    for (uint32_t i = 0; i < SWEEP; i++) {
        const uint32_t entry = table->swept;
        const sl_chunk_entry *e = &table->entries[entry];
        table->swept = (table->swept + 1) % table->capacity;
        if (e->object != NULL && e->uses == 0 && fstat(e->fd, &facts) == 0 && facts.st_nlink == 0) {
            sl_chunk_table_forget(table, entry, left);
            return;
        }
    }
}

/* ---- known files ---- */

uint64_t sl_chunk_file_hash(sl_chunk_key key, const struct stat *facts)
{
    const uint64_t of[] = {key.object,
                           key.chunk,
                           (uint64_t)facts->st_ino,
                           (uint64_t)facts->st_size,
                           (uint64_t)facts->st_mtim.tv_sec,
                           (uint64_t)facts->st_mtim.tv_nsec};
    const uint64_t hash = sl_checksum(of, sizeof(of));
    return hash != 0 ? hash : 1;
}

/* Returns the slot of a file, or the free slot for it. */
static uint64_t known_slot(const uint64_t *slots, uint64_t capacity, uint64_t file)
{
    uint64_t at = file & (capacity - 1);
    while (slots[at] != 0 && slots[at] != file) {
        at = (at + 1) & (capacity - 1);
    }
    return at;
}

bool sl_chunk_is_known(const sl_chunk_known *known, uint64_t file)
{
    return known->capacity > 0 &&
           known->slots[known_slot(known->slots, known->capacity, file)] != 0;
}

/* Doubles the number of slots. Empties the set if there would be too many, or no memory. */
static bool known_grow(sl_chunk_known *known)
{
    const uint64_t more = known->capacity > 0 ? known->capacity * 2 : KNOWN_FIRST;
    uint64_t *slots = more <= KNOWN_MOST ? sl_calloc(more, sizeof(*slots)) : NULL;
    if (slots == NULL) {
        if (known->capacity > 0) {
            memset(known->slots, 0, known->capacity * sizeof(*known->slots));
            known->count = 0;
        }
        return known->capacity > 0;
    }
    for (uint64_t i = 0; i < known->capacity; i++) {
        if (known->slots[i] != 0) {
            slots[known_slot(slots, more, known->slots[i])] = known->slots[i];
        }
    }
    sl_free(known->slots);
    known->slots = slots;
    known->capacity = more;
    return true;
}

void sl_chunk_know(sl_chunk_known *known, uint64_t file)
{
    if (known->count + 1 > known->capacity / 2 && !known_grow(known)) {
        return;
    }
    uint64_t *slot = &known->slots[known_slot(known->slots, known->capacity, file)];
    known->count += *slot == 0;
    *slot = file;
}
