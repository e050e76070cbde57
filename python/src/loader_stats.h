/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_stats: statistics of a loader as Python objects. NULL with an exception. Under the GIL.
 */
#ifndef SLUICE_PY_LOADER_STATS_H
#define SLUICE_PY_LOADER_STATS_H

#include "loader_object.h"

/* Returns all except the ones below: a dict. */
PyObject *loader_stats(loader_object *self, PyObject *unused);
PyObject *loader_describe(loader_object *self, PyObject *unused);
/* Writes the reason of an interrupted wait to sys.stderr. Keeps an exception that is set. */
void loader_say_waited(loader_object *self, double seconds);
/* Returns (busy_ns, items, depth) of the stage with that number. */
PyObject *loader_stage(loader_object *self, PyObject *number);
/* Returns {name: seconds} of image operations that took time. */
PyObject *loader_operations(loader_object *self, PyObject *unused);

#endif
