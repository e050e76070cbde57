/* SPDX-License-Identifier: Apache-2.0 */
/* whole: packing, unpacking and verifying a whole dataset, with progress; Ctrl-C ends them. */
#ifndef SLUICE_PY_WHOLE_H
#define SLUICE_PY_WHOLE_H

#include "extension.h"

/* pack(dataset, path, options, progress) -> dict; progress(done, total) or None. */
PyObject *whole_pack(PyObject *module, PyObject *arguments);
/* unpack(dataset, path, options, progress) -> dict. */
PyObject *whole_pack_join(PyObject *module, PyObject *path);
PyObject *whole_unpack(PyObject *module, PyObject *arguments);
/* verify(dataset, options, progress) -> (samples, bytes, list of exceptions). */
PyObject *whole_verify(PyObject *module, PyObject *arguments);

#endif
