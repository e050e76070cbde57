/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_counts: how often each kind of thread takes locks, waits and wakes others.
 *
 * Purpose: counted inside the program: its executable is linked with --wrap for the functions of
 * base/thread.h (lock_counts_link in CMakeLists.txt), so that every call of the library goes
 * through here. A lock is tried first; one that is held counts as contended.
 * Threads: any. Each counts for itself; what is read while others run is a moment late.
 */
#ifndef LOCK_COUNTS_H
#define LOCK_COUNTS_H

#include <stdint.h>

typedef enum lock_counts_role {
    LOCK_COUNTS_FETCH,
    LOCK_COUNTS_WORKERS,
    LOCK_COUNTS_OTHERS, /* the consumer, and who opened it all */
    LOCK_COUNTS_ROLES
} lock_counts_role;

typedef struct lock_counts {
    uint64_t locks, contended; /* contended: about as many system calls to wait, and to wake */
    uint64_t waits;            /* for a condition: a system call each */
    uint64_t signals, wakes;   /* of a condition; wakes: those of one that waits, a system call */
    uint64_t cpu_ns;           /* of the threads */
} lock_counts;

/* So far. */
void lock_counts_get(lock_counts counts[LOCK_COUNTS_ROLES]);

#endif
