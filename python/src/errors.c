/* SPDX-License-Identifier: Apache-2.0 */
/* The library's errors as exceptions. */
#include "extension.h"

#include <string.h>

typedef struct kind {
    const char *name, *doc;
    PyObject **base; /* beside sluice.Error */
} kind;

#define KINDS                                                                                     \
    {                                                                                             \
        {NULL, NULL, NULL},                                                                       \
            {"sluice.InvalidError", "An argument or option is out of range; nothing was done.",   \
             &PyExc_ValueError},                                                                  \
            {"sluice.StateError",                                                                 \
             "Not allowed now: before an epoch, after close(), in a forked child.",               \
             &PyExc_RuntimeError},                                                                \
            {"sluice.OutOfMemoryError",                                                           \
             "Memory is exhausted: the system's, or the limit `memory_bytes`.",                   \
             &PyExc_MemoryError},                                                                 \
            {"sluice.IOError", "The operating system failed to open, read or write a file.",      \
             &PyExc_OSError},                                                                     \
            {"sluice.CorruptError",                                                               \
             "Data that violates its format or does not match its checksum.", &PyExc_ValueError}, \
            {"sluice.UnsupportedError",                                                           \
             "Valid data or arguments that this library cannot handle.", &PyExc_RuntimeError},    \
            {"sluice.DeviceError", "The accelerator or its driver failed.", &PyExc_RuntimeError}, \
            {"sluice.CanceledError", "Another thread ended the wait.", &PyExc_RuntimeError},      \
        {                                                                                         \
            "sluice.InternalError", "A bug in sluice: please report it.", &PyExc_RuntimeError     \
        }                                                                                         \
    }

static const char error_doc[] =
    "An error of the library, with its place.\n\n"
    "Each status of the library has its own exception, which is also the built-in exception of\n"
    "the same meaning (OSError, ValueError, MemoryError, RuntimeError).\n\n"
    "Attributes:\n"
    "    status: name of the status, such as 'corrupt'.\n"
    "    stage: part of the library: 'dataset', 'io', 'decode', ...\n"
    "    file: the file, or None.\n"
    "    sample: number of the sample in its dataset, or None.\n"
    "    offset: byte in the file where the error was noticed, or None.\n"
    "    reason: the problem, without the place.\n"
    "    errno: errno of the failed system call, or None.";

int sluice_add_errors(extension *e, PyObject *module)
{
    const kind kinds[STATUSES] = KINDS;
    /* On the class, so that every error has them, and so that assigned values are in the instance's
     * dict, which pickle saves (an OSError keeps its errno elsewhere).
     */
    PyObject *defaults =
        Py_BuildValue("{s:s,s:s,s:O,s:O,s:O,s:s,s:O}", "status", "", "stage", "", "file", Py_None,
                      "sample", Py_None, "offset", Py_None, "reason", "", "errno", Py_None);
    e->error = defaults == NULL
                   ? NULL
                   : PyErr_NewExceptionWithDoc("sluice.Error", error_doc, NULL, defaults);
    Py_XDECREF(defaults);
    if (e->error == NULL || PyModule_AddObjectRef(module, "Error", e->error) < 0) {
        return -1;
    }
    for (int i = 1; i < STATUSES; i++) {
        PyObject *bases = PyTuple_Pack(2, e->error, *kinds[i].base);
        if (bases == NULL) {
            return -1;
        }
        e->errors[i] = PyErr_NewExceptionWithDoc(kinds[i].name, kinds[i].doc, bases, NULL);
        Py_DECREF(bases);
        if (e->errors[i] == NULL ||
            PyModule_AddObjectRef(module, kinds[i].name + sizeof("sluice.") - 1, e->errors[i]) <
                0) {
            return -1;
        }
    }
    return 0;
}

/* Sets an attribute. Takes over `value`. */
static int set(PyObject *exception, const char *name, PyObject *value)
{
    const int result = value == NULL ? -1 : PyObject_SetAttrString(exception, name, value);
    Py_XDECREF(value);
    return result;
}

static PyObject *number_or_none(int64_t value, int64_t none)
{
    return value == none ? Py_NewRef(Py_None) : PyLong_FromLongLong(value);
}

static PyObject *path_or_none(const char *path)
{
    return path[0] == '\0' ? Py_NewRef(Py_None) : PyUnicode_DecodeFSDefault(path);
}

static int describe(PyObject *exception, const sluice_error *error)
{
    if (set(exception, "status",
            PyUnicode_FromString(sluice_status_name((sluice_status)error->status))) < 0 ||
        set(exception, "stage", PyUnicode_FromString(error->stage)) < 0 ||
        set(exception, "file", path_or_none(error->file)) < 0 ||
        set(exception, "sample", number_or_none(error->sample, -1)) < 0 ||
        set(exception, "offset", number_or_none(error->offset, -1)) < 0) {
        return -1;
    }
    PyObject *reason =
        PyUnicode_DecodeUTF8(error->text, (Py_ssize_t)strlen(error->text), "replace");
    return set(exception, "reason", reason) < 0 ||
                   set(exception, "errno", number_or_none(error->sys_errno, 0)) < 0
               ? -1
               : 0;
}

static PyObject *type_of(const extension *e, const sluice_error *error)
{
    const int number = -error->status;
    return number > 0 && number < STATUSES ? e->errors[number] : e->error;
}

/* Options have their Python names. */
static const char *spell(void *user, const char *option)
{
    (void)user;
    return sluice_option_spell(SLUICE_SPELLING_PYTHON, option);
}

PyObject *sluice_exception(const extension *e, const sluice_error *error)
{
    char text[1400];
    sluice_error own = *error;
    sluice_error_respell(&own, spell, NULL);
    sluice_error_format(&own, text, sizeof(text));
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    PyObject *exception =
        message == NULL ? NULL : PyObject_CallFunctionObjArgs(type_of(e, error), message, NULL);
    Py_XDECREF(message);
    if (exception != NULL && describe(exception, &own) < 0) {
        Py_CLEAR(exception);
    }
    return exception;
}

PyObject *sluice_error_text(const sluice_error *error)
{
    sluice_error own = *error;
    sluice_error_respell(&own, spell, NULL);
    return PyUnicode_DecodeUTF8(own.text, (Py_ssize_t)strlen(own.text), "replace");
}

PyObject *sluice_raise(const extension *e, const sluice_error *error)
{
    PyObject *exception = sluice_exception(e, error);
    if (exception != NULL) {
        PyErr_SetObject(type_of(e, error), exception);
        Py_DECREF(exception);
    }
    return NULL;
}

PyObject *sluice_raise_status(const extension *e, sluice_status status, const char *text)
{
    sluice_error error = SLUICE_ERROR_INIT;
    error.status = status;
    (void)PyOS_snprintf(error.text, sizeof(error.text), "%s", text);
    return sluice_raise(e, &error);
}
