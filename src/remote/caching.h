/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caching: fills the chunk cache ahead of an epoch, and removes chunks that are no longer needed.
 *
 * Purpose: the caller knows the plan (loader/cache_plan.h). It passes all chunks of its objects in
 * the order of their first use, each with its first and last use in this epoch and its first use in
 * the next one. Threads fetch absent chunks whole, ahead of the reading position, into the cache.
 * A chunk that another process of the host writes is waited for, not fetched; if that takes longer
 * than the stall limit, the chunk is left, as if there were no space.
 *
 * Policy: Belady's, with the choice to bypass the cache. A chunk's reads come in one burst an epoch
 * (first to last), which must be downloaded in any case, so keeping a chunk only pays at its next
 * burst. If space is short, the chunk with the farthest next use is removed, provided that the
 * newcomer is used again at least an epoch sooner: that is, chunks whose burst is over and that the
 * next epoch does not use. Chunks that the next epoch uses all have the same worth, since each
 * saves one download there; replacing one by another would only cost a download and a write. So a
 * cache that holds a fraction c of the data has a hit rate of c in every epoch, and its content is
 * stable. The chunk's number breaks ties. A chunk that finds no space is read past the cache.
 *
 * A read of a chunk of the plan waits for the chunk (chunk_waits.h), so that no byte is downloaded
 * twice. If the chunk is not within reach yet, it is then fetched out of turn. A read does not wait
 * for a chunk that will not have space, nor for any chunk after a fetch has failed. The quota is
 * read with each plan. While the folder cannot be written to, nothing is removed for space.
 *
 * A chunk is fetched when its first use is fewer than `ahead` chunks away: as many as fill a
 * quarter of the cache, at least 4, at most 64. A chunk that the next epoch does not use is not
 * fetched any more once half of its burst is over, and none once its burst is over, if reads went
 * past it.
 *
 * Threads: its own, up to 8, or up to 64 for objects smaller than a chunk, started by the first
 * plan; all functions from any thread. Lock: one mutex, not held during reads and writes. Memory:
 * 50 bytes a chunk, and the largest chunk a thread. The cache's failures are not the caller's: a
 * chunk that cannot be fetched or kept is left.
 */
#ifndef SL_CACHING_H
#define SL_CACHING_H

#include "chunk_cache.h"

/* Maximum number of threads that fetch: SL_CACHING_THREADS of whole chunks, more of smaller
 * ones. Each has a buffer of the largest chunk. */
#define SL_CACHING_THREADS     8U
#define SL_CACHING_THREADS_MAX 64U
/* No known use. */
#define SL_CHUNK_NEVER UINT64_MAX

typedef struct sl_caching sl_caching;

/* Uses of a chunk: positions that grow in the order of reading; SL_CHUNK_NEVER: none. */
typedef struct sl_chunk_plan {
    uint32_t object;
    uint32_t chunk;
    uint64_t first, last; /* in this epoch */
    uint64_t again;       /* first use in the next epoch */
    uint32_t bytes;       /* bytes that this process reads of it in this epoch */
} sl_chunk_plan;

/* The objects of the chunks. Functions are called by several threads at once. */
typedef struct sl_caching_objects {
    void *ctx;
    uint32_t count;
    /* Returns the size of an object; 0: the object is not kept. Does not block. */
    uint64_t (*bytes)(void *ctx, uint32_t object);
    /* Returns the object in the cache, valid until caching is closed; NULL: it is not kept, or
     * `*failed`: the store did not identify it. May block. */
    sl_cached_object *(*open)(void *ctx, uint32_t object, bool *failed);
    /* Reads exactly `bytes` at `offset`; false: it failed. Blocks, under the thread's stop. */
    bool (*read)(void *ctx, uint32_t object, uint64_t offset, void *to, uint32_t bytes);
    uint64_t wait_ns; /* maximum wait for another process's chunk; 0: 30 s */
} sl_caching_objects;

/* Returns the size of the largest chunk of the objects, and the number of threads that it
 * justifies. */
uint64_t sl_caching_largest(const sl_caching_objects *objects);
uint32_t sl_caching_threads(uint64_t largest);
/* Threads: 1 to SL_CACHING_THREADS_MAX. The cache and objects->ctx must outlive it. Errors: NOMEM.
 */
