/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include "tensor_object.h"

#include <stdlib.h>
#include <string.h>

/* Names of a dtype in other libraries. */
typedef struct dtype_names {
    const char *name;  /* numpy's and torch's */
    char *format;      /* of the struct module, as numpy understands it; NULL: none */
    const char *array; /* of the array interface */
} dtype_names;

static const dtype_names *names_of(int32_t dtype)
{
    static const dtype_names names[] = {
        [SLUICE_U8] = {"uint8", "B", "|u1"},    [SLUICE_F32] = {"float32", "f", "<f4"},
        [SLUICE_F16] = {"float16", "e", "<f2"}, [SLUICE_BF16] = {"bfloat16", NULL, "<V2"},
        [SLUICE_I64] = {"int64", "l", "<i8"},   [SLUICE_I32] = {"int32", "i", "<i4"},
        [SLUICE_I16] = {"int16", "h", "<i2"},   [SLUICE_I8] = {"int8", "b", "|i1"},
        [SLUICE_U16] = {"uint16", "H", "<u2"},  [SLUICE_U32] = {"uint32", "I", "<u4"},
        [SLUICE_U64] = {"uint64", "L", "<u8"},  [SLUICE_F64] = {"float64", "d", "<f8"},
        [SLUICE_BOOL] = {"bool", "?", "|b1"},
    };
    static const dtype_names unknown = {"unknown", NULL, "|V1"};
    return dtype >= 0 && (size_t)dtype < sizeof(names) / sizeof(*names) ? &names[dtype] : &unknown;
}

PyObject *tensor_new(const extension *e, hold *h, const sluice_tensor *tensor)
{
    tensor_object *self = object_new(e->tensor);
    if (self == NULL) {
        return NULL;
    }
    const Py_ssize_t bytes = (Py_ssize_t)sluice_dtype_bytes((sluice_dtype)tensor->dtype);
    self->hold = hold_share(h);
    self->tensor = *tensor;
    for (uint32_t i = 0; i < tensor->dims; i++) {
        self->shape[i] = (Py_ssize_t)tensor->shape[i];
        self->strides[i] = (Py_ssize_t)tensor->strides[i] * bytes;
    }
    return (PyObject *)self;
}

static void dealloc(tensor_object *self)
{
    hold_drop(self->hold);
    Py_XDECREF(self->parts);
    object_free(self);
}

/* ---- properties ---- */

