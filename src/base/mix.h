/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mix: the schedule of a mixed dataset's sources, as plain data. plan/mixing.h makes it and defines
 * its meaning; the dataset owns it.
 */
#ifndef SL_MIX_H
#define SL_MIX_H

#include <stdbool.h>
#include <stdint.h>

/* The shares from an epoch on, until the next row's. */
typedef struct sl_mix_row {
    uint64_t epoch;
    uint32_t period;  /* positions after which the schedule repeats */
    uint32_t *share;  /* of each source: its positions in a period */
    uint16_t *source; /* of each position of a period */
    uint32_t *rank;   /* of each position: how many before it in the period have its source */
    uint64_t *before; /* of each source: samples taken of it in all epochs before */
} sl_mix_row;

typedef struct sl_mix {
    uint32_t sources, rows;
    bool whole;    /* an epoch has as many samples as all sources together */
    bool borrowed; /* share, source and rank of its rows belong to another mix */
    uint64_t epoch_samples;
    uint64_t *first; /* number of each source's first sample, and the end */
    sl_mix_row *row;
} sl_mix;

void sl_mix_close(sl_mix *mix); /* NULL is fine */
/* Returns the number of epochs, at least 1: below 2^63 positions, so that all counting is exact,
 * also if a run continues after the last of them. */
uint64_t sl_mix_epochs(const sl_mix *mix);

#endif
