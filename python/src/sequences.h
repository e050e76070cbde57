/* SPDX-License-Identifier: Apache-2.0 */
/* sequences: statistics of packing documents into rows. */
#ifndef SLUICE_PY_SEQUENCES_H
#define SLUICE_PY_SEQUENCES_H

#include "extension.h"

/* packing_count(lengths, length, max_documents, align, unit, window, cut, seed): a dict of the
 * members of sluice_packing_report. `lengths` are uint64 as bytes. */
PyObject *sequences_count(PyObject *module, PyObject *arguments);

#endif
