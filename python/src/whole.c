/* SPDX-License-Identifier: Apache-2.0 */
#include "whole.h"

#include "dataset.h"
#include "names.h"
#include "options.h"
#include "waiting.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A call over all samples. Its callbacks run on threads of the library, without the GIL. */
typedef struct walk {
    waiting_job job;
    dataset_handle *dataset;
    char *path;                   /* pack, unpack */
    PyObject *progress;           /* borrowed from the caller, who waits; NULL: none */
    _Atomic uint64_t done, total; /* relaxed: shown, nothing more */
    atomic_bool stopped;          /* likewise: read until it is seen */
    uint64_t shown;               /* with the GIL */
    labels labels;                /* pack */
    sluice_pack_options pack_options;
    sluice_pack_result packed;
    sluice_unpack_options unpack_options;
    sluice_unpack_result unpacked;
    sluice_verify_options verify_options;
    sluice_verify_result verified;
    sluice_error *findings; /* written by one thread at a time, read when all is over */
    size_t count, capacity;
    bool lost; /* a finding was lost for lack of memory */
    sluice_error error;
    sluice_status status;
} walk;

static void drop(waiting_job *job)
{
    walk *w = (walk *)job;
    if (w->dataset != NULL) {
        dataset_drop(w->dataset);
    }
    free(w->path);
    labels_drop(&w->labels);
    free(w->findings);
    free(w);
}

static void stop(waiting_job *job)
{
    atomic_store_explicit(&((walk *)job)->stopped, true, memory_order_relaxed);
}

static int32_t is_stopped(void *user)
{
    return atomic_load_explicit(&((walk *)user)->stopped, memory_order_relaxed);
}

static int look(waiting_job *job)
{
    walk *w = (walk *)job;
    const uint64_t done = atomic_load_explicit(&w->done, memory_order_relaxed);
    if (w->progress == NULL || done == w->shown) {
        return 0;
    }
    w->shown = done;
    PyObject *made = PyObject_CallFunction(
        w->progress, "KK", (unsigned long long)done,
        (unsigned long long)atomic_load_explicit(&w->total, memory_order_relaxed));
    Py_XDECREF(made);
    return made == NULL ? -1 : 0;
}

static void note(walk *w, uint64_t done, uint64_t total)
{
    atomic_store_explicit(&w->total, total, memory_order_relaxed);
    atomic_store_explicit(&w->done, done, memory_order_relaxed);
}

/* `dataset` NULL: the call needs none. */
static walk *walk_new(const extension *e, PyObject *dataset, PyObject *progress,
                      void (*work)(waiting_job *job))
{
    walk *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return (walk *)PyErr_NoMemory();
    }
    w->job = (waiting_job){.work = work, .drop = drop, .look = look, .stop = stop};
    w->dataset = dataset != NULL ? dataset_share(e, dataset) : NULL;
    w->progress = progress == Py_None ? NULL : progress;
    w->error = (sluice_error)SLUICE_ERROR_INIT;
    if (dataset != NULL && w->dataset == NULL) {
        drop(&w->job);
        return NULL;
    }
    return w;
}

/* Runs it; NULL with an exception, and the job is freed. */
static walk *walk_run(const extension *e, walk *w)
{
    if (!wait_for(e, &w->job)) {
        return NULL;
    }
    if (w->status < 0) {
        (void)sluice_raise(e, &w->error);
    } else if (w->lost) {
        (void)PyErr_NoMemory();
    } else {
        (void)look(&w->job);
    }
    if (PyErr_Occurred()) {
        drop(&w->job);
        return NULL;
    }
    return w;
}

/* ---- pack ---- */

static void on_pack_progress(void *user, const sluice_pack_progress *progress)
{
    note(user, progress->samples_done, progress->samples_total);
}

static void pack_it(waiting_job *job)
{
    walk *w = (walk *)job;
    w->status = sluice_pack(w->dataset->dataset, w->path, &w->pack_options, &w->packed, &w->error);
}

