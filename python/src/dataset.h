/* SPDX-License-Identifier: Apache-2.0 */
/* dataset: an open sluice_dataset, for sluice.Dataset. The handle has several owners; one may be an
 * abandoned job. */
#ifndef SLUICE_PY_DATASET_H
#define SLUICE_PY_DATASET_H

#include "extension.h"

#include <stdatomic.h>

typedef struct dataset_handle {
    atomic_uint owners;
    sluice_dataset *dataset;
} dataset_handle;

/* Returns a reference to a dataset object's handle; NULL with an exception: not a dataset. */
dataset_handle *dataset_share(const extension *e, PyObject *object);
/* Returns an object that owns `dataset`. On failure, closes it and returns NULL with an exception.
 */
PyObject *dataset_object_of(const extension *e, sluice_dataset *dataset);
/* Drops a reference, on any thread, with or without the GIL. NULL is a no-op. */
void dataset_drop(dataset_handle *handle);

#endif
