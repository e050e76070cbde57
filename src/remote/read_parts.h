/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_parts: the parts of a read, and the tries of a part.
 *
 * Purpose: types that the files of reads share. A part is the range of one request. Its main try
 * writes to the read's buffer; a hedge, the second request for a late one, has its own.
 * Lock: the mutex of the state guards the parts. Functions that may call back (sl_host_ended, done)
 * are never called under it.
 * Ownership: a state is counted: by the read itself, and by each try, timer, waiter and request for
 * credentials that will still call back.
 */
#ifndef SL_READ_PARTS_H
#define SL_READ_PARTS_H

#include "hosts.h"
#include "reads.h"
#include "settings.h"

#include <pthread.h>
#include <stdatomic.h>

struct sl_read_part;

typedef struct sl_read_try {
    struct sl_read_part *part;
    sl_exchange exchange;
    sl_host *host;
    uint8_t *own;         /* a hedge's buffer; NULL: the main try */
    bool flying;          /* between start and done */
    bool is_moved;        /* sent to the target of a redirect */
    const char *node;     /* the cache node it is sent to; NULL: the store */
    sl_request_text text; /* the last member: 45 KiB that need no zeros */
} sl_read_try;

typedef enum sl_part_phase {
    SL_PART_IDLE = 0,
    SL_PART_ASKING,  /* waiting for credentials */
    SL_PART_QUEUED,  /* waiting for a slot in a host's window */
    SL_PART_DELAYED, /* waiting for the timer */
    SL_PART_FLYING,
    SL_PART_WON, /* the hedge won; the main try is being canceled */
    SL_PART_DONE
} sl_part_phase;

typedef struct sl_read_part {
    struct sl_read_state *state;
    sl_part_phase phase;
    uint64_t offset;
    uint32_t bytes;
    uint8_t *to;
    uint64_t began_ns, sent_ns;
    uint32_t tries;     /* failed tries that count */
    uint32_t node_step; /* 0: the first owner, 1: the second, 2: the store */
    uint32_t hops;      /* redirects followed */
    bool whole;         /* requested without a range */
    bool from_local;    /* the redirect came from a server that is not public */
    bool asks;          /* requests the object's redirect; other parts wait for it */
    bool asked_again, clock_set, region_set, moved_dropped; /* once per part */
    uint32_t owes_place; /* slots in the window of queued_for, to return without the mutex */
    sl_host *queued_for;
    int64_t result;
    char reason[SL_REASON_BYTES]; /* of the last failure */
    sl_credentials credentials;   /* of the last try */
    sl_engine_timer timer;
    sl_host_waiter waiter;
    sl_read_try *hedge; /* NULL: none */
    sl_read_try main;   /* the last member, as its text */
} sl_read_part;

typedef struct sl_read_state {
    sl_remote_read *read; /* only until it is delivered: a losing try may end later */
    sl_object *object;    /* held by the state */
    bool from_store;
    const sl_remote_settings *settings;
    uint64_t stall_ns;
    pthread_mutex_t mutex;
    _Atomic uint32_t holders;
    bool canceled, finished;
    uint64_t object_bytes; /* size from an answer; UINT64_MAX: none */
    uint32_t left;         /* parts that are not done */
    uint32_t part_count;
    sl_read_part parts[];
} sl_read_state;

enum { SL_NODE_STEPS = 2 }; /* the owners of a slice; after them comes the store */

void sl_read_hold(sl_read_state *state);
/* Releases a hold that is not the last one. */
void sl_read_drop_locked(sl_read_state *state);
/* Releases owed slots, unlocks the state, delivers the read if its last part is done, and
 * releases a hold. */
void sl_read_leave(sl_read_state *state);

/* ---- read_parts.c: under the state's mutex ---- */

/* Begins or continues a part. */
void sl_part_send_locked(sl_read_part *part);
/* Ends a part, whose main try has ended. */
void sl_part_finish_locked(sl_read_part *part, int64_t result);
void sl_part_fail_locked(sl_read_part *part, int failed, const char *reason);
/* Ends the part's request for the object's redirect. `direct`: it was not redirected. */
void sl_part_asked_locked(sl_read_part *part, bool direct);
/* Ends a waiting part. A part in flight ends with its tries. */
void sl_part_cancel_locked(sl_read_part *part);
/* Tries the part again after a delay, or ends it with `failed` and the current reason. `busy`:
 * the server asked for the delay, so the number of tries is not limited. */
void sl_part_again_locked(sl_read_part *part, int failed, bool busy, int64_t retry_after_s);
/* Sends a late part a second time, if the host's budget allows it. */
void sl_part_hedge_locked(sl_read_part *part);

/* ---- read_answers.c ---- */

/* Runs as an exchange's done. */
void sl_try_done(sl_exchange *exchange);

#endif
