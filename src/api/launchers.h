/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launchers: determines this process's rank from the variables of launchers.
 *
 * Purpose: the rules of sluice/ranks.h, for any environment, so that each can be tested. Threads:
 * pure, except for the environment. Invariants: on OK rank < world_size, and texts are
 * NUL-terminated. Values of variables are untrusted: numbers must be digits and in range, texts are
 * made safe.
 */
#ifndef SL_LAUNCHERS_H
#define SL_LAUNCHERS_H

#include <sluice/ranks.h>

typedef struct sl_environment {
    const char *(*get)(const void *user, const char *name); /* NULL: not set */
    const void *user;
} sl_environment;

/* Fills `ranks` completely; unchanged with INVALID: see sluice_ranks_find. */
sluice_status sl_ranks_find(const sl_environment *environment, sluice_ranks *ranks,
                            sluice_error *error);

/* See sluice_ranks_divide. */
sluice_status sl_ranks_divide(uint32_t *rank, uint32_t *world_size, uint32_t model_parallel,
                              sluice_error *error);

#endif
