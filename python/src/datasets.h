/* SPDX-License-Identifier: Apache-2.0 */
/* datasets: functions that make datasets from others. */
#ifndef SLUICE_PY_DATASETS_H
#define SLUICE_PY_DATASETS_H

#include "extension.h"

/* concat(datasets, fields): returns the joined dataset. `fields`: names, or None. */
PyObject *datasets_concat(PyObject *module, PyObject *arguments);

/* subset([dataset], how, bytes): returns a dataset of some samples. `how`: a member of
 * sluice_subset_options; bytes: its text, or indices as uint64. */
PyObject *datasets_subset(PyObject *module, PyObject *arguments);
/* numbers(dataset, field): returns (8 bytes of each sample's number, a byte for each: 1 if it
 * exists).
 */
PyObject *datasets_numbers(PyObject *module, PyObject *arguments);
/* lengths(dataset, field, max_sample_bytes): returns (8 bytes of each sample's length, a 0 for
 * each).
 */
PyObject *datasets_lengths(PyObject *module, PyObject *arguments);
/* lengths_source(dataset, field): returns a sluice_lengths_source. */
PyObject *datasets_lengths_source(PyObject *module, PyObject *arguments);
/* mix(datasets, weights, epochs, epoch_samples, fields): doubles and uint64 as bytes, a row of
 * weights for each epoch. */
PyObject *datasets_mix(PyObject *module, PyObject *arguments);

#endif
