/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <stdlib.h>
#include <string.h>

void names_drop(names *n)
{
    free((void *)n->of);
    Py_XDECREF(n->kept);
}

int names_take(names *n, PyObject *list)
{
    *n = (names){NULL, NULL, 0};
    if (list == Py_None) {
        return 0;
    }
    n->kept = PyList_AsTuple(list);
    if (n->kept == NULL) {
        return -1;
    }
    const Py_ssize_t count = PyTuple_Size(n->kept);
    n->of = (const char **)calloc((size_t)count + 1, sizeof(*n->of));
    if (n->of == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *text = PyTuple_GetItem(n->kept, i);
        n->of[i] = text == Py_None ? NULL : PyUnicode_AsUTF8AndSize(text, NULL);
        if (n->of[i] == NULL && text != Py_None) {
            return -1;
        }
    }
    n->count = (uint32_t)count;
    return 0;
}

/* Copies all lists, one after the other. -1 with an exception. */
static int copy_texts(labels *l, const names *lists, size_t count)
{
    size_t capacity = 1;
    for (size_t i = 0; i < count; i++) {
        capacity += lists[i].count;
    }
    l->texts = (char **)calloc(capacity, sizeof(*l->texts));
    for (size_t i = 0; l->texts != NULL && i < count; i++) {
        for (uint32_t k = 0; k < lists[i].count; k++) {
            const char *text = lists[i].of[k];
            l->texts[l->count] = text != NULL ? strdup(text) : NULL;
            if (text != NULL && l->texts[l->count] == NULL) {
                (void)PyErr_NoMemory();
                return -1;
            }
            l->count++;
        }
    }
    if (l->texts == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static void point_to(labels *l, const names *lists)
{
    const char *const *texts = (const char *const *)l->texts;
    l->options.class_count = lists[0].count;
    l->options.classes = lists[0].count > 0 ? texts : NULL;
    l->options.rename_count = lists[1].count;
    l->options.rename_from = lists[1].count > 0 ? texts + lists[0].count : NULL;
    l->options.rename_to = lists[1].count > 0 ? texts + lists[0].count + lists[1].count : NULL;
}

int labels_take(labels *l, PyObject *given)
{
    PyObject *of[3];
    names lists[3] = {{NULL, NULL, 0}, {NULL, NULL, 0}, {NULL, NULL, 0}};
    int duplicates;
    *l = (labels){.options = SLUICE_LABEL_OPTIONS_INIT};
    if (given == Py_None) {
        return 0;
    }
    int result = PyArg_ParseTuple(given, "OOOp", &of[0], &of[1], &of[2], &duplicates) ? 0 : -1;
    for (int i = 0; result == 0 && i < 3; i++) {
        result = names_take(&lists[i], of[i]);
    }
    if (result == 0 && lists[1].count != lists[2].count) {
        PyErr_SetString(PyExc_ValueError, "expected one new name for each name");
        result = -1;
    }
    if (result == 0) {
        result = copy_texts(l, lists, 3);
    }
    if (result == 0) {
        point_to(l, lists);
        l->options.allow_case_duplicates = (uint32_t)duplicates;
        l->given = &l->options;
    }
    for (int i = 0; i < 3; i++) {
        names_drop(&lists[i]);
    }
    return result;
}

void labels_drop(labels *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->texts[i]);
    }
    free((void *)l->texts);
}
