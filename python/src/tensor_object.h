/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_object: the object of tensor.h, and its DLPack exports. An export has its own hold on the
 * batch and is freed without calling Python: the importer may do so on any thread, also after the
 * interpreter has ended.
 */
#ifndef SLUICE_PY_TENSOR_OBJECT_H
#define SLUICE_PY_TENSOR_OBJECT_H

#include "extension.h"
#include "hold.h"

#include <stdbool.h>

/* clang-format off */
typedef struct tensor_object {
    PyObject_HEAD
    hold *hold;
    PyObject *parts; /* dict: the column's other arrays by name ("offsets"); NULL: none */
    sluice_tensor tensor;
    Py_ssize_t shape[SLUICE_TENSOR_DIMS_MAX], strides[SLUICE_TENSOR_DIMS_MAX]; /* in bytes */
} tensor_object;
/* clang-format on */

static inline bool tensor_is_on_device(const tensor_object *self)
{
    return self->tensor.device_type == SLUICE_DEVICE_TYPE_CUDA;
}

/* Makes the consumer's stream wait for the batch; returns a hold for it, or NULL with an exception.
 */
hold *tensor_hold_on(tensor_object *self, struct CUstream_st *stream);

/* Returns an element as a Python int, float or bool. */
PyObject *tensor_element(const tensor_object *self, const uint8_t *from);
/* Return the only element of a tensor: as it is, and for Python's number protocols. */
PyObject *tensor_item(tensor_object *self, PyObject *unused);
PyObject *tensor_as_int(tensor_object *self);
PyObject *tensor_as_index(tensor_object *self);
PyObject *tensor_as_float(tensor_object *self);
int tensor_as_bool(tensor_object *self);
PyObject *tensor_to_list(tensor_object *self, PyObject *unused);
PyObject *tensor_compare(PyObject *self, PyObject *other, int operation);
Py_hash_t tensor_hash(PyObject *self);

/* The methods __dlpack__ and __dlpack_device__. */
PyObject *tensor_dlpack(tensor_object *self, PyObject *arguments, PyObject *keywords);
PyObject *tensor_dlpack_device(tensor_object *self, PyObject *unused);

#endif
