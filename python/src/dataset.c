/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"

#include "options.h"
#include "samples.h"
#include "waiting.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
typedef struct dataset_object {
    PyObject_HEAD
    dataset_handle *handle;
} dataset_object;
/* clang-format on */

/* Arguments of opening, in separate memory: Python's may be freed before it ends. */
typedef struct opening {
    waiting_job job;
    atomic_bool stopped; /* relaxed: read until it is seen */
    char **paths;
    size_t count;
    sluice_dataset_options options;
    sluice_field flat;
    char **fields; /* options.field_count of them */
    option_texts texts;
    dataset_handle *made;
    sluice_error error;
    sluice_status status;
} opening;

static void stop_opening(waiting_job *job)
{
    atomic_store_explicit(&((opening *)job)->stopped, true, memory_order_relaxed);
}

static int32_t opening_is_stopped(void *user)
{
    return atomic_load_explicit(&((opening *)user)->stopped, memory_order_relaxed);
}

static void open_it(waiting_job *job)
{
    opening *o = (opening *)job;
    o->status = sluice_dataset_open(&o->made->dataset, (const char *const *)o->paths, o->count,
                                    &o->options, &o->error);
}

void dataset_drop(dataset_handle *handle)
{
    if (handle != NULL &&
        atomic_fetch_sub_explicit(&handle->owners, 1, memory_order_acq_rel) == 1) {
        sluice_dataset_close(handle->dataset);
        free(handle);
    }
}

dataset_handle *dataset_share(const extension *e, PyObject *object)
{
    if (!Py_IS_TYPE(object, e->dataset)) {
        PyErr_SetString(PyExc_TypeError, "not a dataset");
        return NULL;
    }
    dataset_handle *handle = ((dataset_object *)object)->handle;
    atomic_fetch_add_explicit(&handle->owners, 1, memory_order_relaxed);
    return handle;
}

PyObject *dataset_object_of(const extension *e, sluice_dataset *dataset)
{
    dataset_handle *handle = calloc(1, sizeof(*handle));
    dataset_object *object = handle == NULL ? NULL : object_new(e->dataset);
    if (object == NULL) {
        free(handle);
        sluice_dataset_close(dataset);
        return handle == NULL ? PyErr_NoMemory() : NULL;
    }
    atomic_init(&handle->owners, 1);
    handle->dataset = dataset;
    object->handle = handle;
    return (PyObject *)object;
}

static void drop_opening(waiting_job *job)
{
    opening *o = (opening *)job;
    dataset_drop(o->made);
    for (size_t i = 0; i < o->count; i++) {
        free(o->paths[i]);
    }
    for (size_t i = 0; i < o->options.field_count; i++) {
        free(o->fields[i]);
    }
    option_texts_drop(&o->texts);
    free((void *)o->fields);
    free((void *)o->paths);
    free(o);
}

