/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: the process's engine and its threads.
 *
 * A child of fork() gets a new engine. The parent's is recognized by its fork count, and is never
 * used, because a thread that does not exist in the child may hold its locks.
 */
#include "engine.h"

#include "clock.h"
#include "engine_thread.h"
#include "error.h"
#include "fork.h"
#include "memory.h"
#include "minmax.h"
#include "stop.h"
#include "thread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_WAIT_NS UINT64_C(10000000000)

enum { THREADS_MOST = 8 };

typedef struct sl_engine {
    uint64_t forks; /* sl_fork_count of its process */
    pthread_mutex_t mutex;
    sl_engine_thread *threads[THREADS_MOST]; /* under mutex; existing ones never change */
    _Atomic uint32_t count;                  /* release after a thread's pointer is stored */
    _Atomic bool ends;                       /* the process exits; relaxed: a hint */
} sl_engine;

/* Acquire and release: the engine is whole when its pointer is seen. */
static _Atomic(sl_engine *) the_engine;
static _Atomic uint32_t least_threads, most_threads; /* relaxed: set by tests at the beginning */
static _Atomic uint64_t idle_most_ns = UINT64_C(60000000000);

/* OpenSSL frees its memory in an exit handler that it registers at its first use. This handler
 * is registered after it, and so runs before it. */
static void end_threads(void)
{
    sl_engine *engine = atomic_load_explicit(&the_engine, memory_order_acquire);
    if (engine == NULL || engine->forks != sl_fork_count()) {
        return;
    }
    atomic_store_explicit(&engine->ends, true, memory_order_relaxed);
    /* Acquires the pointers of this many threads; the store in engine_add_thread releases them. */
    const uint32_t count = atomic_load_explicit(&engine->count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        sl_engine_thread_end(engine->threads[i], EXIT_WAIT_NS);
    }
}

/* Loads libcurl, which may use OpenSSL; requests are signed with our own libcrypto. */
static void register_end(void)
{
    unsigned char hash[32];
    (void)sl_sha256("", 0, hash, NULL);
    (void)atexit(end_threads);
}

