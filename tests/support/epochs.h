/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epochs: runs whole epochs of a dataset through a loader, and counts and checks each row.
 *
 * Fails the running test if a sample is missing, repeated or wrong. Threads: the test's.
 */
#ifndef SL_EPOCHS_H
#define SL_EPOCHS_H

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stddef.h>

enum { EPOCHS_KEYS = 1024 };

typedef struct epochs {
    const char *key;             /* column of numbers below EPOCHS_KEYS; NULL: the sample's index */
    bool (*is_key)(int64_t key); /* true: a row must have it, else none may; NULL: below `keys` */
    int64_t keys;
    const char *column; /* ragged column; NULL: none */
    uint64_t most;      /* maximum number of elements */
    size_t element;     /* bytes per element */
    void (*look)(int64_t key, const uint8_t *bytes, size_t size);
} epochs;

/* Runs three epochs with three workers. Closes the dataset first; the loader must survive that. */
void epochs_run(const epochs *what, sluice_dataset *dataset);

#endif
