/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"
#include "loader_object.h"
#include "native.h"
#include "options.h"
#include "recipe.h"
#include "waiting.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Options with a double for each sample. */
static const struct number_option {
    const char *name;
    size_t array, count; /* offsets in sluice_loader_options */
} number_options[] = {
    {"weights", offsetof(sluice_loader_options, weights),
     offsetof(sluice_loader_options, weight_count)},
    {"lengths", offsetof(sluice_loader_options, lengths),
     offsetof(sluice_loader_options, length_count)},
};
enum { NUMBERS_MAX = sizeof(number_options) / sizeof(number_options[0]) };

typedef struct opening {
    waiting_job job;
    dataset_handle *dataset;
    sluice_augment *recipe;
    sluice_columns *columns;
    sluice_loader_options options;
    option_texts texts;
    Py_buffer classes;              /* of the options; obj NULL: there are none */
    Py_buffer numbers[NUMBERS_MAX]; /* the same, of rows of number_options */
    sluice_size *sizes;
    sluice_loader *made;
    sluice_error error;
    sluice_status status;
} opening;

static void open_it(waiting_job *job)
{
    opening *o = (opening *)job;
    o->status =
        sluice_loader_open(&o->made, o->dataset->dataset, o->recipe, &o->options, &o->error);
}

static void drop_opening(waiting_job *job)
{
    opening *o = (opening *)job;
    sluice_loader_close(o->made);
    dataset_drop(o->dataset);
    sluice_augment_destroy(o->recipe);
    sluice_columns_destroy(o->columns);
    option_texts_drop(&o->texts);
    PyBuffer_Release(&o->classes);
    for (size_t i = 0; i < NUMBERS_MAX; i++) {
        PyBuffer_Release(&o->numbers[i]);
    }
    free(o->sizes);
    free(o);
}

/* Takes unsigned ints, one for each sample. */
static int take_classes(opening *o, PyObject *classes)
{
    if (classes == Py_None) {
        return 0;
    }
    if (PyObject_GetBuffer(classes, &o->classes, PyBUF_C_CONTIGUOUS) < 0) {
        return -1;
    }
    o->options.classes = o->classes.buf;
    o->options.class_count = (uint64_t)o->classes.len / sizeof(uint32_t);
    return 0;
}

/* Takes doubles from a dict by option name; a missing name is not given. */
static int take_numbers(opening *o, PyObject *dict)
{
    for (size_t i = 0; i < NUMBERS_MAX && dict != Py_None; i++) {
        const struct number_option *option = &number_options[i];
        PyObject *given = PyDict_GetItemString(dict, option->name);
        if (given != NULL && PyObject_GetBuffer(given, &o->numbers[i], PyBUF_C_CONTIGUOUS) < 0) {
            return -1;
        }
        if (given != NULL) {
            const double *array = o->numbers[i].buf;
            const uint64_t count = (uint64_t)o->numbers[i].len / sizeof(*array);
            memcpy((char *)&o->options + option->array, &array, sizeof(array));
            memcpy((char *)&o->options + option->count, &count, sizeof(count));
        }
    }
    return 0;
}

/* A copy of a table's bytes: pairs of a width and a height. */
static int take_sizes(opening *o, PyObject *table)
{
    char *data = NULL;
    Py_ssize_t bytes = 0;
    if (table == Py_None) {
        return 0;
    }
    if (PyBytes_AsStringAndSize(table, &data, &bytes) < 0) {
        return -1;
    }
    o->sizes = malloc(bytes > 0 ? (size_t)bytes : 1);
    if (o->sizes == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    memcpy(o->sizes, data, (size_t)bytes);
    o->options.sizes = o->sizes;
    o->options.size_count = (size_t)bytes / sizeof(*o->sizes);
    return 0;
}

static int fill_opening(const extension *e, loader_object *self, opening *o, PyObject *arguments)
{
    PyObject *options;
    PyObject *recipe;
    PyObject *columns;
    PyObject *dataset;
    unsigned long long hold_ms;
    PyObject *views;
    PyObject *classes = Py_None;
    PyObject *sizes = Py_None;
    PyObject *numbers = Py_None;
    int copies;
    if (!PyArg_ParseTuple(arguments, "OOOOKOp|OOO", &dataset, &options, &recipe, &columns, &hold_ms,
                          &views, &copies, &classes, &sizes, &numbers)) {
        return -1;
    }
    self->hold_ms = hold_ms;
    self->copies = copies != 0;
    self->kind.views = PyFrozenSet_New(views);
    if (self->kind.views == NULL) {
        return -1;
    }
    o->dataset = dataset_share(e, dataset);
    if (o->dataset == NULL ||
        options_set(e, SLUICE_OPTIONS_LOADER, &o->options, options, &o->texts) < 0 ||
        take_classes(o, classes) < 0 || take_sizes(o, sizes) < 0 || take_numbers(o, numbers) < 0) {
        return -1;
    }
    if (recipe != Py_None) {
        o->recipe = recipe_of(e, recipe);
    }
    if (!PyErr_Occurred() && columns != Py_None) {
        o->columns = columns_of(e, columns);
        o->options.columns = o->columns;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static void take_handle(loader_object *self, opening *o)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    self->handle = self->count->loader = o->made;
    o->made = NULL;
    (void)sluice_loader_get_stats(self->handle, &stats);
    self->on_device = stats.device_slots > 0;
    self->slots = self->on_device ? stats.device_slots : stats.slots;
}

int loader_open(const extension *e, loader_object *self, PyObject *arguments)
{
    opening *o = calloc(1, sizeof(*o));
    if (o == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    o->job = (waiting_job){.work = open_it, .drop = drop_opening};
    o->options = (sluice_loader_options)SLUICE_LOADER_OPTIONS_INIT;
    o->error = (sluice_error)SLUICE_ERROR_INIT;
    if (fill_opening(e, self, o, arguments) < 0) {
        drop_opening(&o->job);
        return -1;
    }
    if (!wait_for(e, &o->job)) {
        return -1;
    }
    const sluice_status status = o->status;
    if (status < 0) {
        (void)sluice_raise(e, &o->error);
    } else {
        take_handle(self, o);
    }
    drop_opening(&o->job);
    native_sweep();
    return status < 0 ? -1 : 0;
}
