/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open sluice_loader, for sluice.Loader.
 *
 * Locks: `consumer` is held while an epoch starts or a batch is taken, without the GIL; handle is
 * written with the GIL, and by close also with `consumer`, so that a holder of either never sees it
 * freed.
 */
#include "loader_holds.h"
#include "loader_object.h"
#include "loader_stats.h"
#include "native.h"
#include "waiting.h"

#include <time.h>
#include <unistd.h>

#define SLICE_NS ((int64_t)WAIT_SLICE_MS * 1000000)
#define LONG_WAIT \
    (1000 / WAIT_SLICE_MS) /* slices, after which Ctrl-C reports the reason of the wait */
#define PATIENCE 1         /* slices without a batch before the holds are checked */

static PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    const extension *e = PyType_GetModuleState(type);
    (void)keywords;
    loader_object *self = object_new(type);
    if (self == NULL) {
        return NULL;
    }
    pthread_mutex_init(&self->consumer, NULL);
    self->process = getpid();
    self->count = hold_count_new();
    if (self->count == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    if (loader_open(e, self, arguments) < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

/* ---- close ---- */

static bool is_forked(const loader_object *self)
{
    return getpid() != self->process;
}

static void close_handle(loader_object *self)
{
    sluice_loader *handle = self->handle;
    self->handle = NULL;
    if (handle == NULL) {
        return;
    }
    self->count->loader = NULL;
    if (is_forked(self)) {
        sluice_loader_close(handle); /* discards the handle */
        return;
    }
    PyThreadState *thread = PyEval_SaveThread();
    sluice_loader_cancel(handle); /* a thread in next returns at once and releases it */
    pthread_mutex_lock(&self->consumer);
    sluice_loader_close(handle);
    pthread_mutex_unlock(&self->consumer);
    PyEval_RestoreThread(thread);
    native_sweep();
}

static void dealloc(loader_object *self)
{
    close_handle(self);
    hold_retry(self->count);
    hold_count_drop(self->count);
    Py_XDECREF(self->kind.names);
    Py_XDECREF(self->kind.views);
    pthread_mutex_destroy(&self->consumer);
    object_free(self);
}

static PyObject *close_now(loader_object *self, PyObject *unused)
{
    (void)unused;
    close_handle(self);
    Py_RETURN_NONE;
}

bool loader_is_open(loader_object *self)
{
    if (self->handle == NULL) {
        (void)sluice_raise_status(extension_of(self), SLUICE_STATE, "the loader is closed");
    }
    return self->handle != NULL;
}

/* ---- the consumer's turn ---- */

/* Takes `consumer`; false with an exception. */
static bool take_turn(loader_object *self)
{
    if (is_forked(self)) {
        (void)sluice_raise_status(extension_of(self), SLUICE_STATE,
                                  "the loader belongs to the process before the fork");
        return false;
    }
    bool taken = pthread_mutex_trylock(&self->consumer) == 0;
    while (!taken) {
        PyThreadState *thread = PyEval_SaveThread();
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)SLICE_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        taken = pthread_mutex_clocklock(&self->consumer, CLOCK_MONOTONIC, &until) == 0;
        PyEval_RestoreThread(thread);
        if (!taken && PyErr_CheckSignals() < 0) {
            return false;
        }
    }
    if (!loader_is_open(self)) {
        pthread_mutex_unlock(&self->consumer);
        return false;
    }
    return true;
}

static void end_turn(loader_object *self)
{
    pthread_mutex_unlock(&self->consumer);
}

PyObject *loader_raise(loader_object *self, sluice_status status)
{
    const extension *e = extension_of(self);
    sluice_error error = SLUICE_ERROR_INIT;
    if (self->handle == NULL) {
        return sluice_raise_status(e, SLUICE_CANCELED, "another thread closed the loader");
    }
    if (sluice_loader_get_error(self->handle, &error) == SLUICE_OK) {
        return sluice_raise_status(e, status, "the loader failed");
    }
    return sluice_raise(e, &error);
}

static PyObject *start(loader_object *self, PyObject *number)
{
    const uint64_t epoch = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() || !take_turn(self)) {
        return NULL;
    }
    sluice_loader *handle = self->handle;
    sluice_loader_position at = SLUICE_LOADER_POSITION_INIT;
    PyThreadState *thread = PyEval_SaveThread();
    sluice_status status = sluice_loader_start_epoch(handle, epoch);
    if (status == SLUICE_OK) {
        status = sluice_loader_get_position(handle, &at);
    }
    PyEval_RestoreThread(thread);
    if (status == SLUICE_OK) {
        self->epoch = at.epoch;
        self->first = at.step;
    }
    end_turn(self);
    return status < 0 ? loader_raise(self, status) : Py_NewRef(Py_None);
}

/* Takes a batch that is ready, now or within a slice of time. AGAIN: none is. */
static sluice_status take_one(loader_object *self, int64_t timeout_ns, sluice_batch **batch)
{
    sluice_status status = sluice_loader_next(self->handle, batch, 0);
    if (status == SLUICE_AGAIN && timeout_ns > 0) {
        sluice_loader *handle = self->handle;
        PyThreadState *thread = PyEval_SaveThread();
        status = sluice_loader_next(handle, batch, timeout_ns);
        PyEval_RestoreThread(thread);
    }
    return status;
}

