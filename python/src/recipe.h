/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe: what a loader is asked for, from Python's lists and dicts to the library's structs. The
 * package's Python files make these lists; what they make wrong is a TypeError here, and what the
 * library refuses its own error.
 */
#ifndef SLUICE_PY_RECIPE_H
#define SLUICE_PY_RECIPE_H

#include "extension.h"

/*
 * Steps, each a tuple of a name and its numbers, as sluice_augment_add takes them, or the word of a
 * choice in a number's place; a group is (name, (numbers), (steps)), a policy of timm
 * ("timm", text), a native step as native_add takes it. Returns NULL with an exception.
 */
sluice_augment *recipe_of(const extension *e, PyObject *steps);

/* The library's steps: (name, stage, text, ((argument, preset or None, least, most), ...)). */
PyObject *recipe_steps(PyObject *module, PyObject *nothing);

/* None, or the exception that recipe_of gives for these steps. */
PyObject *recipe_check(PyObject *module, PyObject *steps);

/* None, or the exception that says what is wrong with a policy's text. */
PyObject *recipe_timm_numbers(PyObject *module, PyObject *text);

/*
 * Columns, each a dict of sluice_column's members by name; "recipe" is a list of steps, "shape" a
 * tuple. Returns NULL with an exception.
 */
sluice_columns *columns_of(const extension *e, PyObject *list);

#endif
