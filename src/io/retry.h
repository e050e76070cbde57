/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry: which failed reads are worth another try, and when. Pure.
 *
 * EINTR, EAGAIN, EBUSY, ENOMEM, EMFILE, ENFILE, ECANCELED are of the moment: up to 10 more tries,
 * after 1 ms doubling to 1 s. EIO, ETIMEDOUT, ESTALE, EREMOTEIO are the device's: some go away,
 * most do not: 3 more tries after 10, 100, 1000 ms; a read for several items is split at once
 * instead, so that only those over the bad place fail. All others are final.
 */
#ifndef SL_RETRY_H
#define SL_RETRY_H

#include <stdbool.h>
#include <stdint.h>

typedef enum sl_failure_kind {
    SL_FAILURE_READ,      /* sys_errno of the read */
    SL_FAILURE_OPEN,      /* sys_errno of the open */
    SL_FAILURE_SIZE,      /* the object does not have the size that it should have */
    SL_FAILURE_TRUNCATED, /* the object ends before the item does; object_bytes is its size */
    SL_FAILURE_STALLED,   /* given up by the watchdog */
    SL_FAILURE_TOO_LARGE, /* object_bytes is more than max_sample_bytes */
    SL_FAILURE_RANGE,     /* no such place in any object, or no bytes */
    SL_FAILURE_MEMORY,    /* no buffer to be had */
    SL_FAILURE_SOURCE,    /* the source could not find the item: `text` and `status` say why */
    SL_FAILURE_CANCELED
} sl_failure_kind;

/* Why an item failed, kept small until its delivery (which may be much later) makes a sluice_error
 * of it. */
typedef struct sl_failure {
    sl_failure_kind kind;
    int sys_errno;
    int status; /* SOURCE */
    uint32_t tries;
    uint64_t offset; /* where it was noticed */
    uint64_t object_bytes;
    const char *text; /* SOURCE: a literal */
} sl_failure;

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

#endif
