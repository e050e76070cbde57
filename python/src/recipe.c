/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe.h"

#include "options.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { NUMBERS_MAX = 16 };

/* ---- recipes ---- */

/* A tuple of a name and numbers, which the library judges. */
static int add_step(const extension *e, sluice_augment *recipe, PyObject *tuple)
{
    double numbers[NUMBERS_MAX];
    const Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_Size(tuple) - 1 : -1;
    const char *name = count >= 0 ? PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, 0), NULL) : NULL;
    if (name == NULL || count > NUMBERS_MAX) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "no step: %R", tuple);
        }
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        numbers[i] = PyFloat_AsDouble(PyTuple_GetItem(tuple, 1 + i));
        if (numbers[i] == -1 && PyErr_Occurred()) {
            return -1;
        }
    }
    if (sluice_augment_add(recipe, name, numbers, (uint32_t)count) < 0) {
        sluice_error error = SLUICE_ERROR_INIT;
        (void)sluice_augment_get_error(recipe, &error);
        (void)sluice_raise(e, &error);
        return -1;
    }
    return 0;
}

static PyObject *preset_of(uint32_t number, uint32_t argument)
{
    sluice_augment_argument described = SLUICE_AUGMENT_ARGUMENT_INIT;
    (void)sluice_augment_get_argument(number, argument, &described);
    return isnan(described.preset) ? Py_BuildValue("(sO)", described.name, Py_None)
                                   : Py_BuildValue("(sd)", described.name, described.preset);
}

/* A description of the step; NULL with an exception. */
static PyObject *describe_step(uint32_t number, const sluice_augment_step *step)
{
    PyObject *presets = PyTuple_New((Py_ssize_t)step->arguments);
    int result = presets == NULL ? -1 : 0;
    for (uint32_t i = 0; result == 0 && i < step->arguments; i++) {
        PyObject *preset = preset_of(number, i);
        result = preset == NULL ? -1 : PyTuple_SetItem(presets, (Py_ssize_t)i, preset);
    }
    PyObject *made =
        result < 0 ? NULL : Py_BuildValue("(sssO)", step->name, step->stage, step->text, presets);
    Py_XDECREF(presets);
    return made;
}

PyObject *recipe_steps(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    PyObject *steps = PyList_New(0);
    int result = steps == NULL ? -1 : 0;
    sluice_augment_step step = SLUICE_AUGMENT_STEP_INIT;
    for (uint32_t i = 0; result == 0 && sluice_augment_get_step(i, &step) == SLUICE_OK; i++) {
        PyObject *made = describe_step(i, &step);
        result = made == NULL ? -1 : PyList_Append(steps, made);
        Py_XDECREF(made);
    }
    if (result < 0) {
        Py_CLEAR(steps);
    }
    return steps;
}

sluice_augment *recipe_of(const extension *e, PyObject *steps)
{
    sluice_augment *recipe = NULL;
    PyObject *iterator = PyObject_GetIter(steps);
    if (iterator == NULL) {
        return NULL;
    }
    if (sluice_augment_create(&recipe) < 0) {
        (void)PyErr_NoMemory();
    }
    PyObject *step;
    while (recipe != NULL && (step = PyIter_Next(iterator)) != NULL) {
        if (add_step(e, recipe, step) < 0) {
            sluice_augment_destroy(recipe);
            recipe = NULL;
        }
        Py_DECREF(step);
    }
    Py_DECREF(iterator);
    if (recipe != NULL && PyErr_Occurred()) {
        sluice_augment_destroy(recipe);
        recipe = NULL;
    }
    return recipe;
}

/* ---- columns ---- */

/* Takes `key` out of `dict`; NULL: it is not there (no exception) or it cannot be. */
static PyObject *take(PyObject *dict, const char *key)
{
    PyObject *value = Py_XNewRef(PyDict_GetItemString(dict, key));
    if (value != NULL && PyDict_DelItemString(dict, key) < 0) {
        Py_CLEAR(value);
    }
    return value;
}

static int set_shape(sluice_column *column, PyObject *shape)
{
    const Py_ssize_t dims = PyTuple_Size(shape);
    if (dims < 0 || dims > SLUICE_TENSOR_DIMS_MAX) {
        PyErr_SetString(PyExc_ValueError, "a shape has 8 dimensions at most");
        return -1;
    }
    column->dims = (uint32_t)dims;
    for (Py_ssize_t i = 0; i < dims; i++) {
        column->shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
        if (column->shape[i] == -1 && PyErr_Occurred()) {
            return -1;
        }
    }
    return 0;
}

/* `rest`: a copy of the dict, which this empties of what is no number. */
static int fill_column(const extension *e, sluice_column *column, PyObject *rest,
                       sluice_augment **recipe, PyObject **strings)
{
    PyObject *shape = take(rest, "shape");
    PyObject *steps = take(rest, "recipe");
    strings[0] = take(rest, "field");
    strings[1] = take(rest, "name");
    int result = PyErr_Occurred() ? -1 : 0;
    if (result == 0 && steps != NULL) {
        *recipe = recipe_of(e, steps);
        column->recipe = *recipe;
        result = *recipe == NULL ? -1 : 0;
    }
    if (result == 0 && shape != NULL) {
        result = set_shape(column, shape);
    }
    if (result == 0 && strings[0] != NULL) {
        column->field = PyUnicode_AsUTF8AndSize(strings[0], NULL);
        result = column->field == NULL ? -1 : 0;
    }
    if (result == 0 && strings[1] != NULL) {
        column->name = PyUnicode_AsUTF8AndSize(strings[1], NULL);
        result = column->name == NULL ? -1 : 0;
    }
    Py_XDECREF(shape);
    Py_XDECREF(steps);
    return result == 0 ? options_set(e, SLUICE_OPTIONS_COLUMN, column, rest, NULL) : -1;
}

static int add_column(const extension *e, sluice_columns *columns, PyObject *dict)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    sluice_augment *recipe = NULL;
    PyObject *strings[2] = {NULL, NULL};
    PyObject *rest = PyDict_Copy(dict);
    int result = rest == NULL ? -1 : fill_column(e, &column, rest, &recipe, strings);
    if (result == 0 && sluice_columns_add(columns, &column) < 0) {
        sluice_error error = SLUICE_ERROR_INIT;
        (void)sluice_columns_get_error(columns, &error);
        (void)sluice_raise(e, &error);
        result = -1;
    }
    sluice_augment_destroy(recipe);
    Py_XDECREF(strings[0]);
    Py_XDECREF(strings[1]);
    Py_XDECREF(rest);
    return result;
}

sluice_columns *columns_of(const extension *e, PyObject *list)
{
    sluice_columns *columns = NULL;
    PyObject *dicts = PyList_AsTuple(list);
    if (dicts == NULL) {
        return NULL;
    }
    if (sluice_columns_create(&columns) < 0) {
        (void)PyErr_NoMemory();
    }
    const Py_ssize_t count = PyTuple_Size(dicts);
    for (Py_ssize_t i = 0; columns != NULL && i < count; i++) {
        if (add_column(e, columns, PyTuple_GetItem(dicts, i)) < 0) {
            sluice_columns_destroy(columns);
            columns = NULL;
        }
    }
    Py_DECREF(dicts);
    return columns;
}
