/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include "tensor.h"

#include <string.h>

/* clang-format off */
typedef struct batch_object {
    PyObject_HEAD
    hold *hold;         /* NULL: released */
    PyObject *convert;  /* NULL: none */
    PyObject *columns;  /* dict: name -> what was made of it */
    uint64_t step, epoch;
    uint32_t rows;
} batch_object;
/* clang-format on */

/* Columns that every batch has behind its own. */
enum { COMMON_COLUMNS = 3 };

PyObject *batch_new(const extension *e, hold *h, uint64_t first, PyObject *convert)
{
    batch_object *self = object_new(e->batch);
    if (self == NULL) {
        hold_drop(h);
        return NULL;
    }
    self->hold = h;
    self->convert = Py_XNewRef(convert);
    self->step = first + sluice_batch_step(h->batch);
    self->epoch = sluice_batch_epoch(h->batch);
    self->rows = sluice_batch_rows(h->batch);
    self->columns = PyDict_New();
    if (self->columns == NULL) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static int traverse(batch_object *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)self));
    Py_VISIT(self->convert);
    Py_VISIT(self->columns);
    return 0;
}

static int clear(batch_object *self)
{
    Py_CLEAR(self->convert);
    Py_CLEAR(self->columns);
    return 0;
}

static void dealloc(batch_object *self)
{
    PyObject_GC_UnTrack(self);
    (void)clear(self);
    hold_drop(self->hold);
    object_free(self);
}

static bool is_held(batch_object *self)
{
    if (self->hold == NULL) {
        (void)sluice_raise_status(extension_of(self), SLUICE_STATE, "the batch was released");
    }
    return self->hold != NULL;
}

static PyObject *convert_column(batch_object *self, PyObject *name, const char *text)
{
    const extension *e = extension_of(self);
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    if (sluice_batch_tensor(self->hold->batch, text, &tensor) < 0) {
        PyErr_SetObject(PyExc_KeyError, name);
        return NULL;
    }
    PyObject *made = tensor_new(e, self->hold, &tensor);
    if (made != NULL && self->convert != NULL) {
        PyObject *converted = PyObject_CallFunctionObjArgs(self->convert, name, made, NULL);
        Py_DECREF(made);
        made = converted;
    }
    if (made != NULL && PyDict_SetItem(self->columns, name, made) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

static PyObject *column(batch_object *self, PyObject *name)
{
    if (!is_held(self)) {
        return NULL;
    }
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "columns are asked for by name");
        return NULL;
    }
    PyObject *made = PyDict_GetItemWithError(self->columns, name);
    if (made != NULL || PyErr_Occurred()) {
        return Py_XNewRef(made);
    }
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    return text == NULL ? NULL : convert_column(self, name, text);
}

static PyObject *make_column(batch_object *self, uint32_t number,
                             PyObject *(*make)(batch_object *self, PyObject *name))
{
    PyObject *name = PyUnicode_FromString(sluice_batch_column_name(self->hold->batch, number));
    PyObject *made = name == NULL ? NULL : make(self, name);
    Py_XDECREF(name);
    return made;
}

/* Columns [0, count) as `make` makes them. */
static PyObject *list_of(batch_object *self, uint32_t count,
                         PyObject *(*make)(batch_object *self, PyObject *name))
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (uint32_t i = 0; i < count && !PyErr_Occurred(); i++) {
        PyList_SetItem(list, (Py_ssize_t)i, make_column(self, i, make));
    }
    if (PyErr_Occurred()) {
        Py_CLEAR(list);
    }
    return list;
}

static PyObject *name_itself(batch_object *self, PyObject *name)
{
    (void)self;
    return Py_NewRef(name);
}

static PyObject *name_and_column(batch_object *self, PyObject *name)
{
    PyObject *made = column(self, name);
    return made == NULL ? NULL : Py_BuildValue("(ON)", name, made);
}

static PyObject *all(batch_object *self, PyObject *(*make)(batch_object *self, PyObject *name))
{
    return is_held(self) ? list_of(self, sluice_batch_columns(self->hold->batch), make) : NULL;
}

static PyObject *keys(batch_object *self, PyObject *unused)
{
    (void)unused;
    return all(self, name_itself);
}

static PyObject *values(batch_object *self, PyObject *unused)
{
    (void)unused;
    return all(self, column);
}

static PyObject *items(batch_object *self, PyObject *unused)
{
    (void)unused;
    return all(self, name_and_column);
}

