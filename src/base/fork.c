/* SPDX-License-Identifier: Apache-2.0 */
#include "fork.h"

#include "thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { GUARDED_MOST = 8 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t forks;
/* guards the following, and is held during a fork */
static pthread_mutex_t guards = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *guarded[GUARDED_MOST];
static uint32_t guarded_count;

static void fork_begin(void)
{
    sl_lock(&guards);
    for (uint32_t i = 0; i < guarded_count; i++) {
        sl_lock(guarded[i]);
    }
}

static void fork_end(void)
{
    for (uint32_t i = guarded_count; i > 0; i--) {
        sl_unlock(guarded[i - 1]);
    }
    sl_unlock(&guards);
}

static void fork_end_in_child(void)
{
    /* Relaxed: a child has one thread, which reads it with the rest of its copy. */
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
    fork_end();
}

static void fork_watch(void)
{
    if (pthread_atfork(fork_begin, fork_end, fork_end_in_child) != 0) {
        abort(); /* out of memory, of a few bytes */
    }
}

static void watch_once(void)
{
    if (pthread_once(&once, fork_watch) != 0) {
        abort();
    }
}

void sl_fork_guard(pthread_mutex_t *mutex)
{
    watch_once();
    sl_lock(&guards);
    if (guarded_count == GUARDED_MOST) {
        abort(); /* more mutexes than the library has */
    }
    guarded[guarded_count++] = mutex;
    sl_unlock(&guards);
}

uint64_t sl_fork_count(void)
{
    watch_once();
    /* Relaxed: only fork_end_in_child changes it. */
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
