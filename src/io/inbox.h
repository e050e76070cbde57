/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inbox: what other threads ask of the fetch thread.
 *
 * Purpose: credit, inserted items, restarts, wake-ups, the end; the thread collects them once a
 * round. A signal costs a system call only where the thread sleeps.
 * Lock: `mutex`, held for a few instructions, never during a callback.
 * Threads: open, collect, sleeping, restarted and close by the fetch thread or its opener; the rest
 * from any thread.
 */
#ifndef SL_INBOX_H
#define SL_INBOX_H

#include "items.h"

#include <pthread.h>
#include <stdatomic.h>

/* How a thread that sleeps is woken. */
typedef struct sl_inbox_bell {
    void (*ring)(void *ctx);
    void *ctx;
} sl_inbox_bell;

typedef struct sl_inbox {
    pthread_mutex_t mutex;
    pthread_cond_t restarted;   /* mutex: restarts_done */
    sl_inbox_bell bell;         /* mutex; ring NULL: none yet, or none any more */
    _Atomic uint32_t attention; /* something was put in, or memory given back */
    _Atomic uint32_t asleep;    /* the thread is about to block: the bell must ring */
    _Atomic bool idle;          /* it blocks until it is signaled: nothing else will wake it */
    _Atomic uint64_t rounds;    /* times that it woke */
    /* under mutex */
    uint64_t credit, restarts_wanted, restarts_done;
    bool stop;
    bool ask;             /* the source has something */
    bool dozing;          /* just opened or restarted: nothing is asked before a wake or credit */
    sl_fetch_item *items; /* inserted ones: a ring */
    uint32_t capacity, first, count;
} sl_inbox;

/* What the fetch thread finds in it. */
typedef struct sl_inbox_news {
    uint64_t credit;
    uint64_t restarts; /* asked for and not done */
    uint32_t inserted; /* items to be popped */
    bool stop, ask;
} sl_inbox_news;

/* Space for `inserts` items that were not collected yet. Errors: NOMEM. */
sluice_status sl_inbox_open(sl_inbox *inbox, uint32_t inserts, sluice_error *error);
/* A zeroed inbox may be closed. */
void sl_inbox_close(sl_inbox *inbox);

/* Makes the thread look soon. */
void sl_inbox_signal(sl_inbox *inbox);
/* Items below `limit` may be delivered; it never falls but by a restart. */
void sl_inbox_credit(sl_inbox *inbox, uint64_t limit);
/* The source has something again. */
void sl_inbox_wake(sl_inbox *inbox);
void sl_inbox_insert(sl_inbox *inbox, const sl_fetch_item *item);
void sl_inbox_stop(sl_inbox *inbox);
/* Asks for a restart, and waits for it. */
void sl_inbox_restart(sl_inbox *inbox);

/* Sets, or takes away, what wakes the thread. */
void sl_inbox_set_bell(sl_inbox *inbox, const sl_inbox_bell *bell);
/* Takes over what was asked. Inserted items stay in it until they are popped. */
sl_inbox_news sl_inbox_collect(sl_inbox *inbox);
/* The oldest inserted item; false: there is none. */
bool sl_inbox_pop(sl_inbox *inbox, sl_fetch_item *item);
/* True when the thread may block: from then on signals ring the bell, until sl_inbox_woke. `idle`:
 * it waits for nothing but a signal. */
bool sl_inbox_sleeping(sl_inbox *inbox, bool idle);
void sl_inbox_woke(sl_inbox *inbox);
/* Whether the thread sleeps, idle, and nothing was put in since; `*rounds`: a number that differs
 * if it was awake meanwhile. Any thread. */
bool sl_inbox_is_idle(sl_inbox *inbox, uint64_t *rounds);
/* `restarts` of them are done: credit is 0, and nothing is asked before a wake or credit. */
void sl_inbox_restarted(sl_inbox *inbox, uint64_t restarts);

#endif
