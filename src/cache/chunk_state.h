/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_state: internals of a chunk cache, for its parts: reading (chunk_cache.c), the table of
 * open chunks (chunk_table.c), writing (chunk_write.c), removing (chunk_space.c).
 *
 * Lock: cache->mutex guards everything that is not atomic, constant, or internal to the folder and
 * ledger.
 */
#ifndef SL_CHUNK_STATE_H
#define SL_CHUNK_STATE_H

#include "chunk_cache.h"
#include "chunk_ledger.h"
#include "thread.h"

#include <stdatomic.h>

#define SL_CHUNK_NO_ENTRY UINT32_MAX

enum { SL_CHUNK_ENTRIES_MAX = 1024, SL_CHUNK_BUCKETS = 2048 };

struct sl_cached_object {
    sl_chunk_cache *cache;
    char *address, *etag; /* owned */
    uint64_t hash, bytes;
    uint64_t holders;              /* number of openers */
    uint64_t uses;                 /* number of its entries and parts */
    struct sl_cached_object *next; /* with the same bucket */
};

/* An open chunk. */
typedef struct sl_chunk_entry {
    sl_cached_object *object; /* NULL: the entry is free */
    uint64_t chunk;
    int fd;
    uint32_t uses;
    bool ready;    /* false: a thread is checking it */
    bool gone;     /* true if it cannot be found any more; it is closed after its last use */
    uint32_t next; /* with the same bucket, or the next free one */
    uint32_t older, newer; /* list of unused entries */
} sl_chunk_entry;

typedef struct sl_chunk_table {
    sl_chunk_entry *entries; /* owned */
    uint32_t capacity, free, oldest, newest, swept;
    uint32_t buckets[SL_CHUNK_BUCKETS];
} sl_chunk_table;

/* Files known to be valid: hashes of name, inode, size and modification time. */
typedef struct sl_chunk_known {
    uint64_t *slots; /* owned; 0: free */
    uint64_t count, capacity;
} sl_chunk_known;

typedef struct sl_chunk_candidate {
    sl_chunk_key key;
    int64_t used_ns;
} sl_chunk_candidate;

struct sl_chunk_cache {
    struct sl_chunk_cache
        *next;        /* list of the process; guarded by the list's mutex, as is `holders` */
    uint64_t holders; /* number of openers of it or of its objects, and of parts */
    uint64_t forks;   /* sl_fork_count of its process */
    sl_chunk_folder folder;
    sl_chunk_ledger ledger;
    pthread_mutex_t mutex;
    pthread_cond_t checked; /* signals that an entry became ready, or gone */
    sl_chunk_table table;
    sl_chunk_known known;
    sl_cached_object **objects; /* buckets; owned */
    uint64_t object_count, object_buckets;
    char off[192];
    uint64_t off_until_ns; /* 0: keeping is on; UINT64_MAX: off permanently */
    /* Chunks to remove, from the last listing; the least recently used one is last. */
    sl_chunk_candidate *candidates; /* owned */
    uint64_t candidate_count, candidate_capacity, scanned_ns;
    bool suspect; /* true if a file that should exist does not: the count may be wrong */
    pthread_mutex_t space_mutex; /* guards the four members above */
    /* relaxed: counters */
    _Atomic uint64_t coming; /* bytes of parts of this process */
    _Atomic uint64_t hits, hit_bytes, misses, miss_bytes, waits, written_bytes, removed, damaged;
};

/* ---- chunk_table.c; under the mutex ---- */

/* Leftovers of an entry that was freed. */
typedef struct sl_chunk_left {
    int fd;                   /* to be closed without the mutex; -1: none */
    sl_cached_object *object; /* object whose use ended; NULL: none */
} sl_chunk_left;

bool sl_chunk_table_open(sl_chunk_table *table);
/* Closes all descriptors, which must be unused. */
void sl_chunk_table_close(sl_chunk_table *table);
uint32_t sl_chunk_table_find(const sl_chunk_table *table, const sl_cached_object *object,
                             uint64_t chunk);
/*
 * Returns a new entry with one use, not ready, with this descriptor; it replaces the longest unused
 * entry. SL_CHUNK_NO_ENTRY: all are in use.
 */
uint32_t sl_chunk_table_add(sl_chunk_table *table, sl_cached_object *object, uint64_t chunk, int fd,
                            sl_chunk_left *left);
void sl_chunk_table_use(sl_chunk_table *table, uint32_t entry);
void sl_chunk_table_unuse(sl_chunk_table *table, uint32_t entry, sl_chunk_left *left);
/* Makes the entry impossible to find; it is freed after its last use. */
void sl_chunk_table_forget(sl_chunk_table *table, uint32_t entry, sl_chunk_left *left);
/*
 * Checks a few unused entries, and forgets one whose file another process has removed: its disk
 * space stays used while it is open.
 */
void sl_chunk_table_sweep(sl_chunk_table *table, sl_chunk_left *left);

bool sl_chunk_is_known(const sl_chunk_known *known, uint64_t file);
/* Adds a file. A set that cannot grow forgets its contents: the files are verified again. */
void sl_chunk_know(sl_chunk_known *known, uint64_t file);
/* Returns a hash of the file's identity and version; never 0. Pure. */
uint64_t sl_chunk_file_hash(sl_chunk_key key, const struct stat *facts);

/* ---- chunk_cache.c ---- */

static inline sl_chunk_key sl_chunk_key_of(const sl_cached_object *object, uint64_t chunk)
{
    return (sl_chunk_key){.object = object->hash, .chunk = chunk};
}

/* Ends the use of the leftovers; the mutex must be held. Returns the descriptor to close. */
int sl_chunk_cache_settle(const sl_chunk_left *left);
/* Holds a cache, like opening it; sl_chunk_cache_close releases it. */
void sl_chunk_cache_hold(sl_chunk_cache *cache);
/* Turns keeping off, for a minute or permanently; call without the mutex. */
void sl_chunk_cache_turn_off(sl_chunk_cache *cache, int failed);
/* Returns true if keeping is on; call without the mutex. */
bool sl_chunk_cache_is_on(sl_chunk_cache *cache);
/* Removes a chunk's file, and forgets it. */
bool sl_chunk_cache_remove_file(sl_chunk_cache *cache, sl_chunk_key key);
/* Requests that files are counted again when space is next needed. */
void sl_chunk_cache_suspect(sl_chunk_cache *cache);
/* Returns an open object with this hash; NULL: none. The mutex must be held. */
sl_cached_object *sl_chunk_cache_object(const sl_chunk_cache *cache, uint64_t hash);

static inline void sl_chunk_count_in(_Atomic uint64_t *counter, uint64_t more)
{
    /* relaxed: a statistic */
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

static inline uint64_t sl_chunk_counted(_Atomic uint64_t *counter)
{
    /* relaxed: a statistic */
    return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
