/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_values: a number for each sample of a loader, for its order.
 *
 * Purpose: the numbers are an array of the caller's, or are read from a field of the dataset: an
 * int or a float is the number itself, a tensor counts its elements, an image is its width /
 * height. Lengths of tensors are looked up if the format has them (field_lengths.h); else numbers
 * and tensors are read by many threads, each sample whole. A sample without the field, or an
 * unreadable one, fails. An image that cannot be decoded is 0: it will be a bad sample.
 *
 * Threads: opening only; blocks. Memory: 8 bytes a sample, the caller's to free.
 */
#ifndef SL_SAMPLE_VALUES_H
#define SL_SAMPLE_VALUES_H

#include "dataset.h"

#include <sluice/loader.h>

#include <stdbool.h>

typedef struct sl_sample_values {
    const char *option, *field_option; /* names of the options, for errors */
    const double *array;               /* NULL: none; else `count` numbers */
    uint64_t count;
    const char *field; /* NULL: none */
    /* with which images are decoded; NULL: only ints and floats are allowed */
    const sluice_loader_options *options;
} sl_sample_values;

/* Returns true if an array or a field is given. */
static inline bool sl_sample_values_are_given(const sl_sample_values *given)
{
    return given->array != NULL || given->count > 0 || given->field != NULL;
}

/* A copy of the numbers, for sl_free. Errors: INVALID: not one of array and field, an array of
 * another length than the dataset, or a field that is not a number; IO, CORRUPT, NOMEM. */
sluice_status sl_sample_values_read(const sl_sample_values *given, const sl_dataset *dataset,
                                    double **values, sluice_error *error);

#endif
