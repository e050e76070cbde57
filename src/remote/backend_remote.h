/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend_remote: the parts of the backend for remote objects, for backend_*.c only.
 *
 * backend_remote.c opens and closes the backend and has its operations; backend_jobs.c has the
 * reads in flight.
 * A JOB is one read that the owner submitted; a PART of it (backend_parts.h) is one request, or one
 * read from a chunk of the cache by `inner`. Threads: everything belongs to the owner except the
 * members marked `mutex`, which sl_remote_read's `done` changes on an engine thread.
 */
#ifndef SL_BACKEND_REMOTE_H
#define SL_BACKEND_REMOTE_H

#include "backend.h"
#include "backend_parts.h"
#include "chunk_cache.h"
#include "chunk_waits.h"
#include "objects.h"
#include "reads.h"

#include <pthread.h>

typedef enum sl_part_state {
    SL_PART_FREE = 0,
    SL_PART_REMOTE, /* `remote` reads it, or has ended: then it is in the list `ended` */
    SL_PART_SHADOW, /* `inner` reads `shadow` */
    SL_PART_PARKED  /* its chunk is being fetched, or `inner` is full */
} sl_part_state;

typedef struct sl_backend_job sl_backend_job;
typedef struct sl_remote_backend sl_remote_backend;

/* Interval between checks of parked parts. */
#define SL_BACKEND_PARK_LOOK_NS UINT64_C(10000000)

typedef struct sl_backend_part {
    sl_part_state state;
    sl_backend_job *job;
    sl_remote_backend *owner;
    struct sl_backend_part *next; /* FREE, PARKED, or ended */
    sl_remote_read remote;
    bool flying; /* mutex; `remote` has not called done yet */
    sl_read shadow;
    sl_chunk_use use; /* SHADOW */
    sl_part_range range;
    uint8_t *to, *scratch; /* where the bytes go; scratch NULL: into the read's buffer */
    uint64_t until_ns;     /* PARKED: then it is read past the cache */
    bool expected;         /* PARKED: the loader's caching will fetch its chunk */
} sl_backend_part;

struct sl_backend_job {
    sl_read *read; /* NULL: free */
    sl_object *object;
    sl_cached_object *cached; /* the object's in the chunk cache; NULL: it is not kept */
    sl_backend_job *next;     /* free, hungry, or ready */
    bool hungry;              /* in the list of jobs that wait for parts or memory */
    sl_part_cursor cursor;
    uint32_t flying;    /* parts in flight */
    uint64_t valid_end; /* bytes of the buffer that the object fills */
    int64_t failed;     /* -errno of the first part that failed */
    const char *reason;
    /* READ_FILE */
    uint32_t file;
    uint64_t at, file_bytes;
    uint64_t sizes[SL_OBJECT_FILES_MAX];
};

typedef struct sl_backend_jobs {
    sl_backend_job *first, *last;
} sl_backend_jobs;

struct sl_remote_backend {
    sl_backend base;
    sl_backend *inner;
    uint64_t stall_ns;
    uint32_t depth, part_count;
    sl_backend_job *jobs, *free_jobs;
    sl_backend_part *parts, *free_parts;
    sl_backend_jobs hungry, ready;
    sl_backend_part *parked;
    uint64_t parked_look_ns;     /* next check of parked parts */
    uint64_t impatient_until_ns; /* until then, no part waits for another process's chunk */
    sl_chunk_waits *waits;       /* NULL: none */
    uint64_t changes;            /* change count of `waits` at the last check of parts */
    uint32_t inner_flying;
    uint64_t scratch_bytes; /* of all parts */
    uint64_t progress;
    uint64_t gap_bytes, gap_look_ns; /* measured, and the time of the next measurement */
    char **reasons;                  /* borrowed by completions */
    uint32_t reason_count;
    pthread_mutex_t mutex;
    pthread_cond_t landed;
    /* mutex */
    sl_backend_part *ended; /* parts whose `done` was called, not yet taken by the owner */
    uint32_t flying;
    bool closing;
};

/* Takes ownership of a read. */
void sl_backend_job_start(sl_remote_backend *remote, sl_read *read);
/* Handles a shadow read that `inner` completed. */
void sl_backend_shadow_done(sl_remote_backend *remote, sl_backend_part *part, int64_t result);
/* Continues parts that ended, were parked, or could not begin. */
void sl_backend_jobs_settle(sl_remote_backend *remote);
/* Writes up to `capacity` completions of jobs that are ready. */
uint32_t sl_backend_jobs_take(sl_remote_backend *remote, sl_completion *completions,
                              uint32_t capacity);
/* Prevents jobs from beginning another part. */
void sl_backend_jobs_cancel(sl_remote_backend *remote);
/* Returns the part of a shadow read; NULL: the read is the owner's. */
sl_backend_part *sl_backend_part_of(const sl_remote_backend *remote, const sl_read *read);
/* Releases the bytes of a part. */
void sl_backend_part_drop(sl_remote_backend *remote, sl_backend_part *part);

#endif
