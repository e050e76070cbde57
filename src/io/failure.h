/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure: the reason an item of fetch failed, kept small until its delivery. Plain data.
 */
#ifndef SL_FAILURE_H
#define SL_FAILURE_H

#include <sluice/common.h>

#include <stdint.h>

typedef enum sl_failure_kind {
    SL_FAILURE_READ,      /* sys_errno of the read */
    SL_FAILURE_OPEN,      /* sys_errno of the open */
    SL_FAILURE_SIZE,      /* the object has another size than it should have */
    SL_FAILURE_REPLACED,  /* the object is not the one that was opened before */
    SL_FAILURE_OUTSIDE,   /* the object is outside its boundary */
    SL_FAILURE_TRUNCATED, /* the object ends before the item does; object_bytes is its size */
    SL_FAILURE_STALLED,   /* the watchdog gave up */
    SL_FAILURE_TOO_LARGE, /* object_bytes is more than max_sample_bytes */
    SL_FAILURE_RANGE,     /* no object has this range, or the range is empty */
    SL_FAILURE_MEMORY,    /* no buffer is available */
    SL_FAILURE_SOURCE,    /* the source could not find the item; reason in `text` and `status` */
    SL_FAILURE_PACKED,    /* of a compressed object; reason in `why` */
    SL_FAILURE_CANCELED
} sl_failure_kind;

/* Reason an item failed, kept small until its delivery (perhaps much later) makes a sluice_error of
 * it. */
typedef struct sl_failure {
    sl_failure_kind kind;
    int sys_errno;
    int status; /* SOURCE */
    uint32_t tries;
    uint32_t file;   /* number of the file, of an object of several */
    uint64_t offset; /* offset where the failure was noticed */
    uint64_t object_bytes;
    const char *text; /* SOURCE: a literal */
    /* READ, REPLACED: reason in words; NULL: the errno is enough. Valid as long as the backend */
    const char *reason;
    const sluice_error *why; /* PACKED: valid as long as the backend */
} sl_failure;

#endif
