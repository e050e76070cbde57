/* SPDX-License-Identifier: Apache-2.0 */
/* datasets: functions that make datasets of others. */
#ifndef SLUICE_PY_DATASETS_H
#define SLUICE_PY_DATASETS_H

#include "extension.h"

/* concat(datasets, fields): a dataset of all of them. `fields` are names, or None. */
PyObject *datasets_concat(PyObject *module, PyObject *arguments);

/* subset([dataset], how, bytes): some samples; `how` is a member of sluice_subset_options, of which
 * the bytes are the text, or the indices as uint64. */
PyObject *datasets_subset(PyObject *module, PyObject *arguments);
/* numbers(dataset, field): (8 bytes of each sample's number, a byte of each: whether it is there).
 */
PyObject *datasets_numbers(PyObject *module, PyObject *arguments);
/* lengths(dataset, field, max_sample_bytes): (8 bytes of each sample's length, a byte of each: 0).
 */
PyObject *datasets_lengths(PyObject *module, PyObject *arguments);
/* lengths_source(dataset, field): a sluice_lengths_source. */
PyObject *datasets_lengths_source(PyObject *module, PyObject *arguments);
/* mix(datasets, weights, epochs, epoch_samples, fields): doubles and uint64 as bytes, a row of
 * weights for each epoch. */
PyObject *datasets_mix(PyObject *module, PyObject *arguments);

#endif