static PyObject *packed_dict(const sluice_pack_result *r)
{
#define U(name) #name, (unsigned long long)r->name
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:O,s:O}", U(shards),
                         U(samples), U(rejected), U(bytes), U(resumed_samples), U(jpegs_retiled),
                         U(jpegs_kept), U(jpeg_bytes_before), U(jpeg_bytes_after), U(decoded),
                         U(resized), "was_complete", r->was_complete ? Py_True : Py_False,
                         "complete", r->complete ? Py_True : Py_False);
#undef U
}

static int set_path(walk *w, PyObject *path)
{
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return -1;
    }
    w->path = strdup(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (w->path == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* Removes them from the dict, whose other values are numbers. */
static int take_labels(walk *w, PyObject *options)
{
    PyObject *given = PyDict_GetItemString(options, "labels"); /* borrowed */
    if (given == NULL) {
        return 0;
    }
    return labels_take(&w->labels, given) < 0 ? -1 : PyDict_DelItemString(options, "labels");
}

static int set_pack(const extension *e, walk *w, PyObject *path, PyObject *options)
{
    w->pack_options = (sluice_pack_options)SLUICE_PACK_OPTIONS_INIT;
    w->packed = (sluice_pack_result)SLUICE_PACK_RESULT_INIT;
    if (set_path(w, path) < 0 || take_labels(w, options) < 0 ||
        options_set(e, SLUICE_OPTIONS_PACK, &w->pack_options, options, NULL) < 0) {
        return -1;
    }
    w->pack_options.labels = w->labels.given;
    w->pack_options.on_progress = on_pack_progress;
    w->pack_options.should_stop = is_stopped;
    w->pack_options.user = w;
    return 0;
}

/* Runs a call that makes a folder; NULL with an exception. */
static walk *make_folder(const extension *e, PyObject *arguments, void (*work)(waiting_job *job),
                         int (*set)(const extension *e, walk *w, PyObject *path, PyObject *options))
{
    PyObject *dataset;
    PyObject *path;
    PyObject *options;
    PyObject *progress;
    if (!PyArg_ParseTuple(arguments, "OOOO", &dataset, &path, &options, &progress)) {
        return NULL;
    }
    walk *w = wait_for_stopped() ? walk_new(e, dataset, progress, work) : NULL;
    if (w == NULL) {
        return NULL;
    }
    if (set(e, w, path, options) < 0) {
        drop(&w->job);
        return NULL;
    }
    return walk_run(e, w);
}

PyObject *whole_pack(PyObject *module, PyObject *arguments)
{
    walk *w = make_folder(PyModule_GetState(module), arguments, pack_it, set_pack);
    if (w == NULL) {
        return NULL;
    }
    PyObject *made = packed_dict(&w->packed);
    drop(&w->job);
    return made;
}

static void join_it(waiting_job *job)
{
    walk *w = (walk *)job;
    w->status = sluice_pack_join(w->path, &w->packed, &w->error);
}

PyObject *whole_pack_join(PyObject *module, PyObject *path)
{
    const extension *e = PyModule_GetState(module);
    walk *w = wait_for_stopped() ? walk_new(e, NULL, Py_None, join_it) : NULL;
    if (w == NULL) {
        return NULL;
    }
    w->packed = (sluice_pack_result)SLUICE_PACK_RESULT_INIT;
    if (set_path(w, path) < 0) {
        drop(&w->job);
        return NULL;
    }
    w = walk_run(e, w);
    if (w == NULL) {
        return NULL;
    }
    PyObject *made = packed_dict(&w->packed);
    drop(&w->job);
    return made;
}

/* ---- unpack ---- */

static void on_unpack_progress(void *user, const sluice_unpack_progress *progress)
{
    note(user, progress->samples_done, progress->samples_total);
}

static void unpack_it(waiting_job *job)
{
    walk *w = (walk *)job;
    w->status =
        sluice_unpack(w->dataset->dataset, w->path, &w->unpack_options, &w->unpacked, &w->error);
}

static int set_unpack(const extension *e, walk *w, PyObject *path, PyObject *options)
{
    w->unpack_options = (sluice_unpack_options)SLUICE_UNPACK_OPTIONS_INIT;
    w->unpacked = (sluice_unpack_result)SLUICE_UNPACK_RESULT_INIT;
    if (set_path(w, path) < 0 ||
        options_set(e, SLUICE_OPTIONS_UNPACK, &w->unpack_options, options, NULL) < 0) {
        return -1;
    }
    w->unpack_options.on_progress = on_unpack_progress;
    w->unpack_options.should_stop = is_stopped;
    w->unpack_options.user = w;
    return 0;
}

PyObject *whole_unpack(PyObject *module, PyObject *arguments)
{
    walk *w = make_folder(PyModule_GetState(module), arguments, unpack_it, set_unpack);
    if (w == NULL) {
        return NULL;
    }
    const sluice_unpack_result *r = &w->unpacked;
#define U(name) #name, (unsigned long long)r->name
    PyObject *made = Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:O}", U(samples), U(rejected),
                                   U(archives), U(files), U(bytes), U(renamed), U(renamed_classes),
                                   "labels_differ", r->labels_differ ? Py_True : Py_False);
#undef U
    drop(&w->job);
    return made;
}