/* Returns the engine of this process, created at its first use. NULL: no memory. */
static sl_engine *engine_get(void)
{
    const uint64_t forks = sl_fork_count();
    /* Acquires the engine that engine_get released. */
    sl_engine *engine = atomic_load_explicit(&the_engine, memory_order_acquire);
    if (engine != NULL && engine->forks == forks) {
        return engine;
    }
    sl_engine *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    made->forks = forks;
    sl_mutex_init(&made->mutex);
    atomic_init(&made->count, 0);
    /* Releases the engine that was made; acquires another thread's. */
    atomic_init(&made->ends, false);
    if (!atomic_compare_exchange_strong_explicit(&the_engine, &engine, made, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        sl_mutex_destroy(&made->mutex);
        sl_free(made);
        return engine; /* another thread of this process created it */
    }
    return made;
}

static uint32_t threads_wanted(void)
{
    /* Relaxed: tests set it at the beginning. */
    const uint32_t most = atomic_load_explicit(&most_threads, memory_order_relaxed);
    if (most != 0) {
        return sl_min_u32(most, THREADS_MOST);
    }
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : sl_min_u32((uint32_t)processors, THREADS_MOST);
}

static sluice_status engine_add_thread(sl_engine *engine, uint32_t seen, sluice_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const sl_curl_calls *calls;
    sluice_status status = sl_curl_library(&calls, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (pthread_once(&once, register_end) != 0) {
        abort();
    }
    sl_lock(&engine->mutex);
    /* Relaxed: stored under the mutex, which is held here. */
    const uint32_t count = atomic_load_explicit(&engine->count, memory_order_relaxed);
    if (count == seen) {
        status = sl_engine_thread_open(&engine->threads[count], calls, error);
        if (status == SLUICE_OK) {
            /* pairs with the acquire in engine_thread_for */
            atomic_store_explicit(&engine->count, count + 1, memory_order_release);
        }
    }
    sl_unlock(&engine->mutex);
    return status;
}

static bool is_busy(const sl_engine_thread *thread)
{
    /* Relaxed: a hint. */
    return atomic_load_explicit(&thread->busy, memory_order_relaxed);
}

/* Chooses the thread with the fewest exchanges. Starts another one if all are busy. */
static sluice_status engine_thread_for(sl_engine_thread **chosen, sluice_error *error)
{
    sl_engine *engine = engine_get();
    if (engine == NULL) {
        return sl_no_memory(error, "remote", "for HTTP requests");
    }
    /* Relaxed: a hint. */
    if (atomic_load_explicit(&engine->ends, memory_order_relaxed)) {
        return sl_error_set(error, SLUICE_CANCELED, "remote", "the process exits");
    }
    /* Relaxed: tests set it at the beginning. */
    const uint32_t least =
        sl_max_u32(1, atomic_load_explicit(&least_threads, memory_order_relaxed));
    /* Acquires the pointers of this many threads, here and below: see engine_add_thread. */
    uint32_t count = atomic_load_explicit(&engine->count, memory_order_acquire);
    bool all_busy = true;
    for (uint32_t i = 0; i < count; i++) {
        all_busy = all_busy && is_busy(engine->threads[i]);
    }
    while (count < least || (all_busy && count < threads_wanted())) {
        const sluice_status status = engine_add_thread(engine, count, error);
        if (status != SLUICE_OK && count == 0) {
            return status;
        }
        const uint32_t before = count;
        count = atomic_load_explicit(&engine->count, memory_order_acquire);
        if (status != SLUICE_OK || count == before) {
            break; /* the existing threads are enough */
        }
        all_busy = false;
    }
    *chosen = engine->threads[0];
    for (uint32_t i = 1; i < count; i++) {
        /* Relaxed: a wrong choice costs little. */
        if (atomic_load_explicit(&engine->threads[i]->load, memory_order_relaxed) <
            atomic_load_explicit(&(*chosen)->load, memory_order_relaxed)) {
            *chosen = engine->threads[i];
        }
    }
    return SLUICE_OK;
}

sluice_status sl_engine_start(sl_exchange *exchange, sluice_error *error)
{
    sl_engine_thread *thread = NULL;
    const sluice_status status = engine_thread_for(&thread, error);
    if (status == SLUICE_OK) {
        sl_answer_clear(exchange);
        exchange->sent_at_ns = sl_now_ns();
        sl_engine_thread_add(thread, exchange);
    }
    return status;
}

void sl_engine_cancel(sl_exchange *exchange)
{
    if (exchange->thread != NULL) {
        sl_engine_thread_cancel(exchange->thread, exchange);
    }
}

sluice_status sl_engine_after(sl_engine_timer *timer, uint64_t after_ns, sluice_error *error)
{
    sl_engine_thread *thread = NULL;
    const sluice_status status = engine_thread_for(&thread, error);
    if (status == SLUICE_OK) {
        const uint64_t now = sl_now_ns();
        timer->at_ns = after_ns < UINT64_MAX - now ? now + after_ns : UINT64_MAX;
        sl_engine_thread_add_timer(thread, timer);
    }
    return status;
}

bool sl_engine_forget(sl_engine_timer *timer)
{
    return timer->thread != NULL && sl_engine_thread_remove_timer(timer->thread, timer);
}

/* ---- blocking ---- */

typedef struct engine_waiter {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool done;
} engine_waiter;

static void engine_waiter_done(sl_exchange *exchange)
{
    engine_waiter *waiter = exchange->ctx;
    sl_lock(&waiter->mutex);
    waiter->done = true;
    sl_cond_signal(&waiter->cond);
    sl_unlock(&waiter->mutex);
}

sluice_status sl_engine_run(sl_exchange *exchange, sluice_error *error)
{
    engine_waiter waiter = {.done = false};
    sl_mutex_init(&waiter.mutex);
    sl_cond_init(&waiter.cond);
    exchange->done = engine_waiter_done;
    exchange->ctx = &waiter;
    const sluice_status status = sl_engine_start(exchange, error);
    bool canceled = false;
    sl_lock(&waiter.mutex);
    while (status == SLUICE_OK && !waiter.done) {
        if (canceled) {
            sl_cond_wait(&waiter.cond, &waiter.mutex);
        } else if (sl_stop_wait(&waiter.cond, &waiter.mutex) && !waiter.done) {
            canceled = true;
            sl_engine_cancel(exchange);
        }
    }
    sl_unlock(&waiter.mutex);
    sl_cond_destroy(&waiter.cond);
    sl_mutex_destroy(&waiter.mutex);
    return status;
}

void sl_exchange_free(sl_exchange *exchange)
{
    sl_free(exchange->location);
    exchange->location = NULL;
}

uint32_t sl_engine_threads(void)
{
    /* Acquires the engine, then its threads. */
    const sl_engine *engine = atomic_load_explicit(&the_engine, memory_order_acquire);
    return engine == NULL || engine->forks != sl_fork_count()
               ? 0
               : atomic_load_explicit(&engine->count, memory_order_acquire);
}

void sl_engine_set_idle(uint64_t idle_ns)
{
    /* Relaxed: set by tests at the beginning. */
    atomic_store_explicit(&idle_most_ns, idle_ns, memory_order_relaxed);
}

uint64_t sl_engine_idle_ns(void)
{
    /* Relaxed: see sl_engine_set_idle. */
    return atomic_load_explicit(&idle_most_ns, memory_order_relaxed);
}

void sl_engine_set_threads(uint32_t least, uint32_t most)
{
    /* Relaxed: tests call this at the beginning. */
    atomic_store_explicit(&least_threads, least, memory_order_relaxed);
    atomic_store_explicit(&most_threads, most, memory_order_relaxed);
}
