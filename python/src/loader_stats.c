/* SPDX-License-Identifier: Apache-2.0 */
#include "loader_stats.h"

#include <stdio.h>
#include <string.h>

static PyObject *list_of(const uint64_t *values, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromUnsignedLongLong(values[i]));
    }
    return list;
}

PyObject *loader_stats(loader_object *self, PyObject *unused)
{
    sluice_loader_stats s = SLUICE_LOADER_STATS_INIT;
    (void)unused;
    if (!loader_is_open(self)) {
        return NULL;
    }
    const sluice_status status = sluice_loader_get_stats(self->handle, &s);
    if (status < 0) {
        return loader_raise(self, status);
    }
#define U(name) #name, (unsigned long long)s.name
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,"
        "s:K,s:K,s:K,s:K,s:K,s:s,s:s,s:s,s:s,s:s,s:N,s:N}",
        U(workers), U(slots), U(io_direct), U(samples), U(batches), U(bytes_wanted), U(bytes_read),
        U(reads), U(reads_retried), U(reads_stalled), U(bad_samples), U(replaced_samples),
        U(allocations), U(memory_bytes), U(host_wait_ns), U(first_batch_ns), U(host_wait_max_ns),
        U(steps_timed), U(stream_stall_ns), U(stream_busy_ns), U(stream_span_ns),
        U(converts_on_device), U(near_device), U(device_slots), U(unpacked_bytes), U(unpack_ns),
        U(unpack_restarts), "io_backend", s.io_backend, "io_reason", s.io_reason, "device",
        s.device, "pinning", s.pinning, "pinning_reason", s.pinning_reason, "ready_depth",
        list_of(s.ready_depth, SLUICE_HISTOGRAM_BINS), "host_waits",
        list_of(s.host_waits, SLUICE_WAIT_BINS));
#undef U
}

PyObject *loader_describe(loader_object *self, PyObject *unused)
{
    char text[1024];
    (void)unused;
    if (!loader_is_open(self)) {
        return NULL;
    }
    const sluice_status status = sluice_loader_describe(self->handle, text, sizeof(text));
    if (status < 0) {
        return loader_raise(self, status);
    }
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

void loader_say_waited(loader_object *self, double seconds)
{
    char text[900];
    char line[960];
    PyObject *type;
    PyObject *value;
    PyObject *trace;
    if (self->handle == NULL ||
        sluice_loader_describe(self->handle, text, sizeof(text)) != SLUICE_OK) {
        return;
    }
    (void)snprintf(line, sizeof(line), "sluice: interrupted after a wait of %.1f s: %s\n", seconds,
                   text);
    PyErr_Fetch(&type, &value, &trace);
    PySys_WriteStderr("%s", line);
    PyErr_Restore(type, value, trace);
}

PyObject *loader_stage(loader_object *self, PyObject *number)
{
    sluice_stage_stats s = SLUICE_STAGE_STATS_INIT;
    const long which = PyLong_AsLong(number);
    if ((which == -1 && PyErr_Occurred()) || !loader_is_open(self)) {
        return NULL;
    }
    const sluice_status status = sluice_loader_get_stage(self->handle, (sluice_stage)which, &s);
    return status < 0
               ? sluice_raise_status(extension_of(self), status, "no such stage")
               : Py_BuildValue("(KKN)", (unsigned long long)s.busy_ns, (unsigned long long)s.items,
                               list_of(s.depth, SLUICE_HISTOGRAM_BINS));
}

static int add_operation(PyObject *made, const sluice_operation_stats *s)
{
    PyObject *seconds = PyFloat_FromDouble((double)s->busy_ns * 1e-9);
    const int added = seconds != NULL ? PyDict_SetItemString(made, s->name, seconds) : -1;
    Py_XDECREF(seconds);
    return added;
}

/* Adds the operations that took time. -1 with an exception. */
static int add_operations(PyObject *made, sluice_loader *loader)
{
    sluice_operation_stats s = SLUICE_OPERATION_STATS_INIT;
    for (uint32_t i = 0; sluice_loader_get_operation(loader, i, &s) == SLUICE_OK; i++) {
        if (s.busy_ns > 0 && add_operation(made, &s) < 0) {
            return -1;
        }
    }
    return 0;
}

PyObject *loader_operations(loader_object *self, PyObject *unused)
{
    (void)unused;
    if (!loader_is_open(self)) {
        return NULL;
    }
    PyObject *made = PyDict_New();
    if (made != NULL && add_operations(made, self->handle) < 0) {
        Py_CLEAR(made);
    }
    return made;
}
