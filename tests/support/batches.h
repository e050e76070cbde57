/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batches: runs an epoch of a loader and keeps all its results for comparison.
 */
#ifndef SL_BATCHES_H
#define SL_BATCHES_H

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct batches {
    uint64_t rows, steps;
    uint64_t row_bytes;
    uint8_t *images; /* rows x row_bytes */
    int64_t *labels, *indices;
    uint8_t *status, *mask;
    uint32_t *rows_of_step;
    sluice_status end; /* status that ended the epoch: END or an error */
} batches;

/* Starts the epoch and takes all its batches; each is released before the next is taken. */
void batches_collect(batches *all, sluice_loader *loader, uint64_t epoch);
/* Takes the rest of the epoch in progress, at most `steps` batches. */
void batches_continue(batches *all, sluice_loader *loader, uint64_t steps);
/* Appends all of `more` to `all` (zeroed: empty). */
void batches_append(batches *all, const batches *more);
/* True if both hold the same values, bit for bit. */
bool batches_equal(const batches *a, const batches *b);
void batches_free(batches *all);

#endif
