/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include <errno.h>
#include <time.h>

#define NS_PER_S 1000000000U

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t sl_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t sl_thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void sl_sleep_until_ns(uint64_t ns)
{
    const struct timespec until = {
        .tv_sec = (time_t)(ns / NS_PER_S),
        .tv_nsec = (long)(ns % NS_PER_S),
    };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR &&
           sl_now_ns() < ns) {
    }
}

uint64_t sl_deadline_ns(int64_t timeout_ns)
{
    if (timeout_ns < 0) {
        return UINT64_MAX;
    }
    const uint64_t now = sl_now_ns();
    const uint64_t timeout = (uint64_t)timeout_ns;
    return timeout > UINT64_MAX - now ? UINT64_MAX : now + timeout;
}
