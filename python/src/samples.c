/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include "dataset.h"
#include "waiting.h"

#include <stdlib.h>
#include <string.h>

enum { FIELD_BYTES = 64 << 10, PIXEL_BYTES = 8 << 20 }; /* of the first try */

/* The call and its result, in separate memory: Python's may be freed before the call ends. */
typedef struct reading {
    waiting_job job;
    dataset_handle *of;
    unsigned long long index;
    char *name; /* of the field; NULL: the whole sample */
    char *buffer;
    size_t bytes;
    sluice_pixels pixels;
    sluice_sample_info info;
    sluice_error error;
    sluice_status status;
} reading;

static void drop_reading(waiting_job *job)
{
    reading *r = (reading *)job;
    dataset_drop(r->of);
    free(r->name);
    free(r->buffer);
    free(r);
}

/* False, with a status: no memory. */
static bool make_room(reading *r, size_t bytes)
{
    free(r->buffer);
    r->buffer = malloc(bytes);
    if (r->buffer == NULL) {
        r->status = SLUICE_NOMEM;
    }
    return r->buffer != NULL;
}

static void sample_it(waiting_job *job)
{
    reading *r = (reading *)job;
    r->status = sluice_dataset_get_sample(r->of->dataset, r->index, &r->info, &r->error);
}

static void read_it(waiting_job *job)
{
    reading *r = (reading *)job;
    size_t capacity = FIELD_BYTES;
    r->status = SLUICE_AGAIN;
    while (r->status == SLUICE_AGAIN && make_room(r, capacity)) {
        r->status = sluice_dataset_read(r->of->dataset, r->index, r->name, r->buffer, capacity,
                                        &r->bytes, &r->error);
        capacity = r->bytes;
    }
}

/* The first try has space for most images, because a second one reads the sample again. */
static void decode_it(waiting_job *job)
{
    reading *r = (reading *)job;
    r->pixels.capacity = PIXEL_BYTES;
    r->status = SLUICE_AGAIN;
    while (r->status == SLUICE_AGAIN && make_room(r, r->pixels.capacity)) {
        r->pixels.buffer = (uint8_t *)r->buffer;
        r->status = sluice_dataset_decode(r->of->dataset, r->index, r->name, &r->pixels, &r->error);
        r->bytes = (size_t)r->pixels.width * r->pixels.height * 3;
        if (r->status == SLUICE_AGAIN) {
            r->pixels.capacity = r->bytes;
        }
    }
}

/* NULL with an exception. */
static reading *reading_new(PyObject *self, void (*work)(waiting_job *job),
                            unsigned long long index, const char *name)
{
    reading *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        (void)PyErr_NoMemory();
        return NULL;
    }
    r->job = (waiting_job){.work = work, .drop = drop_reading};
    r->pixels = (sluice_pixels)SLUICE_PIXELS_INIT;
    r->info = (sluice_sample_info)SLUICE_SAMPLE_INFO_INIT;
    r->error = (sluice_error)SLUICE_ERROR_INIT;
    r->index = index;
    r->name = name != NULL ? strdup(name) : NULL;
    r->of = dataset_share(extension_of(self), self);
    if (r->of == NULL || (name != NULL && r->name == NULL)) {
        drop_reading(&r->job);
        return PyErr_Occurred() != NULL ? NULL : (reading *)(void *)PyErr_NoMemory();
    }
    return r;
}

/* Makes the call. False with an exception, and the reading is dropped, now or when it ends. */
static bool reading_run(const extension *e, reading *r, int is_remote)
{
    if (!is_remote) {
        PyThreadState *thread = PyEval_SaveThread();
        r->job.work(&r->job);
        PyEval_RestoreThread(thread);
    } else if (!wait_for(e, &r->job)) {
        return false;
    }
    if (r->status == SLUICE_NOMEM && r->buffer == NULL && r->name != NULL) {
        (void)PyErr_NoMemory();
    } else if (r->status < 0) {
        (void)sluice_raise(e, &r->error);
    } else {
        return true;
    }
    drop_reading(&r->job);
    return false;
}

PyObject *samples_sample(PyObject *self, PyObject *arguments)
{
    unsigned long long index;
    int is_remote;
    if (!PyArg_ParseTuple(arguments, "Kp", &index, &is_remote)) {
        return NULL;
    }
    reading *r = reading_new(self, sample_it, index, NULL);
    if (r == NULL || !reading_run(extension_of(self), r, is_remote)) {
        return NULL;
    }
    const sluice_sample_info *of = &r->info;
    PyObject *made =
        Py_BuildValue("{s:N,s:N,s:L,s:K,s:K,s:I,s:I}", "key", PyUnicode_DecodeFSDefault(of->key),
                      "file", PyUnicode_DecodeFSDefault(of->file), "label", (long long)of->label,
                      "offset", (unsigned long long)of->offset, "bytes",
                      (unsigned long long)of->bytes, "width", of->width, "height", of->height);
    drop_reading(&r->job);
    return made;
}

PyObject *samples_read(PyObject *self, PyObject *arguments)
{
    unsigned long long index;
    const char *name;
    int is_remote;
    if (!PyArg_ParseTuple(arguments, "Kps", &index, &is_remote, &name)) {
        return NULL;
    }
    reading *r = reading_new(self, read_it, index, name);
    if (r == NULL || !reading_run(extension_of(self), r, is_remote)) {
        return NULL;
    }
    PyObject *made = PyBytes_FromStringAndSize(r->buffer, (Py_ssize_t)r->bytes);
    drop_reading(&r->job);
    return made;
}

PyObject *samples_decode(PyObject *self, PyObject *arguments)
{
    unsigned long long index;
    const char *name;
    int is_remote;
    int exif;
    if (!PyArg_ParseTuple(arguments, "Kpsi", &index, &is_remote, &name, &exif)) {
        return NULL;
    }
    reading *r = reading_new(self, decode_it, index, name);
    if (r == NULL) {
        return NULL;
    }
    r->pixels.exif = exif;
    if (!reading_run(extension_of(self), r, is_remote)) {
        return NULL;
    }
    PyObject *made = NULL;
    if (r->bytes == 0) {
        made = Py_NewRef(Py_None);
    } else {
        PyObject *pixels = PyByteArray_FromStringAndSize(r->buffer, (Py_ssize_t)r->bytes);
        made = pixels == NULL ? NULL
                              : Py_BuildValue("(IIN)", r->pixels.height, r->pixels.width, pixels);
    }
    drop_reading(&r->job);
    return made;
}
