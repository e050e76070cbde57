/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_stats: the figures of a loader, as Python has them. NULL with an exception. Under the GIL.
 */
#ifndef SLUICE_PY_LOADER_STATS_H
#define SLUICE_PY_LOADER_STATS_H

#include "loader_object.h"

/* All but those below: a dict. */
PyObject *loader_stats(loader_object *self, PyObject *unused);
PyObject *loader_describe(loader_object *self, PyObject *unused);
/* Writes to sys.stderr what an interrupted wait was for. An exception that is set stays set. */
void loader_say_waited(loader_object *self, double seconds);
/* (busy_ns, items, depth) of the stage of that number. */
PyObject *loader_stage(loader_object *self, PyObject *number);
/* {name: seconds} of operations on pictures that took any. */
PyObject *loader_operations(loader_object *self, PyObject *unused);

#endif
