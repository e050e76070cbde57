/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe.h"

#include "options.h"

#include <stdbool.h>
#include <string.h>

enum { NUMBERS_MAX = 6 };

/* ---- recipes ---- */

typedef sluice_status (*step_call)(sluice_augment *recipe, const double *n);

static sluice_status random_resized_crop(sluice_augment *recipe, const double *n)
{
    return sluice_augment_random_resized_crop(recipe, (uint32_t)n[0], (uint32_t)n[1], n[2], n[3],
                                              n[4], n[5]);
}

static sluice_status resize_center_crop(sluice_augment *recipe, const double *n)
{
    return sluice_augment_resize_center_crop(recipe, (uint32_t)n[0], (uint32_t)n[1],
                                             (uint32_t)n[2]);
}

static sluice_status random_crop(sluice_augment *recipe, const double *n)
{
    return sluice_augment_random_crop(recipe, (uint32_t)n[0], (uint32_t)n[1], (uint32_t)n[2]);
}

static sluice_status random_flip(sluice_augment *recipe, const double *n)
{
    return sluice_augment_random_flip(recipe, n[0]);
}

static sluice_status color_jitter(sluice_augment *recipe, const double *n)
{
    return sluice_augment_color_jitter(recipe, n[0], n[1], n[2]);
}

static sluice_status normalize(sluice_augment *recipe, const double *n)
{
    const float mean[3] = {(float)n[0], (float)n[1], (float)n[2]};
    const float deviation[3] = {(float)n[3], (float)n[4], (float)n[5]};
    return sluice_augment_normalize(recipe, mean, deviation, 3);
}

static const struct step {
    const char *name;
    Py_ssize_t numbers;
    step_call call;
} steps_known[] = {
    {"random_resized_crop", 6, random_resized_crop},
    {"resize_center_crop", 3, resize_center_crop},
    {"random_crop", 3, random_crop},
    {"random_flip", 1, random_flip},
    {"color_jitter", 3, color_jitter},
    {"normalize", 6, normalize},
};

static const struct step *find_step(PyObject *tuple)
{
    PyObject *name =
        PyTuple_Check(tuple) && PyTuple_Size(tuple) > 0 ? PyTuple_GetItem(tuple, 0) : NULL;
    for (size_t i = 0; name != NULL && i < sizeof(steps_known) / sizeof(*steps_known); i++) {
        if (PyUnicode_Check(name) &&
            PyUnicode_CompareWithASCIIString(name, steps_known[i].name) == 0 &&
            PyTuple_Size(tuple) == 1 + steps_known[i].numbers) {
            return &steps_known[i];
        }
    }
    PyErr_Format(PyExc_TypeError, "no such step: %R", tuple);
    return NULL;
}

/* Sizes in pixels: whole numbers that the library then judges. */
static bool is_whole(double number)
{
    return number >= 0 && number <= UINT32_MAX && number == (double)(uint32_t)number;
}

static int add_step(const extension *e, sluice_augment *recipe, PyObject *tuple)
{
    static const Py_ssize_t sizes[] = {2, 3, 3, 0, 0, 0}; /* of a step's numbers, at first */
    double numbers[NUMBERS_MAX] = {0};
    const struct step *step = find_step(tuple);
    if (step == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < step->numbers; i++) {
        numbers[i] = PyFloat_AsDouble(PyTuple_GetItem(tuple, 1 + i));
        if (numbers[i] == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (i < sizes[step - steps_known] && !is_whole(numbers[i])) {
            PyErr_Format(PyExc_ValueError, "%s: sizes are whole numbers of pixels", step->name);
            return -1;
        }
    }
    if (step->call(recipe, numbers) < 0) {
        sluice_error error = SLUICE_ERROR_INIT;
        (void)sluice_augment_get_error(recipe, &error);
        (void)sluice_raise(e, &error);
        return -1;
    }
    return 0;
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
