/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include "tensor.h"

#include <string.h>

/* Largest small column: bytes per row, and in total. */
#define SMALL_ROW_BYTES ((uint64_t)4096)
#define SMALL_BYTES     ((uint64_t)1 << 20)

/* clang-format off */
typedef struct batch_object {
    PyObject_HEAD
    hold *hold;         /* NULL: released, or detached */
    bool detached;      /* `columns` has all of them */
    batch_kind kind;    /* shares */
    PyObject *columns;  /* dict: name -> converted column */
    uint64_t step, epoch;
    uint32_t rows;
    int32_t device; /* -1: none */
} batch_object;
/* clang-format on */

/* Columns that every batch has after its own. */
enum { COMMON_COLUMNS = 3 };

static int32_t device_of(const sluice_batch *batch)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    const bool known = sluice_batch_get_column(batch, 0, &tensor) == SLUICE_OK;
    return known && tensor.device_type == SLUICE_DEVICE_TYPE_CUDA ? tensor.device_number : -1;
}

PyObject *batch_names(const sluice_batch *batch)
{
    const uint32_t count = sluice_batch_columns(batch);
    PyObject *names = PyTuple_New((Py_ssize_t)count);
    for (uint32_t i = 0; names != NULL && i < count; i++) {
        PyObject *name = PyUnicode_FromString(sluice_batch_column_name(batch, i));
        if (name == NULL) {
            Py_DECREF(names);
            return NULL;
        }
        (void)PyTuple_SetItem(names, (Py_ssize_t)i, name);
    }
    return names;
}

uint64_t batch_bytes(PyObject *batch)
{
    const hold *own = ((batch_object *)batch)->hold;
    uint64_t bytes = 0;
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    for (uint32_t i = 0;
         own != NULL && sluice_batch_get_column(own->batch, i, &tensor) == SLUICE_OK; i++) {
        bytes += tensor.size_bytes;
    }
    return bytes;
}

PyObject *batch_new(const extension *e, hold *h, uint64_t first, const batch_kind *kind)
{
    batch_object *self = object_new(e->batch);
    if (self == NULL) {
        hold_drop(h);
        return NULL;
    }
    self->hold = h;
    self->kind.names = Py_NewRef(kind->names);
    self->kind.views = Py_NewRef(kind->views);
    self->kind.convert = Py_XNewRef(kind->convert);
    self->step = first + sluice_batch_step(h->batch);
    self->epoch = sluice_batch_epoch(h->batch);
    self->rows = sluice_batch_rows(h->batch);
    self->device = device_of(h->batch);
    self->columns = PyDict_New();
    if (self->columns == NULL) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static int traverse(batch_object *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)self));
    Py_VISIT(self->kind.names);
    Py_VISIT(self->kind.views);
    Py_VISIT(self->kind.convert);
    Py_VISIT(self->columns);
    return 0;
}

