/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include "dataset.h"
#include "waiting.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct cache_object {
    char *address; /* owned */
    sluice_cache_entry entry;
} cache_object;

/* A call of the library. Its callbacks run on the job's thread, without the GIL. */
typedef struct cache_job {
    waiting_job job;
    dataset_handle *dataset;      /* fill */
    char *folder, *prefix;        /* owned; NULL: none */
    PyObject *progress;           /* borrowed from the caller, who waits; NULL: none */
    _Atomic uint64_t done, total; /* relaxed: shown, nothing more */
    atomic_bool stopped;          /* likewise: read until it is seen */
    uint64_t shown;               /* with the GIL */
    cache_object *objects;        /* list; owned */
    size_t count, capacity;
    bool lost; /* an object was lost for lack of memory */
    sluice_cache_options options;
    sluice_cache_result result;
    sluice_error error;
    sluice_status status;
} cache_job;

static void cache_drop(waiting_job *job)
{
    cache_job *c = (cache_job *)job;
    dataset_drop(c->dataset);
    for (size_t i = 0; i < c->count; i++) {
        free(c->objects[i].address);
    }
    free(c->objects);
    free(c->folder);
    free(c->prefix);
    free(c);
}

static void cache_stop(waiting_job *job)
{
    atomic_store_explicit(&((cache_job *)job)->stopped, true, memory_order_relaxed);
}

static int32_t cache_is_stopped(void *user)
{
    return atomic_load_explicit(&((cache_job *)user)->stopped, memory_order_relaxed);
}

static void cache_note(void *user, uint64_t done, uint64_t total)
{
    cache_job *c = user;
    atomic_store_explicit(&c->total, total, memory_order_relaxed);
    atomic_store_explicit(&c->done, done, memory_order_relaxed);
}

static int cache_look(waiting_job *job)
{
    cache_job *c = (cache_job *)job;
    const uint64_t done = atomic_load_explicit(&c->done, memory_order_relaxed);
    if (c->progress == NULL || done == c->shown) {
        return 0;
    }
    c->shown = done;
    PyObject *made = PyObject_CallFunction(
        c->progress, "KK", (unsigned long long)done,
        (unsigned long long)atomic_load_explicit(&c->total, memory_order_relaxed));
    Py_XDECREF(made);
    return made == NULL ? -1 : 0;
}