static PyObject *tuple_of(const int64_t *values, uint32_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (uint32_t i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SetItem(tuple, (Py_ssize_t)i, PyLong_FromLongLong(values[i]));
    }
    if (PyErr_Occurred()) {
        Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *get_shape(tensor_object *self, void *unused)
{
    (void)unused;
    return tuple_of(self->tensor.shape, self->tensor.dims);
}

static PyObject *get_dtype(tensor_object *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(names_of(self->tensor.dtype)->name);
}

static PyObject *get_device(tensor_object *self, void *unused)
{
    (void)unused;
    return tensor_is_on_device(self)
               ? PyUnicode_FromFormat("cuda:%d", (int)self->tensor.device_number)
               : PyUnicode_FromString("cpu");
}

static PyObject *get_ndim(tensor_object *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(self->tensor.dims);
}

static PyObject *get_nbytes(tensor_object *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(self->tensor.size_bytes);
}

static PyObject *get_data_ptr(tensor_object *self, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(self->tensor.data);
}

/* ---- parts ---- */

/* `name`: of the part, as in the table of attributes. */
static PyObject *get_part(tensor_object *self, void *name)
{
    PyObject *found =
        self->parts == NULL ? NULL : PyDict_GetItemString(self->parts, (const char *)name);
    if (found == NULL && !PyErr_Occurred()) {
        PyErr_Format(PyExc_AttributeError, "this column has no %s", (const char *)name);
    }
    return Py_XNewRef(found);
}

/* Accepts only tensors, which cannot refer to this one: the collector does not track the object. */
static PyObject *attach(tensor_object *self, PyObject *arguments)
{
    PyObject *name;
    PyObject *part;
    if (!PyArg_ParseTuple(arguments, "UO:_attach", &name, &part)) {
        return NULL;
    }
    if (!Py_IS_TYPE(part, Py_TYPE((PyObject *)self)) || part == (PyObject *)self ||
        ((tensor_object *)part)->parts != NULL) {
        PyErr_SetString(PyExc_TypeError, "expected a sluice.Tensor without parts");
        return NULL;
    }
    if (self->parts == NULL) {
        self->parts = PyDict_New();
    }
    if (self->parts == NULL || PyDict_SetItem(self->parts, name, part) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Returns the values as a text followed by ", ", or "" if they are not shown; NULL with an
 * exception. */
static PyObject *values_text(tensor_object *self)
{
    PyObject *module = PyImport_ImportModule("sluice._tensor_text");
    PyObject *text =
        module == NULL ? NULL : PyObject_CallMethod(module, "shown", "O", (PyObject *)self);
    PyObject *made = NULL;
    if (text != NULL) {
        made = text == Py_None ? PyUnicode_FromString("") : PyUnicode_FromFormat("%U, ", text);
    }
    Py_XDECREF(module);
    Py_XDECREF(text);
    return made;
}

static PyObject *repr(tensor_object *self)
{
    PyObject *shape = get_shape(self, NULL);
    PyObject *device = get_device(self, NULL);
    PyObject *values = shape != NULL && device != NULL ? values_text(self) : NULL;
    PyObject *text = NULL;
    if (values != NULL) {
        text = PyUnicode_FromFormat("sluice.Tensor(%Ushape=%S, dtype=%s, device='%U')", values,
                                    shape, names_of(self->tensor.dtype)->name, device);
    }
    Py_XDECREF(values);
    Py_XDECREF(shape);
    Py_XDECREF(device);
    return text;
}

static Py_ssize_t length(tensor_object *self)
{
    if (self->tensor.dims == 0) {
        PyErr_SetString(PyExc_TypeError, "a tensor without dimensions has no length");
        return -1;
    }
    return (Py_ssize_t)self->tensor.shape[0];
}

/* Returns rows as a tensor over the same memory. */
static PyObject *rows(tensor_object *self, Py_ssize_t first, Py_ssize_t count, bool drop_dimension)
{
    sluice_tensor slice = SLUICE_TENSOR_INIT;
    const extension *e = extension_of(self);
    const sluice_status status = sluice_tensor_slice(&self->tensor, first, count, &slice);
    if (status < 0) {
        return sluice_raise_status(e, status, "no such rows");
    }
    if (drop_dimension) {
        slice.dims--;
        memmove(slice.shape, slice.shape + 1, slice.dims * sizeof(*slice.shape));
        memmove(slice.strides, slice.strides + 1, slice.dims * sizeof(*slice.strides));
        if (slice.dims == 0 && !tensor_is_on_device(self)) {
            return tensor_element(self, slice.data);
        }
    }
    return tensor_new(e, self->hold, &slice);
}

static PyObject *subscript(tensor_object *self, PyObject *key)
{
    const Py_ssize_t size = length(self);
    if (size < 0) {
        return NULL;
    }
    if (PyIndex_Check(key)) {
        Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (index == -1 && PyErr_Occurred()) {
            return NULL;
        }
        index += index < 0 ? size : 0;
        if (index < 0 || index >= size) {
            PyErr_Format(PyExc_IndexError, "out of range: the tensor has %zd rows", size);
            return NULL;
        }
        return rows(self, index, 1, true);
    }
    if (Py_IS_TYPE(key, &PySlice_Type)) {
        Py_ssize_t start;
        Py_ssize_t stop;
        Py_ssize_t step;
        if (PySlice_Unpack(key, &start, &stop, &step) < 0) {
            return NULL;
        }
        const Py_ssize_t count = PySlice_AdjustIndices(size, &start, &stop, step);
        if (step != 1) {
            PyErr_SetString(PyExc_ValueError,
                            "slices need step 1: use .numpy() or .torch() for others");
            return NULL;
        }
        return rows(self, start, count, false);
    }
    PyErr_SetString(
        PyExc_TypeError,
        "expected a number or a slice of rows: use .numpy() or .torch() for anything else");
    return NULL;
}

static PyObject *item(tensor_object *self, Py_ssize_t index)
{
    const Py_ssize_t size = length(self);
    if (size < 0 || index < 0 || index >= size) {
        if (size >= 0) {
            PyErr_SetString(PyExc_IndexError, "no such row");
        }
        return NULL;
    }
    return rows(self, index, 1, true);
}

/* ---- buffer protocol ---- */

/* Returns true if C's order and Fortran's differ. */
static bool has_order(const tensor_object *self)
{
    uint32_t long_ones = 0;
    for (uint32_t i = 0; i < self->tensor.dims; i++) {
        long_ones += self->tensor.shape[i] > 1;
    }
    return long_ones > 1;
}

static int get_buffer(tensor_object *self, Py_buffer *view, int flags)
{
    const dtype_names *names = names_of(self->tensor.dtype);
    view->obj = NULL;
    if (tensor_is_on_device(self)) {
        PyErr_SetString(PyExc_BufferError, "this tensor is in the GPU's memory: use DLPack");
        return -1;
    }
    if (names->format == NULL) {
        PyErr_Format(PyExc_BufferError,
                     "the buffer protocol has no %s: use DLPack, as torch.from_dlpack(tensor) does",
                     names->name);
        return -1;
    }
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && has_order(self)) {
        PyErr_SetString(PyExc_BufferError, "the tensor is in C order, not in Fortran order");
        return -1;
    }
    view->buf = self->tensor.data;
    view->obj = Py_NewRef((PyObject *)self);
    view->len = (Py_ssize_t)self->tensor.size_bytes;
    view->itemsize = (Py_ssize_t)sluice_dtype_bytes((sluice_dtype)self->tensor.dtype);
    view->readonly = 0;
    view->ndim = (int)self->tensor.dims;
    view->format = (flags & PyBUF_FORMAT) != 0 ? names->format : NULL;
    view->shape = (flags & PyBUF_ND) != 0 ? self->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    return 0;
}

/* ---- array interfaces ---- */

/* An array on a device without elements has the address 0: importers would look up the device of
 * any other, which may be the end of an allocation. */
static PyObject *interface(tensor_object *self, PyObject *stream)
{
    void *address = stream != NULL && self->tensor.size_bytes == 0 ? NULL : self->tensor.data;
    PyObject *shape = get_shape(self, NULL);
    PyObject *data =
        shape == NULL ? NULL : Py_BuildValue("(NO)", PyLong_FromVoidPtr(address), Py_False);
    if (data == NULL) {
        Py_XDECREF(shape);
        return NULL;
    }
    return stream == NULL
               ? Py_BuildValue("{s:N,s:s,s:N,s:i}", "shape", shape, "typestr",
                               names_of(self->tensor.dtype)->array, "data", data, "version", 3)
               : Py_BuildValue("{s:N,s:s,s:N,s:i,s:O}", "shape", shape, "typestr",
                               names_of(self->tensor.dtype)->array, "data", data, "version", 3,
                               "stream", stream);
}

static PyObject *no_attribute(const char *name, const char *why)
{
    PyErr_Format(PyExc_AttributeError, "%s: %s", name, why);
    return NULL;
}

static PyObject *get_array_interface(tensor_object *self, void *unused)
{
    (void)unused;
    if (tensor_is_on_device(self)) {
        return no_attribute("__array_interface__", "the tensor is on a GPU");
    }
    return names_of(self->tensor.dtype)->format == NULL
               ? no_attribute("__array_interface__", "numpy lacks the dtype")
               : interface(self, NULL);
}

/* The stream is the legacy default stream (1), on which the importer must wait. The import keeps
 * this object, which from now on keeps the slot until that stream's work is done. */
static PyObject *get_cuda_interface(tensor_object *self, void *unused)
{
    (void)unused;
    if (!tensor_is_on_device(self)) {
        return no_attribute("__cuda_array_interface__", "the tensor is in host memory");
    }
    if (self->hold->kind != HOLD_STREAM || self->hold->stream != NULL) { /* the first time */
        hold *own = tensor_hold_on(self, NULL);
        if (own == NULL) {
            return NULL;
        }
        hold_drop(self->hold);
        self->hold = own;
    }
    PyObject *one = PyLong_FromLong(1);
    PyObject *made = one == NULL ? NULL : interface(self, one);
    Py_XDECREF(one);
    return made;
}

/* ---- numpy and torch ---- */

static PyObject *to_numpy(tensor_object *self, PyObject *unused)
{
    (void)unused;
    if (tensor_is_on_device(self)) {
        PyErr_SetString(PyExc_TypeError, "the tensor is on a GPU: use .torch().cpu().numpy()");
        return NULL;
    }
    if (names_of(self->tensor.dtype)->format == NULL) {
        PyErr_Format(PyExc_TypeError, "numpy lacks %s: use .torch(), or request another dtype",
                     names_of(self->tensor.dtype)->name);
        return NULL;
    }
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *array =
        numpy == NULL ? NULL : PyObject_CallMethod(numpy, "asarray", "O", (PyObject *)self);
    Py_XDECREF(numpy);
    return array;
}

static PyObject *to_torch(tensor_object *self, PyObject *unused)
{
    (void)unused;
    PyObject *torch = PyImport_ImportModule("torch");
    PyObject *made =
        torch == NULL ? NULL : PyObject_CallMethod(torch, "from_dlpack", "O", (PyObject *)self);
    Py_XDECREF(torch);
    return made;
}

/* numpy calls this if there is no buffer and no interface, before it iterates the rows.
 */
static PyObject *to_array(tensor_object *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None;
    PyObject *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO:__array__", names, &dtype, &copy)) {
        return NULL;
    }
    const int must_copy = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    PyObject *array = must_copy < 0 ? NULL : to_numpy(self, NULL);
    if (array != NULL && (must_copy == 1 || dtype != Py_None)) {
        PyObject *made = dtype != Py_None ? PyObject_CallMethod(array, "astype", "O", dtype)
                                          : PyObject_CallMethod(array, "copy", NULL);
        Py_DECREF(array);
        array = made;
    }
    return array;
}

static PyObject *no_pickle(tensor_object *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    PyErr_SetString(PyExc_TypeError,
                    "a tensor is memory of its loader and cannot be pickled: pickle a copy, "
                    "such as .numpy().copy()");
    return NULL;
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Returns the memory as a DLPack capsule, without a copy unless `copy` is true.\n\n"
     "The capsule stays valid while the importer keeps it, also after the batch, the loader and\n"
     "the dataset are gone."},
    {"__dlpack_device__", (PyCFunction)(void (*)(void))tensor_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nReturns the device as DLPack's (type, number)."},
    {"numpy", (PyCFunction)(void (*)(void))to_numpy, METH_NOARGS,
     "numpy($self, /)\n--\n\nReturns a writable numpy array over the same memory.\n\n"
     "Returns:\n    The array.\n\n"
     "Raises:\n    TypeError: the tensor is on a GPU, or is bfloat16, which numpy lacks.\n\n"
     "Example:\n    >>> int(next(iter(loader))[\"label\"].numpy().sum())\n    0"},
    {"__array__", (PyCFunction)(void (*)(void))to_array, METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\nReturns numpy(), for numpy.asarray."},
    {"item", (PyCFunction)(void (*)(void))tensor_item, METH_NOARGS,
     "item($self, /)\n--\n\nReturns the number in a tensor of one element.\n\n"
     "Returns:\n    The number.\n\n"
     "Raises:\n    TypeError: the tensor has another number of elements.\n\n"
     "Example:\n    >>> next(iter(loader))[\"label\"][:1].item()\n    0"},
    {"tolist", (PyCFunction)(void (*)(void))tensor_to_list, METH_NOARGS,
     "tolist($self, /)\n--\n\nReturns the elements as Python's numbers.\n\n"
     "Returns:\n    A list, nested by dimension.\n\n"
     "Example:\n    >>> next(iter(loader))[\"label\"].tolist()\n    [0, 0, 0, 0]"},
    {"_attach", (PyCFunction)(void (*)(void))attach, METH_VARARGS,
     "_attach($self, name, part, /)\n--\n\nMakes `part` the attribute `name`."},
    {"__reduce__", (PyCFunction)(void (*)(void))no_pickle, METH_NOARGS, "Raises TypeError."},
    {"torch", (PyCFunction)(void (*)(void))to_torch, METH_NOARGS,
     "torch($self, /)\n--\n\nReturns a torch tensor over the same memory (torch.from_dlpack).\n\n"
     "Returns:\n    The torch tensor."},
    {0},
};

static PyGetSetDef attributes[] = {
    {"shape", (getter)get_shape, NULL, "Sizes of the dimensions; the first one is rows.", NULL},
    {"dtype", (getter)get_dtype, NULL, "Name of the elements' type: 'uint8', 'float16', ...", NULL},
    {"device", (getter)get_device, NULL, "'cpu' or 'cuda:N'.", NULL},
    {"ndim", (getter)get_ndim, NULL, "Number of dimensions.", NULL},
    {"nbytes", (getter)get_nbytes, NULL, "Bytes of all elements.", NULL},
    {"data_ptr", (getter)get_data_ptr, NULL, "Address of the first element.", NULL},
    {"offsets", (getter)get_part, NULL,
     "Of a ragged column: the beginning of each row, and the end: int64, rows + 1.", "offsets"},
    {"lengths", (getter)get_part, NULL, "Of a padded column: elements of each row.", "lengths"},
    {"sizes", (getter)get_part, NULL, "Height and width of each row's image: int32, rows x 2.",
     "sizes"},
    {"shapes", (getter)get_part, NULL,
     "Of instances: masks, height and width of each row: int32, rows x 3.", "shapes"},
    {"mixed_with", (getter)get_part, NULL, "Of MixUp and CutMix: the row that was mixed in: int64.",
     "mixed_with"},
    {"weight", (getter)get_part, NULL,
     "Of MixUp and CutMix: the weight of the row itself: float32.", "weight"},
    {"share", (getter)get_part, NULL, "Of MixUpPartner: the fraction of the row itself: float32.",
     "share"},
    {"__array_interface__", (getter)get_array_interface, NULL, "For numpy.", NULL},
    {"__cuda_array_interface__", (getter)get_cuda_interface, NULL, "For CuPy, Numba and others.",
     NULL},
    {0},
};

static char doc[] =
    "A column of a batch: a dense array in host or GPU memory.\n\n"
    "Other libraries read it without a copy: numpy.asarray(t), torch.from_dlpack(t),\n"
    "jax.dlpack.from_dlpack(t), cupy.from_dlpack(t), memoryview(t). t[i] and t[a:b] are rows over\n"
    "the same memory; t[i] of a tensor with one dimension is a number. A tensor may outlive its\n"
    "batch, loader and dataset. The batch's slot is not reused while the tensor, or anything made\n"
    "from it, is alive.";

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_doc, doc},
    {Py_mp_length, length},
    {Py_mp_subscript, subscript},
    {Py_sq_length, length},
    {Py_sq_item, item},
    {Py_nb_int, tensor_as_int},
    {Py_nb_float, tensor_as_float},
    {Py_nb_index, tensor_as_index},
    {Py_nb_bool, tensor_as_bool},
    {Py_tp_richcompare, tensor_compare},
    {Py_tp_hash, tensor_hash},
    {Py_bf_getbuffer, get_buffer},
    {0, NULL},
};

PyType_Spec tensor_spec = {
    .name = "sluice.Tensor",
    .basicsize = sizeof(tensor_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
