/* SPDX-License-Identifier: Apache-2.0 */
/* limits: makes parts of a loader smaller than options can, so that they are full at once. Threads:
 * before a loader is opened. */
#ifndef SIM_LIMITS_H
#define SIM_LIMITS_H

#include <stdint.h>

/* 0: as the loader has it. */
typedef struct sim_limits {
    uint64_t arena_bytes, arena_first_bytes; /* of the fetch's read buffers */
    uint32_t lookahead;                      /* of its window */
} sim_limits;

/* slabs.c: slabs that are open. */
uint32_t sim_slabs_open(void);
void sim_limits_set(const sim_limits *wanted);

#endif