/* Returns a copy of a path or text; NULL with an exception, or for None. */
static char *copy_path(PyObject *path)
{
    PyObject *bytes = NULL;
    if (path == Py_None || !PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    char *copy = strdup(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    return copy != NULL ? copy : (char *)PyErr_NoMemory();
}

static cache_job *cache_new(void (*work)(waiting_job *job), PyObject *folder, PyObject *progress)
{
    cache_job *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return (cache_job *)PyErr_NoMemory();
    }
    c->job =
        (waiting_job){.work = work, .drop = cache_drop, .look = cache_look, .stop = cache_stop};
    c->progress = progress == Py_None ? NULL : progress;
    c->options = (sluice_cache_options)SLUICE_CACHE_OPTIONS_INIT;
    c->options.on_progress = cache_note;
    c->options.should_stop = cache_is_stopped;
    c->options.user = c;
    c->result = (sluice_cache_result)SLUICE_CACHE_RESULT_INIT;
    c->error = (sluice_error)SLUICE_ERROR_INIT;
    c->folder = copy_path(folder);
    if (PyErr_Occurred()) {
        cache_drop(&c->job);
        return NULL;
    }
    return c;
}

/* Runs it; NULL with an exception, and the job is freed. */
static cache_job *cache_run(const extension *e, cache_job *c)
{
    if (!wait_for(e, &c->job)) {
        return NULL;
    }
    if (c->status < 0) {
        (void)sluice_raise(e, &c->error);
    } else if (c->lost) {
        (void)PyErr_NoMemory();
    } else {
        (void)cache_look(&c->job);
    }
    if (PyErr_Occurred()) {
        cache_drop(&c->job);
        return NULL;
    }
    return c;
}

/* ---- list ---- */

static int32_t cache_keep(void *user, const sluice_cache_entry *entry)
{
    cache_job *c = user;
    if (c->count == c->capacity) {
        const size_t capacity = c->capacity == 0 ? 64 : c->capacity * 2;
        cache_object *more = realloc(c->objects, capacity * sizeof(*more));
        if (more == NULL) {
            c->lost = true;
            return 0;
        }
        c->objects = more;
        c->capacity = capacity;
    }
    const cache_object object = {.address = strdup(entry->address), .entry = *entry};
    c->lost = c->lost || object.address == NULL;
    if (object.address != NULL) {
        c->objects[c->count++] = object;
    }
    return 0;
}

static void list_it(waiting_job *job)
{
    cache_job *c = (cache_job *)job;
    c->status = sluice_cache_list(c->folder, &c->options, cache_keep, c, &c->error);
}

PyObject *cache_list(PyObject *module, PyObject *folder)
{
    const extension *e = PyModule_GetState(module);
    cache_job *c = cache_new(list_it, folder, Py_None);
    c = c != NULL ? cache_run(e, c) : NULL;
    if (c == NULL) {
        return NULL;
    }
    PyObject *list = PyList_New((Py_ssize_t)c->count);
    for (size_t i = 0; i < c->count && !PyErr_Occurred(); i++) {
        const sluice_cache_entry *entry = &c->objects[i].entry;
        PyObject *address = PyUnicode_DecodeFSDefault(c->objects[i].address);
        PyObject *made =
            address == NULL
                ? NULL
                : Py_BuildValue("(NKKKL)", address, (unsigned long long)entry->object_bytes,
                                (unsigned long long)entry->kept_bytes,
                                (unsigned long long)entry->chunks, (long long)entry->used_s);
        if (made != NULL) {
            PyList_SetItem(list, (Py_ssize_t)i, made);
        }
    }
    if (PyErr_Occurred()) {
        Py_CLEAR(list);
    }
    cache_drop(&c->job);
    return list;
}

/* ---- the others ---- */

static void verify_cache(waiting_job *job)
{
    cache_job *c = (cache_job *)job;
    c->status = sluice_cache_verify(c->folder, &c->options, &c->result, &c->error);
}

static void fill_cache(waiting_job *job)
{
    cache_job *c = (cache_job *)job;
    c->status = sluice_cache_fill(c->dataset->dataset, &c->options, &c->result, &c->error);
}

static void empty_cache(waiting_job *job)
{
    cache_job *c = (cache_job *)job;
    c->status = sluice_cache_empty(c->folder, c->prefix, &c->options, &c->result, &c->error);
}

/* Takes the job's result; NULL with an exception. */
static PyObject *cache_numbers(cache_job *c, size_t count, const uint64_t *numbers)
{
    PyObject *made = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; made != NULL && i < count; i++) {
        PyTuple_SetItem(made, (Py_ssize_t)i, PyLong_FromUnsignedLongLong(numbers[i]));
    }
    cache_drop(&c->job);
    if (PyErr_Occurred()) {
        Py_CLEAR(made);
    }
    return made;
}

PyObject *cache_verify(PyObject *module, PyObject *arguments)
{
    PyObject *folder;
    PyObject *progress;
    if (!PyArg_ParseTuple(arguments, "OO", &folder, &progress)) {
        return NULL;
    }
    cache_job *c = cache_new(verify_cache, folder, progress);
    c = c != NULL ? cache_run(PyModule_GetState(module), c) : NULL;
    if (c == NULL) {
        return NULL;
    }
    const uint64_t numbers[] = {c->result.chunks, c->result.bytes, c->result.damaged,
                                c->result.damaged_bytes};
    return cache_numbers(c, 4, numbers);
}

PyObject *cache_fill(PyObject *module, PyObject *arguments)
{
    const extension *e = PyModule_GetState(module);
    PyObject *dataset;
    PyObject *progress;
    if (!PyArg_ParseTuple(arguments, "OO", &dataset, &progress)) {
        return NULL;
    }
    cache_job *c = cache_new(fill_cache, Py_None, progress);
    if (c == NULL) {
        return NULL;
    }
    c->dataset = dataset_share(e, dataset);
    if (c->dataset == NULL) {
        cache_drop(&c->job);
        return NULL;
    }
    c = cache_run(e, c);
    if (c == NULL) {
        return NULL;
    }
    const uint64_t numbers[] = {c->result.chunks, c->result.bytes, c->result.fetched_bytes,
                                c->result.left_bytes};
    return cache_numbers(c, 4, numbers);
}

PyObject *cache_empty(PyObject *module, PyObject *arguments)
{
    PyObject *folder;
    PyObject *prefix;
    PyObject *progress;
    if (!PyArg_ParseTuple(arguments, "OOO", &folder, &prefix, &progress)) {
        return NULL;
    }
    cache_job *c = cache_new(empty_cache, folder, progress);
    if (c == NULL) {
        return NULL;
    }
    c->prefix = copy_path(prefix);
    if (PyErr_Occurred()) {
        cache_drop(&c->job);
        return NULL;
    }
    c = cache_run(PyModule_GetState(module), c);
    if (c == NULL) {
        return NULL;
    }
    const uint64_t numbers[] = {c->result.chunks, c->result.bytes};
    return cache_numbers(c, 2, numbers);
}
