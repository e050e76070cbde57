/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_retry: what failed reads are worth trying again, and reads that never come back. */
#include "fetch_internal.h"

#include <assert.h>
#include <errno.h>

#define MS ((uint64_t)1000000)

/* Errors of the moment: soon, then less and less often. */
#define AGAIN_TRIES    10
#define AGAIN_FIRST_NS (1 * MS)
#define AGAIN_MOST_NS  (1000 * MS)
/* Errors of the device: some go away, most do not. */
#define DEVICE_TRIES    3
#define DEVICE_FIRST_NS (10 * MS)
#define DEVICE_FACTOR   10

enum verdict { VERDICT_FATAL, VERDICT_AGAIN, VERDICT_DEVICE };

static enum verdict verdict_of(int sys_errno)
{
    switch (sys_errno) {
    case EINTR:
    case EAGAIN:
    case EBUSY:
    case ENOMEM: /* io_uring says so under memory pressure */
    case EMFILE:
    case ENFILE:
    case ECANCELED: /* by io_uring itself: nobody here cancels reads */
        return VERDICT_AGAIN;
    case EIO:
    case ETIMEDOUT:
    case ESTALE:
    case EREMOTEIO:
        return VERDICT_DEVICE;
    default:
        return VERDICT_FATAL;
    }
}

/* How long to wait before the next try; false: no more tries. */
static bool next_try(sl_request *request, int sys_errno, uint64_t *delay_ns)
{
    enum verdict verdict = verdict_of(sys_errno);
    if (verdict == VERDICT_AGAIN && request->again_tries < AGAIN_TRIES) {
        *delay_ns = AGAIN_FIRST_NS << request->again_tries++;
        *delay_ns = *delay_ns < AGAIN_MOST_NS ? *delay_ns : AGAIN_MOST_NS;
        return true;
    }
    /* A merged read is split at once instead: its items are tried again, each for itself. */
    if (verdict == VERDICT_DEVICE && request->count == 1 && request->device_tries < DEVICE_TRIES) {
        *delay_ns = DEVICE_FIRST_NS;
        for (uint32_t i = 0; i < request->device_tries; i++) {
            *delay_ns *= DEVICE_FACTOR;
        }
        request->device_tries++;
        return true;
    }
    return false;
}

void sl_fetch_wait_until(sl_fetch *fetch, sl_request *request, uint64_t due_ns)
{
    if (request->state != SL_REQUEST_WAITING) {
        request->state = SL_REQUEST_WAITING;
        fetch->waiting_count++;
    }
    request->due_ns = due_ns;
}

void sl_fetch_failed(sl_fetch *fetch, sl_request *request, sl_failure_kind kind, int sys_errno)
{
    uint64_t delay_ns = 0;
    bool again = false;
    bool part = kind == SL_FAILURE_READ && request->pinned != NULL;
    if (part && sys_errno == EINVAL && request->read.direct) {
        sl_file_table_reopen(request->pinned, true);
        again = true;
    } else {
        again = next_try(request, sys_errno, &delay_ns);
    }
    if (part && sys_errno == ESTALE) {
        sl_file_table_reopen(request->pinned, false);
    }
    if (again) {
        fetch->stats.retried++;
        sl_fetch_wait_until(fetch, request, fetch->now_ns + delay_ns);
        return;
    }
    uint64_t valid_end = request->start + request->got;
    bool split = request->count > 1 && kind == SL_FAILURE_READ;
    sl_failure failure = {
        .kind = kind, .sys_errno = sys_errno, .tries = request->tries, .offset = valid_end};
    sl_fetch_finish(fetch, request, valid_end, split ? NULL : &failure);
}

void sl_fetch_retry_due(sl_fetch *fetch)
{
    for (uint32_t i = 0; fetch->waiting_count > 0 && i < fetch->config.depth; i++) {
        sl_request *request = &fetch->requests[i];
        if (request->state == SL_REQUEST_WAITING && request->due_ns <= fetch->now_ns) {
            sl_fetch_start(fetch, request);
        }
    }
}

/* The memory stays the kernel's; the items fail now. */
static void abandon(sl_fetch *fetch, sl_request *request)
{
    request->state = SL_REQUEST_ABANDONED;
    fetch->abandoned++;
    if (--fetch->flying == 0) {
        fetch->stats.busy_ns += fetch->now_ns - fetch->busy_since_ns;
    }
    sl_fetch_buffer_abandon(fetch, request);
    sl_failure failure = {.kind = SL_FAILURE_STALLED,
                          .tries = request->tries,
                          .offset = request->start + request->got};
    uint32_t next = request->wants;
    request->wants = SL_FETCH_NONE;
    request->count = 0;
    while (next != SL_FETCH_NONE) {
        uint32_t index = next;
        next = fetch->wants[index].next; /* before its slot is free */
        sl_fetch_fail_want(fetch, index, &failure);
    }
}

/* Every request is abandoned, so nothing can be read: what waits too long for that fails, too. */
static void watch_stuck(sl_fetch *fetch)
{
    if (fetch->free_request != SL_FETCH_NONE || fetch->abandoned < fetch->config.depth) {
        fetch->stuck_since_ns = fetch->now_ns;
        return;
    }
    if (fetch->now_ns - fetch->stuck_since_ns < fetch->config.stall_fail_ns) {
        return;
    }
    fetch->stuck_since_ns = fetch->now_ns;
    sl_failure failure = {.kind = SL_FAILURE_STALLED};
    uint32_t index = sl_fetch_first_wanted(fetch);
    while (index != SL_FETCH_NONE) {
        sl_fetch_unqueue(fetch, index);
        sl_fetch_fail_want(fetch, index, &failure);
        index = sl_fetch_first_wanted(fetch);
    }
}

void sl_fetch_watch(sl_fetch *fetch)
{
    if (fetch->now_ns < fetch->next_tick_ns) {
        return;
    }
    fetch->next_tick_ns = fetch->now_ns + fetch->tick_ns;
    for (uint32_t i = 0; i < fetch->config.depth; i++) {
        sl_request *request = &fetch->requests[i];
        if (request->state != SL_REQUEST_FLYING) {
            continue;
        }
        uint64_t age_ns = fetch->now_ns - request->since_ns;
        if (age_ns >= fetch->config.stall_warn_ns && !request->warned) {
            request->warned = true;
            fetch->stats.stalled++;
        }
        if (age_ns >= fetch->config.stall_fail_ns) {
            abandon(fetch, request);
        }
    }
    watch_stuck(fetch);
}

uint64_t sl_fetch_patience(const sl_fetch *fetch)
{
    uint64_t until = UINT64_MAX;
    if (fetch->may_ask && fetch->next_ask - fetch->base < fetch->config.lookahead) {
        return 0;
    }
    if (fetch->flying > 0 || fetch->free_request == SL_FETCH_NONE) {
        until = fetch->next_tick_ns;
    }
    for (uint32_t i = 0; fetch->waiting_count > 0 && i < fetch->config.depth; i++) {
        const sl_request *request = &fetch->requests[i];
        if (request->state == SL_REQUEST_WAITING && request->due_ns < until) {
            until = request->due_ns;
        }
    }
    if (until == UINT64_MAX) {
        return UINT64_MAX;
    }
    return until > fetch->now_ns ? until - fetch->now_ns : 0;
}
