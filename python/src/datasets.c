/* SPDX-License-Identifier: Apache-2.0 */
#include "datasets.h"

#include "dataset.h"
#include "names.h"
#include "waiting.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* References to a list of datasets. */
typedef struct shares {
    dataset_handle **handles;
    sluice_dataset **datasets;
    size_t count;
} shares;

static void shares_drop(shares *s)
{
    for (size_t i = 0; i < s->count; i++) {
        dataset_drop(s->handles[i]);
    }
    free((void *)s->handles);
    free((void *)s->datasets);
}

/* -1 with an exception; then there is nothing to drop. */
static int shares_take(shares *s, const extension *e, PyObject *list)
{
    const Py_ssize_t count = PyList_Size(list);
    *s = (shares){NULL, NULL, 0};
    if (count < 0) {
        return -1;
    }
    s->handles = (dataset_handle **)calloc((size_t)count + 1, sizeof(dataset_handle *));
    s->datasets = (sluice_dataset **)calloc((size_t)count + 1, sizeof(sluice_dataset *));
    if (s->handles == NULL || s->datasets == NULL) {
        shares_drop(s);
        (void)PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        s->handles[i] = dataset_share(e, PyList_GetItem(list, i));
        if (s->handles[i] == NULL) {
            shares_drop(s);
            return -1;
        }
        s->datasets[i] = s->handles[i]->dataset;
        s->count++;
    }
    return 0;
}

PyObject *datasets_concat(PyObject *module, PyObject *arguments)
{
    const extension *e = PyModule_GetState(module);
    PyObject *list;
    PyObject *fields;
    PyObject *classes;
    shares of;
    if (!PyArg_ParseTuple(arguments, "OOO", &list, &fields, &classes) ||
        shares_take(&of, e, list) < 0) {
        return NULL;
    }
    names chosen;
    labels joined_by;
    PyObject *made = NULL;
    if ((names_take(&chosen, fields) | labels_take(&joined_by, classes)) == 0) {
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_dataset *joined = NULL;
        sluice_concat_options options = SLUICE_CONCAT_OPTIONS_INIT;
        options.fields = chosen.of;
        options.field_count = chosen.count;
        options.labels = joined_by.given;
        PyThreadState *thread = PyEval_SaveThread();
        const sluice_status status =
            sluice_dataset_concat(&joined, of.datasets, of.count, &options, &error);
        PyEval_RestoreThread(thread);
        made = status < 0 ? sluice_raise(e, &error) : dataset_object_of(e, joined);
    }
    names_drop(&chosen);
    labels_drop(&joined_by);
    PyThreadState *thread = PyEval_SaveThread();
    shares_drop(&of);
    PyEval_RestoreThread(thread);
    return made;
}

/* ---- calls that read samples ---- */

/* A call that may read all samples, in separate memory: Python's may be freed before it ends. */
typedef struct reading {
    waiting_job job;
    dataset_handle *of;
    atomic_bool stopped; /* relaxed: read until it is seen */
    sluice_scan_options scan;
    char *text; /* of a choice in words */
    uint64_t *indices;
    sluice_subset_options choice;
    sluice_dataset *made;
    char *field;
    void *values; /* 8 bytes a sample */
    uint8_t *present;
    sluice_error error;
    sluice_status status;
} reading;

static void drop_reading(waiting_job *job)
{
    reading *r = (reading *)job;
    sluice_dataset_close(r->made);
    dataset_drop(r->of);
    free(r->text);
    free(r->indices);
    free(r->field);
    free(r->values);
    free(r->present);
    free(r);
}

static void stop_reading(waiting_job *job)
{
    atomic_store_explicit(&((reading *)job)->stopped, true, memory_order_relaxed);
}

static int32_t is_stopped(void *user)
{
    return atomic_load_explicit(&((reading *)user)->stopped, memory_order_relaxed);
}

