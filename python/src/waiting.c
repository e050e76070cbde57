/* SPDX-License-Identifier: Apache-2.0 */
#include "waiting.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Shared by the two threads; the last one frees it. */
typedef struct ticket {
    pthread_mutex_t mutex; /* guards the flags */
    pthread_cond_t changed;
    bool done, abandoned;
    waiting_job *job;
    pthread_t thread; /* joined by the waiting thread, detached when abandoned */
} ticket;

/* Stopped jobs that have not ended yet. They belong to the process `stopper`: a forked child has
 * none of them. Written with the GIL, when jobs are added. */
static atomic_uint stopping;
static pid_t stopper;

static void destroy(ticket *t)
{
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->mutex);
    free(t);
}

static void *run(void *argument)
{
    ticket *t = argument;
    waiting_job *job = t->job;
    job->work(job);
    pthread_mutex_lock(&t->mutex);
    const bool abandoned = t->abandoned;
    t->done = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->mutex);
    if (abandoned) {
        const bool counted = job->stop != NULL;
        destroy(t);
        job->drop(job);
        if (counted) {
            atomic_fetch_sub_explicit(&stopping, 1, memory_order_release);
        }
    }
    return NULL;
}

static ticket *start(waiting_job *job)
{
    ticket *t = calloc(1, sizeof(*t));
    pthread_condattr_t attributes;
    if (t == NULL) {
        return NULL;
    }
    t->job = job;
    pthread_mutex_init(&t->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&t->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&t->thread, NULL, run, t) != 0) {
        destroy(t);
        return NULL;
    }
    return t;
}

/*
 * Returns true if it is done, after at most a slice of time. Then the thread has ended, too, so a
 * fork right after the call finds none of its locks held.
 */
static bool wait_slice(ticket *t)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)WAIT_SLICE_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&t->mutex);
    while (!t->done && pthread_cond_timedwait(&t->changed, &t->mutex, &until) == 0) {
    }
    const bool done = t->done;
    pthread_mutex_unlock(&t->mutex);
    if (done) {
        pthread_join(t->thread, NULL);
    }
    return done;
}

static void count_stopping(void)
{
    if (stopper != getpid()) {
        stopper = getpid();
        atomic_store_explicit(&stopping, 0, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&stopping, 1, memory_order_relaxed);
}

static bool abandon(ticket *t)
{
    if (t->job->stop != NULL) {
        t->job->stop(t->job);
    }
    pthread_detach(t->thread);
    pthread_mutex_lock(&t->mutex);
    t->abandoned = true;
    const bool done = t->done;
    if (!done && t->job->stop != NULL) {
        count_stopping();
    }
    pthread_mutex_unlock(&t->mutex);
    if (done) { /* just now: the thread no longer uses either */
        waiting_job *job = t->job;
        destroy(t);
        job->drop(job);
    }
    return false;
}

/* In a forked child: leaks the ticket, too, since the thread may have held its lock. */
static bool leave_to_parent(const extension *e)
{
    if (!PyErr_Occurred()) {
        (void)sluice_raise_status(e, SLUICE_STATE,
                                  "the call belongs to the process before the fork");
    }
    return false;
}

bool wait_for(const extension *e, waiting_job *job)
{
    const pid_t process = getpid();
    ticket *t = start(job);
    if (t == NULL) { /* no thread available: then without signals */
        PyThreadState *thread = PyEval_SaveThread();
        job->work(job);
        PyEval_RestoreThread(thread);
        return true;
    }
    bool done = false;
    while (!done) {
        PyThreadState *thread = PyEval_SaveThread();
        done = wait_slice(t);
        PyEval_RestoreThread(thread);
        const bool raised =
            !done && (PyErr_CheckSignals() < 0 || (job->look != NULL && job->look(job) < 0));
        if (getpid() != process) {
            return leave_to_parent(e);
        }
        if (raised) {
            return abandon(t);
        }
    }
    destroy(t);
    return true;
}

bool wait_for_stopped(void)
{
    enum { SLICES = 10000 / WAIT_SLICE_MS };
    const struct timespec slice = {.tv_nsec = WAIT_SLICE_MS * 1000000L / 10};
    /* acquire: pairs with the release of a job that has ended, so that its files are closed */
    for (int i = 0; i < 10 * SLICES && stopper == getpid() &&
                    atomic_load_explicit(&stopping, memory_order_acquire) > 0;
         i++) {
        PyThreadState *thread = PyEval_SaveThread();
        (void)nanosleep(&slice, NULL);
        PyEval_RestoreThread(thread);
        if (PyErr_CheckSignals() < 0) {
            return false;
        }
    }
    return true;
}
