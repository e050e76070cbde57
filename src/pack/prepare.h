/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare: threads that read samples and make records of them, delivered in order.
 *
 * Purpose: the parallel half of a pack. Workers take positions in turn, read, check, re-tile or
 * compress and sum up (maker.h); the owner takes the results in the order of positions, so that the
 * number of workers cannot change a byte of what is written. Threads: one owner calls open, next,
 * done, close; the workers are inside. Memory: bytes held by samples, and by the coefficients of
 * those that are being re-tiled, are at most a fixed budget plus one sample: a worker waits before
 * it takes them, unless its position is the next to be taken.
 */
#ifndef SL_PREPARE_H
#define SL_PREPARE_H

#include "dataset.h"
#include "maker.h"

typedef struct sl_prepare sl_prepare;

typedef struct sl_prepare_config {
    const sl_dataset *dataset;
    sl_maker_config maker;
    uint32_t workers;
    uint64_t first, end; /* positions: to begin with, and behind the last */
    uint64_t seed;
    bool keep_order;
    uint64_t budget_bytes;
} sl_prepare_config;

/* One sample, ready or bad. */
typedef struct sl_prepared {
    uint64_t position;
    sluice_status status; /* < 0: bad; `error` says why */
    bool fatal;           /* not the sample's fault: the pack cannot go on */
    sl_made made;
    sluice_error error; /* made.kept has its sample and file, too */
    char key[SL_KEY_MAX + 1];
} sl_prepared;

/* Errors: NOMEM. */
sluice_status sl_prepare_open(sl_prepare **out, const sl_prepare_config *config,
                              sluice_error *error);
/* The sample of the next position; waits for it. Valid until done. Not past the last position. */
sl_prepared *sl_prepare_next(sl_prepare *prepare);
void sl_prepare_done(sl_prepare *prepare, sl_prepared *prepared);
/* Stops the workers, joins and frees. NULL is fine. */
void sl_prepare_close(sl_prepare *prepare);

#endif
