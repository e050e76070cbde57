/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiting: library calls that may block for long, made so that Ctrl-C ends the wait at once. The
 * call runs on a thread of its own; the caller's looks for signals meanwhile. When one raises, the
 * job is abandoned: its thread ends the call and frees what it made.
 */
#ifndef SLUICE_PY_WAITING_H
#define SLUICE_PY_WAITING_H

#include "extension.h"

#include <stdbool.h>

enum { WAIT_SLICE_MS = 50 }; /* between looks for signals */

typedef struct waiting_job {
    /* The call, without the GIL; reads and writes what follows `job` in the caller's struct. */
    void (*work)(struct waiting_job *job);
    /* After it, when nobody waits any more: frees all, `job` too; on any thread. */
    void (*drop)(struct waiting_job *job);
    /* With the GIL, now and then while it runs: shows progress; -1 with an exception ends the wait.
     * NULL: nothing to show. */
    int (*look)(struct waiting_job *job);
    /* Nobody waits any more: the call should end soon. NULL: it cannot be told. */
    void (*stop)(struct waiting_job *job);
} waiting_job;

/* With the GIL. True: done, its thread has ended, the job is the caller's again. False: a signal or
 * `look` raised; the job is gone, or will be. Or one of them forked, and this is the child, whose
 * job has no thread: it is left as it is. */
bool wait_for(const extension *e, waiting_job *job);

/* Waits for jobs that were stopped and abandoned (for 10 s at most): they hold what the next one
 * wants. False with an exception. */
bool wait_for_stopped(void);

#endif
