/* SPDX-License-Identifier: Apache-2.0 */
#include "open_many.h"

#include "error.h"
#include "memory.h"
#include "stop.h"
#include "thread.h"

#include <assert.h>
#include <stdatomic.h>

#define STAGE "dataset"

/* Number of reads that storage can usefully do at once, regardless of the number of processors. */
enum { THREADS_MAX = 64 };
/* Memory that a thread may need at a time, from the shared limit: a Parquet page, for example. */
#define THREAD_BYTES ((uint64_t)64 << 20)

typedef struct opener {
    sluice_status (*job)(void *ctx, uint32_t number, sluice_error *error);
    void *ctx;
    uint32_t count;
    sl_memory_limit *limit;   /* the opener's limit, for all threads together */
    const _Atomic bool *flag; /* of its stop */
    _Atomic uint32_t next;    /* next number to begin */
    pthread_mutex_t mutex;    /* guards what follows */
    pthread_cond_t changed;   /* a thread has ended */
    uint32_t running;         /* threads besides the opener's */
    uint32_t failed;          /* the smallest number that failed; count: none */
    sluice_status status;     /* its status, and error */
    sluice_error error;
} opener;

static void open_many_work(opener *o)
{
    for (;;) {
        /* relaxed: thread creation already publishes the jobs' data */
        const uint32_t number = atomic_fetch_add_explicit(&o->next, 1, memory_order_relaxed);
        if (number >= o->count) {
            return;
        }
        sluice_error error;
        sl_error_clear(&error);
        const uint64_t shortages = sl_memory_shortages();
        sluice_status status = sl_stop_check(STAGE, &error);
        if (status == SLUICE_OK) {
            status = o->job(o->ctx, number, &error);
        }
        if (status == SLUICE_OK) {
            continue;
        }
        assert(status < 0);
        status = sl_error_after_shortage(status, sl_memory_shortages() > shortages, &error);
        sl_lock(&o->mutex);
        if (number < o->failed) {
            o->failed = number;
            o->status = status;
            o->error = error;
        }
        sl_unlock(&o->mutex);
        /* relaxed: a hint; jobs that are begun all the same do no harm */
        atomic_store_explicit(&o->next, o->count, memory_order_relaxed);
    }
}

static void open_many_run(void *argument)
{
    opener *o = argument;
    (void)sl_memory_work_under(o->limit);
    (void)sl_stop_work_under(o->flag);
    open_many_work(o);
    sl_lock(&o->mutex);
    o->running--;
    sl_cond_signal(&o->changed);
    sl_unlock(&o->mutex);
}

/* Waits for the threads; this one keeps checking the stop. */
static void open_many_wait(opener *o)
{
    sl_lock(&o->mutex);
    while (o->running > 0) {
        (void)sl_stop_wait(&o->changed, &o->mutex);
    }
    sl_unlock(&o->mutex);
}

static uint32_t open_many_choose_threads(const sl_memory_limit *limit)
{
    const uint64_t fit = limit != NULL ? limit->budget.limit / THREAD_BYTES : THREADS_MAX;
    return fit < THREADS_MAX ? (uint32_t)fit + (fit == 0) : THREADS_MAX;
}

static bool open_many_start(opener *o, sl_thread *thread)
{
    sl_lock(&o->mutex);
    o->running++;
    sl_unlock(&o->mutex);
    const bool started =
        sl_thread_start(thread, "sluice-open", open_many_run, o, NULL) == SLUICE_OK;
    if (!started) {
        sl_lock(&o->mutex);
        o->running--;
        sl_unlock(&o->mutex);
    }
    return started;
}

sluice_status sl_open_many(uint32_t count,
                           sluice_status (*job)(void *ctx, uint32_t number, sluice_error *error),
                           void *ctx, sluice_error *error)
{
    sl_thread threads[THREADS_MAX] = {0};
    opener o = {.job = job,
                .ctx = ctx,
                .count = count,
                .limit = sl_memory_limit_of_thread(),
                .flag = sl_stop_of_thread(),
                .failed = count};
    atomic_init(&o.next, 0);
    sl_mutex_init(&o.mutex);
    sl_cond_init(&o.changed);
    const uint32_t most = open_many_choose_threads(o.limit);
    const uint32_t wanted = count < most ? count : most;
    uint32_t started = 0;
    (void)sl_stop_requested(); /* the other threads may leave this one no number to check at */
    while (started + 1 < wanted && open_many_start(&o, &threads[started])) {
        started++; /* this thread is one, too: if none can be started, it does everything */
    }
    open_many_work(&o);
    open_many_wait(&o);
    for (uint32_t i = 0; i < started; i++) {
        sl_thread_join(&threads[i]);
    }
    sl_cond_destroy(&o.changed);
    sl_mutex_destroy(&o.mutex);
    if (o.failed < count && error != NULL) {
        *error = o.error;
    }
    return o.status;
}
