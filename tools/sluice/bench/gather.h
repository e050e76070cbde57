/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather: the ranks of one run meet, and send rank 0 their results, through small files in a folder
 * that all of them can access. It needs no launcher's library and no network.
 *
 * Files of an earlier run, even of a killed one, never count: rank 0 draws a number for the run,
 * each rank answers with a number of its own, and rank 0 lists all of those when every rank has
 * answered. The results of a rank carry the run's number. Each file appears whole (rename).
 *
 * Main thread. Functions return exit codes and report errors. Ctrl-C ends each wait.
 */
#ifndef TOOL_BENCH_GATHER_H
#define TOOL_BENCH_GATHER_H

#include <sluice/ranks.h>

#include <limits.h>
#include <stdint.h>

enum { GATHER_TEXT_MAX = 2048 };

struct gather {
    uint32_t rank, world_size;
    double wait_s;         /* timeout for missing ranks */
    uint64_t run, own;     /* numbers: of the run (0: not met yet), of this rank */
    char folder[PATH_MAX]; /* the run's, inside the shared one */
    char runs_name[24];    /* `run`, as in files */
    uint64_t *answers;     /* rank 0: of each rank; 0: none yet */
    uint32_t taken;        /* rank 0: ranks whose results arrived */
};

/* Opens the exchange. `folder` NULL: the system's temporary one, which works for ranks on one
 * machine; fails if several machines are known to take part. Call gather_close in any case. */
int gather_open(struct gather *gather, const sluice_ranks *ranks, const char *folder,
                double wait_s);

/* Returns on all ranks once all have called it. */
int gather_meet(struct gather *gather);

/* Not on rank 0: sends `text` (below GATHER_TEXT_MAX) to it. */
int gather_give(struct gather *gather, const char *text);

/* On rank 0: waits for the text of `rank`. */
int gather_take(struct gather *gather, uint32_t rank, char text[GATHER_TEXT_MAX]);

/* Removes the files on rank 0, unless a rank may still need them. */
void gather_close(struct gather *gather);

#endif
