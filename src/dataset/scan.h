/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: the numbers of all samples, each read once.
 *
 * Purpose: what a choice of samples by their labels or scores goes by. Samples are read whole, in
 * their order, by several threads, and checked as they always are; a sample that is a file of its
 * own (an image folder's) is not read, since its numbers are in the index.
 * Threads: the caller waits, reports and asks whether to stop; `take` is called by any of them, for
 * each sample once, those of 64 that begin at a multiple of it by one thread.
 */
#ifndef SL_SCAN_H
#define SL_SCAN_H

#include "dataset.h"

#include <sluice/datasets.h>

typedef struct sl_scan {
    const sl_dataset *dataset;
    uint64_t wanted; /* fields: ints and floats */
    void (*take)(void *ctx, uint64_t index, const sl_values *values);
    void *ctx;
    /* True if a sample is neither read nor taken. Called by the thread that would do so. NULL: all
     * are read. */
    bool (*skip)(const void *ctx, uint64_t index);
    /* Asked for a sample that cannot be read, by the thread that met it: true passes over it. NULL:
     * the scan fails. */
    bool (*pass_over)(void *ctx, uint64_t index, const sluice_error *error);
} sl_scan;

/* `options` is full-size. Errors: those of a sample that cannot be read, the first in the order of
 * samples among those that were met; CANCELED, NOMEM. */
sluice_status sl_scan_run(const sl_scan *scan, const sluice_scan_options *options,
                          sluice_error *error);

#endif
