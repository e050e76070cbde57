/* SPDX-License-Identifier: Apache-2.0 */
/* limits: makes parts of a loader smaller than options allow, so that they fill up quickly.
 * Threads: called before a loader is opened. */
#ifndef SIM_LIMITS_H
#define SIM_LIMITS_H

#include <stdint.h>

/* 0: the loader's own value. */
typedef struct sim_limits {
    uint64_t arena_bytes, arena_first_bytes; /* of the fetch thread's read buffers */
    uint32_t lookahead;                      /* of the fetch window */
} sim_limits;

/* slabs.c: returns the number of open slabs. */
uint32_t sim_slabs_open(void);
void sim_limits_set(const sim_limits *wanted);

#endif
