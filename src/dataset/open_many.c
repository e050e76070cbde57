/* SPDX-License-Identifier: Apache-2.0 */
#include "open_many.h"

#include "error.h"
#include "thread.h"

#include <assert.h>
#include <stdatomic.h>

/* As many reads as storage is worth asking at once, whatever the number of processors. */
enum { THREADS_MAX = 64 };

typedef struct opener {
    sluice_status (*job)(void *ctx, uint32_t number, sluice_error *error);
    void *ctx;
    uint32_t count;
    _Atomic uint32_t next; /* number to be begun */
    pthread_mutex_t mutex; /* guards what follows */
    uint32_t failed;       /* the smallest number that did; count: none */
    sluice_status status;  /* its, and error */
    sluice_error error;
} opener;

static void run(void *argument)
{
    opener *o = argument;
    for (;;) {
        /* relaxed: what the jobs work on was there before the threads */
        const uint32_t number = atomic_fetch_add_explicit(&o->next, 1, memory_order_relaxed);
        if (number >= o->count) {
            return;
        }
        sluice_error error;
        sl_error_clear(&error);
        const sluice_status status = o->job(o->ctx, number, &error);
        if (status == SLUICE_OK) {
            continue;
        }
        assert(status < 0);
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

sluice_status sl_open_many(uint32_t count,
                           sluice_status (*job)(void *ctx, uint32_t number, sluice_error *error),
                           void *ctx, sluice_error *error)
{
    sl_thread threads[THREADS_MAX] = {0};
    opener o = {.job = job, .ctx = ctx, .count = count, .failed = count};
    atomic_init(&o.next, 0);
    sl_mutex_init(&o.mutex);
    const uint32_t wanted = count < THREADS_MAX ? count : THREADS_MAX;
    uint32_t started = 0;
    while (started + 1 < wanted &&
           sl_thread_start(&threads[started], "sluice-open", run, &o, NULL) == SLUICE_OK) {
        started++; /* this thread is one, too: where none can be had, it does it all */
    }
    run(&o);
    for (uint32_t i = 0; i < started; i++) {
        sl_thread_join(&threads[i]);
    }
    sl_mutex_destroy(&o.mutex);
    if (o.failed < count && error != NULL) {
        *error = o.error;
    }
    return o.status;
}
