/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch: one batch of a loader: its columns by name, converted once to what the loader's users want
 * (`convert`: sluice.torch makes torch tensors of them).
 */
#ifndef SLUICE_PY_BATCH_H
#define SLUICE_PY_BATCH_H

#include "extension.h"
#include "hold.h"

/* Takes over `h`. `first`: number in the epoch of the batch that the library calls its first, 0
 * unless the epoch was continued. `convert` is called with (name, tensor) for each column that is
 * asked for; NULL: columns are tensors. */
PyObject *batch_new(const extension *e, hold *h, uint64_t first, PyObject *convert);

#endif
