/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry: which failed reads are worth a retry, and when.
 *
 * EINTR, EAGAIN, EBUSY, ENOMEM, EMFILE, ENFILE, ECANCELED are momentary: up to 10 retries, after 1
 * ms doubling to 1 s. EIO, ETIMEDOUT, ESTALE, EREMOTEIO come from the device: some go away, most do
 * not: 3 retries after 10, 100, 1000 ms; a read for several items is split at once instead, so that
 * only items over the bad place fail. All others are final. A call that a signal ended is repeated
 * at once, SL_INTERRUPTIONS_MAX times in a row: a file system in user space, or a filter of system
 * calls, can answer EINTR forever. Threads: pure except for sl_retry_wait, which sleeps.
 */
#ifndef SL_RETRY_H
#define SL_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#define SL_INTERRUPTIONS_MAX 1000

/* Returns whether a call that failed with `sys_errno` was interrupted and must be repeated at once.
 * `*times`: interruptions since its last success, 0 at first. */
bool sl_retry_interrupted(uint32_t *times, int sys_errno);

/* Tries of one read so far. */
typedef struct sl_retry {
    uint32_t moment, device;
} sl_retry;

typedef enum sl_verdict {
    SL_VERDICT_AGAIN, /* after the delay */
    SL_VERDICT_SPLIT, /* each item separately, now */
    SL_VERDICT_FAILED
} sl_verdict;

/* Decides about a failed read. `several`: the read is for several items. */
sl_verdict sl_retry_next(sl_retry *retry, int sys_errno, bool several, uint64_t *delay_ns);
/* For code that may block: sleeps until the next try; false: there is none. */
bool sl_retry_wait(sl_retry *retry, int sys_errno);
/* Does the same, without sleeping, and for at most one retry. */
bool sl_retry_once(sl_retry *retry, int sys_errno);

#endif
