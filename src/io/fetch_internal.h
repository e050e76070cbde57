/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_internal: the parts of the fetch thread, for fetch*.c only.
 *
 * A WANT is one item, from source.next (or sl_fetch_insert) to source.deliver. A REQUEST is one
 * read in the making, for one want or several neighbours. Life of a want:
 *
 *     FREE -> WANTED -> READING -> READY  -> FREE (delivered)
 *               ^__________|    -> FAILED -> FREE (delivered)
 *
 * and back to WANTED when a merged read is split or a file turns out larger than guessed. Life of a
 * request:
 *
 *     FREE -> FLYING -> FREE
 *              |  ^---> WAITING (for a retry, or for a descriptor)
 *              '-> ABANDONED (by the watchdog) -> FREE, if it ever completes
 *
 * A request whose wants were cancelled has none any more and only waits for its completion.
 *
 * Threads: everything belongs to the fetch thread but what is marked `mutex` (guarded by it) or
 * `atomic` (any thread). No callback of the source runs with the mutex held.
 */
#ifndef SL_FETCH_INTERNAL_H
#define SL_FETCH_INTERNAL_H

#include "fetch.h"
#include "read_arena.h"
#include "thread.h"

#include <stdatomic.h>

#define SL_FETCH_NONE     UINT32_MAX
#define SL_FETCH_PADDING  ((size_t)64) /* readable bytes behind each item */
#define SL_FETCH_PATH_MAX ((size_t)4096)

typedef enum sl_failure_kind {
    SL_FAILURE_READ,      /* sys_errno of the read */
    SL_FAILURE_OPEN,      /* sys_errno of the open */
    SL_FAILURE_TRUNCATED, /* the file ends before the item does; file_bytes is its size */
    SL_FAILURE_STALLED,   /* given up by the watchdog */
    SL_FAILURE_TOO_LARGE, /* file_bytes is more than max_sample_bytes */
    SL_FAILURE_RANGE,     /* no such place in any file, or no bytes */
    SL_FAILURE_MEMORY,    /* no reserve buffer to be had */
    SL_FAILURE_CANCELED
} sl_failure_kind;

/* Why an item failed, kept small until its delivery (which may be much later) makes a sluice_error
 * of it. */
typedef struct sl_failure {
    sl_failure_kind kind;
    int sys_errno;
    uint32_t tries;
    uint64_t offset; /* where it was noticed */
    uint64_t file_bytes;
} sl_failure;

typedef enum sl_want_state {
    SL_WANT_FREE = 0,
    SL_WANT_WANTED,
    SL_WANT_READING,
    SL_WANT_READY,
    SL_WANT_FAILED
} sl_want_state;

typedef struct sl_want {
    sl_fetch_item item;
    sl_want_state state;
    bool alone;           /* never to be merged (again) */
    uint32_t next;        /* in a request's list, or among the inserts that wait */
    uint32_t tries;       /* reads begun for it so far */
    uint64_t file_bytes;  /* whole files: the size, once known; 0: guess */
    sl_fetch_bytes bytes; /* READY */
    sl_failure failure;   /* FAILED */
} sl_want;

typedef enum sl_request_state {
    SL_REQUEST_FREE = 0,
    SL_REQUEST_WAITING,
    SL_REQUEST_FLYING,
    SL_REQUEST_ABANDONED
} sl_request_state;

typedef struct sl_request {
    sl_read read; /* first, so that a completion's `read` is its request */
    sl_request_state state;
    uint32_t next_free;
    uint32_t wants; /* list; NONE: nobody waits for the bytes any more */
    uint32_t count; /* of wants */
    uint32_t file;
    sl_file *pinned; /* while FLYING or ABANDONED, READ_AT */
    char *path;      /* READ_FILE: room for its path */
    sl_run run;      /* its buffer; units 0: the reserve */
    sl_slab own;     /* the former reserve, once abandoned with it */
    uint8_t *buffer; /* first byte of it */
    uint64_t start;  /* of buffer[0] in the file */
    uint32_t needed; /* bytes from `start` that the wants need */
    uint32_t span;   /* bytes from `start` to ask for: needed, rounded up for O_DIRECT */
    uint32_t got;    /* bytes from `start` that are there */
    uint32_t tries, again_tries, device_tries;
    bool pin_waiting; /* WAITING for a descriptor */
    bool warned;      /* counted as stalled */
    uint64_t since_ns, due_ns;
} sl_request;

