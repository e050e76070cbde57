/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiting: makes library calls that may block for long, so that Ctrl-C ends the wait at once. The
 * call runs on its own thread; the caller's thread checks for signals. When a signal raises, the
 * job is abandoned: its thread ends the call and frees the result.
 */
#ifndef SLUICE_PY_WAITING_H
#define SLUICE_PY_WAITING_H

#include "extension.h"

#include <stdbool.h>

enum { WAIT_SLICE_MS = 50 }; /* between checks for signals */

typedef struct waiting_job {
    /* The call, without the GIL; uses the members after `job` in the caller's struct. */
    void (*work)(struct waiting_job *job);
    /* After the call of an abandoned job: frees everything, `job` too; on any thread. */
    void (*drop)(struct waiting_job *job);
    /* Called with the GIL while the call runs: shows progress; -1 with an exception ends the wait.
     * NULL: no progress. */
    int (*look)(struct waiting_job *job);
    /* Asks an abandoned call to end soon. NULL: it cannot be interrupted. */
    void (*stop)(struct waiting_job *job);
} waiting_job;

/* Runs the job; needs the GIL. True: done, its thread has ended, the caller owns the job again.
 * False: a signal or `look` raised, and the job is or will be freed. Or one of them forked, and
 * this is the child, whose job has no thread: the job is leaked. */
bool wait_for(const extension *e, waiting_job *job);

/* Waits for abandoned jobs to end (10 s at most): they hold resources that the next job needs.
 * False with an exception. */
bool wait_for_stopped(void);

#endif
