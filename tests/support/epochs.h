/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epochs: whole epochs of a dataset through a loader, each row of which is counted, and looked at.
 *
 * Fails the running test where a sample is missing, comes twice, or is not as it should be.
 * Threads: the test's.
 */
#ifndef SL_EPOCHS_H
#define SL_EPOCHS_H

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stddef.h>

enum { EPOCHS_KEYS = 1024 };

typedef struct epochs {
    const char *key; /* a number of each sample, below EPOCHS_KEYS; NULL: its index */
    bool (*is_key)(
        int64_t key); /* whether a sample has it: else no row may; NULL: those below `keys` */
    int64_t keys;
    const char *column; /* ragged, NULL: none; */
    uint64_t most;      /* with up to so many elements, */
    size_t element;     /* of so many bytes each */
    void (*look)(int64_t key, const uint8_t *bytes, size_t size);
} epochs;

/* Three epochs by three workers. Closes the dataset, which the loader has to survive. */
void epochs_run(const epochs *what, sluice_dataset *dataset);

#endif
