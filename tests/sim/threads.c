/* SPDX-License-Identifier: Apache-2.0 */
/* The library's threads, locks and time, replacing src/base/thread.c and clock.c. */
#include "clock.h"
#include "error.h"
#include "thread.h"
#include "world.h"

_Static_assert(sizeof(sim_mutex) <= sizeof(pthread_mutex_t), "a mutex has space for ours");
_Static_assert(sizeof(sim_queue) <= sizeof(pthread_cond_t), "a condition has space for ours");

static sim_mutex *of_mutex(pthread_mutex_t *mutex)
{
    return (sim_mutex *)(void *)mutex;
}

static sim_queue *of_cond(pthread_cond_t *cond)
{
    return (sim_queue *)(void *)cond;
}

static sim_fiber *of_thread(const sl_thread *thread)
{
    return (sim_fiber *)thread->handle; // NOLINT(performance-no-int-to-ptr): it is one
}

sluice_status sl_thread_start(sl_thread *thread, const char *name, void (*run)(void *),
                              void *argument, sluice_error *error)
{
    (void)error;
    thread->handle = (pthread_t)sim_start(name, run, argument);
    thread->running = true;
    return SLUICE_OK;
}

sluice_status sl_thread_start_near(sl_thread *thread, const char *name, const sl_processors *near,
                                   void (*run)(void *), void *argument, sluice_error *error)
{
    (void)near;
    return sl_thread_start(thread, name, run, argument, error);
}

void sl_thread_join(sl_thread *thread)
{
    if (thread->running) {
        sim_join(of_thread(thread));
        thread->running = false;
    }
}

void sl_thread_detach(sl_thread *thread)
{
    sim_detach(of_thread(thread));
    thread->running = false;
}

/* populate.c's threads detach themselves. */
int __wrap_pthread_detach(pthread_t thread);
int __wrap_pthread_detach(pthread_t thread)
{
    (void)thread;
    sim_detach(sim_self());
    return 0;
}

void sl_mutex_init(pthread_mutex_t *mutex)
{
    *of_mutex(mutex) = (sim_mutex){0};
}

void sl_mutex_destroy(pthread_mutex_t *mutex)
{
    const sim_mutex *own = of_mutex(mutex);
    if (own->owner != NULL || own->waiting.first != NULL) {
        sim_fail("a mutex is destroyed while it is used");
    }
}

void sl_lock(pthread_mutex_t *mutex)
{
    sim_lock(of_mutex(mutex), __builtin_return_address(0));
}

void sl_unlock(pthread_mutex_t *mutex)
{
    sim_unlock(of_mutex(mutex));
}

void sl_cond_init(pthread_cond_t *cond)
{
    *of_cond(cond) = (sim_queue){0};
}

void sl_cond_destroy(pthread_cond_t *cond)
{
    if (of_cond(cond)->first != NULL) {
        sim_fail("a condition is destroyed while it is waited for");
    }
}

void sl_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    (void)sim_wait(of_cond(cond), of_mutex(mutex), UINT64_MAX, __builtin_return_address(0));
}

bool sl_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns)
{
    return sim_wait(of_cond(cond), of_mutex(mutex), deadline_ns, __builtin_return_address(0));
}

void sl_cond_signal(pthread_cond_t *cond)
{
    sim_wake_one(of_cond(cond));
    sim_point();
}

void sl_cond_broadcast(pthread_cond_t *cond)
{
    sim_wake_all(of_cond(cond));
    sim_point();
}

uint64_t sl_now_ns(void)
{
    return sim_now();
}

uint64_t sl_thread_cpu_ns(void)
{
    return sim_now();
}

void sl_sleep_until_ns(uint64_t ns)
{
    sim_sleep_until(ns);
}

uint64_t sl_deadline_ns(int64_t timeout_ns)
{
    const uint64_t now = sim_now();
    return timeout_ns < 0 || (uint64_t)timeout_ns > UINT64_MAX - now ? UINT64_MAX
                                                                     : now + (uint64_t)timeout_ns;
}
