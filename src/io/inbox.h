/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inbox: requests of other threads to the fetch thread.
 *
 * Purpose: credit, inserted items, restarts, wake-ups, the end; the thread collects them once a
 * round. A signal costs a system call only if the thread sleeps.
 *
 * Lock: `mutex`, held for a few instructions, never during a callback.
 *
 * Threads: the fetch thread or its opener calls open, collect, sleeping, restarted and close; any
 * thread the rest.
 */
#ifndef SL_INBOX_H
#define SL_INBOX_H

#include "items.h"

#include <pthread.h>
#include <stdatomic.h>

/* Wakes a sleeping thread. */
typedef struct sl_inbox_bell {
    void (*ring)(void *ctx);
    void *ctx;
} sl_inbox_bell;

typedef struct sl_inbox {
    pthread_mutex_t mutex;
    pthread_cond_t restarted;   /* mutex: restarts_done */
    sl_inbox_bell bell;         /* mutex; ring NULL: not set yet, or removed */
    _Atomic uint32_t attention; /* something was put in, or memory was released */
    _Atomic uint32_t asleep;    /* the thread is about to block: the bell must ring */
    _Atomic bool idle;          /* it sleeps until a signal: nothing else will wake it */
    _Atomic uint64_t rounds;    /* number of times it woke */
    /* under mutex */
    uint64_t credit, restarts_wanted, restarts_done;
    bool stop;
    bool ask; /* the source has items */
    /* just opened or restarted: nothing is requested before a wake or credit */
    bool dozing;
    sl_fetch_item *items; /* inserted items: a ring */
    uint32_t capacity, first, count;
} sl_inbox;

/* The fetch thread's view of the inbox. */
typedef struct sl_inbox_news {
    uint64_t credit;
    uint64_t restarts; /* requested and not done */
    uint32_t inserted; /* items to be popped */
    bool stop, ask;
} sl_inbox_news;

/* Opens an inbox with space for `inserts` uncollected items. Errors: NOMEM. */
sluice_status sl_inbox_open(sl_inbox *inbox, uint32_t inserts, sluice_error *error);
/* A zeroed inbox may be closed. */
void sl_inbox_close(sl_inbox *inbox);

/* Makes the thread look soon. */
void sl_inbox_signal(sl_inbox *inbox);
/* Allows delivery of items below `limit`, which falls only by a restart. */
void sl_inbox_credit(sl_inbox *inbox, uint64_t limit);
/* Reports that the source has items again. */
void sl_inbox_wake(sl_inbox *inbox);
void sl_inbox_insert(sl_inbox *inbox, const sl_fetch_item *item);
void sl_inbox_stop(sl_inbox *inbox);
/* Requests a restart, and waits for it. */
void sl_inbox_restart(sl_inbox *inbox);

/* Sets or removes the function that wakes the thread. */
void sl_inbox_set_bell(sl_inbox *inbox, const sl_inbox_bell *bell);
/* Takes over the requests. Inserted items stay in the inbox until they are popped. */
sl_inbox_news sl_inbox_collect(sl_inbox *inbox);
/* Takes the oldest inserted item; false: there is none. */
bool sl_inbox_pop(sl_inbox *inbox, sl_fetch_item *item);
/* Returns true if the thread may block: from then on signals ring the bell, until sl_inbox_woke.
 * `idle`: it waits for nothing but a signal. */
bool sl_inbox_sleeping(sl_inbox *inbox, bool idle);
void sl_inbox_woke(sl_inbox *inbox);
/* Returns whether the thread sleeps, idle, and nothing was put in since; `*rounds`: a number that
 * changes whenever it was awake. Any thread. */
bool sl_inbox_is_idle(sl_inbox *inbox, uint64_t *rounds);
/* Reports `restarts` of them done: credit is 0, and nothing is requested before a wake or
 * credit. */
void sl_inbox_restarted(sl_inbox *inbox, uint64_t restarts);

#endif