sluice_status sl_caching_open(sl_caching **caching, sl_chunk_cache *cache,
                              const sl_caching_objects *objects, uint32_t threads,
                              sluice_error *error);
/* Cancels fetches in progress. NULL is a no-op. */
void sl_caching_close(sl_caching *caching);
/* Returns the number of an object's first chunk among all chunks; for `count`, the number of all
 * chunks. */
uint64_t sl_caching_first_chunk(const sl_caching *caching, uint32_t object);

/* Each chunk at most once, sorted by `first`, so that those without a use in this epoch come last.
 */
typedef struct sl_chunk_epoch {
    const sl_chunk_plan *chunks;
    uint64_t count;
    bool goes_on; /* the epoch is the previous plan's, with more places known */
} sl_chunk_epoch;
/* Begins an epoch, at position 0. The chunks are copied. Fetches in progress continue. Errors:
 * NOMEM (the previous plan stays). */
sluice_status sl_caching_begin(sl_caching *caching, const sl_chunk_epoch *epoch,
                               sluice_error *error);
/* Reports that the loader has requested everything used before `position`, which grows within an
 * epoch. Costs a few ns unless a chunk can be fetched now. */
void sl_caching_advance(sl_caching *caching, uint64_t position);

/* True if the chunk is being fetched, or will be as soon as a thread is free, and is likely to have
 * space: a read of it should wait, since it would download the same bytes. Every such chunk is
 * settled, without any action of the reader. False for 30 s after a fetch has failed. */
bool sl_caching_expects(sl_caching *caching, uint32_t object, uint64_t chunk);
/* Counts a read of a chunk that the cache has. False: the chunk was downloaded for this read. Of
 * each fetched chunk, the first bytes read are not hits, as many as the epoch reads of it. */
bool sl_caching_is_hit(sl_caching *caching, uint32_t object, uint64_t chunk, uint32_t bytes);
/* Returns a number that changes whenever a chunk is settled, or a plan begins. */
uint64_t sl_caching_changes(const sl_caching *caching);

/* Statistics of the epoch. Each chunk of the plan that was examined counts once: as found in the
 * cache, fetched, or left. */
typedef struct sl_caching_stats {
    uint64_t chunks, here, here_bytes, fetched, fetched_bytes, removed, left, left_bytes;
} sl_caching_stats;
void sl_caching_get_stats(sl_caching *caching, sl_caching_stats *stats);

typedef struct sl_caching_watch {
    void (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes); /* may be NULL */
    void *ctx;
} sl_caching_watch;
/* Keeps all chunks of the objects, as far as space permits. Blocks, under the thread's stop.
 * Errors: CANCELED, NOMEM. */
sluice_status sl_caching_fill(sl_chunk_cache *cache, const sl_caching_objects *objects,
                              const sl_caching_watch *watch, sl_caching_stats *stats,
                              sluice_error *error);

/* ---- hit rates of other policies (caching_hits.c) ---- */

/* Reads of chunks (numbers < `chunks`) in two epochs, in order. Pure. */
typedef struct sl_chunk_uses {
    const uint32_t *first_epoch, *second_epoch; /* chunk of each use */
    const uint32_t *bytes_second;               /* read by each use of the second epoch */
    const uint32_t *chunk_bytes;                /* of each chunk */
    uint64_t first_count, second_count;
    uint32_t chunks;
    uint64_t space; /* bytes that fit */
} sl_chunk_uses;
/*
 * Fractions of the second epoch's bytes that need no download. `optimum`: the best of all policies.
 * A read past the cache downloads its own bytes, and a fetch downloads the whole chunk. When the
 * second epoch begins, the cache is full (the last chunk fits in part). `lru` fetches each chunk
 * that it misses, as caches of whole chunks do. 0 without space or reads.
 */
typedef struct sl_chunk_hits {
    double optimum, lru;
} sl_chunk_hits;
/* Errors: NOMEM. */
sluice_status sl_chunk_hits_find(const sl_chunk_uses *uses, sl_chunk_hits *hits,
                                 sluice_error *error);

#endif
