/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop: whether the call that a thread works for must end.
 *
 * Purpose: opening, packing, verifying and unpacking end within a second once their caller wants
 * that, wherever they are. The call has one sl_stop, and its threads work under its flag, as they
 * work under a memory limit (memory.h). Every loop that may take more than about 100 ms, for any
 * input, checks the flag of its thread: parsers, readers and codecs need no parameter for it.
 *
 * Threads: the thread that begins a stop is its owner. Only the owner calls the caller's
 * should_stop, at most every 50 ms: at each check, and while it waits (sl_stop_wait). No other
 * thread may be under the flag once the stop has ended. A thread under no flag is never stopped. A
 * child that should_stop forks must not return from it: it has no threads, and locks that are held
 * forever. Only packing notices one (sl_fork_count).
 *
 * Locks: the owner may check while it holds a lock of the library, so should_stop must not call
 * back into objects that its own call uses.
 */
#ifndef SL_STOP_H
#define SL_STOP_H

#include <sluice/common.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sl_stop {
    _Atomic bool set; /* relaxed: a thread that sees it late works a little longer */
    int32_t (*should_stop)(void *user); /* NULL: never stops */
    void *user;
    bool everywhere; /* the owner asks at every check, not only in sl_stop_ask and _wait */
    uint64_t asked_ns;
    const _Atomic bool *flag_before; /* of the owner */
    struct sl_stop *stop_before;
} sl_stop;

/* Makes the calling thread the owner of `stop`, under which it works. They nest. */
void sl_stop_begin(sl_stop *stop, int32_t (*should_stop)(void *user), void *user);
/* For work during which a child that should_stop forked must not return: changes `everywhere`,
 * which is true at first. */
static inline void sl_stop_set_everywhere(sl_stop *stop, bool everywhere)
{
    stop->everywhere = everywhere;
}

/* Restores the earlier one; `stop` must be the last one that this thread began. */
void sl_stop_end(sl_stop *stop);

/* Makes the calling thread work under `flag`; NULL: under none. Returns the one before. */
const _Atomic bool *sl_stop_work_under(const _Atomic bool *flag);
/* Returns the flag of the calling thread; NULL: none. For threads that it starts, and for
 * decoders. */
const _Atomic bool *sl_stop_of_thread(void);

/* Returns whether the calling thread must end its work. */
bool sl_stop_requested(void);
/* Does the same; the owner asks at once, regardless of when it last did. */
bool sl_stop_ask(void);
/* Returns CANCELED if sl_stop_requested. */
sluice_status sl_stop_check(const char *stage, sluice_error *error);

/* Like sl_cond_wait, but returns after at most 50 ms if the calling thread works under a flag that
 * may be set: setting it wakes nobody. An owner asks then, without the mutex. Returns true if the
 * caller must stop waiting. */
bool sl_stop_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

#endif
