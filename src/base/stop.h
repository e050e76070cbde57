/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop: whether the call that a thread works for is to end.
 *
 * Purpose: opening, packing, verifying and unpacking end within a second once their caller wants
 * that, wherever they are. The call has one sl_stop, and its threads work under its flag, as they
 * work under a memory limit (memory.h). Every loop that may take more than about 100 ms, whatever
 * its input, looks at the flag of its thread: parsers, readers and codecs need no parameter for it.
 * Threads: the thread that begins a stop is its owner. Only the owner asks the caller's
 * should_stop, at most every 50 ms: wherever it looks, and while it waits (sl_stop_wait). No other
 * thread may be under the flag once the stop has ended. A thread under no flag is never stopped.
 * A child that should_stop forks must not return from it: it has no threads, and locks that are
 * held forever. Packing alone notices one (sl_fork_count).
 * Locks: the owner may look while it holds a lock of the library, so should_stop must not call back
 * into what its own call works on.
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
    int32_t (*should_stop)(void *user); /* NULL: nobody asks */
    void *user;
    bool everywhere; /* the owner asks wherever it looks, not only in sl_stop_ask and _wait */
    uint64_t asked_ns;
    const _Atomic bool *flag_before; /* of the owner */
    struct sl_stop *stop_before;
} sl_stop;

/* The calling thread owns `stop` from now on, and works under it. They nest. */
void sl_stop_begin(sl_stop *stop, int32_t (*should_stop)(void *user), void *user);
/* For work during which a child that should_stop forked must not return: changes `everywhere`,
 * which is true at first. */
static inline void sl_stop_set_everywhere(sl_stop *stop, bool everywhere)
{
    stop->everywhere = everywhere;
}

/* Returns to what was before; `stop` must be the last one that this thread began. */
void sl_stop_end(sl_stop *stop);

/* The calling thread works under `flag` from now on; NULL: under none. Returns the one before. */
const _Atomic bool *sl_stop_work_under(const _Atomic bool *flag);
/* The flag of the calling thread; NULL: none. For threads that it starts, and for decoders. */
const _Atomic bool *sl_stop_of_thread(void);

/* True if the calling thread is to end what it does. */
bool sl_stop_requested(void);
/* The same; the owner asks at once, however long ago it did. */
bool sl_stop_ask(void);
/* Returns CANCELED when sl_stop_requested. */
sluice_status sl_stop_check(const char *stage, sluice_error *error);

/* As sl_cond_wait, but returns at the latest after 50 ms where the calling thread works under a
 * flag that may be set: whoever sets it wakes nobody. An owner asks then, without the mutex. True
 * if the caller is to stop waiting. */
bool sl_stop_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

#endif