/* A buffer with delivered (or ready) items in it; its index, the handle, is its run's first unit.
 */
typedef struct sl_held {
    _Atomic uint32_t refs; /* items not released yet */
    uint32_t units;        /* written before the handle is given away */
} sl_held;

struct sl_fetch {
    sl_fetch_config config;
    sl_fetch_source source;
    sl_thread thread;

    pthread_mutex_t mutex;
    pthread_cond_t changed; /* mutex: opened, restarts_done */
    sl_backend *backend;    /* mutex (to wake it); written by the fetch thread only */
    struct {
        uint64_t credit, restarts_wanted, restarts_done;
        bool opened, stop;
        bool ask;    /* source.next has something */
        bool dozing; /* just opened or restarted: nothing is asked before a wake or a credit */
        sluice_status open_status;
        sluice_error open_error;
        uint32_t *free_inserts, free_insert_count; /* stack of want indexes */
        uint32_t arrived_first, arrived_last;      /* list of want indexes */
        sl_fetch_stats stats;
    } shared; /* mutex */

    _Atomic uint32_t attention; /* somebody changed `shared` or gave memory */
    _Atomic uint32_t waiting;   /* the thread is about to block: it must be woken */
    _Atomic uint32_t starved;   /* units of memory that would help; 0: not starved */
    _Atomic uint32_t reserve_busy;
    sl_held *held; /* arena.units + 1; the last is the reserve */
    sl_read_arena arena;
    sl_slab reserve; /* room for one item of max_sample_bytes; no base: to be mapped again */

    sl_file_table files;
    sl_want *wants; /* ring of `lookahead` for the sequence, then `inserts` */
    sl_request *requests;
    sl_read **batch; /* to be submitted */
    sl_completion *completions;
    char *paths;     /* one for each request, then one more */
    uint32_t *order; /* wants that may be merged, by file and offset */
    uint32_t order_count, batch_count;
    uint32_t free_request, flying, waiting_count, pin_waiting, abandoned;
    uint32_t insert_first, insert_last; /* inserts WANTED, first come first served */
    uint64_t base;                      /* oldest item not delivered */
    uint64_t next_ask;                  /* items asked for: [base, next_ask) */
    uint64_t head;                      /* none below it is WANTED */
    uint64_t credit,
        credited; /* credited: all below were delivered or will be when they are read */
    uint64_t restarts;
    uint64_t file_guess; /* whole files: room for the next of unknown size */
    uint64_t now_ns, busy_since_ns, tick_ns, next_tick_ns, stuck_since_ns;
    bool may_ask, stopping;
    sl_fetch_stats stats;
};

/* fetch.c */
/* Makes the thread look at `shared` soon. Any thread; not with the mutex held. */
void sl_fetch_signal(sl_fetch *fetch);