/* ---- verify ---- */

static void on_verify_progress(void *user, uint64_t done, uint64_t total)
{
    note(user, done, total);
}

static void on_finding(void *user, const sluice_error *finding)
{
    walk *w = user;
    if (w->count == w->capacity) {
        const size_t capacity = w->capacity == 0 ? 16 : w->capacity * 2;
        sluice_error *more = realloc(w->findings, capacity * sizeof(*more));
        if (more == NULL) {
            w->lost = true;
            return;
        }
        w->findings = more;
        w->capacity = capacity;
    }
    w->findings[w->count++] = *finding;
}

static void verify_it(waiting_job *job)
{
    walk *w = (walk *)job;
    w->status =
        sluice_dataset_verify(w->dataset->dataset, &w->verify_options, &w->verified, &w->error);
}

static PyObject *findings_list(const extension *e, const walk *w)
{
    PyObject *list = PyList_New((Py_ssize_t)w->count);
    for (size_t i = 0; i < w->count && !PyErr_Occurred(); i++) {
        PyList_SetItem(list, (Py_ssize_t)i, sluice_exception(e, &w->findings[i]));
    }
    if (PyErr_Occurred()) {
        Py_CLEAR(list);
    }
    return list;
}

static PyObject *unchecked_text(const walk *w)
{
    const char *text = w->verified.unchecked;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *whole_verify(PyObject *module, PyObject *arguments)
{
    const extension *e = PyModule_GetState(module);
    PyObject *dataset;
    PyObject *options;
    PyObject *progress;
    if (!PyArg_ParseTuple(arguments, "OOO", &dataset, &options, &progress)) {
        return NULL;
    }
    walk *w = walk_new(e, dataset, progress, verify_it);
    if (w == NULL) {
        return NULL;
    }
    w->verify_options = (sluice_verify_options)SLUICE_VERIFY_OPTIONS_INIT;
    w->verified = (sluice_verify_result)SLUICE_VERIFY_RESULT_INIT;
    if (options_set(e, SLUICE_OPTIONS_VERIFY, &w->verify_options, options, NULL) < 0) {
        drop(&w->job);
        return NULL;
    }
    w->verify_options.on_finding = on_finding;
    w->verify_options.on_progress = on_verify_progress;
    w->verify_options.should_stop = is_stopped;
    w->verify_options.user = w;
    w = walk_run(e, w);
    if (w == NULL) {
        return NULL;
    }
    PyObject *findings = findings_list(e, w);
    PyObject *made =
        findings == NULL
            ? NULL
            : Py_BuildValue("(KKNNK)", (unsigned long long)w->verified.samples,
                            (unsigned long long)w->verified.bytes, findings, unchecked_text(w),
                            (unsigned long long)w->verified.undecoded);
    drop(&w->job);
    return made;
}
