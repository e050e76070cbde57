/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void option_texts_drop(option_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(texts->at[i]);
    }
    texts->count = 0;
}

/* ---- a value as text ---- */

/* Returns a copy of a path's bytes, which `texts` owns; NULL with an exception. */
static const char *keep_path(option_texts *texts, PyObject *value)
{
    PyObject *bytes = NULL;
    if (texts == NULL || texts->count == OPTION_TEXTS_MAX) {
        PyErr_SetString(PyExc_TypeError, "too many texts in the options");
        return NULL;
    }
    if (!PyUnicode_FSConverter(value, &bytes)) {
        return NULL;
    }
    char *copy = strdup(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (copy == NULL) {
        return (const char *)PyErr_NoMemory();
    }
    texts->at[texts->count++] = copy;
    return copy;
}

/* Returns a new str: the word of a word's number, or the digits of a number. */
static PyObject *text_of(const sluice_option *option, PyObject *value)
{
    if (PyUnicode_Check(value)) {
        return Py_NewRef(value);
    }
    if (option->type == SLUICE_OPTION_REAL) {
        const double real = PyFloat_AsDouble(value);
        PyObject *number = real == -1 && PyErr_Occurred()
                               ? NULL
                               : PyFloat_FromDouble(real); /* also of a numpy's */
        PyObject *text = number == NULL ? NULL : PyObject_Repr(number);
        Py_XDECREF(number);
        return text;
    }
    PyObject *number = PyNumber_Index(value);
    PyObject *index = number == NULL ? NULL : PyNumber_Long(number); /* a bool is a number here */
    PyObject *text = NULL;
    if (index != NULL && option->words != NULL) {
        const long long word = PyLong_AsLongLong(index);
        if (word >= option->least && word <= (long long)option->most) {
            text = PyUnicode_FromString(option->words[word - option->least]);
        }
    }
    if (index != NULL && text == NULL && !PyErr_Occurred()) {
        text = PyObject_Str(index);
    }
    Py_XDECREF(index);
    Py_XDECREF(number);
    return text;
}

static int set_one(const extension *e, sluice_options of, void *to, const sluice_option *option,
                   PyObject *value, option_texts *texts)
{
    sluice_error error = SLUICE_ERROR_INIT;
    PyObject *made = option->type == SLUICE_OPTION_TEXT ? NULL : text_of(option, value);
    const char *text = option->type == SLUICE_OPTION_TEXT ? keep_path(texts, value)
                       : made != NULL                     ? PyUnicode_AsUTF8AndSize(made, NULL)
                                                          : NULL;
    int result = text == NULL ? -1 : 0;
    if (text != NULL && sluice_option_set(of, to, option->name, text, &error) < 0) {
        (void)sluice_raise(e, &error);
        result = -1;
    }
    Py_XDECREF(made);
    return result;
}

/* ---- the table ---- */

static int find(sluice_options of, const char *name, sluice_option *option)
{
    for (uint32_t i = 0; sluice_option_get(of, i, option) == SLUICE_OK; i++) {
        if (strcmp(option->name, name) == 0) {
            return 0;
        }
    }
    PyErr_Format(PyExc_TypeError, "unknown option '%s'", name);
    return -1;
}

int options_set(const extension *e, sluice_options of, void *to, PyObject *dict,
                option_texts *texts)
{
    PyObject *key;
    PyObject *value;
    Py_ssize_t position = 0;
    PyObject *own = PyDict_Copy(dict); /* values may run any code */
    int result = own == NULL ? -1 : 0;
    while (result == 0 && PyDict_Next(own, &position, &key, &value)) {
        sluice_option option = SLUICE_OPTION_INIT;
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        result = name == NULL ? -1 : find(of, name, &option);
        if (result == 0 && value != Py_None) {
            result = set_one(e, of, to, &option, value, texts);
        }
    }
    Py_XDECREF(own);
    return result;
}

/* Takes `item` over; false with an exception. */
static bool append(PyObject *list, PyObject *item)
{
    const bool good = list != NULL && item != NULL && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return good;
}

static PyObject *words_of(const sluice_option *option)
{
    PyObject *list = PyList_New(0);
    bool good = list != NULL;
    for (size_t i = 0; good && option->words != NULL && option->words[i] != NULL; i++) {
        good = append(list, PyUnicode_FromString(option->words[i]));
    }
    if (!good) {
        Py_CLEAR(list);
    }
    return list;
}

static PyObject *row_of(const sluice_option *o)
{
    PyObject *words = words_of(o);
    return words == NULL
               ? NULL
               : Py_BuildValue("(sziiLKNs)", o->name, o->keyword, o->type, o->unit,
                               (long long)o->least, (unsigned long long)o->most, words, o->help);
}

PyObject *options_list(PyObject *module, PyObject *number)
{
    (void)module;
    const long of = PyLong_AsLong(number);
    sluice_option o = SLUICE_OPTION_INIT;
    if (of == -1 && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    bool good = list != NULL;
    for (uint32_t i = 0; good && sluice_option_get((sluice_options)of, i, &o) == SLUICE_OK; i++) {
        good = append(list, row_of(&o));
    }
    if (!good) {
        Py_CLEAR(list);
    }
    return list;
}
