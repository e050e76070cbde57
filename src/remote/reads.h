/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reads: reads byte ranges of remote objects, or fails with a reason.
 *
 * Purpose: a read is a range of an object, or all of it, into a buffer.
 *  - With cache nodes (nodes.h) it is cut where an 8 MiB slice ends. Each part asks the first owner
 *    of its slice, then the second, then the store. A node that is dead or wrong gets no requests
 *    for some seconds.
 *  - A part is tried again after resets, timeouts and wrong answers, at most 5 times, with growing
 *    delays; after "busy" (429, 503, SlowDown) for as long as the stall limit allows. No try begins
 *    later than the stall limit after the part began.
 *  - A part that takes longer than its host's p95 is sent a second time (hosts.h); the first good
 *    answer wins. The second one has a buffer of its own.
 *  - If a provider redirects, the first read of an object requests the target. Others of that
 *    object wait for its answer, for at most 2 s.
 *  - Only an answer whose status, Content-Range, length and ETag fit counts. From the first answer
 *    on, the object must stay the same one.
 *  - A request ends with ETIMEDOUT when no byte comes within the stall limit, or when it is slower
 *    than 4 KiB/s on top of that.
 * Results are final; the caller does not try again: bytes read (fewer where the object ends), or
 * -errno: ENOENT, EACCES, EREMCHG (the object was replaced), ETIMEDOUT (it stalled), EBADMSG (wrong
 * answers), EBUSY (the server was busy for as long as the stall limit), EFBIG (whole: the object
 * has more than `bytes`), EPERM, ECANCELED, and those of sl_exchange.failed. Threads: any thread
 * starts and cancels; done runs on an engine thread, on one of the caller's that cancels, or in
 * start. Lock: one mutex a read. Ownership: a read and its buffer belong to this module from start
 * to done.
 */
#ifndef SL_READS_H
#define SL_READS_H

#include "object.h"

typedef struct sl_remote_read {
    sl_object *object; /* the read holds it from start to done */
    uint64_t offset;
    uint32_t bytes;
    bool whole;      /* from offset 0, all of it, at most `bytes` */
    bool from_store; /* past the cache nodes */
    uint8_t *buffer;
    uint64_t stall_ns; /* 0: the setting's */
    /* ---- */
    int64_t result;
    uint64_t object_bytes;        /* UINT64_MAX: unknown */
    char reason[SL_REASON_BYTES]; /* why it failed, in words, without secrets */
    void (*done)(struct sl_remote_read *read);
    void *ctx;
    struct sl_read_state *state; /* the module's */
} sl_remote_read;

/* Calls done exactly once, perhaps before it returns. */
void sl_remote_read_start(sl_remote_read *read);
/* Makes done come soon, with ECANCELED or a result that was on its way; it may call done itself.
 * Does nothing once done is being called; the read's memory must be valid. */
void sl_remote_read_cancel(sl_remote_read *read);
/* Starts the read and blocks until it is done, under the thread's stop. Returns read->result. */
int64_t sl_remote_read_run(sl_remote_read *read);

#endif
