/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standstill: finds out that threads wait for one another, and none of them can go on.
 *
 * Purpose: a watchdog for threads that share one mutex and one condition variable, and whose waits
 * end by what another of them does. Each hand-over is a change; a member that waits has looked at
 * the state since the last change, or it is not settled. Once all members are settled, none of them
 * can make the next change: they would wait forever. That is certain, not a guess: time plays no
 * part, so a slow member, one that was called and does not run yet, and a stopped process are no
 * standstill.
 * Threads: all calls with the mutex. A member that works, or waits for anything else, is not
 * settled. What comes from outside (a caller who wants to stop) does not count: it ends the call,
 * which a standstill does, too.
 */
#ifndef SL_STANDSTILL_H
#define SL_STANDSTILL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sl_standstill {
    uint32_t members;
    uint32_t settled; /* members that wait, and have looked since the last change */
    uint64_t changes;
    bool found;
} sl_standstill;

/* One more member, before its thread is started. */
void sl_standstill_join(sl_standstill *standstill);
/* One less: it changes nothing any more. */
void sl_standstill_leave(sl_standstill *standstill, pthread_cond_t *cond);
/* The state was changed: all look at it again. */
void sl_standstill_change(sl_standstill *standstill, pthread_cond_t *cond);
/*
 * For a member whose condition is not met: waits for a change, until `deadline_ns` (sl_now_ns;
 * UINT64_MAX: no deadline) at most; the caller looks again. False: there will be none, also for all
 * others from then on.
 */
bool sl_standstill_wait(sl_standstill *standstill, pthread_cond_t *cond, pthread_mutex_t *mutex,
                        uint64_t deadline_ns);

#endif
