/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread: named threads with all signals blocked except those of the thread's own faults, and
 * condition variables on CLOCK_MONOTONIC.
 *
 * Purpose: the few pthread idioms that the library needs, each error mapped once. pthread and not
 * <threads.h>: glibc's thrd_create crashes under ThreadSanitizer.
 */
#ifndef SL_THREAD_H
#define SL_THREAD_H

#include "processors.h"

#include <sluice/common.h>

#include <pthread.h>
#include <stdbool.h>

typedef struct sl_thread {
    pthread_t handle;
    bool running; /* false: nothing to join */
} sl_thread;

/* Starts `run(argument)` named `name` (15 characters at most are kept). Errors: NOMEM. */
sluice_status sl_thread_start(sl_thread *thread, const char *name, void (*run)(void *),
                              void *argument, sluice_error *error);
/* Does the same, on the processors of `near` only; if the system refuses them, or with NULL, on any
 * that the caller may run on. */
sluice_status sl_thread_start_near(sl_thread *thread, const char *name, const sl_processors *near,
                                   void (*run)(void *), void *argument, sluice_error *error);
/* Joins; does nothing for a thread that never started. */
void sl_thread_join(sl_thread *thread);

/* Detaches a thread. Called by another thread. */
void sl_thread_detach(sl_thread *thread);

/* Mutexes that cannot fail: an error of pthread here is a bug and aborts. */
void sl_mutex_init(pthread_mutex_t *mutex);
void sl_mutex_destroy(pthread_mutex_t *mutex);
void sl_lock(pthread_mutex_t *mutex);
void sl_unlock(pthread_mutex_t *mutex);
void sl_cond_init(pthread_cond_t *cond); /* CLOCK_MONOTONIC */
void sl_cond_destroy(pthread_cond_t *cond);
void sl_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
/* Waits until `deadline_ns` on sl_now_ns's clock; false: it has passed. */
bool sl_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns);
void sl_cond_signal(pthread_cond_t *cond);
void sl_cond_broadcast(pthread_cond_t *cond);

#endif
