/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather: the ranks of one run meet, and give rank 0 their figures, through small files in a folder
 * that all of them see. No launcher's library is needed, and no network.
 *
 * Files of an earlier run, also of one that was killed, never count: rank 0 draws a number for the
 * run, each rank answers it with a number of its own, and rank 0 names all of those when it says
 * that all are there. What a rank gives bears the run's number. Each file appears whole (rename).
 *
 * Main thread. Functions return exit codes; what is wrong is reported. Ctrl-C ends each wait.
 */
#ifndef TOOL_BENCH_GATHER_H
#define TOOL_BENCH_GATHER_H

#include <sluice/ranks.h>

#include <limits.h>
#include <stdint.h>

enum { GATHER_TEXT_MAX = 2048 };

struct gather {
    uint32_t rank, world_size;
    double wait_s;         /* for ranks that do not come */
    uint64_t run, own;     /* numbers: of the run (0: not met yet), of this rank */
    char folder[PATH_MAX]; /* the run's, inside the one that all see */
    char runs_name[24];    /* `run`, as in files */
    uint64_t *answers;     /* rank 0: of each rank; 0: none yet */
    uint32_t taken;        /* rank 0: ranks whose figures came */
};

/*
 * `folder` NULL: the system's temporary one, which serves ranks of one machine; where it is known
 * that there are several, that is refused. gather_close in any case.
 */
int gather_open(struct gather *gather, const sluice_ranks *ranks, const char *folder,
                double wait_s);

/* Returns on all ranks once all have called it. */
int gather_meet(struct gather *gather);

/* Not of rank 0: hands `text` (below GATHER_TEXT_MAX) to it. */
int gather_give(struct gather *gather, const char *text);

/* Of rank 0: waits for what `rank` gives. */
int gather_take(struct gather *gather, uint32_t rank, char text[GATHER_TEXT_MAX]);

/* Rank 0 removes the files, unless some rank may still look for them. */
void gather_close(struct gather *gather);

#endif
