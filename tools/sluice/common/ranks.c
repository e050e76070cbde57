/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include "exit_code.h"
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

static int use_given(const struct ranks_given *given, sluice_ranks *ranks)
{
    if (given->rank == RANKS_NOT_GIVEN || given->world_size == 0) {
        report("--rank and --world-size need each other: give both, or neither");
        return TOOL_USAGE;
    }
    if (given->rank >= given->world_size) {
        report("--rank %" PRIu64 " of --world-size %" PRIu64 ": ranks count from 0", given->rank,
               given->world_size);
        return TOOL_USAGE;
    }
    if (sluice_ranks_find(ranks, NULL) < 0) {
        *ranks = (sluice_ranks)SLUICE_RANKS_INIT; /* contradictions do not matter now */
    }
    ranks->rank = (uint32_t)given->rank;
    ranks->world_size = (uint32_t)given->world_size;
    ranks->local_rank = -1;
    ranks->local_size = 0;
    snprintf(ranks->text, sizeof ranks->text, "rank %" PRIu32 " of %" PRIu32 ", as was said",
             ranks->rank, ranks->world_size);
    return TOOL_FINE;
}

int ranks_choose(const struct ranks_given *given, sluice_ranks *ranks)
{
    *ranks = (sluice_ranks)SLUICE_RANKS_INIT;
    if (given->rank != RANKS_NOT_GIVEN || given->world_size != 0) {
        return use_given(given, ranks);
    }
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_ranks_find(ranks, &error) < 0) {
        return report_error(&error, "the options are --rank and --world-size");
    }
    return TOOL_FINE;
}
