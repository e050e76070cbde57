/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure: why an item of fetch failed, kept small until its delivery. Plain data.
 */
#ifndef SL_FAILURE_H
#define SL_FAILURE_H

#include <sluice/common.h>

#include <stdint.h>

typedef enum sl_failure_kind {
    SL_FAILURE_READ,      /* sys_errno of the read */
    SL_FAILURE_OPEN,      /* sys_errno of the open */
    SL_FAILURE_SIZE,      /* the object does not have the size that it should have */
    SL_FAILURE_REPLACED,  /* the object is not the one that was opened */
    SL_FAILURE_OUTSIDE,   /* the object is outside of its boundary */
    SL_FAILURE_TRUNCATED, /* the object ends before the item does; object_bytes is its size */
    SL_FAILURE_STALLED,   /* given up by the watchdog */
    SL_FAILURE_TOO_LARGE, /* object_bytes is more than max_sample_bytes */
    SL_FAILURE_RANGE,     /* no such place in any object, or no bytes */
    SL_FAILURE_MEMORY,    /* no buffer to be had */
    SL_FAILURE_SOURCE,    /* the source could not find the item: `text` and `status` say why */
    SL_FAILURE_PACKED,    /* of a compressed object: `why` */
    SL_FAILURE_CANCELED
} sl_failure_kind;

/* Why an item failed, kept small until its delivery (which may be much later) makes a sluice_error
 * of it. */
typedef struct sl_failure {
    sl_failure_kind kind;
    int sys_errno;
    int status; /* SOURCE */
    uint32_t tries;
    uint32_t file;   /* of several that the object is */
    uint64_t offset; /* where it was noticed */
    uint64_t object_bytes;
    const char *text;   /* SOURCE: a literal */
    const char *reason; /* READ, REPLACED: in words; NULL: the errno says it. Stays as long as the
                           backend */
    const sluice_error *why; /* PACKED: stays as long as the backend */
} sl_failure;

#endif
