/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extension: declarations shared by the files of sluice._sluice, a thin layer over the public C
 * API: each of its types holds one handle, and the package's Python files build the user's objects.
 *
 * Rules of all files: calls that may block release the GIL; calls that may block for longer
 * than a moment check for signals (waiting.h); an error of the library is raised completely
 * (sluice_raise). No static types and objects: everything is in the module's state. Any Python
 * code (converters, buffers, iterators, callbacks, destructors) may do anything, also on other
 * threads: a reference borrowed from a list or dict is invalid after it, and properties of an
 * object must be read again.
 */
#ifndef SLUICE_PY_EXTENSION_H
#define SLUICE_PY_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <sluice/sluice.h>

enum { STATUSES = 10 }; /* errors: -1 to -9 */

typedef struct extension {
    PyObject *error;            /* sluice.Error */
    PyObject *errors[STATUSES]; /* by -status; owned */
    PyTypeObject *dataset, *loader, *batch, *tensor, *writer;
} extension;

/* Returns the state for an object of this module's types, which cannot be subclassed. Borrowed. */
static inline extension *extension_of(void *object)
{
    return PyType_GetModuleState(Py_TYPE((PyObject *)object));
}

/* Returns a new object of `type`, zeroed; NULL with an exception. */
static inline void *object_new(PyTypeObject *type)
{
    const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

/* Ends a dealloc. */
static inline void object_free(void *object)
{
    PyTypeObject *type = Py_TYPE((PyObject *)object);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* Returns `error` as an exception, without raising it; NULL with a raised exception. */
PyObject *sluice_exception(const extension *e, const sluice_error *error);
/* Returns its sentence, with Python's names of options. */
PyObject *sluice_error_text(const sluice_error *error);
/* Raises `error` as an exception; returns NULL. */
PyObject *sluice_raise(const extension *e, const sluice_error *error);
/* The same for a call without an error report. */
PyObject *sluice_raise_status(const extension *e, sluice_status status, const char *text);
/* Makes the exceptions and adds them to the module. */
int sluice_add_errors(extension *e, PyObject *module);

extern PyType_Spec dataset_spec, loader_spec, batch_spec, tensor_spec, writer_spec;

#endif
