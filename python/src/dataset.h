/* SPDX-License-Identifier: Apache-2.0 */
/* dataset: an open sluice_dataset; sluice.Dataset stands on it. The handle has several owners, one
 * of which may be a job that nobody waits for any more. */
#ifndef SLUICE_PY_DATASET_H
#define SLUICE_PY_DATASET_H

#include "extension.h"

#include <stdatomic.h>

typedef struct dataset_handle {
    atomic_uint owners;
    sluice_dataset *dataset;
} dataset_handle;

/* A share of a dataset object's handle; NULL with an exception: it is no dataset. */
dataset_handle *dataset_share(const extension *e, PyObject *object);
/* A dataset object that owns `dataset`; NULL with an exception, and it is closed. */
PyObject *dataset_object_of(const extension *e, sluice_dataset *dataset);
/* On any thread, with or without the GIL. NULL is fine. */
void dataset_drop(dataset_handle *handle);

#endif
