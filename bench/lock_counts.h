/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_counts: counts how often each kind of thread takes locks, waits and wakes others.
 *
 * Purpose: counting inside the program. The executable is linked with --wrap for the functions of
 * base/thread.h (CMakeLists.txt), so every call of the library goes through here. A lock is tried
 * first; a held lock counts as contended.
 * Threads: any. Each thread has its own counters; values read while others run may be slightly old.
 */
#ifndef LOCK_COUNTS_H
#define LOCK_COUNTS_H

#include <stdint.h>

typedef enum lock_counts_role {
    LOCK_COUNTS_FETCH,
    LOCK_COUNTS_WORKERS,
    LOCK_COUNTS_OTHERS, /* the consumer and the opening thread */
    LOCK_COUNTS_ROLES
} lock_counts_role;

typedef struct lock_counts {
    uint64_t locks, contended; /* contended: each about one system call to wait and one to wake */
    uint64_t waits;            /* on a condition: one system call each */
    uint64_t signals, wakes;   /* of a condition; wakes: signals with a waiter, a system call */
    uint64_t cpu_ns;           /* CPU time of the threads */
} lock_counts;

/* Returns the counts so far. */
void lock_counts_get(lock_counts counts[LOCK_COUNTS_ROLES]);

#endif
