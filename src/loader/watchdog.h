/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watchdog: finds out that a batch will never come, because nothing is at work on it.
 *
 * Purpose: a row that is lost between two stages, or two stages that wait for each other, would let
 * next wait forever. The consumer looks, about once a second while it waits, at the stage that its
 * batch is in; at the fetch thread, idle if it sleeps until it is signaled; and at the workers,
 * idle if all of them wait for a task and there is none.
 * Why this is not a guess: a stage that is idle becomes busy only by what another stage, or the
 * consumer, gives it, and counts that. Where two looks find both idle with the same counts, neither
 * did anything from the end of the first to the beginning of the second, and there was nothing on
 * its way between them. Time does not count, only when it is looked: a read, an attempt that is due
 * later, a row that is being made, however slow, and a thread that was called and does not run yet
 * are all work. Neither does what the consumer holds: a slot that is FILLING needs nothing of it.
 * Threads: the consumer's.
 */
#ifndef SL_WATCHDOG_H
#define SL_WATCHDOG_H

#include "feed.h"

/* What one look finds. */
typedef struct sl_watchdog_look {
    bool stuck; /* as far as one look can tell */
    sl_staging_state staging;
    sl_fetch_state fetch;
    uint64_t tasks; /* that workers took so far */
} sl_watchdog_look;

typedef struct sl_watchdog {
    uint64_t period_ns; /* between looks */
    uint64_t since_ns;  /* the consumer waits, or looked last; 0: it does not wait */
    bool looked;        /* since it waits */
    bool found;         /* a batch that will not come */
    sl_watchdog_look last;
} sl_watchdog;

/* What is usual. */
#define SL_WATCHDOG_PERIOD_NS UINT64_C(1000000000)

/* The consumer got something. */
static inline void sl_watchdog_rest(sl_watchdog *watch)
{
    watch->since_ns = 0;
    watch->looked = false;
}

/* The consumer waits, in vain so far. INTERNAL: forever; OK. */
sluice_status sl_watchdog_wait(sl_watchdog *watch, const sl_feed *feed, sluice_error *error);

#endif
