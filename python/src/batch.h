/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch: one batch of a loader: its columns by name, converted once to what the loader's users want
 * (`convert`: sluice.torch makes torch tensors of them). sluice.Batch stands on it.
 *
 * A column is the slot's memory, or a copy: of host memory those are that are small and not among
 * `views`, so that whoever keeps labels does not keep slots. A detached batch has copies only, and
 * no slot.
 */
#ifndef SLUICE_PY_BATCH_H
#define SLUICE_PY_BATCH_H

#include "extension.h"
#include "hold.h"

/* What all batches of a loader have in common. */
typedef struct batch_kind {
    PyObject *names;   /* tuple; with the first batch */
    PyObject *views;   /* frozenset: of columns that are never small */
    PyObject *convert; /* called with (name, tensor, copy) for each column that is asked for; of
                          `copy` on a device the copy is left to it. NULL: columns are tensors */
} batch_kind;

/* Takes over `h`. `first`: number in the epoch of the batch that the library calls its first, 0
 * unless the epoch was continued. The kind's objects are shared. */
PyObject *batch_new(const extension *e, hold *h, uint64_t first, const batch_kind *kind);
/* The names of a batch's columns, as a tuple. */
PyObject *batch_names(const sluice_batch *batch);
/* Copies all columns, converts them, and gives the slot back. -1 with an exception. */
int batch_detach(PyObject *batch);
/* What a batch's copy takes. */
uint64_t batch_bytes(PyObject *batch);

#endif
