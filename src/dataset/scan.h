/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: reads the numbers of all samples, each once.
 *
 * Purpose: for selecting samples by labels or scores. Several threads read samples whole, in order,
 * with the usual checks. A sample that is a separate file (in an image folder) is not read, since
 * its numbers are in the index. Threads: the caller waits, reports, and asks whether to stop. Any
 * thread calls `take`, once per sample; 64 samples from a multiple of 64 are taken by one thread.
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
    /*
     * Returns true if a sample is neither read nor taken. Called by the thread that would do so.
     * NULL: all are read.
     */
    bool (*skip)(const void *ctx, uint64_t index);
    /*
     * Called for an unreadable sample, on the thread that read it: returns true to skip it. NULL:
     * the scan fails.
     */
    bool (*pass_over)(void *ctx, uint64_t index, const sluice_error *error);
} sl_scan;

/*
 * `options` has its full size. Errors: that of an unreadable sample, the first in sample order
 * among those seen; CANCELED, NOMEM.
 */
sluice_status sl_scan_run(const sl_scan *scan, const sluice_scan_options *options,
                          sluice_error *error);

#endif
