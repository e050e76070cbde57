/* SPDX-License-Identifier: Apache-2.0 */
/* caching_state: types and functions shared by the files of caching. */
#ifndef SL_CACHING_STATE_H
#define SL_CACHING_STATE_H

#include "caching.h"
#include "thread.h"

#include <stdatomic.h>

/* Disk space of a chunk besides its bytes: the page of its header. */
#define SL_CACHING_PAGE_BYTES UINT64_C(4096)

enum { PUT_OFF_MOST = 64, VICTIMS_MOST = 64, DEMANDS_MOST = 1024 };

typedef enum chunk_state {
    CHUNK_UNKNOWN = 0, /* not examined in this epoch */
    CHUNK_KEPT,
    CHUNK_TAKEN, /* in a flight, or postponed */
    CHUNK_GONE   /* absent, as far as is known */
} chunk_state;

/* A chunk that a thread works on. */
typedef struct chunk_flight {
    sl_chunk_plan of;
    sl_cached_object *cached; /* NULL: the flight is free, or its object is not open yet */
    uint64_t generation;      /* of the plan it was taken from */
    uint64_t off_since_ns;    /* time since which another process has been writing it; 0: none */
} chunk_flight;

typedef struct put_off {
    chunk_flight flight;
    uint64_t look_at_ns;
} put_off;

typedef struct caching_thread {
    sl_caching *caching;
    sl_thread thread;
    chunk_flight flight; /* under mutex, except for reads by the thread itself */
    uint8_t *buffer;
} caching_thread;

struct sl_caching {
    /* immutable after open */
    sl_chunk_cache *cache;
    sl_caching_objects objects;
    uint64_t *bases; /* of each object: number of its first chunk; and the end */
    bool fills;      /* all chunks at once: there is no position */
    uint32_t thread_count;
    uint64_t largest; /* chunk */

    _Atomic bool stopping;
    _Atomic uint64_t position;
    _Atomic uint64_t wake_at; /* a thread sleeps until this position; UINT64_MAX: none does */

    pthread_mutex_t mutex;
    pthread_cond_t work, settled;
    /* under mutex */
    caching_thread threads[SL_CACHING_THREADS_MAX];
    bool started;
    uint8_t *states;  /* of each chunk, by its number */
    bool *passed;     /* of each chunk: a read of this epoch did not wait for it */
    bool *demanded;   /* of each chunk: taken out of turn, for a read that waits for it */
    uint32_t *fresh;  /* of each chunk: bytes that the fetching epoch still has to read */
    uint64_t *places; /* in the plan, of each chunk, by its number */
    uint64_t most_bytes, kept_bytes, taken_bytes; /* the quota; bytes in the cache; in flights */
    uint64_t ahead;                               /* chunks that are fetched before their use */
    uint64_t distrust_until_ns;                   /* until then, reads do not wait for chunks */
    sl_chunk_plan *plan;
    uint64_t planned, used;         /* chunks of the plan; those with a use in this epoch */
    uint64_t next, reached;         /* first chunk not taken; first chunk not yet in use */
    uint64_t span;                  /* the last position of the plan */
    uint64_t generation;            /* of the plan */
    uint64_t demands[DEMANDS_MOST]; /* numbers of chunks that reads wait for out of turn */
    uint32_t demand_count;
    uint64_t demand_bytes;
    put_off later[PUT_OFF_MOST];
    uint32_t later_count;
    sl_chunk_plan victims[VICTIMS_MOST];
    uint32_t victim_count;
    uint64_t search_at; /* position from which a search may find other victims */
    bool is_stuck;      /* removing chunks makes no space: another job has a larger quota */
    sl_caching_stats stats;
    _Atomic uint64_t changes; /* relaxed: counts changes to the results of sl_caching_expects */
};

/* ---- caching_work.c ---- */

/* Returns the chunk's number among all chunks, and the quota it takes. */
uint64_t sl_caching_number_of(const sl_caching *caching, const sl_chunk_plan *chunk);
uint64_t sl_caching_cost_of(const sl_caching *caching, const sl_chunk_plan *chunk);
/* Makes waiting reads request again. */
void sl_caching_note_change(sl_caching *caching);
/* Returns the cache's quota now; 0: keeping is off. */
uint64_t sl_caching_quota(sl_chunk_cache *cache);
/* Returns whether the plan's next chunk may be taken. Advances `next` and `reached` to the
 * position. */
bool sl_caching_may_take_locked(sl_caching *caching);
/* Runs a thread of the caching, given its caching_thread. */
void sl_caching_run_thread(void *argument);

#endif
