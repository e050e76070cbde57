/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standstill: detects that threads wait for each other and none can continue.
 *
 * Purpose: a watchdog for threads that share one mutex and one condition variable, and whose waits
 * are ended by actions of the others. Each hand-over is a change. A waiting member that has checked
 * the state since the last change is settled. Once all members are settled, none can make the next
 * change, so they would wait forever. This is certain, not a guess: time plays no role, so a slow
 * member, one that was woken but does not run yet, or a stopped process do not count as a
 * standstill. Threads: all calls hold the mutex. A member that works, or waits for anything else,
 * is not settled. Outside events (a caller who wants to stop) do not count: they end the call, as
 * does a standstill.
 */
#ifndef SL_STANDSTILL_H
#define SL_STANDSTILL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sl_standstill {
    uint32_t members;
    uint32_t settled; /* members that wait and have checked since the last change */
    uint64_t changes;
    bool found;
} sl_standstill;

/* Adds a member, before its thread is started. */
void sl_standstill_join(sl_standstill *standstill);
/* Removes a member, which makes no more changes. */
void sl_standstill_leave(sl_standstill *standstill, pthread_cond_t *cond);
/* Reports a change of the state: all members check it again. */
void sl_standstill_change(sl_standstill *standstill, pthread_cond_t *cond);
/*
 * Waits for a change, on a member whose condition is not met, at most until `deadline_ns`
 * (sl_now_ns; UINT64_MAX: no deadline); the caller then checks again. False: there will be no
 * change, now and in all later calls.
 */
bool sl_standstill_wait(sl_standstill *standstill, pthread_cond_t *cond, pthread_mutex_t *mutex,
                        uint64_t deadline_ns);

#endif