/* Repeats it until the result is not AGAIN; AGAIN: a Python exception is set. Checks for signals
 * between turns: their handlers may close the loader. */
static sluice_status wait_next(loader_object *self, sluice_batch **batch)
{
    for (uint64_t slices = 0;; slices++) {
        if (!take_turn(self)) {
            return SLUICE_AGAIN;
        }
        hold_retry(self->count);
        const sluice_status status = take_one(self, SLICE_NS, batch);
        end_turn(self);
        if (status != SLUICE_AGAIN) {
            return status;
        }
        if (PyErr_CheckSignals() < 0) {
            if (slices >= LONG_WAIT) {
                loader_say_waited(self, (double)(slices + 1) * SLICE_NS / 1e9);
            }
            return SLUICE_AGAIN;
        }
        if ((slices > PATIENCE && loader_look_at_holds(self, slices) < 0)) {
            return SLUICE_AGAIN;
        }
    }
}

static PyObject *make_batch(loader_object *self, sluice_batch *batch, PyObject *convert)
{
    hold *h = hold_new(batch, self->count);
    if (h == NULL) {
        return PyErr_NoMemory();
    }
    if (self->kind.names == NULL) {
        self->kind.names = batch_names(batch);
    }
    if (self->kind.names == NULL || !hold_count_columns(self->count, batch)) {
        hold_drop(h);
        return PyErr_NoMemory();
    }
    batch_kind kind = self->kind;
    kind.convert = convert == Py_None ? NULL : convert;
    return batch_new(extension_of(self), h, self->first, &kind);
}

/* ---- warnings ---- */

/* Returns the next warning that was not reported yet; NULL without an exception: none, which is
 * cheap. */
static PyObject *take_warning(loader_object *self)
{
    sluice_error warning;
    warning.struct_size = sizeof(warning);
    if (self->handle == NULL ||
        sluice_loader_get_warning(self->handle, self->told, &warning) != SLUICE_OK) {
        return NULL;
    }
    self->told++;
    return sluice_error_text(&warning);
}

static PyObject *warning(loader_object *self, PyObject *unused)
{
    (void)unused;
    PyObject *text = take_warning(self);
    return text != NULL || PyErr_Occurred() ? text : Py_NewRef(Py_None);
}

/* Reports warnings of earlier batches, before the next batch is taken, which an exception would
 * lose. False with an exception, if warnings are errors. */
static bool tell_warnings(loader_object *self)
{
    PyObject *text;
    bool fine = true;
    while (fine && (text = take_warning(self)) != NULL) {
        fine = PyErr_WarnFormat(PyExc_UserWarning, LOOP_LEVEL, "%U", text) == 0;
        Py_DECREF(text);
    }
    return fine && !PyErr_Occurred();
}

/* Returns the next batch; None: the epoch is over. */
static PyObject *next(loader_object *self, PyObject *convert)
{
    sluice_batch *batch = NULL;
    if (!tell_warnings(self)) {
        return NULL;
    }
    const sluice_status status = wait_next(self, &batch);
    if (status == SLUICE_END) {
        return tell_warnings(self) ? Py_NewRef(Py_None) : NULL;
    }
    if (status == SLUICE_AGAIN) {
        return NULL;
    }
    return status < 0 ? loader_raise(self, status) : make_batch(self, batch, convert);
}

/* ---- state ---- */

/* Returns a place as in loader.py: (epoch, samples, cursor). */
static PyObject *get_place(loader_object *self, PyObject *unused)
{
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    (void)unused;
    if (!loader_is_open(self)) {
        return NULL;
    }
    sluice_loader_position at = SLUICE_LOADER_POSITION_INIT;
    sluice_status status = sluice_loader_get_position(self->handle, &at);
    if (status == SLUICE_OK) {
        status = sluice_loader_save(self->handle, cursor, &bytes);
    }
    return status < 0 ? loader_raise(self, status)
                      : Py_BuildValue("(KKy#)", (unsigned long long)at.epoch,
                                      (unsigned long long)at.samples, (const char *)cursor,
                                      (Py_ssize_t)bytes);
}

static PyObject *get_cursor(loader_object *self, PyObject *arguments)
{
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    unsigned long long epoch = 0;
    unsigned long long steps = 0;
    if (!PyArg_ParseTuple(arguments, "KK", &epoch, &steps) || !loader_is_open(self)) {
        return NULL;
    }
    const sluice_status status = sluice_loader_save_at(self->handle, epoch, steps, cursor, &bytes);
    return status < 0 ? loader_raise(self, status)
                      : PyBytes_FromStringAndSize((const char *)cursor, (Py_ssize_t)bytes);
}

