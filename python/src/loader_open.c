/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"
#include "loader_object.h"
#include "recipe.h"
#include "waiting.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 4096

typedef struct opening {
    waiting_job job;
    dataset_handle *dataset;
    sluice_augment *recipe;
    sluice_columns *columns;
    sluice_loader_options options;
    char device[64];
    char quarantine[TEXT_MAX];
    sluice_loader *made;
    sluice_error error;
    sluice_status status;
} opening;

static void open_it(waiting_job *job)
{
    opening *o = (opening *)job;
    o->status =
        sluice_loader_open(&o->made, o->dataset->dataset, o->recipe, &o->options, &o->error);
}

static void drop_opening(waiting_job *job)
{
    opening *o = (opening *)job;
    sluice_loader_close(o->made);
    dataset_drop(o->dataset);
    sluice_augment_destroy(o->recipe);
    sluice_columns_destroy(o->columns);
    free(o);
}

#define MEMBER(name, type)                                 \
    {                                                      \
#        name, offsetof(sluice_loader_options, name), type \
    }

static const member option_members[] = {
    MEMBER(batch_size, 'I'),
    MEMBER(workers, 'I'),
    MEMBER(prefetch, 'I'),
    MEMBER(dtype, 'i'),
    MEMBER(layout, 'i'),
    MEMBER(seed, 'Q'),
    MEMBER(rank, 'I'),
    MEMBER(world_size, 'I'),
    MEMBER(shuffle, 'i'),
    MEMBER(block_samples, 'I'),
    MEMBER(window_blocks, 'I'),
    MEMBER(last_batch, 'i'),
    MEMBER(on_bad_sample, 'i'),
    MEMBER(exif, 'i'),
    MEMBER(io_backend, 'i'),
    MEMBER(page_cache, 'i'),
    MEMBER(io_depth, 'I'),
    MEMBER(io_threads, 'I'),
    MEMBER(read_buffer_bytes, 'Q'),
    MEMBER(max_sample_bytes, 'Q'),
    MEMBER(max_pixels, 'Q'),
    MEMBER(memory_bytes, 'Q'),
    MEMBER(stall_warn_ns, 'Q'),
    MEMBER(stall_fail_ns, 'Q'),
    MEMBER(end_epoch, 'Q'),
    MEMBER(exact, 'I'),
    MEMBER(device_slots, 'I'),
    MEMBER(resident_bytes, 'Q'),
    MEMBER(whole_samples, 'I'),
    MEMBER(any_numa_node, 'I'),
    MEMBER(ignore_index, 'q'),
    MEMBER(window_bytes, 'Q'),
    {NULL, 0, 0},
};

static int copy_text(PyObject *text, char *to, size_t room, const char **option)
{
    PyObject *bytes = NULL;
    if (text == Py_None) {
        return 0;
    }
    if (!PyUnicode_FSConverter(text, &bytes)) {
        return -1;
    }
    const char *from = PyBytes_AsString(bytes);
    const size_t length = strlen(from);
    if (length >= room) {
        PyErr_SetString(PyExc_ValueError, "too long");
        Py_DECREF(bytes);
        return -1;
    }
    memcpy(to, from, length + 1);
    Py_DECREF(bytes);
    *option = to;
    return 0;
}

static int fill_opening(const extension *e, loader_object *self, opening *o, PyObject *arguments)
{
    PyObject *options;
    PyObject *device;
    PyObject *quarantine;
    PyObject *recipe;
    PyObject *columns;
    PyObject *dataset;
    unsigned long long hold_ms;
    PyObject *views;
    int copies;
    if (!PyArg_ParseTuple(arguments, "OOOOOOKOp", &dataset, &options, &device, &quarantine, &recipe,
                          &columns, &hold_ms, &views, &copies)) {
        return -1;
    }
    self->hold_ms = hold_ms;
    self->copies = copies != 0;
    self->kind.views = PyFrozenSet_New(views);
    if (self->kind.views == NULL) {
        return -1;
    }
    o->dataset = dataset_share(e, dataset);
    if (o->dataset == NULL || members_set(&o->options, option_members, options) < 0 ||
        copy_text(device, o->device, sizeof(o->device), &o->options.device) < 0 ||
        copy_text(quarantine, o->quarantine, sizeof(o->quarantine), &o->options.quarantine_path) <
            0) {
        return -1;
    }
    if (recipe != Py_None) {
        o->recipe = recipe_of(e, recipe);
    }
    if (!PyErr_Occurred() && columns != Py_None) {
        o->columns = columns_of(e, columns);
        o->options.columns = o->columns;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static void take_handle(loader_object *self, opening *o)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    self->handle = self->count->loader = o->made;
    o->made = NULL;
    (void)sluice_loader_get_stats(self->handle, &stats);
    self->on_device = stats.device_slots > 0;
    self->slots = self->on_device ? stats.device_slots : stats.slots;
}

int loader_open(const extension *e, loader_object *self, PyObject *arguments)
{
    opening *o = calloc(1, sizeof(*o));
    if (o == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    o->job = (waiting_job){.work = open_it, .drop = drop_opening};
    o->options = (sluice_loader_options)SLUICE_LOADER_OPTIONS_INIT;
    o->error = (sluice_error)SLUICE_ERROR_INIT;
    if (fill_opening(e, self, o, arguments) < 0) {
        drop_opening(&o->job);
        return -1;
    }
    if (!wait_for(e, &o->job)) {
        return -1;
    }
    const sluice_status status = o->status;
    if (status < 0) {
        (void)sluice_raise(e, &o->error);
    } else {
        take_handle(self, o);
    }
    drop_opening(&o->job);
    return status < 0 ? -1 : 0;
}
