/* SPDX-License-Identifier: Apache-2.0 */
/* ranks: this process's rank among several: given by the user, else by the launcher. Main
 * thread. */
#ifndef TOOL_RANKS_H
#define TOOL_RANKS_H

#include "options.h"

#include <sluice/ranks.h>

#include <stdint.h>

/* The user's options; both or none. */
struct ranks_given {
    uint64_t rank;       /* RANKS_NOT_GIVEN: not given */
    uint64_t world_size; /* 0: not given */
};

#define RANKS_NOT_GIVEN UINT64_MAX
#define RANKS_GIVEN_INIT   \
    {                      \
        RANKS_NOT_GIVEN, 0 \
    }

/* The rows of the option table for the rank. */
#define RANKS_ROWS(given)                                                          \
    {"rank",                                                                       \
     0,                                                                            \
     OPTION_COUNT,                                                                 \
     &(given).rank,                                                                \
     .max = UINT32_MAX - 1,                                                        \
     .metavar = "N",                                                               \
     .help = "index of this process, from 0 [from mpirun, srun or torchrun]"},     \
    {                                                                              \
        "world-size", 0, OPTION_COUNT, &(given).world_size,                        \
            .min = 1, .max = UINT32_MAX - 1, .metavar = "N",                       \
            .help = "processes that share the dataset [from the launcher, else 1]" \
    }

/* Fills `ranks`: from the user's options, regardless of the launcher, else from the launcher.
 * The job's name is the launcher's in both cases. Returns an exit code; errors are reported. */
int ranks_choose(const struct ranks_given *given, sluice_ranks *ranks);

#endif
