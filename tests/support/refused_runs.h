/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refused_runs: opens, reads, verifies, loads, saves, restores and cancels a dataset while the
 * system refuses each call in turn (refusals.h). After any refusal, a step either gives the same
 * result as without it, bit for bit, or a status with a message; the steps after it work again; no
 * descriptor stays open. Threads: main.
 * Environment: SLUICE_REFUSALS=all refuses every call, not one of each stack; SLUICE_REFUSALS_SEED
 * changes the draws.
 */
#ifndef SL_REFUSED_RUNS_H
#define SL_REFUSED_RUNS_H

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct refused_case {
    const char *name;
    const char *path;
    /* Returns the columns of a loader; NULL with a status below 0 if creating them fails. */
    sluice_status (*columns)(const struct refused_case *self, const sluice_dataset *dataset,
                             sluice_columns **columns);
    int32_t io_backend; /* a sluice_io_backend */
    bool cached;        /* with a cache, initially empty */
} refused_case;

/* Adds columns for all fields of a dataset. */
sluice_status refused_natural_columns(const refused_case *self, const sluice_dataset *dataset,
                                      sluice_columns **columns);

/* Runs the case with refusals; prints findings and a line with the counts. */
void refused_check(const refused_case *c);
/* Returns the number of findings so far. */
uint32_t refused_findings(void);

#endif