/* fetch_items.c: wants */
void sl_fetch_ask(sl_fetch *fetch);
/* Delivers READY or FAILED want `index` when its number is below the credit (inserts: at once). */
void sl_fetch_settle(sl_fetch *fetch, uint32_t index);
/* Delivers what a raised credit allows. */
void sl_fetch_settle_credited(sl_fetch *fetch);
void sl_fetch_fail_want(sl_fetch *fetch, uint32_t index, const sl_failure *failure);
/* Back to WANTED; `alone`: not to be merged any more. */
void sl_fetch_want_again(sl_fetch *fetch, uint32_t index, bool alone);
void sl_fetch_take_insert(sl_fetch *fetch, uint32_t index);
/* The next want to be read: inserts first, then the oldest; NONE: nothing wanted. */
uint32_t sl_fetch_first_wanted(sl_fetch *fetch);
/* Delivers CANCELED for everything outstanding and starts numbering at 0. */
void sl_fetch_cancel_all(sl_fetch *fetch);
/* Takes a WANTED want out of what waits to be read: an insert must be the first of them. */
void sl_fetch_unqueue(sl_fetch *fetch, uint32_t index);
static inline bool sl_fetch_is_insert(const sl_fetch *fetch, uint32_t index)
{
    return index >= fetch->config.lookahead;
}
/* Whether it is in the index while WANTED, and may be read together with others. */
static inline bool sl_fetch_is_indexed(const sl_fetch *fetch, uint32_t index)
{
    return fetch->config.merge_bytes > 0 && !fetch->wants[index].alone &&
           fetch->wants[index].item.bytes > 0 && !sl_fetch_is_insert(fetch, index);
}

/* fetch_index.c: wants by (file, offset) */
void sl_fetch_index_add(sl_fetch *fetch, uint32_t index);
/* Its place in fetch->order. */
uint32_t sl_fetch_index_find(const sl_fetch *fetch, uint32_t index);
void sl_fetch_index_remove(sl_fetch *fetch, uint32_t place, uint32_t count);

/* fetch_buffers.c: memory of requests */
/* A buffer of `bytes` for the request; the reserve only when `may_reserve`. False: none now, a
 * release will signal. */
bool sl_fetch_buffer_take(sl_fetch *fetch, sl_request *request, size_t bytes, bool may_reserve);
/* Bytes that fit into the request's buffer. */
size_t sl_fetch_buffer_bytes(const sl_fetch *fetch, const sl_request *request);
void sl_fetch_buffer_give(sl_fetch *fetch, sl_request *request);
/* Keeps the first `bytes` for `refs` items; returns their handle. */
uint32_t sl_fetch_buffer_keep(sl_fetch *fetch, sl_request *request, size_t bytes, uint32_t refs);
/* The kernel may still write to it: sets it aside. */
void sl_fetch_buffer_abandon(sl_fetch *fetch, sl_request *request);
/* Maps the reserve when there is none. Errors: NOMEM. */
sluice_status sl_fetch_reserve_open(sl_fetch *fetch, sluice_error *error);

/* fetch_plan.c: from wants to requests */
void sl_fetch_plan(sl_fetch *fetch);
/* Gives the request (to be read from `got` on) to the backend, or has it wait or fail. */
void sl_fetch_start(sl_fetch *fetch, sl_request *request);
void sl_fetch_submit(sl_fetch *fetch);
void sl_fetch_free_request(sl_fetch *fetch, sl_request *request);

/* fetch_complete.c: from completions to wants */
void sl_fetch_complete(sl_fetch *fetch, const sl_completion *completion);
/*
 * Ends a request: wants that lie below file offset `valid_end` are READY, the others FAILED, or
 * WANTED alone when `failure` is NULL. Frees the request.
 */
void sl_fetch_finish(sl_fetch *fetch, sl_request *request, uint64_t valid_end,
                     const sl_failure *failure);

/* fetch_retry.c: errors, retries, watchdog */
/* The request's read or open failed with `sys_errno`: retries, splits or fails it. */
void sl_fetch_failed(sl_fetch *fetch, sl_request *request, sl_failure_kind kind, int sys_errno);
/* Leaves it WAITING until due_ns. */
void sl_fetch_wait_until(sl_fetch *fetch, sl_request *request, uint64_t due_ns);
void sl_fetch_retry_due(sl_fetch *fetch);
void sl_fetch_watch(sl_fetch *fetch);
/* Time until the thread must look again; UINT64_MAX: only when woken. */
uint64_t sl_fetch_patience(const sl_fetch *fetch);

#endif
