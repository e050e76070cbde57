/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe.h"

#include "native.h"
#include "options.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { NUMBERS_MAX = 16 };

/* ---- recipes ---- */

static int raise_recipe(const extension *e, const sluice_augment *recipe)
{
    sluice_error error = SLUICE_ERROR_INIT;
    (void)sluice_augment_get_error(recipe, &error);
    (void)sluice_raise(e, &error);
    return -1;
}

/* Returns UTF-8; NULL with an exception: not a text, or with a NUL, which would end it in C. */
static const char *text_of(PyObject *text)
{
    Py_ssize_t size = 0;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
    if (utf8 != NULL && strlen(utf8) != (size_t)size) {
        PyErr_Format(PyExc_ValueError, "%R contains a NUL character", text);
        return NULL;
    }
    return utf8;
}

/* Returns the words of argument `at` of a step; NULL: it is a number, or does not exist. */
static const char *const *words_of(const char *name, uint32_t at, double *least)
{
    sluice_augment_step step = SLUICE_AUGMENT_STEP_INIT;
    sluice_augment_argument argument = SLUICE_AUGMENT_ARGUMENT_INIT;
    uint32_t number = 0;
    while (sluice_augment_get_step(number, &step) == SLUICE_OK && strcmp(step.name, name) != 0) {
        number++;
    }
    if (sluice_augment_get_argument(number, at, &argument) < 0) {
        return NULL;
    }
    *least = argument.least;
    return argument.words;
}

static int take_word(const char *name, uint32_t at, PyObject *value, double *number)
{
    double least = 0;
    const char *word = text_of(value);
    const char *const *words = word != NULL ? words_of(name, at, &least) : NULL;
    if (word == NULL) {
        return -1;
    }
    for (uint32_t i = 0; words != NULL && words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            *number = least + i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "%s: %R is not one of the words of argument %u", name, value,
                 at);
    return -1;
}

/* Reads numbers, or words of a choice, from `tuple[first]` on. Returns their count; -1 with an
 * exception. */
static Py_ssize_t take_numbers(const char *name, PyObject *tuple, Py_ssize_t first,
                               double numbers[NUMBERS_MAX])
{
    const Py_ssize_t count = PyTuple_Size(tuple) - first;
    if (count > NUMBERS_MAX) {
        PyErr_Format(PyExc_TypeError, "%s: too many arguments: %R", name, tuple);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = PyTuple_GetItem(tuple, first + i);
        if (PyUnicode_Check(value)) {
            if (take_word(name, (uint32_t)i, value, &numbers[i]) < 0) {
                return -1;
            }
            continue;
        }
        numbers[i] = PyFloat_AsDouble(value);
        if (numbers[i] == -1 && PyErr_Occurred()) {
            return -1;
        }
    }
    return count;
}

/* Adds a policy of timm, by its text. */
static int add_timm(const extension *e, sluice_augment *recipe, PyObject *text)
{
    const char *policy = text_of(text);
    if (policy == NULL) {
        return -1;
    }
    return sluice_augment_timm(recipe, policy) < 0 ? raise_recipe(e, recipe) : 0;
}

/* Adds a compiled function of the user. */
static int add_native(const extension *e, sluice_augment *recipe, PyObject *tuple)
{
    const int status = native_add(recipe, tuple);
    if (status == NATIVE_RAISED) {
        return -1;
    }
    return status < 0 ? raise_recipe(e, recipe) : 0;
}

static int add_step(const extension *e, sluice_augment *recipe, PyObject *tuple);

/* (name, (numbers), (steps)) */
// NOLINTNEXTLINE(misc-no-recursion): as deep as the library lets groups be
static int add_group(const extension *e, sluice_augment *recipe, const char *name, PyObject *tuple)
{
    double numbers[NUMBERS_MAX];
    PyObject *steps = PyTuple_GetItem(tuple, 2);
    const Py_ssize_t count = take_numbers(name, PyTuple_GetItem(tuple, 1), 0, numbers);
    if (count < 0) {
        return -1;
    }
    if (sluice_augment_begin(recipe, name, numbers, (uint32_t)count) < 0) {
        return raise_recipe(e, recipe);
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(steps); i++) {
        if (add_step(e, recipe, PyTuple_GetItem(steps, i)) < 0) {
            return -1;
        }
    }
    return sluice_augment_end(recipe) < 0 ? raise_recipe(e, recipe) : 0;
}

