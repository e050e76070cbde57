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
 * Steps, each a tuple of a name and its numbers: ("random_resized_crop", width, height, scale_min,
 * scale_max, ratio_min, ratio_max), ("resize_center_crop", shorter_side, width, height),
 * ("random_crop", width, height, padding), ("random_flip", probability), ("color_jitter",
 * brightness, contrast, saturation), ("normalize", r, g, b, r, g, b): means, then deviations.
 * Returns NULL with an exception.
 */
sluice_augment *recipe_of(const extension *e, PyObject *steps);

/*
 * Columns, each a dict of sluice_column's members by name; "recipe" is a list of steps, "shape" a
 * tuple. Returns NULL with an exception.
 */
sluice_columns *columns_of(const extension *e, PyObject *list);

#endif
