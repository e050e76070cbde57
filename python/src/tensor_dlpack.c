/* SPDX-License-Identifier: Apache-2.0 */
#include "dlpack.h"
#include "tensor_object.h"

#include <stdlib.h>
#include <string.h>

/* Data of an exported tensor, except its memory. */
typedef struct exported {
    union {
        dlpack_managed old;
        dlpack_versioned versioned;
    } as;
    hold *hold;
    void *copy; /* owned; NULL: the batch's memory */
    int64_t shape[SLUICE_TENSOR_DIMS_MAX], strides[SLUICE_TENSOR_DIMS_MAX];
} exported;

static void drop_exported(exported *out)
{
    hold_drop(out->hold);
    free(out->copy);
    free(out);
}

static void delete_old(dlpack_managed *self)
{
    drop_exported(self->context);
}

static void delete_versioned(dlpack_versioned *self)
{
    drop_exported(self->context);
}

/* A capsule that was not consumed still has its name. */
static void drop_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        dlpack_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
        managed->deleter(managed);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        dlpack_versioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        managed->deleter(managed);
    }
}

static void fill(exported *out, const sluice_tensor *tensor, dlpack_tensor *to)
{
    memcpy(out->shape, tensor->shape, sizeof(out->shape));
    memcpy(out->strides, tensor->strides, sizeof(out->strides));
    *to = (dlpack_tensor){.data = tensor->size_bytes == 0 ? NULL
                                  : out->copy != NULL     ? out->copy
                                                          : tensor->data,
                          .device_type = DLPACK_CPU, /* importers reject pinned memory as such */
                          .ndim = (int32_t)tensor->dims,
                          .lanes = 1,
                          .shape = out->shape,
                          .strides = out->strides};
    if (tensor->device_type == SLUICE_DEVICE_TYPE_CUDA) {
        to->device_type = DLPACK_CUDA;
        to->device_id = tensor->device_number;
    }
    (void)sluice_dtype_dlpack((sluice_dtype)tensor->dtype, &to->code, &to->bits);
}

/* Takes over `own`, which keeps the memory; NULL: a copy. */
static PyObject *export_as(const tensor_object *self, bool versioned, hold *own)
{
    const bool copy = own == NULL;
    exported *out = calloc(1, sizeof(*out));
    if (out != NULL && copy && self->tensor.size_bytes > 0) {
        out->copy = malloc((size_t)self->tensor.size_bytes);
        if (out->copy == NULL) {
            free(out);
            out = NULL;
        } else {
            memcpy(out->copy, self->tensor.data, (size_t)self->tensor.size_bytes);
        }
    }
    if (out == NULL) {
        hold_drop(own);
        return PyErr_NoMemory();
    }
    out->hold = own;
    PyObject *capsule;
    if (versioned) {
        out->as.versioned = (dlpack_versioned){.major = DLPACK_MAJOR,
                                               .minor = DLPACK_MINOR,
                                               .context = out,
                                               .deleter = delete_versioned,
                                               .flags = copy ? DLPACK_IS_COPIED : 0};
        fill(out, &self->tensor, &out->as.versioned.tensor);
        capsule = PyCapsule_New(&out->as.versioned, "dltensor_versioned", drop_capsule);
    } else {
        out->as.old = (dlpack_managed){.context = out, .deleter = delete_old};
        fill(out, &self->tensor, &out->as.old.tensor);
        capsule = PyCapsule_New(&out->as.old, "dltensor", drop_capsule);
    }
    if (capsule == NULL) {
        drop_exported(out);
    }
    return capsule;
}

/* Raises the loader's error while the loader is open. */
static void raise_refusal(tensor_object *self, sluice_status status)
{
    sluice_loader *loader = hold_loader(self->hold);
    sluice_error error = SLUICE_ERROR_INIT;
    if (loader != NULL && sluice_loader_get_error(loader, &error) == status) {
        (void)sluice_raise(extension_of(self), &error);
    } else {
        (void)sluice_raise_status(extension_of(self), status,
                                  "the stream cannot wait for the batch");
    }
}

