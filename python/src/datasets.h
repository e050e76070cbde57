/* SPDX-License-Identifier: Apache-2.0 */
/* datasets: functions that make datasets of others. */
#ifndef SLUICE_PY_DATASETS_H
#define SLUICE_PY_DATASETS_H

#include "extension.h"

/* concat(datasets, fields): a dataset of all of them. `fields` are names, or None. */
PyObject *datasets_concat(PyObject *module, PyObject *arguments);

#endif
