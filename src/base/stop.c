/* SPDX-License-Identifier: Apache-2.0 */
#include "stop.h"

#include "clock.h"
#include "error.h"
#include "fork.h"
#include "thread.h"

#include <assert.h>
#include <stddef.h>

#define ASK_NS UINT64_C(50000000)

static _Thread_local const _Atomic bool *own_flag;
static _Thread_local sl_stop *own_stop; /* the one to check; NULL: this thread is not an owner */

void sl_stop_begin(sl_stop *stop, int32_t (*should_stop)(void *user), void *user)
{
    *stop = (sl_stop){.should_stop = should_stop,
                      .user = user,
                      .everywhere = true,
                      .flag_before = own_flag,
                      .stop_before = own_stop};
    atomic_init(&stop->set, false);
    own_flag = &stop->set;
    own_stop = stop;
}

void sl_stop_end(sl_stop *stop)
{
    assert(own_stop == stop);
    own_flag = stop->flag_before;
    own_stop = stop->stop_before;
}

const _Atomic bool *sl_stop_work_under(const _Atomic bool *flag)
{
    const _Atomic bool *before = own_flag;
    own_flag = flag;
    return before;
}

const _Atomic bool *sl_stop_of_thread(void)
{
    return own_flag;
}

static void ask_caller(sl_stop *stop, uint64_t pause_ns)
{
    const uint64_t now = sl_now_ns();
    /* Relaxed, here and below: the flag publishes only itself (stop.h). */
    if (stop->should_stop == NULL || now - stop->asked_ns < pause_ns ||
        atomic_load_explicit(&stop->set, memory_order_relaxed)) {
        return;
    }
    const uint64_t forks = sl_fork_count();
    stop->asked_ns = now;
    if (stop->should_stop(stop->user) != 0 || forks != sl_fork_count()) {
        atomic_store_explicit(&stop->set, true, memory_order_relaxed);
    }
}

static bool is_set(void)
{
    /* Relaxed: see ask_caller. */
    return own_flag != NULL && atomic_load_explicit(own_flag, memory_order_relaxed);
}

bool sl_stop_requested(void)
{
    if (own_stop != NULL && own_stop->everywhere) {
        ask_caller(own_stop, ASK_NS);
    }
    return is_set();
}

bool sl_stop_ask(void)
{
    if (own_stop != NULL) {
        ask_caller(own_stop, 0);
    }
    return is_set();
}

sluice_status sl_stop_check(const char *stage, sluice_error *error)
{
    return sl_stop_requested() ? sl_error_set(error, SLUICE_CANCELED, stage, "stopped") : SLUICE_OK;
}

bool sl_stop_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    if (own_flag == NULL || (own_stop != NULL && own_stop->should_stop == NULL)) {
        sl_cond_wait(cond, mutex);
        return sl_stop_requested();
    }
    (void)sl_cond_wait_until(cond, mutex, sl_now_ns() + ASK_NS);
    sl_unlock(mutex);
    const bool requested = sl_stop_ask();
    sl_lock(mutex);
    return requested;
}
