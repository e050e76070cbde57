/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refused_runs: a dataset opened, read, verified, loaded, saved, restored and canceled while the
 * system refuses each call in turn (refusals.h). Whatever is refused, a step either gives what it
 * gives without refusals, bit for bit, or a status with a message; the steps behind it are whole
 * again; no descriptor stays open. Main thread.
 *
 * Environment: SLUICE_REFUSALS=all refuses every call, not one of each stack; SLUICE_REFUSALS_SEED
 * draws others.
 */
#ifndef SL_REFUSED_RUNS_H
#define SL_REFUSED_RUNS_H

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct refused_case {
    const char *name;
    const char *path;
    /* The columns of a loader; NULL with a status below 0 where that is refused. */
    sluice_status (*columns)(const struct refused_case *self, const sluice_dataset *dataset,
                             sluice_columns **columns);
    int32_t io_backend; /* a sluice_io_backend */
    bool cached;        /* with a cache, which is empty at first */
} refused_case;

/* Columns of all fields of a dataset. */
sluice_status refused_natural_columns(const refused_case *self, const sluice_dataset *dataset,
                                      sluice_columns **columns);

/* Runs the case with refusals; prints what is wrong, and a line with the counts. */
void refused_check(const refused_case *c);
/* How much was wrong so far. */
uint32_t refused_findings(void);

#endif
