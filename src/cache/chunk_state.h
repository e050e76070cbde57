/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_state: the insides of a chunk cache, for its parts: reading (chunk_cache.c), the table of
 * open chunks (chunk_table.c), writing (chunk_write.c), removing (chunk_space.c).
 *
 * Lock: cache->mutex guards everything that is not atomic, constant, or the folder's and ledger's
 * own.
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
    uint64_t holders;              /* those that opened it */
    uint64_t uses;                 /* entries and parts of it */
    struct sl_cached_object *next; /* with the same bucket */
};

/* A chunk that is open. */
typedef struct sl_chunk_entry {
    sl_cached_object *object; /* NULL: the entry is free */
    uint64_t chunk;
    int fd;
    uint32_t uses;
    bool ready;            /* false: some thread is checking it */
    bool gone;             /* nobody finds it any more; it is closed with its last use */
    uint32_t next;         /* with the same bucket, or the next free one */
    uint32_t older, newer; /* among those that nobody uses */
} sl_chunk_entry;

typedef struct sl_chunk_table {
    sl_chunk_entry *entries; /* owned */
    uint32_t capacity, free, oldest, newest, swept;
    uint32_t buckets[SL_CHUNK_BUCKETS];
} sl_chunk_table;

/* Files that are known to be good: hashes of name, inode, size and time of modification. */
typedef struct sl_chunk_known {
    uint64_t *slots; /* owned; 0: free */
    uint64_t count, capacity;
} sl_chunk_known;

typedef struct sl_chunk_candidate {
    sl_chunk_key key;
    int64_t used_ns;
} sl_chunk_candidate;

struct sl_chunk_cache {
    struct sl_chunk_cache *next; /* in the process; guarded by the list's mutex, as holders */
    uint64_t holders;            /* those that opened it or an object of it, and parts */
    uint64_t forks;              /* sl_fork_count of its process */
    sl_chunk_folder folder;
    sl_chunk_ledger ledger;
    pthread_mutex_t mutex;
    pthread_cond_t checked; /* an entry became ready, or gone */
    sl_chunk_table table;
    sl_chunk_known known;
    sl_cached_object **objects; /* buckets; owned */
    uint64_t object_count, object_buckets;
    char off[192];
    uint64_t off_until_ns; /* 0: keeping is on; UINT64_MAX: off for good */
    /* Chunks to remove, those used least recently last; of the last scan. */
    sl_chunk_candidate *candidates; /* owned */
    uint64_t candidate_count, candidate_capacity, scanned_ns;
    bool suspect;                /* a file that should exist does not: the count may be wrong */
    pthread_mutex_t space_mutex; /* guards the four above */
    /* relaxed: counters */
    _Atomic uint64_t coming; /* bytes of parts of this process */
    _Atomic uint64_t hits, hit_bytes, misses, miss_bytes, waits, written_bytes, removed, damaged;
};

/* ---- chunk_table.c; under the mutex ---- */

/* What an entry had that is free now. */
typedef struct sl_chunk_left {
    int fd;                   /* to be closed without the mutex; -1: none */
    sl_cached_object *object; /* whose use ended; NULL: none */
} sl_chunk_left;

bool sl_chunk_table_open(sl_chunk_table *table);
/* Closes all descriptors, which nobody uses. */
void sl_chunk_table_close(sl_chunk_table *table);
uint32_t sl_chunk_table_find(const sl_chunk_table *table, const sl_cached_object *object,
                             uint64_t chunk);
/* An entry with one use that is not ready, with this descriptor; the one unused for longest makes
 * room. SL_CHUNK_NO_ENTRY: all are in use. */
uint32_t sl_chunk_table_add(sl_chunk_table *table, sl_cached_object *object, uint64_t chunk, int fd,
                            sl_chunk_left *left);
void sl_chunk_table_use(sl_chunk_table *table, uint32_t entry);
void sl_chunk_table_unuse(sl_chunk_table *table, uint32_t entry, sl_chunk_left *left);
/* Nobody finds the entry from now on; it is free after its last use. */
void sl_chunk_table_forget(sl_chunk_table *table, uint32_t entry, sl_chunk_left *left);
/* Looks at a few entries that nobody uses, and forgets one whose file another process has removed:
 * its blocks stay taken while it is open. */
void sl_chunk_table_sweep(sl_chunk_table *table, sl_chunk_left *left);

bool sl_chunk_is_known(const sl_chunk_known *known, uint64_t file);
/* A set that cannot grow forgets: files are verified again then. */
void sl_chunk_know(sl_chunk_known *known, uint64_t file);
/* Pure. Which file it is, and which version of it. Never 0. */
uint64_t sl_chunk_file_hash(sl_chunk_key key, const struct stat *facts);

/* ---- chunk_cache.c ---- */

static inline sl_chunk_key sl_chunk_key_of(const sl_cached_object *object, uint64_t chunk)
{
    return (sl_chunk_key){.object = object->hash, .chunk = chunk};
}

/* Under the mutex: ends the use of what is left. Returns the descriptor to close. */
int sl_chunk_cache_settle(const sl_chunk_left *left);
/* Holds a cache, as opening does; sl_chunk_cache_close releases it. */
void sl_chunk_cache_hold(sl_chunk_cache *cache);
/* Turns keeping off, for a minute or for good; without the mutex. */
void sl_chunk_cache_turn_off(sl_chunk_cache *cache, int failed);
/* True if keeping is on; without the mutex. */
bool sl_chunk_cache_is_on(sl_chunk_cache *cache);
/* Removes a chunk's file, and forgets it. */
bool sl_chunk_cache_remove_file(sl_chunk_cache *cache, sl_chunk_key key);
/* Has the files counted again, the next time somebody asks for space. */
void sl_chunk_cache_suspect(sl_chunk_cache *cache);
/* Under the mutex. An open object of this hash; NULL: there is none. */
sl_cached_object *sl_chunk_cache_object(const sl_chunk_cache *cache, uint64_t hash);

static inline void sl_chunk_count_in(_Atomic uint64_t *counter, uint64_t more)
{
    /* Relaxed: a statistic. */
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

static inline uint64_t sl_chunk_counted(_Atomic uint64_t *counter)
{
    /* Relaxed: a statistic. */
    return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