static PyObject *restore(loader_object *self, PyObject *cursor)
{
    char *data = NULL; /* None: forget an earlier one */
    Py_ssize_t bytes = 0;
    uint64_t epoch = 0;
    if ((cursor != Py_None && PyBytes_AsStringAndSize(cursor, &data, &bytes) < 0) ||
        !take_turn(self)) {
        return NULL;
    }
    const sluice_status status = sluice_loader_restore(self->handle, data, (size_t)bytes, &epoch);
    end_turn(self);
    return status < 0 ? loader_raise(self, status) : PyLong_FromUnsignedLongLong(epoch);
}

static PyObject *get_epoch(loader_object *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(self->epoch);
}

static PyObject *get_steps(loader_object *self, void *unused)
{
    (void)unused;
    return loader_is_open(self) ? PyLong_FromUnsignedLongLong(sluice_loader_steps(self->handle))
                                : NULL;
}

static PyObject *get_samples(loader_object *self, void *unused)
{
    (void)unused;
    return loader_is_open(self) ? PyLong_FromUnsignedLongLong(sluice_loader_samples(self->handle))
                                : NULL;
}

static PyObject *get_rows(loader_object *self, void *unused)
{
    (void)unused;
    return loader_is_open(self) ? PyLong_FromUnsignedLongLong(sluice_loader_rows(self->handle))
                                : NULL;
}

static PyObject *get_slots(loader_object *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(self->slots);
}

static PyObject *get_on_device(loader_object *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(self->on_device);
}

static PyObject *get_copies(loader_object *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(self->copies);
}

static int set_copies(loader_object *self, PyObject *value, void *unused)
{
    (void)unused;
    const int copies = value == NULL ? 0 : PyObject_IsTrue(value);
    self->copies = copies > 0;
    return copies < 0 ? -1 : 0;
}

static PyObject *get_held(loader_object *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(loader_held(self));
}

static PyObject *get_closed(loader_object *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(self->handle == NULL);
}

static PyObject *cancel(loader_object *self, PyObject *unused)
{
    (void)unused;
    if (!loader_is_open(self)) {
        return NULL;
    }
    sluice_loader_cancel(self->handle);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", (PyCFunction)(void (*)(void))start, METH_O,
     "start(epoch): starts the epoch, at the restored state if it is of this epoch."},
    {"next", (PyCFunction)(void (*)(void))next, METH_O,
     "next(convert): returns the next batch; None: the epoch is over."},
    {"warning", (PyCFunction)(void (*)(void))warning, METH_NOARGS,
     "Returns the next warning that was not reported yet, or None."},
    {"settle", (PyCFunction)(void (*)(void))loader_settle, METH_O,
     "settle(batch): prepares a batch for its return; it may become a copy."},
    {"place", (PyCFunction)(void (*)(void))get_place, METH_NOARGS,
     "Returns its place: (epoch, samples, cursor)."},
    {"cursor", (PyCFunction)(void (*)(void))get_cursor, METH_VARARGS,
     "cursor(epoch, steps): returns the cursor after this many batches of an epoch."},
    {"restore", (PyCFunction)(void (*)(void))restore, METH_O,
     "restore(cursor): loads a cursor and returns its epoch."},
    {"stats", (PyCFunction)(void (*)(void))loader_stats, METH_NOARGS,
     "Returns statistics as a dict."},
    {"describe", (PyCFunction)(void (*)(void))loader_describe, METH_NOARGS,
     "Returns a text about what it waits for."},
    {"stage", (PyCFunction)(void (*)(void))loader_stage, METH_O,
     "Returns (busy_ns, items, depth) of a stage."},
    {"operations", (PyCFunction)(void (*)(void))loader_operations, METH_NOARGS,
     "Returns seconds by image operation."},
    {"cancel", (PyCFunction)(void (*)(void))cancel, METH_NOARGS, "Ends the epoch."},
    {"close", (PyCFunction)(void (*)(void))close_now, METH_NOARGS, "Ends the threads."},
    {0},
};

static PyGetSetDef attributes[] = {
    {"epoch", (getter)get_epoch, NULL, "The epoch that was started last.", NULL},
    {"steps", (getter)get_steps, NULL, "Batches of an epoch.", NULL},
    {"samples", (getter)get_samples, NULL, "Samples of an epoch over all ranks.", NULL},
    {"rows", (getter)get_rows, NULL, "Rows of an epoch on this rank.", NULL},
    {"on_device", (getter)get_on_device, NULL, "True if its batches are in device memory.", NULL},
    {"copies", (getter)get_copies, (setter)set_copies, "True if batches may be copies.", NULL},
    {"slots", (getter)get_slots, NULL, "Capacity in batches.", NULL},
    {"held", (getter)get_held, NULL, "Batches in use.", NULL},
    {"closed", (getter)get_closed, NULL, "True if it was closed.", NULL},
    {0},
};

static char doc[] = "Loader(dataset, options, device, quarantine, recipe, columns, hold_ms, views, "
                    "copies): an open "
                    "loader of the library.";

static PyType_Slot slots[] = {
    {Py_tp_new, create},        {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods},
    {Py_tp_getset, attributes}, {Py_tp_doc, doc},         {0, NULL},
};

PyType_Spec loader_spec = {
    .name = "sluice._sluice.Loader",
    .basicsize = sizeof(loader_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
