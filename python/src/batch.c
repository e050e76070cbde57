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

/* A share of the hold for the length of a call, in which Python code may release the batch; NULL
 * with an exception. */
static hold *take_hold(batch_object *self)
{
    return is_held(self) ? hold_share(self->hold) : NULL;
}

/* Ellipsis: a function of the user's failed on the column, and may have changed it half-way. */
static void keep_column(batch_object *self, PyObject *name, PyObject *made)
{
    PyObject *type;
    PyObject *value;
    PyObject *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (self->columns != NULL && self->hold != NULL && /* else released by what made it */
        PyDict_SetItem(self->columns, name, made != NULL ? made : Py_Ellipsis) < 0) {
        PyErr_Clear(); /* it is made anew then */
    }
    PyErr_Restore(type, value, trace);
}

static PyObject *convert_column(batch_object *self, hold *own, PyObject *name, const char *text)
{
    const extension *e = extension_of(self);
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    const sluice_status status = sluice_batch_tensor(own->batch, text, &tensor);
    if (status == SLUICE_INVALID) {
        PyErr_SetObject(PyExc_KeyError, name);
        return NULL;
    }
    if (status < 0) {
        return sluice_raise_status(e, status, "the batch is that of the process before the fork");
    }
    PyObject *made = tensor_new(e, own, &tensor);
    if (made != NULL && self->convert != NULL) {
        PyObject *convert = Py_NewRef(self->convert);
        PyObject *converted = PyObject_CallFunctionObjArgs(convert, name, made, NULL);
        Py_DECREF(convert);
        Py_DECREF(made);
        made = converted;
        keep_column(self, name, made);
        return made;
    }
    if (made != NULL) {
        keep_column(self, name, made);
    }
    return made;
}

static PyObject *column_of(batch_object *self, hold *own, PyObject *name)
{
    PyObject *made = self->columns == NULL ? NULL : PyDict_GetItemWithError(self->columns, name);
    if (made == Py_Ellipsis) {
        return sluice_raise_status(extension_of(self), SLUICE_STATE,
                                   "a function failed on this column, and may have changed it");
    }
    if (made != NULL || PyErr_Occurred()) {
        return Py_XNewRef(made);
    }
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    return text == NULL ? NULL : convert_column(self, own, name, text);
}

static PyObject *column(batch_object *self, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "columns are asked for by name");
        return NULL;
    }
    hold *own = take_hold(self);
    PyObject *made = own == NULL ? NULL : column_of(self, own, name);
    hold_drop(own);
    return made;
}

typedef PyObject *(*make_one)(batch_object *self, hold *own, PyObject *name);

/* Columns [0, count) as `make` makes them; of all, or (`skip`) of those that were asked for. */
static PyObject *list_of(batch_object *self, hold *own, uint32_t skip, make_one make)
{
    const uint32_t count = sluice_batch_columns(own->batch) - skip;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < count && !PyErr_Occurred(); i++) {
        PyObject *name = PyUnicode_FromString(sluice_batch_column_name(own->batch, i));
        PyObject *made = name == NULL ? NULL : make(self, own, name);
        if (made != NULL) {
            (void)PyList_Append(list, made);
        }
        Py_XDECREF(made);
        Py_XDECREF(name);
    }
    if (PyErr_Occurred()) {
        Py_CLEAR(list);
    }
    return list;
}

static PyObject *name_itself(batch_object *self, hold *own, PyObject *name)
{
    (void)self;
    (void)own;
    return Py_NewRef(name);
}

static PyObject *name_and_column(batch_object *self, hold *own, PyObject *name)
{
    PyObject *made = column_of(self, own, name);
    return made == NULL ? NULL : Py_BuildValue("(ON)", name, made);
}

static PyObject *all(batch_object *self, uint32_t skip, make_one make)
{
    hold *own = take_hold(self);
    PyObject *list = own == NULL ? NULL : list_of(self, own, skip, make);
    hold_drop(own);
    return list;
}

static PyObject *keys(batch_object *self, PyObject *unused)
{
    (void)unused;
    return all(self, 0, name_itself);
}

static PyObject *values(batch_object *self, PyObject *unused)
{
    (void)unused;
    return all(self, 0, column_of);
}

static PyObject *items(batch_object *self, PyObject *unused)
{
    (void)unused;
    return all(self, 0, name_and_column);
}

/* The columns that were asked for, so that `for images, labels in loader` works. */
static PyObject *iterate(batch_object *self)
{
    PyObject *list = all(self, COMMON_COLUMNS, column_of);
    PyObject *iterator = list == NULL ? NULL : PyObject_GetIter(list);
    Py_XDECREF(list);
    return iterator;
}

static int contains(batch_object *self, PyObject *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (text == NULL && PyErr_Occurred()) {
        return -1;
    }
    hold *own = take_hold(self);
    if (own == NULL) {
        return -1;
    }
    const sluice_status status =
        text == NULL ? SLUICE_INVALID : sluice_batch_tensor(own->batch, text, &tensor);
    hold_drop(own);
    if (status < 0 && status != SLUICE_INVALID) {
        (void)sluice_raise_status(extension_of(self), status,
                                  "the batch is that of the process before the fork");
        return -1;
    }
    return status == SLUICE_OK;
}

static Py_ssize_t row_count(batch_object *self)
{
    return (Py_ssize_t)self->rows;
}

static PyObject *release_now(batch_object *self, PyObject *unused)
{
    (void)unused;
    hold *own = self->hold;
    self->hold = NULL; /* before Python code runs that might release it, too */
    if (self->columns != NULL) {
        PyDict_Clear(self->columns);
    }
    hold_drop(own);
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