static int clear(batch_object *self)
{
    Py_CLEAR(self->kind.names);
    Py_CLEAR(self->kind.views);
    Py_CLEAR(self->kind.convert);
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

/* Takes a reference to the hold for a call in which Python code may release the batch; NULL for a
 * detached batch. False with an exception. */
static bool begin(batch_object *self, hold **own)
{
    const bool usable = (self->hold != NULL || self->detached) && self->kind.names != NULL;
    *own = usable && self->hold != NULL ? hold_share(self->hold) : NULL;
    if (!usable) {
        (void)sluice_raise_status(extension_of(self), SLUICE_STATE, "the batch was released");
    }
    return usable;
}

/* ---- columns ---- */

/* Ellipsis: a function of the user's failed on the column, and may have changed it half-way. */
static void keep_column(batch_object *self, PyObject *name, PyObject *made)
{
    PyObject *type;
    PyObject *value;
    PyObject *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (self->columns != NULL && self->hold != NULL && /* else the converter released it */
        PyDict_SetItem(self->columns, name, made != NULL ? made : Py_Ellipsis) < 0) {
        PyErr_Clear(); /* then it is converted again */
    }
    PyErr_Restore(type, value, trace);
}

/* Returns 1 if a column is returned as a copy; -1 with an exception. */
static int is_small(const batch_object *self, const sluice_tensor *tensor, PyObject *name)
{
    const uint64_t rows = self->rows > 0 ? self->rows : 1;
    if (tensor->size_bytes > SMALL_BYTES || tensor->size_bytes / rows > SMALL_ROW_BYTES) {
        return 0;
    }
    const int viewed = PySet_Contains(self->kind.views, name);
    return viewed < 0 ? -1 : !viewed;
}

/* Returns a tensor over the slot, or over a copy of it. */
static PyObject *make_tensor(batch_object *self, hold *own, uint32_t number, bool copies)
{
    const extension *e = extension_of(self);
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    const sluice_status status = sluice_batch_get_column(own->batch, number, &tensor);
    if (status < 0) {
        return sluice_raise_status(e, status, "the batch belongs to the process before the fork");
    }
    void *data = NULL;
    hold *memory =
        copies ? hold_copy(tensor.data, tensor.size_bytes, &data) : hold_column(own, number);
    if (memory == NULL) {
        return PyErr_NoMemory();
    }
    if (copies) {
        tensor.data = data;
        tensor.device_type = SLUICE_DEVICE_TYPE_CPU;
        tensor.device_number = 0;
    }
    PyObject *made = tensor_new(e, memory, &tensor);
    hold_drop(memory);
    return made;
}

static PyObject *convert_column(batch_object *self, hold *own, uint32_t number, bool copies)
{
    PyObject *name = Py_NewRef(PyTuple_GetItem(self->kind.names, (Py_ssize_t)number));
    PyObject *convert = Py_XNewRef(self->kind.convert);
    PyObject *made = make_tensor(self, own, number, copies && self->device < 0);
    if (made != NULL && convert != NULL) {
        PyObject *converted = PyObject_CallFunctionObjArgs(
            convert, name, made, copies && self->device >= 0 ? Py_True : Py_False, NULL);
        Py_DECREF(made);
        made = converted;
        keep_column(self, name, made);
    } else if (made != NULL) {
        keep_column(self, name, made);
    }
    Py_XDECREF(convert);
    Py_DECREF(name);
    return made;
}

static PyObject *column_of(batch_object *self, hold *own, uint32_t number)
{
    PyObject *name = PyTuple_GetItem(self->kind.names, (Py_ssize_t)number);
    PyObject *made = self->columns == NULL ? NULL : PyDict_GetItemWithError(self->columns, name);
    if (made == Py_Ellipsis) {
        return sluice_raise_status(extension_of(self), SLUICE_STATE,
                                   "a function failed on this column, which it may have changed");
    }
    if (made != NULL || PyErr_Occurred()) {
        return Py_XNewRef(made);
    }
    if (own == NULL) { /* another thread is releasing it */
        return sluice_raise_status(extension_of(self), SLUICE_STATE, "the batch was released");
    }
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    (void)sluice_batch_get_column(own->batch, number, &tensor); /* or it fails below */
    const int small = is_small(self, &tensor, name);
    return small < 0 ? NULL : convert_column(self, own, number, small != 0);
}

/* Returns the number of the column; -1: unknown, -2: raised. */
static Py_ssize_t find(const batch_object *self, PyObject *name)
{
    const Py_ssize_t count = PyTuple_Size(self->kind.names);
    if (!PyUnicode_Check(name)) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *own = PyTuple_GetItem(self->kind.names, i);
        const int same = own == name ? 1 : PyObject_RichCompareBool(own, name, Py_EQ);
        if (same != 0) {
            return same < 0 ? -2 : i;
        }
    }
    return -1;
}

static PyObject *column(batch_object *self, PyObject *name)
{
    hold *own;
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "expected the name of a column");
        return NULL;
    }
    if (!begin(self, &own)) {
        return NULL;
    }
    const Py_ssize_t number = find(self, name);
    PyObject *made = number < 0 ? NULL : column_of(self, own, (uint32_t)number);
    if (number == -1) {
        PyErr_SetObject(PyExc_KeyError, name);
    }
    hold_drop(own);
    return made;
}

