/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_holds: what becomes of a loader all of whose batches are held: a warning, then an
 * exception, or copies. Under the GIL.
 */
#ifndef SLUICE_PY_LOADER_HOLDS_H
#define SLUICE_PY_LOADER_HOLDS_H

#include "loader_object.h"

/* Batches in use. */
unsigned loader_held(const loader_object *self);
/* Where all are held, none will come until one is let go. `slices` (waiting.h): waited so far. -1
 * with an exception. */
int loader_look_at_holds(loader_object *self, uint64_t slices);
/* Makes copies of the batch's columns where its slot was the last one that could be filled. None,
 * or NULL with an exception. */
PyObject *loader_settle(loader_object *self, PyObject *batch);

#endif
