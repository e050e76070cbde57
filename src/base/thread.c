/* SPDX-License-Identifier: Apache-2.0 */
#include "thread.h"

#include "error.h"
#include "memory.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_S   1000000000U
#define NAME_BYTES 16 /* the kernel's limit, with the NUL */

/* Data for a new thread, which frees it itself. */
typedef struct start {
    void (*run)(void *);
    void *argument;
    char name[NAME_BYTES];
} start;

static void *thread_enter(void *argument)
{
    start *given = argument;
    const start known = *given;
    sl_free(given);
    (void)pthread_setname_np(pthread_self(), known.name);
    known.run(known.argument);
    return NULL;
}

/* Signals are the program's business, on its own threads. Signals that report a fault of the
 * running thread stay open: blocked, they would end the process past every crash handler. */
static void block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        sigdelset(&blocked, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

/* Calls pthread_create, on the processors of `near` if possible. */
static int create(pthread_t *handle, const sl_processors *near, start *given)
{
    pthread_attr_t attributes;
    int result = EINVAL;
    if (near != NULL && pthread_attr_init(&attributes) == 0) {
        if (pthread_attr_setaffinity_np(&attributes, sizeof(near->words),
                                        (const cpu_set_t *)(const void *)near->words) == 0) {
            result = pthread_create(handle, &attributes, thread_enter, given);
        }
        pthread_attr_destroy(&attributes);
    }
    return result == 0 ? 0 : pthread_create(handle, NULL, thread_enter, given);
}

sluice_status sl_thread_start(sl_thread *thread, const char *name, void (*run)(void *),
                              void *argument, sluice_error *error)
{
    return sl_thread_start_near(thread, name, NULL, run, argument, error);
}

sluice_status sl_thread_start_near(sl_thread *thread, const char *name, const sl_processors *near,
                                   void (*run)(void *), void *argument, sluice_error *error)
{
    assert(!thread->running);
    start *given = sl_malloc(sizeof(*given));
    if (given == NULL) {
        return sl_no_memory(error, "base", "starting thread %s", name);
    }
    given->run = run;
    given->argument = argument;
    snprintf(given->name, sizeof(given->name), "%.*s", NAME_BYTES - 1, name);
    sigset_t before;
    block_signals(&before); /* inherited by the new thread from its first instruction on */
    const int result = create(&thread->handle, near, given);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        sl_free(given);
        return sl_error_file(error, SLUICE_NOMEM, "base", result, NULL, -1,
                             "cannot start thread %s", name);
    }
    thread->running = true;
    return SLUICE_OK;
}

/* In every build type, unlike assert: continuing with a broken lock corrupts data. */
static void must(int result)
{
    if (result != 0) {
        abort();
    }
}

void sl_thread_detach(sl_thread *thread)
{
    must(pthread_detach(thread->handle));
    thread->running = false;
}

void sl_thread_join(sl_thread *thread)
{
    if (thread->running) {
        must(pthread_join(thread->handle, NULL));
        thread->running = false;
    }
}

/* Makes a mutex that, with assertions, also reports a thread that unlocks what it does not hold, or
 * locks twice. */
void sl_mutex_init(pthread_mutex_t *mutex)
{
#ifdef NDEBUG
    must(pthread_mutex_init(mutex, NULL));
#else
    pthread_mutexattr_t attributes;
    must(pthread_mutexattr_init(&attributes));
    must(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK));
    must(pthread_mutex_init(mutex, &attributes));
    must(pthread_mutexattr_destroy(&attributes));
#endif
}

void sl_mutex_destroy(pthread_mutex_t *mutex)
{
    must(pthread_mutex_destroy(mutex));
}

void sl_lock(pthread_mutex_t *mutex)
{
    must(pthread_mutex_lock(mutex));
}

void sl_unlock(pthread_mutex_t *mutex)
{
    must(pthread_mutex_unlock(mutex));
}

void sl_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    must(pthread_condattr_init(&attributes));
    must(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
    must(pthread_cond_init(cond, &attributes));
    must(pthread_condattr_destroy(&attributes));
}

void sl_cond_destroy(pthread_cond_t *cond)
{
    must(pthread_cond_destroy(cond));
}

void sl_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    must(pthread_cond_wait(cond, mutex));
}

bool sl_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX) {
        sl_cond_wait(cond, mutex);
        return true;
    }
    const struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / NS_PER_S),
        .tv_nsec = (long)(deadline_ns % NS_PER_S),
    };
    const int result = pthread_cond_timedwait(cond, mutex, &until);
    if (result == ETIMEDOUT) {
        return false;
    }
    must(result);
    return true;
}

void sl_cond_signal(pthread_cond_t *cond)
{
    must(pthread_cond_signal(cond));
}

void sl_cond_broadcast(pthread_cond_t *cond)
{
    must(pthread_cond_broadcast(cond));
}