int batch_detach(PyObject *batch)
{
    batch_object *self = (batch_object *)batch;
    hold *own;
    if (!begin(self, &own)) {
        return -1;
    }
    const uint32_t count = (uint32_t)PyTuple_Size(self->kind.names);
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < count; i++) {
        PyObject *made = convert_column(self, own, i, true);
        status = made == NULL ? -1 : 0;
        Py_XDECREF(made);
    }
    if (status == 0 && self->hold != NULL) { /* else a function released it */
        self->detached = true;
        hold_drop(self->hold);
        self->hold = NULL;
    }
    hold_drop(own);
    return status;
}

typedef PyObject *(*make_one)(batch_object *self, hold *own, uint32_t number);

/* Returns columns [0, count) from `make`: all, or (`skip`) the requested ones. */
static PyObject *list_of(batch_object *self, hold *own, uint32_t skip, make_one make)
{
    const uint32_t count = (uint32_t)PyTuple_Size(self->kind.names) - skip;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < count && !PyErr_Occurred(); i++) {
        PyObject *made = make(self, own, i);
        if (made != NULL) {
            (void)PyList_Append(list, made);
        }
        Py_XDECREF(made);
    }
    if (PyErr_Occurred()) {
        Py_CLEAR(list);
    }
    return list;
}

static PyObject *all(batch_object *self, uint32_t skip, make_one make)
{
    hold *own;
    if (!begin(self, &own)) {
        return NULL;
    }
    PyObject *list = list_of(self, own, skip, make);
    hold_drop(own);
    return list;
}

static PyObject *name_of(batch_object *self, hold *own, uint32_t number)
{
    (void)own;
    return Py_NewRef(PyTuple_GetItem(self->kind.names, (Py_ssize_t)number));
}

static PyObject *keys(batch_object *self, PyObject *unused)
{
    (void)unused;
    return all(self, 0, name_of);
}

static PyObject *asked(batch_object *self, PyObject *unused)
{
    (void)unused;
    return all(self, COMMON_COLUMNS, column_of);
}

static PyObject *release_now(batch_object *self, PyObject *unused)
{
    (void)unused;
    hold *own = self->hold;
    self->hold = NULL; /* before Python code runs that might release it, too */
    self->detached = false;
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
    return self->device >= 0 ? PyUnicode_FromFormat("cuda:%d", (int)self->device)
                             : PyUnicode_FromString("cpu");
}

static PyObject *get_released(batch_object *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(self->hold == NULL && !self->detached);
}

static PyMethodDef methods[] = {
    {"keys", (PyCFunction)(void (*)(void))keys, METH_NOARGS, "Returns the names of all columns."},
    {"asked", (PyCFunction)(void (*)(void))asked, METH_NOARGS,
     "Returns all columns except 'index', 'mask' and 'status'."},
    {"release", (PyCFunction)(void (*)(void))release_now, METH_NOARGS,
     "Releases the hold and the columns."},
    {0},
};

static PyGetSetDef attributes[] = {
    {"index", (getter)get_index, NULL, "Number in its epoch, from 0.", NULL},
    {"epoch", (getter)get_epoch, NULL, "Number of its epoch.", NULL},
    {"rows", (getter)get_rows, NULL, "Number of rows.", NULL},
    {"device", (getter)get_device, NULL, "Device of its columns: 'cpu' or 'cuda:N'.", NULL},
    {"released", (getter)get_released, NULL, "True if it was released.", NULL},
    {0},
};

static char doc[] = "A batch of the library: its columns by name. sluice.Batch uses it.";

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},   {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},       {Py_tp_methods, methods},
    {Py_tp_getset, attributes}, {Py_tp_doc, doc},
    {Py_mp_subscript, column},  {0, NULL},
};

PyType_Spec batch_spec = {
    .name = "sluice._sluice.Batch",
    .basicsize = sizeof(batch_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
