/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat: files that are nothing but tensors, back to back: numpy's tofile, CIFAR's batches, files of
 * tokens.
 *
 * Purpose: a dataset of one field over them. Nothing in such a file says what it is, so it is never
 * probed for: whoever opens it says what a record is. A file must be a whole number of records; of
 * one dimension the last record of a file may be shorter, and then the field's length varies.
 * Threads: as any dataset.
 */
#ifndef SL_FLAT_H
#define SL_FLAT_H

#include "dataset.h"

/* `field` is a tensor whose shape is given; copied. Errors: INVALID (the shape, a file that is no
 * whole number of records), IO, NOMEM. */
sluice_status sl_flat_open(sl_dataset **dataset, const char *const *paths, size_t count,
                           const sl_field *field, sluice_error *error);

#endif
