/* SPDX-License-Identifier: Apache-2.0 */
#include "retry.h"

#include "clock.h"
#include "minmax.h"
#include "stop.h"

#include <errno.h>

#define MS ((uint64_t)1000000)

#define MOMENT_TRIES    10
#define MOMENT_FIRST_NS (1 * MS)
#define MOMENT_MOST_NS  (1000 * MS)
#define DEVICE_TRIES    3
#define DEVICE_FIRST_NS (10 * MS)
#define DEVICE_FACTOR   10
/* Time between checks of the stop by a waiting thread. */
#define SLICE_NS (50 * MS)

typedef enum error_kind { ERROR_OTHER, ERROR_MOMENT, ERROR_DEVICE } error_kind;

static error_kind retry_kind_of(int sys_errno)
{
    switch (sys_errno) {
    case EINTR:
    case EAGAIN:
    case EBUSY:
    case ENOMEM: /* io_uring returns it under memory pressure */
    case EMFILE:
    case ENFILE:
    case ECANCELED: /* from io_uring itself: the library cancels no reads */
        return ERROR_MOMENT;
    case EIO:
    case ETIMEDOUT:
    case ESTALE:
    case EREMOTEIO:
        return ERROR_DEVICE;
    default:
        return ERROR_OTHER;
    }
}

bool sl_retry_interrupted(uint32_t *times, int sys_errno)
{
    return sys_errno == EINTR && (*times)++ < SL_INTERRUPTIONS_MAX;
}

sl_verdict sl_retry_next(sl_retry *retry, int sys_errno, bool several, uint64_t *delay_ns)
{
    const error_kind kind = retry_kind_of(sys_errno);
    *delay_ns = 0;
    if (kind == ERROR_MOMENT && retry->moment < MOMENT_TRIES) {
        *delay_ns = MOMENT_FIRST_NS << retry->moment++;
        *delay_ns = *delay_ns < MOMENT_MOST_NS ? *delay_ns : MOMENT_MOST_NS;
        return SL_VERDICT_AGAIN;
    }
    if (several) {
        return SL_VERDICT_SPLIT;
    }
    if (kind == ERROR_DEVICE && retry->device < DEVICE_TRIES) {
        *delay_ns = DEVICE_FIRST_NS;
        for (uint32_t i = 0; i < retry->device; i++) {
            *delay_ns *= DEVICE_FACTOR;
        }
        retry->device++;
        return SL_VERDICT_AGAIN;
    }
    return SL_VERDICT_FAILED;
}

bool sl_retry_wait(sl_retry *retry, int sys_errno)
{
    uint64_t delay_ns;
    if (sl_retry_next(retry, sys_errno, false, &delay_ns) != SL_VERDICT_AGAIN) {
        return false;
    }
    uint64_t now = sl_now_ns();
    const uint64_t until = now + delay_ns;
    const uint64_t most_ns = sl_stop_of_thread() != NULL ? SLICE_NS : delay_ns;
    for (; now < until && !sl_stop_requested(); now += most_ns) {
        sl_sleep_until_ns(sl_min_u64(until, now + most_ns));
    }
    return !sl_stop_requested();
}

bool sl_retry_once(sl_retry *retry, int sys_errno)
{
    uint64_t delay_ns;
    return retry->moment + retry->device == 0 &&
           sl_retry_next(retry, sys_errno, false, &delay_ns) == SL_VERDICT_AGAIN;
}