/* Adds a tuple of a name and numbers, or a group, which the library checks. */
// NOLINTNEXTLINE(misc-no-recursion)
static int add_step(const extension *e, sluice_augment *recipe, PyObject *tuple)
{
    double numbers[NUMBERS_MAX];
    const Py_ssize_t size = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : 0;
    const char *name = size > 0 ? text_of(PyTuple_GetItem(tuple, 0)) : NULL;
    if (name == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "not a step: %R", tuple);
        }
        return -1;
    }
    if (size == 3 && PyTuple_Check(PyTuple_GetItem(tuple, 1)) &&
        PyTuple_Check(PyTuple_GetItem(tuple, 2))) {
        return add_group(e, recipe, name, tuple);
    }
    if (size == 2 && strcmp(name, "timm") == 0) {
        return add_timm(e, recipe, PyTuple_GetItem(tuple, 1));
    }
    if (strcmp(name, "native") == 0) {
        return add_native(e, recipe, tuple);
    }
    const Py_ssize_t count = take_numbers(name, tuple, 1, numbers);
    if (count < 0) {
        return -1;
    }
    return sluice_augment_add(recipe, name, numbers, (uint32_t)count) < 0 ? raise_recipe(e, recipe)
                                                                          : 0;
}

/* {name: number} of the arguments of step "timm_augment". */
// NOLINTNEXTLINE(readability-function-size): the checks of a dict
PyObject *recipe_timm_numbers(PyObject *module, PyObject *text)
{
    const extension *e = PyModule_GetState(module);
    double numbers[NUMBERS_MAX];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment_step step = SLUICE_AUGMENT_STEP_INIT;
    sluice_augment_argument argument = SLUICE_AUGMENT_ARGUMENT_INIT;
    const char *policy = text_of(text);
    if (policy == NULL) {
        return NULL;
    }
    if (sluice_augment_timm_numbers(policy, numbers, &error) < 0) {
        return sluice_raise(e, &error);
    }
    uint32_t number = 0;
    while (sluice_augment_get_step(number, &step) == SLUICE_OK &&
           strcmp(step.name, "timm_augment") != 0) {
        number++;
    }
    PyObject *made = PyDict_New();
    for (uint32_t i = 0; made != NULL && i < step.arguments; i++) {
        PyObject *value = PyFloat_FromDouble(numbers[i]);
        (void)sluice_augment_get_argument(number, i, &argument);
        if (value == NULL || PyDict_SetItemString(made, argument.name, value) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(value);
    }
    return made;
}

static PyObject *tuple_of_numbers(const double *numbers, uint32_t count)
{
    PyObject *made = PyTuple_New((Py_ssize_t)count);
    int result = made == NULL ? -1 : 0;
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        PyObject *number = PyFloat_FromDouble(numbers[i]);
        result = number == NULL ? -1 : PyTuple_SetItem(made, (Py_ssize_t)i, number);
    }
    if (result < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* Returns an argument's default: None, a number, or a tuple of numbers. */
static PyObject *preset_of(const sluice_augment_argument *described)
{
    if (described->presets != NULL) {
        return tuple_of_numbers(described->presets, described->preset_count);
    }
    return isnan(described->preset) ? Py_NewRef(Py_None) : PyFloat_FromDouble(described->preset);
}

static PyObject *describe_argument(uint32_t number, uint32_t argument)
{
    sluice_augment_argument described = SLUICE_AUGMENT_ARGUMENT_INIT;
    (void)sluice_augment_get_argument(number, argument, &described);
    PyObject *preset = preset_of(&described);
    const unsigned list_most = described.list_most;
    return preset == NULL ? NULL
                          : Py_BuildValue("(sNddI)", described.name, preset, described.least,
                                          described.most, list_most);
}

/* Returns a description of the step; NULL with an exception. */
static PyObject *describe_step(uint32_t number, const sluice_augment_step *step)
{
    PyObject *arguments = PyTuple_New((Py_ssize_t)step->arguments);
    int result = arguments == NULL ? -1 : 0;
    for (uint32_t i = 0; result == 0 && i < step->arguments; i++) {
        PyObject *argument = describe_argument(number, i);
        result = argument == NULL ? -1 : PyTuple_SetItem(arguments, (Py_ssize_t)i, argument);
    }
    PyObject *made = result < 0
                         ? NULL
                         : Py_BuildValue("(sssOO)", step->name, step->stage, step->text,
                                         step->gives_size != 0 ? Py_True : Py_False, arguments);
    Py_XDECREF(arguments);
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

PyObject *recipe_check(PyObject *module, PyObject *steps)
{
    sluice_augment *recipe = recipe_of(PyModule_GetState(module), steps);
    if (recipe == NULL) {
        return NULL;
    }
    sluice_augment_destroy(recipe);
    native_sweep();
    Py_RETURN_NONE;
}

/* ---- columns ---- */

/* Removes `key` from `dict` and returns its value; NULL: missing (no exception) or failed. */
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
        PyErr_SetString(PyExc_ValueError, "a shape has at most 8 dimensions");
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

enum { MIRROR_MOST = 256 };

/* Reads numbers for the column. Too many of them are an error of the library. */
static int set_mirror(sluice_column *column, PyObject *mirror, uint32_t numbers[MIRROR_MOST])
{
    const Py_ssize_t count = PyTuple_Size(mirror);
    if (count < 0) {
        return -1;
    }
    column->mirror_count = (uint32_t)(count <= MIRROR_MOST ? count : MIRROR_MOST + 1);
    column->mirror = numbers;
    for (Py_ssize_t i = 0; i < count && i < MIRROR_MOST; i++) {
        const unsigned long number = PyLong_AsUnsignedLong(PyTuple_GetItem(mirror, i));
        if (PyErr_Occurred()) {
            return -1;
        }
        numbers[i] = number <= MIRROR_MOST ? (uint32_t)number : MIRROR_MOST;
    }
    return 0;
}

/* The members of a column that are not numbers, while it is added. */
typedef struct column_rest {
    sluice_augment *recipe;
    PyObject *strings[2];
    option_texts texts;
    uint32_t mirror[MIRROR_MOST];
} column_rest;

/* `rest`: a copy of the dict, from which this removes the members that are not numbers. */
static int fill_column(const extension *e, sluice_column *column, PyObject *rest,
                       column_rest *beside)
{
    PyObject **strings = beside->strings;
    PyObject *shape = take(rest, "shape");
    PyObject *steps = take(rest, "recipe");
    PyObject *mirror = take(rest, "mirror");
    strings[0] = take(rest, "field");
    strings[1] = take(rest, "name");
    int result = PyErr_Occurred() ? -1 : 0;
    if (result == 0 && steps != NULL) {
        beside->recipe = recipe_of(e, steps);
        column->recipe = beside->recipe;
        result = beside->recipe == NULL ? -1 : 0;
    }
    if (result == 0 && mirror != NULL) {
        result = set_mirror(column, mirror, beside->mirror);
    }
    if (result == 0 && shape != NULL) {
        result = set_shape(column, shape);
    }
    if (result == 0 && strings[0] != NULL) {
        column->field = text_of(strings[0]);
        result = column->field == NULL ? -1 : 0;
    }
    if (result == 0 && strings[1] != NULL) {
        column->name = text_of(strings[1]);
        result = column->name == NULL ? -1 : 0;
    }
    Py_XDECREF(shape);
    Py_XDECREF(steps);
    Py_XDECREF(mirror);
    return result == 0 ? options_set(e, SLUICE_OPTIONS_COLUMN, column, rest, &beside->texts) : -1;
}

static int add_column(const extension *e, sluice_columns *columns, PyObject *dict)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    column_rest beside = {0};
    PyObject *rest = PyDict_Copy(dict);
    int result = rest == NULL ? -1 : fill_column(e, &column, rest, &beside);
    if (result == 0 && sluice_columns_add(columns, &column) < 0) {
        sluice_error error = SLUICE_ERROR_INIT;
        (void)sluice_columns_get_error(columns, &error);
        (void)sluice_raise(e, &error);
        result = -1;
    }
    sluice_augment_destroy(beside.recipe);
    option_texts_drop(&beside.texts);
    Py_XDECREF(beside.strings[0]);
    Py_XDECREF(beside.strings[1]);
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
