/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch: one batch of a loader: its columns by name, each converted once for the loader's users
 * (`convert`: sluice.torch makes torch tensors). sluice.Batch uses it.
 *
 * A column is the slot's memory, or a copy. Small columns in host memory outside of `views` are
 * copies, so that a program that keeps labels does not keep slots. A detached batch has only
 * copies, and no slot.
 */
#ifndef SLUICE_PY_BATCH_H
#define SLUICE_PY_BATCH_H

#include "extension.h"
#include "hold.h"

/* Data that all batches of a loader share. */
typedef struct batch_kind {
    PyObject *names;   /* tuple; with the first batch */
    PyObject *views;   /* frozenset: names of columns that are never small */
    PyObject *convert; /* called with (name, tensor, copy) for each column that is read; on a
                          device, it makes the copy itself. NULL: columns are tensors */
} batch_kind;

/* Takes over `h`. `first`: number in the epoch of the library's first batch, 0 unless the epoch was
 * resumed. Shares the kind's objects. */
PyObject *batch_new(const extension *e, hold *h, uint64_t first, const batch_kind *kind);
/* Returns the names of a batch's columns, a tuple. */
PyObject *batch_names(const sluice_batch *batch);
/* Copies all columns, converts them, and returns the slot. -1 with an exception. */
int batch_detach(PyObject *batch);
/* Returns the memory of a batch's copy, in bytes. */
uint64_t batch_bytes(PyObject *batch);

#endif
