/* SPDX-License-Identifier: Apache-2.0 */
#include "fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t forks;

static void fork_count(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void fork_watch(void)
{
    if (pthread_atfork(NULL, NULL, fork_count) != 0) {
        abort(); /* out of memory, of a few bytes */
    }
}

uint64_t sl_fork_count(void)
{
    if (pthread_once(&once, fork_watch) != 0) {
        abort();
    }
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
