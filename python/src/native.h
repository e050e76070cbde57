/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native: steps that call compiled code of the user's, and what that code needs to stay alive.
 *
 * The library says on any thread, without the GIL, that a step is gone (hold.h has the same rule).
 * So nothing here calls Python then: what the step kept goes to a list, and native_sweep drops it.
 * Owner: the list. Threads: any; native_add and native_sweep have the GIL.
 */
#ifndef SLUICE_PY_NATIVE_H
#define SLUICE_PY_NATIVE_H

#include "extension.h"

/* Adds ("native", name, address, data, keep): `data` is an address, or an object whose buffer's
 * memory the function is given. Returns the library's status; -100 with an exception. */
int native_add(sluice_augment *recipe, PyObject *tuple);
enum { NATIVE_RAISED = -100 };

/* Drops what steps kept that are gone. */
void native_sweep(void);

#endif