static char *copy_path(PyObject *path)
{
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    char *copy = strdup(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (copy == NULL) {
        (void)PyErr_NoMemory();
    }
    return copy;
}

/* Returns space for `count` paths, all NULL; NULL: no memory. */
static opening *opening_with_capacity(size_t count)
{
    opening *o = calloc(1, sizeof(*o));
    char **paths = (char **)calloc(count + 1, sizeof(*paths));
    dataset_handle *made = calloc(1, sizeof(*made));
    if (o == NULL || paths == NULL || made == NULL) {
        free(made);
        free((void *)paths);
        free(o);
        return NULL;
    }
    atomic_init(&made->owners, 1);
    *o = (opening){.job = {.work = open_it, .drop = drop_opening, .stop = stop_opening},
                   .paths = paths,
                   .options = SLUICE_DATASET_OPTIONS_INIT,
                   .flat = SLUICE_FIELD_INIT,
                   .made = made,
                   .error = SLUICE_ERROR_INIT};
    o->options.should_stop = opening_is_stopped;
    o->options.user = o;
    return o;
}

/* Returns the number of copied paths: all, or fewer with an exception. */
static size_t copy_paths(char **to, PyObject *tuple)
{
    const size_t count = (size_t)PyTuple_Size(tuple);
    size_t made = 0;
    while (made < count &&
           (to[made] = copy_path(PyTuple_GetItem(tuple, (Py_ssize_t)made))) != NULL) {
        made++;
    }
    return made;
}

static opening *new_opening(PyObject *list)
{
    PyObject *paths = PyList_AsTuple(list);
    if (paths == NULL) {
        return NULL;
    }
    opening *o = opening_with_capacity((size_t)PyTuple_Size(paths));
    if (o == NULL) {
        (void)PyErr_NoMemory();
    } else {
        o->count = copy_paths(o->paths, paths);
    }
    if (o != NULL && PyErr_Occurred()) {
        drop_opening(&o->job);
        o = NULL;
    }
    Py_DECREF(paths);
    return o;
}

/* ["NAME=KEY", ...] */
static int set_fields(opening *o, PyObject *list)
{
    PyObject *fields = PyList_AsTuple(list);
    if (fields == NULL) {
        return -1;
    }
    o->fields = (char **)calloc((size_t)PyTuple_Size(fields) + 1, sizeof(*o->fields));
    if (o->fields == NULL) {
        (void)PyErr_NoMemory();
    } else {
        o->options.fields = (const char *const *)o->fields;
        o->options.field_count = (uint32_t)copy_paths(o->fields, fields);
    }
    Py_DECREF(fields);
    return PyErr_Occurred() ? -1 : 0;
}

/* ("name", dtype, (shape)) */
static int set_flat(opening *o, PyObject *flat)
{
    const char *name;
    PyObject *shape;
    if (flat == Py_None) {
        return 0;
    }
    if (!PyArg_ParseTuple(flat, "siO", &name, &o->flat.dtype, &shape)) {
        return -1;
    }
    const Py_ssize_t dims = PyTuple_Size(shape);
    if (dims < 0 || dims > SLUICE_TENSOR_DIMS_MAX || strlen(name) >= sizeof(o->flat.name)) {
        PyErr_SetString(PyExc_ValueError, "too large: at most 8 dimensions and a name of 31 bytes");
        return -1;
    }
    memcpy(o->flat.name, name, strlen(name) + 1);
    o->flat.type = SLUICE_FIELD_TENSOR;
    o->flat.dims = (uint32_t)dims;
    for (Py_ssize_t i = 0; i < dims && !PyErr_Occurred(); i++) {
        o->flat.shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    }
    o->options.flat = &o->flat;
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    const extension *e = PyType_GetModuleState(type);
    PyObject *paths;
    PyObject *options;
    PyObject *flat;
    PyObject *fields;
    if (keywords != NULL && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "unexpected keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "OOOO", &paths, &options, &flat, &fields)) {
        return NULL;
    }
    opening *o = new_opening(paths);
    if (o == NULL) {
        return NULL;
    }
    if (options_set(e, SLUICE_OPTIONS_DATASET, &o->options, options, &o->texts) < 0 ||
        set_flat(o, flat) < 0 || set_fields(o, fields) < 0) {
        drop_opening(&o->job);
        return NULL;
    }
    if (!wait_for(e, &o->job)) {
        return NULL;
    }
    dataset_object *self = NULL;
    if (o->status < 0) {
        (void)sluice_raise(e, &o->error);
    } else {
        self = object_new(type);
    }
    if (self != NULL) {
        self->handle = o->made;
        o->made = NULL;
    }
    drop_opening(&o->job);
    return (PyObject *)self;
}

static void dealloc(dataset_object *self)
{
    dataset_handle *handle = self->handle;
    PyThreadState *thread = PyEval_SaveThread();
    dataset_drop(handle);
    PyEval_RestoreThread(thread);
    object_free(self);
}

static PyObject *info(dataset_object *self, PyObject *unused)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    (void)unused;
    const sluice_status status = sluice_dataset_get_info(self->handle->dataset, &info);
    if (status < 0) {
        return sluice_raise_status(extension_of(self), status, "no information");
    }
    return Py_BuildValue("{s:s,s:s,s:K,s:K,s:I,s:I,s:I,s:I,s:K}", "format", info.format,
                         "description", sluice_dataset_describe(self->handle->dataset), "samples",
                         (unsigned long long)info.samples, "bytes", (unsigned long long)info.bytes,
                         "shards", info.shards, "classes", info.classes, "fields", info.fields,
                         "front_to_back", info.front_to_back, "fingerprint",
                         (unsigned long long)info.fingerprint);
}

/* Returns a field's meaning: numbers of the header's enumerations, a name, and a text. */
static PyObject *meaning_of(const sluice_field *field)
{
    char words[256];
    sluice_field_get_meaning(field, words, sizeof(words));
    return Py_BuildValue("{s:i,s:i,s:i,s:i,s:I,s:s,s:s}", "role", (int)field->role, "box_format",
                         (int)field->box_format, "coordinates", (int)field->coordinates,
                         "orientation", (int)field->orientation, "per_box", field->per_box, "of",
                         field->of, "words", words);
}

