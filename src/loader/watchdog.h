/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watchdog: detects that a batch will never be ready, because nothing works on it.
 *
 * Purpose: a row that is lost between two stages, or two stages that wait for each other, would let
 * next wait forever. The consumer looks, about once a second while it waits, at the stage that its
 * batch is in; at the fetch thread, idle if it sleeps until it is signaled; and at the workers,
 * idle if all of them wait for a task and there is none.
 *
 * Proof: an idle stage becomes busy only by input from another stage, or the consumer, and counts
 * that input. If two looks find both idle with the same counts, neither did anything from the end
 * of the first to the beginning of the second, and nothing was in flight between them. Time does
 * not matter, only when the looks happen: a read, a retry that is due later, a row that is being
 * made, however slow, and a thread that was called and does not run yet are all work. Nor do
 * batches held by the consumer matter: a slot that is FILLING needs nothing from it. Threads: the
 * consumer's.
 */
#ifndef SL_WATCHDOG_H
#define SL_WATCHDOG_H

#include "feed.h"

/* Result of one look. */
typedef struct sl_watchdog_look {
    bool stuck; /* as far as one look can tell */
    sl_staging_state staging;
    sl_fetch_state fetch;
    uint64_t tasks; /* that workers took so far */
} sl_watchdog_look;

typedef struct sl_watchdog {
    uint64_t period_ns; /* between looks */
    /* time since when the consumer waits, or of its last look; 0: it does not wait */
    uint64_t since_ns;
    bool looked; /* true after a first look while waiting */
    bool found;  /* a batch that will not come */
    sl_watchdog_look last;
} sl_watchdog;

/* The default period. */
#define SL_WATCHDOG_PERIOD_NS UINT64_C(1000000000)

/* Called when the consumer got something. */
static inline void sl_watchdog_rest(sl_watchdog *watch)
{
    watch->since_ns = 0;
    watch->looked = false;
}

/* Called while the consumer waits in vain. INTERNAL: the wait would last forever; OK. */
sluice_status sl_watchdog_wait(sl_watchdog *watch, const sl_feed *feed, sluice_error *error);

#endif