static reading *reading_new(const extension *e, PyObject *dataset, void (*work)(waiting_job *job))
{
    reading *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return (reading *)PyErr_NoMemory();
    }
    r->job = (waiting_job){.work = work, .drop = drop_reading, .stop = stop_reading};
    r->scan = (sluice_scan_options)SLUICE_SCAN_OPTIONS_INIT;
    r->scan.should_stop = is_stopped;
    r->scan.user = r;
    r->choice = (sluice_subset_options)SLUICE_SUBSET_OPTIONS_INIT;
    r->choice.scan = &r->scan;
    r->error = (sluice_error)SLUICE_ERROR_INIT;
    r->of = dataset_share(e, dataset);
    if (r->of == NULL) {
        drop_reading(&r->job);
        return NULL;
    }
    return r;
}

/* NULL with an exception, and the job is freed. */
static reading *reading_run(const extension *e, reading *r)
{
    if (!wait_for(e, &r->job)) {
        return NULL;
    }
    if (r->status < 0) {
        (void)sluice_raise(e, &r->error);
        drop_reading(&r->job);
        return NULL;
    }
    return r;
}

/* ---- subsets ---- */

static void make_subset(waiting_job *job)
{
    reading *r = (reading *)job;
    r->status = sluice_dataset_subset(&r->made, r->of->dataset, &r->choice, &r->error);
}

/* `how` is a member of sluice_subset_options. -1 with an exception. */
static int set_choice(reading *r, const char *how, const char *bytes, size_t size)
{
    if (strcmp(how, "indices") == 0) {
        r->indices = malloc(size + 1);
        if (r->indices != NULL) {
            memcpy(r->indices, bytes, size);
        }
        r->choice.indices = r->indices;
        r->choice.index_count = size / sizeof(uint64_t);
        return r->indices != NULL ? 0 : -1;
    }
    r->text = strndup(bytes, size);
    r->choice.ranges = strcmp(how, "ranges") == 0 ? r->text : NULL;
    r->choice.index_file = strcmp(how, "index_file") == 0 ? r->text : NULL;
    r->choice.where = strcmp(how, "where") == 0 ? r->text : NULL;
    return r->text != NULL ? 0 : -1;
}

PyObject *datasets_subset(PyObject *module, PyObject *arguments)
{
    const extension *e = PyModule_GetState(module);
    PyObject *list;
    const char *how;
    const char *bytes;
    Py_ssize_t size;
    unsigned long long most = 0;
    if (!PyArg_ParseTuple(arguments, "Osy#|K", &list, &how, &bytes, &size, &most)) {
        return NULL;
    }
    PyObject *of = PyList_GetItem(list, 0);
    reading *r = of != NULL ? reading_new(e, of, make_subset) : NULL;
    if (r == NULL) {
        return NULL;
    }
    r->scan.max_sample_bytes = most;
    if (set_choice(r, how, bytes, (size_t)size) < 0) {
        drop_reading(&r->job);
        return PyErr_NoMemory();
    }
    r = reading_run(e, r);
    if (r == NULL) {
        return NULL;
    }
    PyObject *made = dataset_object_of(e, r->made);
    r->made = NULL;
    drop_reading(&r->job);
    return made;
}

/* ---- numbers ---- */

static void read_numbers(waiting_job *job)
{
    reading *r = (reading *)job;
    r->status = sluice_dataset_read_numbers(r->of->dataset, r->field, r->values, r->present,
                                            &r->scan, &r->error);
}

static void read_lengths(waiting_job *job)
{
    reading *r = (reading *)job;
    r->status =
        sluice_dataset_read_lengths(r->of->dataset, r->field, r->values, &r->scan, &r->error);
}

/* 8 bytes of each sample, and a byte. */
static PyObject *read_values(const extension *e, PyObject *arguments,
                             void (*work)(waiting_job *job))
{
    PyObject *of;
    const char *field;
    unsigned long long most;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    if (!PyArg_ParseTuple(arguments, "OsK", &of, &field, &most)) {
        return NULL;
    }
    reading *r = reading_new(e, of, work);
    if (r == NULL) {
        return NULL;
    }
    r->scan.max_sample_bytes = most;
    (void)sluice_dataset_get_info(r->of->dataset, &info);
    r->field = strdup(field);
    r->values = calloc(info.samples, sizeof(uint64_t));
    r->present = calloc(info.samples, 1);
    if (r->field == NULL || r->values == NULL || r->present == NULL) {
        drop_reading(&r->job);
        return PyErr_NoMemory();
    }
    r = reading_run(e, r);
    if (r == NULL) {
        return NULL;
    }
    PyObject *made = Py_BuildValue("(y#y#)", (const char *)r->values,
                                   (Py_ssize_t)(info.samples * sizeof(uint64_t)),
                                   (const char *)r->present, (Py_ssize_t)info.samples);
    drop_reading(&r->job);
    return made;
}