/* The columns that were asked for, so that `for images, labels in loader` works. */
static PyObject *iterate(batch_object *self)
{
    if (!is_held(self)) {
        return NULL;
    }
    const uint32_t count = sluice_batch_columns(self->hold->batch) - COMMON_COLUMNS;
    PyObject *list = list_of(self, count, column);
    PyObject *iterator = list == NULL ? NULL : PyObject_GetIter(list);
    Py_XDECREF(list);
    return iterator;
}

static int contains(batch_object *self, PyObject *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (!is_held(self) || (text == NULL && PyErr_Occurred())) {
        return -1;
    }
    return text != NULL && sluice_batch_tensor(self->hold->batch, text, &tensor) == SLUICE_OK;
}

static Py_ssize_t row_count(batch_object *self)
{
    return (Py_ssize_t)self->rows;
}

static PyObject *release_now(batch_object *self, PyObject *unused)
{
    (void)unused;
    PyDict_Clear(self->columns);
    hold_drop(self->hold);
    self->hold = NULL;
    Py_RETURN_NONE;
}

static PyObject *get_index(batch_object *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(self->step);
}

static PyObject *get_epoch(batch_object *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(self->epoch);
}

static PyObject *get_rows(batch_object *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(self->rows);
}

static PyObject *get_device(batch_object *self, void *unused)
{
    (void)unused;
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    if (!is_held(self)) {
        return NULL;
    }
    if (sluice_batch_get_column(self->hold->batch, 0, &tensor) == SLUICE_OK &&
        tensor.device_type == SLUICE_DEVICE_TYPE_CUDA) {
        return PyUnicode_FromFormat("cuda:%d", (int)tensor.device_number);
    }
    return PyUnicode_FromString("cpu");
}

static PyObject *repr(batch_object *self)
{
    if (self->hold == NULL) {
        return PyUnicode_FromFormat("sluice.Batch(epoch=%llu, index=%llu, released)",
                                    (unsigned long long)self->epoch,
                                    (unsigned long long)self->step);
    }
    PyObject *names = keys(self, NULL);
    PyObject *text =
        names == NULL
            ? NULL
            : PyUnicode_FromFormat("sluice.Batch(epoch=%llu, index=%llu, rows=%lu, "
                                   "columns=%R)",
                                   (unsigned long long)self->epoch, (unsigned long long)self->step,
                                   (unsigned long)self->rows, names);
    Py_XDECREF(names);
    return text;
}

static PyMethodDef methods[] = {
    {"keys", (PyCFunction)(void (*)(void))keys, METH_NOARGS,
     "keys($self, /)\n--\n\nNames of all columns: those asked for, then 'index', 'mask' and "
     "'status'."},
    {"values", (PyCFunction)(void (*)(void))values, METH_NOARGS,
     "values($self, /)\n--\n\nAll columns, in the order of keys()."},
    {"items", (PyCFunction)(void (*)(void))items, METH_NOARGS,
     "items($self, /)\n--\n\nAll columns as (name, column)."},
    {"release", (PyCFunction)(void (*)(void))release_now, METH_NOARGS,
     "release($self, /)\n--\n\nGives the batch up before it is garbage. Its tensors, and what was "
     "made "
     "from\n"
     "them, stay valid and keep the slot until they are gone, too."},
    {0},
};

static PyGetSetDef attributes[] = {
    {"index", (getter)get_index, NULL, "The batch's number in its epoch, from 0.", NULL},
    {"epoch", (getter)get_epoch, NULL, "The epoch it is of.", NULL},
    {"rows", (getter)get_rows, NULL, "Rows that it has.", NULL},
    {"device", (getter)get_device, NULL, "Where its columns are: 'cpu' or 'cuda:N'.", NULL},
    {0},
};

static char doc[] =
    "A batch: columns by name.\n\n"
    "batch['image'] is a column; len(batch) are rows; iterating gives the columns that were asked\n"
    "for (of a folder of pictures: images, labels), so that a batch can be unpacked as a tuple.\n"
    "Every batch also has 'index' (the samples' numbers in the dataset), 'mask' (1: use the row) "
    "and\n"
    "'status' (0 as it is, 1 replaced, 2 bad, 3 padding).";

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},   {Py_tp_traverse, traverse}, {Py_tp_clear, clear},
    {Py_tp_repr, repr},         {Py_tp_iter, iterate},      {Py_tp_methods, methods},
    {Py_tp_getset, attributes}, {Py_tp_doc, doc},           {Py_mp_subscript, column},
    {Py_mp_length, row_count},  {Py_sq_contains, contains}, {0, NULL},
};

PyType_Spec batch_spec = {
    .name = "sluice.Batch",
    .basicsize = sizeof(batch_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
