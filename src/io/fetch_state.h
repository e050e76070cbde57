/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_state: the fetch thread's parts together, for fetch*.c only.
 *
 * fetch.c has its life, its loop and the functions of other threads; fetch_items.c requests and
 * delivers items; fetch_reads.c turns wants into reads; fetch_ends.c turns results into want
 * states. Calls go from the first to the others, from reads to ends, and from both to items; never
 * back: items to be read again wait in `requests` or `window`.
 *
 * Threads: everything belongs to the fetch thread except `inbox` and `buffers`, which have their
 * own rules, and members marked `mutex`. No callback of the source runs with a lock held.
 */
#ifndef SL_FETCH_STATE_H
#define SL_FETCH_STATE_H

#include "fetch.h"
#include "inbox.h"
#include "page_cache.h"
#include "requests.h"
#include "thread.h"
#include "window.h"

#define SL_FETCH_PADDING ((size_t)64) /* readable bytes behind each item */

struct sl_fetch {
    sl_fetch_config config;
    sl_fetch_source source;
    sl_thread thread;
    sl_inbox inbox;
    sl_window window;
    sl_requests requests;
    sl_read_buffers buffers;
    sl_resident resident;
    sl_page_cache page_cache; /* AUTO */
    /* AUTO: load of the storage, sampled at intervals. */
    uint64_t looked_ns, looked_busy_ns;
    bool saturated; /* a read was in flight all the time */
    sl_backend *backend;
    sl_backend *unpackers;    /* the unpacking backend, or NULL: no object is compressed */
    uint64_t unpack_progress; /* its progress at the last look */
    sl_places places;         /* of all objects */
    sl_backend *remote; /* the backend of remote objects, inside `backend`; NULL: there are none */
    uint64_t remote_progress; /* its progress at the last look */
    sl_fetch_bytes **kept;    /* capacity for one per item; with a spread */
    bool starved;             /* the item waited for needs memory that nothing will release */
    sl_read **batch;          /* reads to be submitted */
    uint32_t batch_count;
    sl_completion *completions;
    /* the read buffers' pages are present, and the backend does not know yet */
    _Atomic bool present;
    bool may_ask;
    uint64_t whole_guess; /* whole objects: space for the next of unknown size */
    uint64_t now_ns, busy_since_ns, tick_ns, next_tick_ns, stuck_since_ns, oldest_looked_ns;
    sl_fetch_stats stats;
    uint64_t tables_bytes; /* charged for tables */

    pthread_mutex_t mutex;
    pthread_cond_t opened_changed;
    bool opened;        /* mutex */
    bool canceled;      /* mutex; the source is no longer called */
    bool ended;         /* mutex; nothing is in flight */
    bool keeps_objects; /* set at the end: a thread is inside an open of them, forever */
    /* mutex; nobody waits for the thread, which frees everything itself */
    bool left;
    sl_fetch_heir heir;        /* mutex; heir for that case */
    sluice_status open_status; /* mutex */
    sluice_error open_error;   /* mutex */
    sl_fetch_stats published;  /* mutex */
    sl_fetch_state state;      /* mutex; its published part */
};

static inline bool sl_fetch_is_packed(const sl_fetch *fetch, uint32_t object)
{
    return fetch->config.packed && object < sl_objects_count(fetch->config.objects) &&
           sl_objects_packed(fetch->config.objects, object).packing != SL_PACKING_NONE;
}

static inline bool sl_fetch_is_remote(const sl_fetch *fetch, uint32_t object)
{
    return fetch->remote != NULL &&
           (fetch->places == SL_PLACES_REMOTE ||
            sl_objects_place(fetch->config.objects, object) == SL_PLACES_REMOTE);
}

/* Returns the largest number of pieces of an item. */
static inline uint32_t sl_fetch_pieces(const sl_fetch_config *config)
{
    return config->pieces > 0 ? config->pieces : 1;
}

/* ---- fetch_items.c ---- */

/* Requests items from the source while there is space. */
void sl_fetch_ask(sl_fetch *fetch);
/* Takes inserted items out of the inbox while there is space. */
void sl_fetch_take_inserted(sl_fetch *fetch);
/* Handles a want that is READY or FAILED: passes a lookup to the source, delivers others when they
 * are due. */
void sl_fetch_settle(sl_fetch *fetch, uint32_t index);
/* Delivers items that a raised credit allows. */
void sl_fetch_settle_credited(sl_fetch *fetch);
/* Takes the bytes of a want that is READING: counts and settles it. */
void sl_fetch_ready(sl_fetch *fetch, uint32_t index, const sl_fetch_bytes *bytes);
/* Fails a want that is WANTED or READING, and settles it. */
void sl_fetch_fail(sl_fetch *fetch, uint32_t index, const sl_failure *failure);
/* Delivers CANCELED for everything outstanding and starts numbering at 0. Reads must have lost
 * their wants. */
void sl_fetch_cancel_items(sl_fetch *fetch);

/* ---- fetch_reads.c ---- */

/* Makes reads of the wanted items, as far as requests and memory allow. */
void sl_fetch_plan(sl_fetch *fetch);
void sl_fetch_retry_due(sl_fetch *fetch);
/* Handles the end of an open that a request still needs. */
void sl_fetch_opened(sl_fetch *fetch, sl_request *request);
void sl_fetch_submit(sl_fetch *fetch);

/* ---- fetch_ends.c ---- */

/* Handles a failed read or open: retries it, splits it, or fails its wants. */
void sl_fetch_read_failed(sl_fetch *fetch, sl_request *request, sl_failure_kind kind, int sys_errno,
                          uint64_t object_bytes);
void sl_fetch_complete(sl_fetch *fetch, const sl_completion *completion);
/* Gives up reads that are too old. */
void sl_fetch_watch(sl_fetch *fetch);
/* Requests lose their wants; those in flight stay until they complete. */
void sl_fetch_cancel_reads(sl_fetch *fetch);
/* Returns the time until the thread must look again; UINT64_MAX: only when woken. */
uint64_t sl_fetch_patience(const sl_fetch *fetch);

#endif
