/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extension: what the files of sluice._sluice share. It is a thin layer over the public C API: each
 * of its types holds one handle of it, and the package's Python files make of them what users see.
 *
 * Rules of all files: every call that may block is made without the GIL; one that may block for
 * longer than a moment looks for signals in between (waiting.h); a failure of the library is raised
 * with all that it says (sluice_raise). No static types and no static objects: all is in the
 * module's state. Whatever Python code may run (converters, buffers, iterators, callbacks, the end
 * of an object) may do anything, by other threads too: what is borrowed from a list or dict is not
 * there any more, and what was asked of an object has to be asked again.
 */
#ifndef SLUICE_PY_EXTENSION_H
#define SLUICE_PY_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <sluice/sluice.h>

enum { STATUSES = 10 }; /* of errors: -1 to -9 */

typedef struct extension {
    PyObject *error;            /* sluice.Error */
    PyObject *errors[STATUSES]; /* by -status; owned */
    PyTypeObject *dataset, *loader, *batch, *tensor, *writer;
} extension;

/* Of an object of one of this module's types, from which none can be derived. Borrowed. */
static inline extension *extension_of(void *object)
{
    return PyType_GetModuleState(Py_TYPE((PyObject *)object));
}

/* A new object of `type`, all 0; NULL with an exception. */
static inline void *object_new(PyTypeObject *type)
{
    const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

/* The end of a dealloc. */
static inline void object_free(void *object)
{
    PyTypeObject *type = Py_TYPE((PyObject *)object);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* What `error` says, as an exception that nobody raised; NULL with one that was. */
PyObject *sluice_exception(const extension *e, const sluice_error *error);
/* Its sentence, with options by their names in Python. */
PyObject *sluice_error_text(const sluice_error *error);
/* Raises what `error` says; returns NULL. */
PyObject *sluice_raise(const extension *e, const sluice_error *error);
/* The same for a call that has no error report of its own. */
PyObject *sluice_raise_status(const extension *e, sluice_status status, const char *text);
/* Makes the exceptions and adds them to the module. */
int sluice_add_errors(extension *e, PyObject *module);

extern PyType_Spec dataset_spec, loader_spec, batch_spec, tensor_spec, writer_spec;

#endif
