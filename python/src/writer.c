/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open sluice_writer, for sluice.Writer.
 *
 * One call at a time: `busy`, guarded by the GIL, is set before a call runs any Python code (which
 * converts values and may release the GIL) until the library has used them; a call of another
 * thread or of that code itself fails meanwhile.
 */
#include "extension.h"
#include "options.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { FIELDS_MAX = 64 };

/* clang-format off */
typedef struct writer_object {
    PyObject_HEAD
    sluice_writer *handle; /* NULL: finished or aborted */
    pid_t process; /* that opened it: in a forked child, a missing thread may have set `busy` */
    bool busy;
    uint32_t count;
    sluice_field fields[FIELDS_MAX];
} writer_object;
/* clang-format on */

/* ---- open ---- */

/* (name, type, dtype, shape, compression, (role, box_format, coordinates, orientation, per_box),
 * of) */
static int set_field(sluice_field *field, PyObject *tuple)
{
    const char *name;
    const char *of;
    PyObject *shape;
    *field = (sluice_field)SLUICE_FIELD_INIT;
    if (!PyArg_ParseTuple(tuple, "siiOi(iiiiI)s", &name, &field->type, &field->dtype, &shape,
                          &field->compression, &field->role, &field->box_format,
                          &field->coordinates, &field->orientation, &field->per_box, &of)) {
        return -1;
    }
    const Py_ssize_t dims = PyTuple_Size(shape);
    if (dims < 0 || dims > SLUICE_TENSOR_DIMS_MAX || strlen(name) >= sizeof(field->name) ||
        strlen(of) >= sizeof(field->of)) {
        PyErr_SetString(PyExc_ValueError, "too large: at most 8 dimensions and names of 31 bytes");
        return -1;
    }
    memcpy(field->name, name, strlen(name) + 1);
    memcpy(field->of, of, strlen(of) + 1);
    field->dims = (uint32_t)dims;
    for (Py_ssize_t i = 0; i < dims && !PyErr_Occurred(); i++) {
        field->shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int set_fields(writer_object *self, PyObject *tuple)
{
    const Py_ssize_t count = PyTuple_Size(tuple);
    if (count > FIELDS_MAX) {
        PyErr_SetString(PyExc_ValueError, "a sample has at most 64 fields");
        return -1;
    }
    self->count = (uint32_t)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (set_field(&self->fields[i], PyTuple_GetItem(tuple, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Returns names that live as long as `tuple`; the caller frees the array. */
static const char **names_of(PyObject *tuple, Py_ssize_t count)
{
    const char **names = (const char **)calloc((size_t)count + 1, sizeof(*names));
    if (names == NULL) {
        (void)PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t bytes = 0;
        names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, i), &bytes);
        if (names[i] != NULL && strlen(names[i]) != (size_t)bytes) {
            PyErr_SetString(PyExc_ValueError, "the name of a class contains a NUL character");
            names[i] = NULL;
        }
        if (names[i] == NULL) {
            free((void *)names);
            return NULL;
        }
    }
    return names;
}

static int open_with(const extension *e, writer_object *self, PyObject *path, PyObject *classes,
                     sluice_writer_options *options)
{
    sluice_error error = SLUICE_ERROR_INIT;
    const Py_ssize_t count = PyTuple_Size(classes);
    const char **names = names_of(classes, count);
    if (names == NULL) {
        return -1;
    }
    options->classes = count > 0 ? names : NULL;
    options->class_count = (uint32_t)count;
    options->fields = self->fields;
    options->field_count = self->count;
    PyThreadState *thread = PyEval_SaveThread();
    const sluice_status status =
        sluice_writer_open(&self->handle, PyBytes_AsString(path), options, &error);
    PyEval_RestoreThread(thread);
    free((void *)names);
    if (status < 0) {
        (void)sluice_raise(e, &error);
        return -1;
    }
    return 0;
}

/* Arguments: path, options, fields, classes. */
static PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    const extension *e = PyType_GetModuleState(type);
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    PyObject *path = NULL;
    PyObject *dict;
    PyObject *lists[2];
    (void)keywords;
    if (!PyArg_ParseTuple(arguments, "O&OOO", PyUnicode_FSConverter, &path, &dict, &lists[0],
                          &lists[1])) {
        return NULL;
    }
    PyObject *fields = PyList_AsTuple(lists[0]);
    PyObject *classes = fields == NULL ? NULL : PyList_AsTuple(lists[1]);
    writer_object *self = classes == NULL ? NULL : object_new(type);
    if (self != NULL) {
        self->process = getpid();
    }
    if (self != NULL &&
        (options_set(e, SLUICE_OPTIONS_WRITER, &options, dict, NULL) < 0 ||
         set_fields(self, fields) < 0 || open_with(e, self, path, classes, &options) < 0)) {
        Py_CLEAR(self);
    }
    Py_XDECREF(classes);
    Py_XDECREF(fields);
    Py_DECREF(path);
    return (PyObject *)self;
}

/* ---- values ---- */

/* Buffers and references that a sample's values point into. */
typedef struct sample {
    sluice_value values[FIELDS_MAX];
    Py_buffer buffers[FIELDS_MAX];
    uint32_t held;
} sample;

static int take_buffer(sample *s, PyObject *object, sluice_value *value)
{
    Py_buffer *buffer = &s->buffers[s->held];
    if (PyObject_GetBuffer(object, buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
        return -1;
    }
    s->held++;
    value->data = buffer->buf;
    value->bytes = (uint64_t)buffer->len;
    return 0;
}

/* Returns DLPack's code for the letter of a buffer's format (the struct module's, and numpy's); -1:
 * not a type of fields. */
static int kind_of(char letter)
{
    enum { INT = 0, UINT = 1, FLOAT = 2, BOOL = 6 };
    if (letter == '?') {
        return BOOL;
    }
    if (letter == 'e' || letter == 'f' || letter == 'd') {
        return FLOAT;
    }
    if (letter != '\0' && strchr("bhilqn", letter) != NULL) {
        return INT;
    }
    return letter != '\0' && strchr("BHILQN", letter) != NULL ? UINT : -1;
}

/* Returns true if the elements are of `dtype`, in this machine's byte order. bfloat16 has no letter
 * and is accepted as 16-bit integers. */
static bool has_elements(const Py_buffer *buffer, sluice_dtype dtype)
{
    const char *format = buffer->format != NULL ? buffer->format : "B";
    uint8_t code = 0;
    uint8_t bits = 0;
    if (*format == '@' || *format == '=' || *format == '<') {
        format++;
    }
    (void)sluice_dtype_dlpack(dtype, &code, &bits);
    const int kind = format[0] != '\0' && format[1] == '\0' ? kind_of(format[0]) : -1;
    const int wanted = dtype == SLUICE_BF16 ? kind_of('H') : code;
    return kind == wanted && (size_t)buffer->itemsize == sluice_dtype_bytes(dtype);
}

static int refuse_type(const sluice_field *field, const char *wanted, PyObject *object)
{
    PyObject *type = PyType_GetName(Py_TYPE(object));
    if (type != NULL) {
        PyErr_Format(PyExc_TypeError, "%s: expected %s, not %U", field->name, wanted, type);
        Py_DECREF(type);
    }
    return -1;
}

/* Takes an encoded file's bytes, or pixels: rows x columns x 3 of u8. */
static int set_image(sample *s, const sluice_field *field, PyObject *object, sluice_value *value)
{
    if (take_buffer(s, object, value) < 0) {
        return -1;
    }
    const Py_buffer *buffer = &s->buffers[s->held - 1];
    if (buffer->ndim == 3 && has_elements(buffer, SLUICE_U8) && buffer->shape[2] == 3) {
        value->raw_height = (uint32_t)buffer->shape[0];
        value->raw_width = (uint32_t)buffer->shape[1];
        return 0;
    }
    if (buffer->ndim != 1 || buffer->itemsize != 1) {
        PyErr_Format(PyExc_TypeError,
                     "%s: a picture is the bytes of a file, or pixels as uint8 of the shape "
                     "(height, width, 3)",
                     field->name);
        return -1;
    }
    return 0;
}

/* Accepts bytes; an array of u8 counts as an array. */
static bool is_bytes(PyObject *object)
{
    return PyBytes_Check(object) || PyByteArray_Check(object) || PyMemoryView_Check(object);
}

static int set_tensor(sample *s, const sluice_field *field, PyObject *object, sluice_value *value)
{
    if (take_buffer(s, object, value) < 0) {
        return -1;
    }
    const Py_buffer *buffer = &s->buffers[s->held - 1];
    /* Its bytes, of any shape. */
    const bool plain = is_bytes(object) && buffer->ndim == 1 && has_elements(buffer, SLUICE_U8);
    if (!plain && !has_elements(buffer, (sluice_dtype)field->dtype)) {
        PyErr_Format(PyExc_TypeError, "%s: elements are '%s' of %zd bytes, expected %s",
                     field->name, buffer->format != NULL ? buffer->format : "B", buffer->itemsize,
                     sluice_dtype_name((sluice_dtype)field->dtype));
        return -1;
    }
    if (!plain || buffer->ndim == (int)field->dims) {
        if (buffer->ndim != (int)field->dims) {
            PyErr_Format(PyExc_ValueError, "%s: %d dimensions, expected %u", field->name,
                         buffer->ndim, (unsigned)field->dims);
            return -1;
        }
        const Py_ssize_t size = (Py_ssize_t)sluice_dtype_bytes((sluice_dtype)field->dtype);
        for (int i = 0; i < buffer->ndim; i++) {
            value->shape[i] = buffer->shape[i] / (plain ? size : 1);
        }
    }
    return 0;
}

static int set_int(PyObject *object, sluice_value *value)
{
    value->integer = PyLong_AsLongLong(object);
    return value->integer == -1 && PyErr_Occurred() ? -1 : 0;
}

static int set_float(PyObject *object, sluice_value *value)
{
    value->number = PyFloat_AsDouble(object);
    return value->number == -1 && PyErr_Occurred() ? -1 : 0;
}

static int set_text(PyObject *object, sluice_value *value)
{
    Py_ssize_t bytes;
    value->data = PyUnicode_AsUTF8AndSize(object, &bytes);
    value->bytes = (uint64_t)bytes;
    return value->data == NULL ? -1 : 0;
}

static int set_value(sample *s, const sluice_field *field, PyObject *object, sluice_value *value)
{
    *value = (sluice_value)SLUICE_VALUE_INIT;
    if (object == Py_None) {
        value->absent = 1;
        return 0;
    }
    switch (field->type) {
    case SLUICE_FIELD_INT:
        return PyIndex_Check(object) ? set_int(object, value)
                                     : refuse_type(field, "an integer", object);
    case SLUICE_FIELD_FLOAT:
        return PyNumber_Check(object) ? set_float(object, value)
                                      : refuse_type(field, "a number", object);
    case SLUICE_FIELD_TEXT:
        return PyUnicode_Check(object) ? set_text(object, value)
                                       : refuse_type(field, "a text", object);
    default:
        break;
    }
    if (!PyObject_CheckBuffer(object)) {
        return refuse_type(field, "bytes, or an object with the buffer protocol", object);
    }
    if (field->type == SLUICE_FIELD_IMAGE) {
        return set_image(s, field, object, value);
    }
    return field->type == SLUICE_FIELD_TENSOR ? set_tensor(s, field, object, value)
                                              : take_buffer(s, object, value);
}

static bool is_forked(const writer_object *self)
{
    return getpid() != self->process;
}

static bool is_free(writer_object *self)
{
    const char *why = NULL;
    if (self->handle == NULL) {
        why = "the writer is finished";
    } else if (is_forked(self)) {
        why = "the writer belongs to the process before the fork";
    } else if (self->busy) {
        why = "another thread is using the writer";
    }
    if (why != NULL) {
        (void)sluice_raise_status(extension_of(self), SLUICE_STATE, why);
    }
    return why == NULL;
}

static PyObject *add_sample(writer_object *self, sample *s)
{
    const extension *e = extension_of(self);
    sluice_error error = SLUICE_ERROR_INIT;
    PyThreadState *thread = PyEval_SaveThread();
    const sluice_status status =
        sluice_writer_add_values(self->handle, s->values, self->count, &error);
    PyEval_RestoreThread(thread);
    return status < 0 ? sluice_raise(e, &error) : Py_NewRef(Py_None);
}

/* Called by the owner of the writer. */
static PyObject *add_tuple(writer_object *self, PyObject *values)
{
    PyObject *made = NULL;
    if (PyTuple_Size(values) != (Py_ssize_t)self->count) {
        PyErr_SetString(PyExc_TypeError, "expected a value for each field");
        return NULL;
    }
    sample *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return PyErr_NoMemory();
    }
    uint32_t i = 0;
    while (i < self->count && set_value(s, &self->fields[i], PyTuple_GetItem(values, (Py_ssize_t)i),
                                        &s->values[i]) == 0) {
        i++;
    }
    if (i == self->count) {
        made = add_sample(self, s);
    }
    for (uint32_t k = 0; k < s->held; k++) {
        PyBuffer_Release(&s->buffers[k]);
    }
    free(s);
    return made;
}

/* add(values): one for each field, in order; None: the sample lacks it. */
static PyObject *add(writer_object *self, PyObject *list)
{
    PyObject *made = NULL;
    PyObject *values = PyList_AsTuple(list); /* texts in it are read in place */
    if (values != NULL && is_free(self)) {
        self->busy = true;
        made = add_tuple(self, values);
        self->busy = false;
    }
    Py_XDECREF(values);
    return made;
}

/* ---- the end ---- */

static PyObject *finish(writer_object *self, PyObject *unused)
{
    sluice_error error = SLUICE_ERROR_INIT;
    (void)unused;
    if (!is_free(self)) {
        return NULL;
    }
    sluice_writer *handle = self->handle;
    self->handle = NULL;
    PyThreadState *thread = PyEval_SaveThread();
    const sluice_status status = sluice_writer_finish(handle, &error);
    PyEval_RestoreThread(thread);
    return status < 0 ? sluice_raise(extension_of(self), &error) : Py_NewRef(Py_None);
}

static void abort_handle(writer_object *self)
{
    sluice_writer *handle = self->handle;
    self->handle = NULL;
    PyThreadState *thread = PyEval_SaveThread();
    sluice_writer_abort(handle);
    PyEval_RestoreThread(thread);
}

static PyObject *abort_now(writer_object *self, PyObject *unused)
{
    (void)unused;
    if (self->handle != NULL && !is_forked(self) && !is_free(self)) {
        return NULL;
    }
    abort_handle(self);
    Py_RETURN_NONE;
}

static void dealloc(writer_object *self)
{
    abort_handle(self);
    object_free(self);
}

static PyMethodDef methods[] = {
    {"add", (PyCFunction)(void (*)(void))add, METH_O, "add(values): adds a sample."},
    {"finish", (PyCFunction)(void (*)(void))finish, METH_NOARGS, "Writes the manifest."},
    {"abort", (PyCFunction)(void (*)(void))abort_now, METH_NOARGS, "Abandons the dataset."},
    {0},
};

static char doc[] = "Writer(path, options, fields, classes): an open writer of the library.";

static PyType_Slot slots[] = {
    {Py_tp_new, create}, {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {Py_tp_doc, doc},
    {0, NULL},
};

PyType_Spec writer_spec = {
    .name = "sluice._sluice.Writer",
    .basicsize = sizeof(writer_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
