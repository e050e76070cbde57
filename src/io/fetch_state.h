/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_state: the fetch thread's parts together, for fetch*.c only.
 *
 * fetch.c has its life, its loop and what other threads call; fetch_items.c asks and delivers;
 * fetch_reads.c makes reads of wants; fetch_ends.c makes of what came back the state of wants.
 * Calls go from the first to the others, from reads to ends, and from both to items; never back:
 * what is to be read again waits in `requests` or `window`.
 * Threads: everything belongs to the fetch thread but `inbox` and `buffers`, which say so
 * themselves, and what is marked `mutex`. No callback of the source runs with a lock held.
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
    /* AUTO: how busy the storage was, looked at now and then. */
    uint64_t looked_ns, looked_busy_ns;
    bool saturated; /* there was always a read in flight */
    sl_backend *backend;
    sl_backend *unpackers;    /* the same, or NULL: nothing is compressed */
    uint64_t unpack_progress; /* theirs, when it was last looked at */
    sl_places places;         /* of all objects */
    sl_backend *remote; /* the one of remote objects, inside `backend`; NULL: there are none */
    uint64_t remote_progress; /* its, when it was last looked at */
    sl_fetch_bytes **kept;    /* space for one of each item; with a spread */
    bool starved;             /* what is waited for waits for memory that does not come back */
    sl_read **batch;          /* to be submitted */
    uint32_t batch_count;
    sl_completion *completions;
    _Atomic bool present; /* the read buffers' memory is, and the backend was not told */
    bool may_ask;
    uint64_t whole_guess; /* whole objects: space for the next of unknown size */
    uint64_t now_ns, busy_since_ns, tick_ns, next_tick_ns, stuck_since_ns, oldest_looked_ns;
    sl_fetch_stats stats;
    uint64_t tables_bytes; /* charged for tables */

    pthread_mutex_t mutex;
    pthread_cond_t opened_changed;
    bool opened;               /* mutex */
    bool canceled;             /* mutex; the source will not be called any more */
    bool ended;                /* mutex; nothing is in flight */
    bool keeps_objects;        /* once it has ended: a thread is inside an open of them, forever */
    bool left;                 /* mutex; nobody waits for the thread, which frees everything */
    sl_fetch_heir heir;        /* mutex; then */
    sluice_status open_status; /* mutex */
    sluice_error open_error;   /* mutex */
    sl_fetch_stats published;  /* mutex */
    sl_fetch_state state;      /* mutex; what of it is published */
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

/* Pieces that an item has, at most. */
static inline uint32_t sl_fetch_pieces(const sl_fetch_config *config)
{
    return config->pieces > 0 ? config->pieces : 1;
}

/* ---- fetch_items.c ---- */

/* Asks the source, as far as there is space. */
void sl_fetch_ask(sl_fetch *fetch);
/* Takes inserted items out of the inbox, as far as there is space. */
void sl_fetch_take_inserted(sl_fetch *fetch);
/* A want is READY or FAILED: a lookup goes to the source, others are delivered when they are due.
 */
void sl_fetch_settle(sl_fetch *fetch, uint32_t index);
/* Delivers what a raised credit allows. */
void sl_fetch_settle_credited(sl_fetch *fetch);
/* The bytes of a want that is READING are there: counts and settles it. */
void sl_fetch_ready(sl_fetch *fetch, uint32_t index, const sl_fetch_bytes *bytes);
/* Fails a want that is WANTED or READING, and settles it. */
void sl_fetch_fail(sl_fetch *fetch, uint32_t index, const sl_failure *failure);
/* Delivers CANCELED for everything outstanding and starts numbering at 0. Reads must have lost
 * their wants. */
void sl_fetch_cancel_items(sl_fetch *fetch);

/* ---- fetch_reads.c ---- */

/* Makes reads of what is wanted, as far as requests and memory allow. */
void sl_fetch_plan(sl_fetch *fetch);
void sl_fetch_retry_due(sl_fetch *fetch);
/* What the request needs was opened, or could not be; somebody still waits for it. */
void sl_fetch_opened(sl_fetch *fetch, sl_request *request);
void sl_fetch_submit(sl_fetch *fetch);

/* ---- fetch_ends.c ---- */

/* The request's read or open failed: it is tried again, split, or its wants fail. */
void sl_fetch_read_failed(sl_fetch *fetch, sl_request *request, sl_failure_kind kind, int sys_errno,
                          uint64_t object_bytes);
void sl_fetch_complete(sl_fetch *fetch, const sl_completion *completion);
/* Gives up reads that are too old. */
void sl_fetch_watch(sl_fetch *fetch);
/* Requests lose their wants; those in flight stay until they complete. */
void sl_fetch_cancel_reads(sl_fetch *fetch);
/* Time until the thread must look again; UINT64_MAX: only when woken. */
uint64_t sl_fetch_patience(const sl_fetch *fetch);

#endif