PyObject *datasets_numbers(PyObject *module, PyObject *arguments)
{
    return read_values(PyModule_GetState(module), arguments, read_numbers);
}

PyObject *datasets_lengths(PyObject *module, PyObject *arguments)
{
    return read_values(PyModule_GetState(module), arguments, read_lengths);
}

PyObject *datasets_lengths_source(PyObject *module, PyObject *arguments)
{
    const extension *e = PyModule_GetState(module);
    PyObject *of;
    const char *field;
    if (!PyArg_ParseTuple(arguments, "Os", &of, &field)) {
        return NULL;
    }
    dataset_handle *handle = dataset_share(e, of);
    if (handle == NULL) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    const int32_t source = sluice_dataset_lengths_source(handle->dataset, field);
    dataset_drop(handle);
    PyEval_RestoreThread(thread);
    return PyLong_FromLong(source);
}

/* ---- mixes ---- */

/* Copies the numbers, because Python's need not be aligned. */
typedef struct mix_rows {
    double *weights;
    uint64_t *epochs;
} mix_rows;

/* -1 with an exception. */
static int copy_rows(mix_rows *rows, sluice_mix_options *options, const Py_buffer *weights,
                     const Py_buffer *epochs)
{
    rows->weights = malloc((size_t)weights->len + 1);
    rows->epochs = malloc((size_t)epochs->len + 1);
    if (rows->weights == NULL || rows->epochs == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    options->weights = memcpy(rows->weights, weights->buf, (size_t)weights->len);
    options->epochs = memcpy(rows->epochs, epochs->buf, (size_t)epochs->len);
    options->row_count = (uint32_t)((size_t)epochs->len / sizeof(uint64_t));
    return 0;
}

/* `weights`: their number. */
static PyObject *make_mix(const extension *e, const shares *of, const sluice_mix_options *options,
                          size_t weights)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *mixed = NULL;
    if (weights != of->count * options->row_count) {
        PyErr_SetString(PyExc_ValueError, "expected a weight for each dataset and row");
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    const sluice_status status =
        sluice_dataset_mix(&mixed, of->datasets, of->count, options, &error);
    PyEval_RestoreThread(thread);
    return status < 0 ? sluice_raise(e, &error) : dataset_object_of(e, mixed);
}

PyObject *datasets_mix(PyObject *module, PyObject *arguments)
{
    const extension *e = PyModule_GetState(module);
    PyObject *list;
    PyObject *fields;
    PyObject *classes;
    shares of = {NULL, NULL, 0};
    mix_rows rows = {NULL, NULL};
    Py_buffer weights;
    Py_buffer epochs;
    unsigned long long epoch_samples;
    if (!PyArg_ParseTuple(arguments, "Oy*y*KOO", &list, &weights, &epochs, &epoch_samples, &fields,
                          &classes)) {
        return NULL;
    }
    names chosen;
    labels joined_by;
    sluice_mix_options options = SLUICE_MIX_OPTIONS_INIT;
    options.epoch_samples = epoch_samples;
    PyObject *made = NULL;
    if ((names_take(&chosen, fields) | labels_take(&joined_by, classes)) == 0 &&
        copy_rows(&rows, &options, &weights, &epochs) == 0 && shares_take(&of, e, list) == 0) {
        options.labels = joined_by.given;
        options.fields = chosen.of;
        options.field_count = chosen.count;
        made = make_mix(e, &of, &options, (size_t)weights.len / sizeof(double));
        PyThreadState *thread = PyEval_SaveThread();
        shares_drop(&of);
        PyEval_RestoreThread(thread);
    }
    names_drop(&chosen);
    labels_drop(&joined_by);
    free(rows.weights);
    free(rows.epochs);
    PyBuffer_Release(&weights);
    PyBuffer_Release(&epochs);
    return made;
}
