/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples: methods of a dataset object that read one sample. If `is_remote` is true, the read may
 * wait for a server, and Ctrl-C ends the wait at once.
 */
#ifndef SLUICE_PY_SAMPLES_H
#define SLUICE_PY_SAMPLES_H

#include "extension.h"

/* (index, is_remote): {key, file, label, offset, bytes, width, height} */
PyObject *samples_sample(PyObject *self, PyObject *arguments);
/* (index, is_remote, field): the field as stored, in bytes */
PyObject *samples_read(PyObject *self, PyObject *arguments);
/* (index, is_remote, field, exif): (height, width, bytearray), or None if the sample lacks the
 * image */
PyObject *samples_decode(PyObject *self, PyObject *arguments);

#endif
