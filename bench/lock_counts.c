/* SPDX-License-Identifier: Apache-2.0 */
#include "lock_counts.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 2048U
#define CONDS_MAX   4096U

/* Counters of one thread, in separate cache lines. */
typedef struct counter_set {
    _Alignas(128) _Atomic uint64_t locks;
    _Atomic uint64_t contended, waits, signals, wakes;
    lock_counts_role role;
} counter_set;

/* Number of waiters that were not signalled, by hash of the condition's address; conditions rarely
 * share an entry. */
static _Atomic uint32_t waiters[CONDS_MAX];
static counter_set all[THREADS_MAX];
static _Atomic uint32_t threads;
static _Thread_local counter_set *own;

/* Names made by the linker. */
/* NOLINTBEGIN(clang-diagnostic-reserved-identifier,readability-identifier-naming) */
void __real_sl_lock(pthread_mutex_t *mutex);
void __real_sl_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
bool __real_sl_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns);
void __real_sl_cond_signal(pthread_cond_t *cond);
void __real_sl_cond_broadcast(pthread_cond_t *cond);
void __wrap_sl_lock(pthread_mutex_t *mutex);
void __wrap_sl_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
bool __wrap_sl_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns);
void __wrap_sl_cond_signal(pthread_cond_t *cond);
void __wrap_sl_cond_broadcast(pthread_cond_t *cond);

/* NOLINTEND(clang-diagnostic-reserved-identifier,readability-identifier-naming) */

static lock_counts_role role_of(const char *name)
{
    if (strncmp(name, "sluice-fetch", 12) == 0) {
        return LOCK_COUNTS_FETCH;
    }
    return strncmp(name, "sluice-dec", 10) == 0 ? LOCK_COUNTS_WORKERS : LOCK_COUNTS_OTHERS;
}

static counter_set *mine(void)
{
    if (own == NULL) {
        char name[16] = "";
        const uint32_t number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
        if (number >= THREADS_MAX) {
            fprintf(stderr, "lock_counts: too many threads\n");
            exit(1);
        }
        (void)pthread_getname_np(pthread_self(), name, sizeof(name));
        own = &all[number];
        own->role = role_of(name);
    }
    return own;
}

/* Only the counter's own thread writes it. */
static void count(_Atomic uint64_t *counter)
{
    const uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + 1, memory_order_relaxed);
}

static _Atomic uint32_t *waiters_of(const pthread_cond_t *cond)
{
    const uint64_t hash = (uint64_t)(uintptr_t)cond * UINT64_C(0x9e3779b97f4a7c15);
    return &waiters[hash >> 52];
}

/* Removes up to `most` waiters; false if there was none. */
static bool take_waiters(const pthread_cond_t *cond, uint32_t most)
{
    _Atomic uint32_t *place = waiters_of(cond);
    uint32_t there = atomic_load_explicit(place, memory_order_relaxed);
    uint32_t left;
    do {
        left = there > most ? there - most : 0;
    } while (!atomic_compare_exchange_weak_explicit(place, &there, left, memory_order_relaxed,
                                                    memory_order_relaxed));
    return there > 0;
}

/* NOLINTBEGIN(clang-diagnostic-reserved-identifier,readability-identifier-naming) */
void __wrap_sl_lock(pthread_mutex_t *mutex)
{
    counter_set *c = mine();
    count(&c->locks);
    if (pthread_mutex_trylock(mutex) != 0) {
        count(&c->contended);
        __real_sl_lock(mutex);
    }
}

void __wrap_sl_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    count(&mine()->waits);
    atomic_fetch_add_explicit(waiters_of(cond), 1, memory_order_relaxed);
    __real_sl_cond_wait(cond, mutex);
}

bool __wrap_sl_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns)
{
    count(&mine()->waits);
    atomic_fetch_add_explicit(waiters_of(cond), 1, memory_order_relaxed);
    const bool woken = __real_sl_cond_wait_until(cond, mutex, deadline_ns);
    if (!woken) {
        (void)take_waiters(cond, 1);
    }
    return woken;
}

static void count_signal(const pthread_cond_t *cond, uint32_t most)
{
    counter_set *c = mine();
    count(&c->signals);
    if (take_waiters(cond, most)) {
        count(&c->wakes);
    }
}

void __wrap_sl_cond_signal(pthread_cond_t *cond)
{
    count_signal(cond, 1);
    __real_sl_cond_signal(cond);
}

void __wrap_sl_cond_broadcast(pthread_cond_t *cond)
{
    count_signal(cond, UINT32_MAX);
    __real_sl_cond_broadcast(cond);
}

/* NOLINTEND(clang-diagnostic-reserved-identifier,readability-identifier-naming) */

/* ---- reading ---- */

/* Reads the first line of a /proc file of this process' thread `task`. */
static bool read_line(const char *task, const char *file, char *line, size_t bytes)
{
    char path[300];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%s/%s", task, file);
    FILE *stream = fopen(path, "r");
    const bool found = stream != NULL && fgets(line, (int)bytes, stream) != NULL;
    if (stream != NULL) {
        (void)fclose(stream);
    }
    return found;
}

static void get_cpu(lock_counts counts[LOCK_COUNTS_ROLES])
{
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) {
        return;
    }
    for (const struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        char name[64];
        char times[128];
        if (task->d_name[0] != '.' && read_line(task->d_name, "comm", name, sizeof(name)) &&
            read_line(task->d_name, "schedstat", times, sizeof(times))) {
            counts[role_of(name)].cpu_ns += strtoull(times, NULL, 10);
        }
    }
    (void)closedir(tasks);
}

void lock_counts_get(lock_counts counts[LOCK_COUNTS_ROLES])
{
    const uint32_t known = atomic_load_explicit(&threads, memory_order_relaxed);
    memset(counts, 0, LOCK_COUNTS_ROLES * sizeof(*counts));
    for (uint32_t i = 0; i < known; i++) {
        counter_set *c = &all[i];
        lock_counts *sum = &counts[c->role];
        sum->locks += atomic_load_explicit(&c->locks, memory_order_relaxed);
        sum->contended += atomic_load_explicit(&c->contended, memory_order_relaxed);
        sum->waits += atomic_load_explicit(&c->waits, memory_order_relaxed);
        sum->signals += atomic_load_explicit(&c->signals, memory_order_relaxed);
        sum->wakes += atomic_load_explicit(&c->wakes, memory_order_relaxed);
    }
    get_cpu(counts);
}
