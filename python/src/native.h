/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native: steps that call the user's compiled code, and the objects that this code needs.
 *
 * The library reports on any thread, without the GIL, that a step was freed (hold.h has the same
 * rule). Nothing here calls Python then: the step's objects go to a list, and native_sweep drops
 * them.
 * Owner: the list. Threads: any; native_add and native_sweep have the GIL.
 */
#ifndef SLUICE_PY_NATIVE_H
#define SLUICE_PY_NATIVE_H

#include "extension.h"

/* Adds ("native", name, address, data, keep): `data` is an address, or an object whose buffer's
 * memory the function is given. Returns the library's status; -100 with an exception. */
int native_add(sluice_augment *recipe, PyObject *tuple);
enum { NATIVE_RAISED = -100 };

/* Drops the objects of freed steps. */
void native_sweep(void);

#endif
