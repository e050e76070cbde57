/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor_object.h"

#include <string.h>

/* Converts IEEE 754's binary16: shifted into a float, and scaled by the difference of the biases.
 */
static double half_of(uint16_t half)
{
    const uint32_t bits = (uint32_t)(half & 0x7fffU) << 13;
    float value;
    memcpy(&value, &bits, sizeof(value));
    value *= 0x1p112F;
    if ((half & 0x7c00U) == 0x7c00U) {
        value = (half & 0x3ffU) != 0 ? (float)Py_NAN : (float)Py_HUGE_VAL;
    }
    return (half & 0x8000U) != 0 ? -(double)value : (double)value;
}

#define LOAD(type, from) (*(const type *)(const void *)(from))

/* Returns one element as a Python int, float or bool. */
PyObject *tensor_element(const tensor_object *self, const uint8_t *from)
{
    uint32_t bits;
    float single;
    switch ((sluice_dtype)self->tensor.dtype) {
    case SLUICE_U8:
        return PyLong_FromLong(*from);
    case SLUICE_I8:
        return PyLong_FromLong(LOAD(int8_t, from));
    case SLUICE_U16:
        return PyLong_FromLong(LOAD(uint16_t, from));
    case SLUICE_I16:
        return PyLong_FromLong(LOAD(int16_t, from));
    case SLUICE_U32:
        return PyLong_FromUnsignedLong(LOAD(uint32_t, from));
    case SLUICE_I32:
        return PyLong_FromLong(LOAD(int32_t, from));
    case SLUICE_U64:
        return PyLong_FromUnsignedLongLong(LOAD(uint64_t, from));
    case SLUICE_I64:
        return PyLong_FromLongLong(LOAD(int64_t, from));
    case SLUICE_BOOL:
        return PyBool_FromLong(*from);
    case SLUICE_F64:
        return PyFloat_FromDouble(LOAD(double, from));
    case SLUICE_F32:
        return PyFloat_FromDouble((double)LOAD(float, from));
    case SLUICE_F16:
        return PyFloat_FromDouble(half_of(LOAD(uint16_t, from)));
    case SLUICE_BF16:
        bits = (uint32_t)LOAD(uint16_t, from) << 16;
        memcpy(&single, &bits, sizeof(single));
        return PyFloat_FromDouble((double)single);
    }
    PyErr_SetString(PyExc_TypeError, "cannot read its elements");
    return NULL;
}

static bool is_here(const tensor_object *self)
{
    if (tensor_is_on_device(self)) {
        PyErr_SetString(PyExc_TypeError, "the tensor is on a GPU: use .torch()");
        return false;
    }
    return true;
}

/* Returns the only element of a tensor. */
PyObject *tensor_item(tensor_object *self, PyObject *unused)
{
    (void)unused;
    if (!is_here(self)) {
        return NULL;
    }
    if (self->tensor.size_bytes != sluice_dtype_bytes((sluice_dtype)self->tensor.dtype)) {
        PyErr_SetString(PyExc_TypeError,
                        "expected a tensor of one element: use .numpy() or .torch() for others");
        return NULL;
    }
    return tensor_element(self, self->tensor.data);
}

PyObject *tensor_as_int(tensor_object *self)
{
    PyObject *value = tensor_item(self, NULL);
    PyObject *made = value == NULL ? NULL : PyNumber_Long(value);
    Py_XDECREF(value);
    return made;
}

PyObject *tensor_as_index(tensor_object *self)
{
    PyObject *value = tensor_item(self, NULL);
    if (value != NULL && !PyLong_Check(value)) {
        Py_CLEAR(value);
        PyErr_SetString(PyExc_TypeError, "a floating number cannot be an index");
    }
    return value;
}

PyObject *tensor_as_float(tensor_object *self)
{
    PyObject *value = tensor_item(self, NULL);
    PyObject *made = value == NULL ? NULL : PyNumber_Float(value);
    Py_XDECREF(value);
    return made;
}

int tensor_as_bool(tensor_object *self)
{
    PyObject *value = tensor_item(self, NULL);
    const int made = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return made;
}

/* Returns lists of lists, from dimension `dim` on. */
static PyObject *list_from(const tensor_object *self, uint32_t dim, const uint8_t *from)
{
    if (dim == self->tensor.dims) {
        return tensor_element(self, from);
    }
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < self->shape[dim]; i++) {
        PyObject *one = list_from(self, dim + 1, from + i * self->strides[dim]);
        if (one == NULL || PyList_Append(list, one) < 0) {
            Py_DECREF(list);
            list = NULL;
        }
        Py_XDECREF(one);
    }
    return list;
}

PyObject *tensor_to_list(tensor_object *self, PyObject *unused)
{
    (void)unused;
    return is_here(self) ? list_from(self, 0, self->tensor.data) : NULL;
}

/* Raises: comparing values would give an array, and comparing identities would be a trap. */
PyObject *tensor_compare(PyObject *self, PyObject *other, int operation)
{
    if (self == other || other == Py_None || (operation != Py_EQ && operation != Py_NE)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyErr_SetString(PyExc_TypeError, "cannot compare tensors: use .numpy() or .torch(), or "
                                     ".item() of a single number");
    return NULL;
}

Py_hash_t tensor_hash(PyObject *self)
{
    return (Py_hash_t)((uintptr_t)self >> 4);
}
