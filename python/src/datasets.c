/* SPDX-License-Identifier: Apache-2.0 */
#include "datasets.h"

#include "dataset.h"

#include <stdlib.h>

/* Shares of a list of datasets. */
typedef struct shares {
    dataset_handle **handles;
    sluice_dataset **datasets;
    size_t count;
} shares;

static void shares_drop(shares *s)
{
    for (size_t i = 0; i < s->count; i++) {
        dataset_drop(s->handles[i]);
    }
    free((void *)s->handles);
    free((void *)s->datasets);
}

/* -1 with an exception; then there is nothing to drop. */
static int shares_take(shares *s, const extension *e, PyObject *list)
{
    const Py_ssize_t count = PyList_Size(list);
    *s = (shares){NULL, NULL, 0};
    if (count < 0) {
        return -1;
    }
    s->handles = (dataset_handle **)calloc((size_t)count + 1, sizeof(dataset_handle *));
    s->datasets = (sluice_dataset **)calloc((size_t)count + 1, sizeof(sluice_dataset *));
    if (s->handles == NULL || s->datasets == NULL) {
        shares_drop(s);
        (void)PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        s->handles[i] = dataset_share(e, PyList_GetItem(list, i));
        if (s->handles[i] == NULL) {
            shares_drop(s);
            return -1;
        }
        s->datasets[i] = s->handles[i]->dataset;
        s->count++;
    }
    return 0;
}

/* Names that stay the caller's; NULL with an exception, or, with `*count` 0, where there are none.
 */
static const char **names_of(PyObject *list, size_t *count)
{
    *count = 0;
    if (list == Py_None) {
        return NULL;
    }
    const Py_ssize_t size = PyList_Size(list);
    const char **names = size < 0 ? NULL : (const char **)calloc((size_t)size + 1, sizeof(*names));
    if (names == NULL) {
        return size < 0 ? NULL : (const char **)PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        names[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        if (names[i] == NULL) {
            free((void *)names);
            return NULL;
        }
    }
    *count = (size_t)size;
    return names;
}

PyObject *datasets_concat(PyObject *module, PyObject *arguments)
{
    const extension *e = PyModule_GetState(module);
    PyObject *list;
    PyObject *fields;
    shares of;
    if (!PyArg_ParseTuple(arguments, "OO", &list, &fields) || shares_take(&of, e, list) < 0) {
        return NULL;
    }
    size_t count;
    const char **names = names_of(fields, &count);
    PyObject *made = NULL;
    if (!PyErr_Occurred()) {
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_dataset *joined = NULL;
        sluice_concat_options options = SLUICE_CONCAT_OPTIONS_INIT;
        options.fields = names;
        options.field_count = (uint32_t)count;
        PyThreadState *thread = PyEval_SaveThread();
        const sluice_status status =
            sluice_dataset_concat(&joined, of.datasets, of.count, &options, &error);
        PyEval_RestoreThread(thread);
        made = status < 0 ? sluice_raise(e, &error) : dataset_object_of(e, joined);
    }
    free((void *)names);
    PyThreadState *thread = PyEval_SaveThread();
    shares_drop(&of);
    PyEval_RestoreThread(thread);
    return made;
}
