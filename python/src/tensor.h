/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor: a column of a batch, or some rows of one, and the protocols by which others take it
 * without a copy: DLPack, the buffer protocol, __array_interface__, __cuda_array_interface__. Each
 * export has a share of the batch's hold, so that the memory stays as long as anyone looks at it.
 */
#ifndef SLUICE_PY_TENSOR_H
#define SLUICE_PY_TENSOR_H

#include "extension.h"
#include "hold.h"

/* Takes a share of `h`. */
PyObject *tensor_new(const extension *e, hold *h, const sluice_tensor *tensor);

#endif