hold *tensor_hold_on(tensor_object *self, struct CUstream_st *stream)
{
    const sluice_status status = sluice_batch_wait(self->hold->batch, stream);
    hold *made = status < 0 ? NULL : hold_for_stream(self->hold, stream);
    if (made == NULL) {
        raise_refusal(self, status < 0 ? status : SLUICE_NOMEM);
    }
    return made;
}

/* `stream` is an int. */
static hold *hold_on_number(tensor_object *self, PyObject *stream)
{
    const long long number = PyLong_AsLongLong(stream);
    if (number == -1) { /* do not wait */
        return PyErr_Occurred() ? NULL : hold_share(self->hold);
    }
    if (number == 0 || number < -1) {
        PyErr_SetString(
            PyExc_BufferError,
            "stream 0 is ambiguous: give 1 for the legacy default stream, or 2 for the thread's");
        return NULL;
    }
    return tensor_hold_on(self, PyLong_AsVoidPtr(stream));
}

/* Returns a hold for the importer of the tensor, on its stream; NULL with an exception. */
static hold *hold_for(tensor_object *self, PyObject *stream)
{
    if (!tensor_is_on_device(self)) {
        if (stream != Py_None) {
            PyErr_SetString(PyExc_BufferError, "a tensor in host memory has no stream");
            return NULL;
        }
        return hold_share(self->hold);
    }
    if (stream == Py_None) {
        return tensor_hold_on(self, NULL);
    }
    PyObject *index = PyNumber_Index(stream); /* once: its code may return something else later */
    hold *made = index == NULL ? NULL : hold_on_number(self, index);
    Py_XDECREF(index);
    return made;
}

static bool read_pair(const char *name, PyObject *pair, int *first, int *second)
{
    if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "ii", first, second)) {
        PyErr_Format(PyExc_TypeError, "%s=%R: expected a tuple of two numbers", name, pair);
        return false;
    }
    return true;
}

/* Returns 1 if dl_device is the tensor's device; -1 raised. */
static int check_device(const tensor_object *self, PyObject *device)
{
    int type;
    int number;
    if (device == Py_None) {
        return 0;
    }
    if (!read_pair("dl_device", device, &type, &number)) {
        return -1;
    }
    const int own = tensor_is_on_device(self) ? DLPACK_CUDA : DLPACK_CPU;
    if (type != own || (own == DLPACK_CUDA && number != self->tensor.device_number)) {
        PyErr_SetString(PyExc_BufferError, "the tensor is on another device and cannot be copied");
        return -1;
    }
    return 0;
}

PyObject *tensor_dlpack(tensor_object *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None;
    PyObject *version = Py_None;
    PyObject *device = Py_None;
    PyObject *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO:__dlpack__", names, &stream,
                                     &version, &device, &copy)) {
        return NULL;
    }
    int major = 0;
    int minor = 0;
    const int must_copy = PyObject_IsTrue(copy);
    if (must_copy < 0 || check_device(self, device) < 0 ||
        (version != Py_None && !read_pair("max_version", version, &major, &minor))) {
        return NULL;
    }
    if (must_copy && tensor_is_on_device(self)) {
        PyErr_SetString(PyExc_BufferError, "cannot copy tensors on a device: clone the import");
        return NULL;
    }
    hold *own = hold_for(self, stream);
    if (own == NULL) {
        return NULL;
    }
    if (must_copy == 1) {
        hold_drop(own);
        own = NULL;
    }
    return export_as(self, major >= DLPACK_MAJOR, own);
}

PyObject *tensor_dlpack_device(tensor_object *self, PyObject *unused)
{
    (void)unused;
    return tensor_is_on_device(self)
               ? Py_BuildValue("(ii)", DLPACK_CUDA, self->tensor.device_number)
               : Py_BuildValue("(ii)", DLPACK_CPU, 0);
}
