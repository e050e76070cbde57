/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_holds: warning, exception or copies when all batches of a loader are held. Under the GIL.
 */
#ifndef SLUICE_PY_LOADER_HOLDS_H
#define SLUICE_PY_LOADER_HOLDS_H

#include "loader_object.h"

/* Returns the number of held batches. */
unsigned loader_held(const loader_object *self);
/* Warns or raises if all batches are held, since none comes until one is released. `slices`
 * (waiting.h): waited so far. -1 with an exception. */
int loader_look_at_holds(loader_object *self, uint64_t slices);
/* Copies the batch's columns if its slot was the last one free. None, or NULL with an exception. */
PyObject *loader_settle(loader_object *self, PyObject *batch);

#endif
