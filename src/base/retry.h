/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry: which failed reads are worth another try, and when.
 *
 * EINTR, EAGAIN, EBUSY, ENOMEM, EMFILE, ENFILE, ECANCELED are of the moment: up to 10 more tries,
 * after 1 ms doubling to 1 s. EIO, ETIMEDOUT, ESTALE, EREMOTEIO are the device's: some go away,
 * most do not: 3 more tries after 10, 100, 1000 ms; a read for several items is split at once
 * instead, so that only those over the bad place fail. All others are final.
 * A call that a signal ended is made again at once, SL_INTERRUPTIONS_MAX times in a row: a file
 * system in user space, or a filter of system calls, can answer EINTR for ever. Threads: pure but
 * for sl_retry_wait, which sleeps.
 */
#ifndef SL_RETRY_H
#define SL_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#define SL_INTERRUPTIONS_MAX 1000

/* Whether a call that failed with `sys_errno` was interrupted and is to be made again at once.
 * `*times`: how often that was so since its last success, 0 at first. */
bool sl_retry_interrupted(uint32_t *times, int sys_errno);

/* Tries so far, of one read. */
typedef struct sl_retry {
    uint32_t moment, device;
} sl_retry;

typedef enum sl_verdict {
    SL_VERDICT_AGAIN, /* after the delay */
    SL_VERDICT_SPLIT, /* each item by itself, now */
    SL_VERDICT_FAILED
} sl_verdict;

/* `several`: the read is for several items. */
sl_verdict sl_retry_next(sl_retry *retry, int sys_errno, bool several, uint64_t *delay_ns);
/* For who may block: sleeps for as long as the next try is to be put off; false: there is none. */
bool sl_retry_wait(sl_retry *retry, int sys_errno);
/* The same, without sleeping, and for one more try at most. */
bool sl_retry_once(sl_retry *retry, int sys_errno);

#endif
