/* SPDX-License-Identifier: Apache-2.0 */
#include "sequences.h"

#include "waiting.h"

#include <sluice/sequences.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A call in separate memory: Python's may be freed before it ends. */
typedef struct counting {
    waiting_job job;
    atomic_bool stopped; /* relaxed: read until it is seen */
    uint64_t *lengths;
    uint64_t documents;
    sluice_packing_options options;
    sluice_packing_report report;
    sluice_error error;
    sluice_status status;
} counting;

static void drop_counting(waiting_job *job)
{
    free(((counting *)job)->lengths);
    free(job);
}

static void stop_counting(waiting_job *job)
{
    atomic_store_explicit(&((counting *)job)->stopped, true, memory_order_relaxed);
}

static int32_t counting_is_stopped(void *user)
{
    return atomic_load_explicit(&((counting *)user)->stopped, memory_order_relaxed);
}

static void count_rows(waiting_job *job)
{
    counting *c = (counting *)job;
    c->status = sluice_packing_count(c->lengths, c->documents, &c->options, &c->report, &c->error);
}

/* Takes over a copy of the lengths. NULL with an exception. */
static counting *counting_new(const char *lengths, size_t bytes)
{
    counting *c = calloc(1, sizeof(*c));
    uint64_t *copy = malloc(bytes + 1);
    if (c == NULL || copy == NULL) {
        free(c);
        free(copy);
        return (counting *)PyErr_NoMemory();
    }
    c->job = (waiting_job){.work = count_rows, .drop = drop_counting, .stop = stop_counting};
    c->lengths = memcpy(copy, lengths, bytes);
    c->documents = bytes / sizeof(*copy);
    c->options = (sluice_packing_options)SLUICE_PACKING_OPTIONS_INIT;
    c->options.should_stop = counting_is_stopped;
    c->options.user = c;
    c->report = (sluice_packing_report)SLUICE_PACKING_REPORT_INIT;
    c->error = (sluice_error)SLUICE_ERROR_INIT;
    return c;
}

static PyObject *dict_of_report(const sluice_packing_report *r)
{
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:I}", "documents",
        (unsigned long long)r->documents, "tokens", (unsigned long long)r->tokens, "targets",
        (unsigned long long)r->targets, "rows", (unsigned long long)r->rows, "pieces",
        (unsigned long long)r->pieces, "align_padding", (unsigned long long)r->align_padding,
        "end_padding", (unsigned long long)r->end_padding, "cut", (unsigned long long)r->cut,
        "empty", (unsigned long long)r->empty, "closed", (unsigned long long)r->closed, "longest",
        (unsigned long long)r->longest, "longest_document", (unsigned long long)r->longest_document,
        "most_documents", (unsigned int)r->most_documents);
}

PyObject *sequences_count(PyObject *module, PyObject *arguments)
{
    const extension *e = PyModule_GetState(module);
    const char *lengths;
    Py_ssize_t bytes;
    unsigned long long length;
    unsigned long long seed;
    unsigned int most;
    unsigned int align;
    unsigned int unit;
    unsigned int window;
    int cut;
    if (!PyArg_ParseTuple(arguments, "y#KIIIIiK", &lengths, &bytes, &length, &most, &align, &unit,
                          &window, &cut, &seed)) {
        return NULL;
    }
    counting *c = counting_new(lengths, (size_t)bytes);
    if (c == NULL) {
        return NULL;
    }
    c->options.length = length;
    c->options.seed = seed;
    c->options.max_documents = most;
    c->options.align = align;
    c->options.unit = unit;
    c->options.window = window;
    c->options.cut = cut;
    if (!wait_for(e, &c->job)) {
        return NULL;
    }
    PyObject *made = c->status < 0 ? sluice_raise(e, &c->error) : dict_of_report(&c->report);
    drop_counting(&c->job);
    return made;
}
