/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor: a column of a batch, or some rows of it, and the protocols for use without a copy:
 * DLPack, the buffer protocol, __array_interface__, __cuda_array_interface__. Each export has a
 * reference to the batch's hold, which keeps the memory.
 */
#ifndef SLUICE_PY_TENSOR_H
#define SLUICE_PY_TENSOR_H

#include "extension.h"
#include "hold.h"

/* Takes a reference to `h`. */
PyObject *tensor_new(const extension *e, hold *h, const sluice_tensor *tensor);

#endif