/* (name, type, dtype, shape, meaning) */
static PyObject *field(dataset_object *self, PyObject *number)
{
    sluice_field field = SLUICE_FIELD_INIT;
    const unsigned long index = PyLong_AsUnsignedLong(number);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (sluice_dataset_get_field(self->handle->dataset, (uint32_t)index, &field) < 0) {
        PyErr_SetString(PyExc_IndexError, "no such field");
        return NULL;
    }
    PyObject *shape = PyTuple_New((Py_ssize_t)field.dims);
    for (uint32_t i = 0; shape != NULL && i < field.dims; i++) {
        PyTuple_SetItem(shape, (Py_ssize_t)i, PyLong_FromLongLong(field.shape[i]));
    }
    return shape == NULL ? NULL
                         : Py_BuildValue("(siiNN)", field.name, (int)field.type, (int)field.dtype,
                                         shape, meaning_of(&field));
}

static const char *column_kind_name(int32_t kind)
{
    sluice_option option = SLUICE_OPTION_INIT;
    uint32_t i = 0;
    while (sluice_option_get(SLUICE_OPTIONS_COLUMN, i++, &option) == SLUICE_OK &&
           strcmp(option.name, "kind") != 0) {
    }
    return option.words[kind - option.least];
}

/* (kind, name) */
static PyObject *natural_column(dataset_object *self, PyObject *number)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    const unsigned long index = PyLong_AsUnsignedLong(number);
    if (PyErr_Occurred()) {
        return NULL;
    }
    const sluice_status status =
        sluice_dataset_natural_column(self->handle->dataset, (uint32_t)index, &column);
    if (status < 0) {
        PyErr_SetString(PyExc_IndexError, "no such field");
        return NULL;
    }
    return status == SLUICE_OK ? Py_BuildValue("(ss)", column_kind_name(column.kind), column.name)
                               : Py_NewRef(Py_None);
}

/* (reason, count, images, example) */
static PyObject *left_out(dataset_object *self, PyObject *number)
{
    sluice_left_out found = SLUICE_LEFT_OUT_INIT;
    const unsigned long index = PyLong_AsUnsignedLong(number);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (sluice_dataset_get_left_out(self->handle->dataset, (uint32_t)index, &found) != SLUICE_OK) {
        return Py_NewRef(Py_None);
    }
    /* both may contain file names */
    PyObject *reason = PyUnicode_DecodeFSDefault(found.reason);
    PyObject *example = reason == NULL ? NULL : PyUnicode_DecodeFSDefault(found.example);
    if (example == NULL) {
        Py_XDECREF(reason);
        return NULL;
    }
    return Py_BuildValue("(NKNN)", reason, (unsigned long long)found.count,
                         PyBool_FromLong((long)found.images), example);
}

static PyObject *warning(dataset_object *self, PyObject *number)
{
    const unsigned long index = PyLong_AsUnsignedLong(number);
    if (PyErr_Occurred()) {
        return NULL;
    }
    const char *text = sluice_dataset_get_warning(self->handle->dataset, (uint32_t)index);
    return text == NULL ? Py_NewRef(Py_None) : PyUnicode_DecodeFSDefault(text);
}

static PyObject *class_name(dataset_object *self, PyObject *label)
{
    const long long number = PyLong_AsLongLong(label);
    if (number == -1 && PyErr_Occurred()) {
        return NULL;
    }
    const char *name = sluice_dataset_class_name(self->handle->dataset, number);
    return name == NULL ? Py_NewRef(Py_None) : PyUnicode_DecodeFSDefault(name);
}

static PyMethodDef methods[] = {
    {"info", (PyCFunction)(void (*)(void))info, METH_NOARGS, "Returns its properties as a dict."},
    {"field", (PyCFunction)(void (*)(void))field, METH_O,
     "Returns (name, type, dtype, shape, meaning) of a field."},
    {"natural_column", (PyCFunction)(void (*)(void))natural_column, METH_O,
     "Returns (kind, name) of a field's default column, or None."},
    {"left_out", (PyCFunction)(void (*)(void))left_out, METH_O,
     "Returns (reason, count, images, example) of an entry that was left out, or None."},
    {"warning", (PyCFunction)(void (*)(void))warning, METH_O,
     "Returns a warning of opening, or None."},
    {"class_name", (PyCFunction)(void (*)(void))class_name, METH_O,
     "Returns the name of a class, or None."},
    {"sample", samples_sample, METH_VARARGS,
     "sample(index, is_remote): returns the place of a sample, a dict."},
    {"read", samples_read, METH_VARARGS,
     "read(index, is_remote, field): returns the field's bytes."},
    {"decode", samples_decode, METH_VARARGS,
     "decode(index, is_remote, field, exif): returns (height, width, RGB as a bytearray) of an "
     "image, or None."},
    {0},
};

static char doc[] = "Dataset(paths, options, flat): an open dataset of the library.";

static PyType_Slot slots[] = {
    {Py_tp_new, create}, {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {Py_tp_doc, doc},
    {0, NULL},
};

PyType_Spec dataset_spec = {
    .name = "sluice._sluice.Dataset",
    .basicsize = sizeof(dataset_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
