/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks: which of several processes this one is: as the user says, else as the launcher does. Main
 * thread.
 */
#ifndef TOOL_RANKS_H
#define TOOL_RANKS_H

#include "options.h"

#include <sluice/ranks.h>

#include <stdint.h>

/* What the user says; either both or none. */
struct ranks_given {
    uint64_t rank;       /* RANKS_NOT_GIVEN: not given */
    uint64_t world_size; /* 0: not given */
};

#define RANKS_NOT_GIVEN UINT64_MAX
#define RANKS_GIVEN_INIT   \
    {                      \
        RANKS_NOT_GIVEN, 0 \
    }

/* The rows of the option table for it. */
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

/*
 * Fills `ranks`: with what was given, whatever the launcher says, else with what was found. The
 * job's name is the launcher's in both cases. An exit code; what is wrong is reported.
 */
int ranks_choose(const struct ranks_given *given, sluice_ranks *ranks);

#endif
