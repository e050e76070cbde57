/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe: converts Python's lists and dicts of a loader's request to the library's structs. The
 * package's Python files make these lists: a malformed list is a TypeError here; the library
 * reports other errors itself.
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

/* Returns None, or the exception of recipe_of for these steps. */
PyObject *recipe_check(PyObject *module, PyObject *steps);

/* Returns None, or the exception about a policy's text. */
PyObject *recipe_timm_numbers(PyObject *module, PyObject *text);

/*
 * Columns, each a dict of sluice_column's members by name; "recipe" is a list of steps, "shape" a
 * tuple. Returns NULL with an exception.
 */
sluice_columns *columns_of(const extension *e, PyObject *list);

#endif
