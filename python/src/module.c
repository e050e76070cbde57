/* SPDX-License-Identifier: Apache-2.0 */
/* The module sluice._sluice: its types, exceptions and functions. */
#include "cache.h"
#include "datasets.h"
#include "extension.h"
#include "options.h"
#include "recipe.h"
#include "remote.h"
#include "sequences.h"
#include "whole.h"

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(sluice_version());
}

static PyObject *dtype_name(PyObject *module, PyObject *number)
{
    (void)module;
    const long dtype = PyLong_AsLong(number);
    return dtype == -1 && PyErr_Occurred()
               ? NULL
               : PyUnicode_FromString(sluice_dtype_name((sluice_dtype)dtype));
}

static PyObject *device_text(PyObject *module, PyObject *name)
{
    const extension *e = PyModule_GetState(module);
    const char *device = PyUnicode_AsUTF8AndSize(name, NULL);
    char text[256] = "";
    if (device == NULL) {
        return NULL;
    }
    sluice_status status;
    PyThreadState *thread = PyEval_SaveThread();
    status = sluice_device_get_text(device, text, sizeof(text));
    PyEval_RestoreThread(thread);
    if (status == SLUICE_INVALID) {
        return sluice_raise_status(e, status, text);
    }
    return Py_BuildValue("(Ns)", PyBool_FromLong(status == SLUICE_OK), text);
}

static PyObject *find_ranks(PyObject *module, PyObject *unused)
{
    const extension *e = PyModule_GetState(module);
    sluice_ranks ranks = SLUICE_RANKS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    (void)unused;
    if (sluice_ranks_find(&ranks, &error) < 0) {
        return sluice_raise(e, &error);
    }
    return Py_BuildValue("(IIiIs)", ranks.rank, ranks.world_size, ranks.local_rank,
                         ranks.local_size, ranks.launcher);
}

static PyObject *divide_ranks(PyObject *module, PyObject *arguments)
{
    const extension *e = PyModule_GetState(module);
    sluice_ranks ranks = SLUICE_RANKS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    unsigned int by;
    if (!PyArg_ParseTuple(arguments, "III", &ranks.rank, &ranks.world_size, &by)) {
        return NULL;
    }
    if (sluice_ranks_divide(&ranks, by, &error) < 0) {
        return sluice_raise(e, &error);
    }
    return Py_BuildValue("(II)", ranks.rank, ranks.world_size);
}

static PyObject *find_job_array(PyObject *module, PyObject *arguments)
{
    const extension *e = PyModule_GetState(module);
    sluice_job_array array = SLUICE_JOB_ARRAY_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    unsigned int parts;
    if (!PyArg_ParseTuple(arguments, "I", &parts)) {
        return NULL;
    }
    if (sluice_job_array_find(&array, parts, &error) < 0) {
        return sluice_raise(e, &error);
    }
    return Py_BuildValue("(IIs)", array.part, array.parts, array.variable);
}

static PyObject *look_for_job_array(PyObject *module, PyObject *unused)
{
    sluice_job_array array = SLUICE_JOB_ARRAY_INIT;
    const int known = sluice_job_array_find(&array, 0, NULL) == SLUICE_OK;
    (void)module;
    (void)unused;
    return Py_BuildValue("(sI)", array.variable, known ? array.parts : 0);
}

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type == NULL ? -1 : PyModule_AddType(module, *type);
}

static int execute(PyObject *module)
{
    extension *e = PyModule_GetState(module);
    if (sluice_add_errors(e, module) < 0 || add_type(module, &dataset_spec, &e->dataset) < 0 ||
        add_type(module, &loader_spec, &e->loader) < 0 ||
        add_type(module, &batch_spec, &e->batch) < 0 ||
        add_type(module, &tensor_spec, &e->tensor) < 0 ||
        add_type(module, &writer_spec, &e->writer) < 0) {
        return -1;
    }
    return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    extension *e = PyModule_GetState(module);
    Py_VISIT(e->error);
    for (int i = 1; i < STATUSES; i++) {
        Py_VISIT(e->errors[i]);
    }
    Py_VISIT(e->dataset);
    Py_VISIT(e->loader);
    Py_VISIT(e->batch);
    Py_VISIT(e->tensor);
    Py_VISIT(e->writer);
    return 0;
}

static int clear(PyObject *module)
{
    extension *e = PyModule_GetState(module);
    Py_CLEAR(e->error);
    for (int i = 1; i < STATUSES; i++) {
        Py_CLEAR(e->errors[i]);
    }
    Py_CLEAR(e->dataset);
    Py_CLEAR(e->loader);
    Py_CLEAR(e->batch);
    Py_CLEAR(e->tensor);
    Py_CLEAR(e->writer);
    return 0;
}

static PyMethodDef methods[] = {
    {"version", version, METH_NOARGS, "version($module, /)\n--\n\nReturns the library's version."},
    {"dtype_name", dtype_name, METH_O,
     "dtype_name($module, number, /)\n--\n\nReturns the library's name of a dtype."},
    {"options", options_list, METH_O,
     "options($module, of, /)\n--\n\nReturns a struct's table of options: (name, keyword, type, "
     "unit, least, most, words, help)."},
    {"device_text", device_text, METH_O,
     "device_text($module, device, /)\n--\n\nReturns (True if batches can be on it, its "
     "description or the reason)."},
    {"find_ranks", find_ranks, METH_NOARGS,
     "find_ranks($module, /)\n--\n\nReturns (rank, world_size, local_rank or -1, local_size or 0, "
     "launcher) from the environment."},
    {"divide_ranks", divide_ranks, METH_VARARGS,
     "divide_ranks(rank, world_size, model_parallel): returns (rank, world_size)."},
    {"find_job_array", find_job_array, METH_VARARGS,
     "find_job_array(parts or 0): returns (part, parts, variable or \"\") from the environment."},
    {"look_for_job_array", look_for_job_array, METH_NOARGS,
     "look_for_job_array($module, /)\n--\n\nReturns (variable or \"\", parts, or 0 if not known) "
     "from the environment."},
    {"steps", recipe_steps, METH_NOARGS,
     "steps($module, /)\n--\n\nReturns the steps of transforms: (name, stage, text, ((argument, "
     "preset or None, least, most), ...))."},
    {"check_steps", recipe_check, METH_O,
     "check_steps($module, steps, /)\n--\n\nRaises the error of a loader with this recipe."},
    {"timm_numbers", recipe_timm_numbers, METH_O,
     "timm_numbers($module, text, /)\n--\n\nReturns the arguments of timm_augment for a policy "
     "of timm."},
    {"concat", datasets_concat, METH_VARARGS,
     "concat(datasets, fields, labels): returns the joined dataset."},
    {"subset", datasets_subset, METH_VARARGS,
     "subset([dataset], how, bytes): returns a dataset of some samples."},
    {"numbers", datasets_numbers, METH_VARARGS,
     "numbers(dataset, field): returns (values, present)."},
    {"lengths", datasets_lengths, METH_VARARGS,
     "lengths(dataset, field): returns (values, zeros)."},
    {"lengths_source", datasets_lengths_source, METH_VARARGS,
     "lengths_source(dataset, field): returns the source of lengths."},
    {"packing_count", sequences_count, METH_VARARGS,
     "packing_count(lengths, length, max_documents, align, unit, window, cut, seed): returns a "
     "dict."},
    {"mix", datasets_mix, METH_VARARGS, "mix(datasets, weights, epochs, epoch_samples, fields)"},
    {"pack", whole_pack, METH_VARARGS, "pack(dataset, path, options, progress)"},
    {"pack_join", whole_pack_join, METH_O, "pack_join(path)"},
    {"remote_configure", remote_configure, METH_O,
     "remote_configure($module, options, /)\n--\n\nSets how object stores are read."},
    {"remote_stats", remote_stats, METH_NOARGS,
     "remote_stats($module, /)\n--\n\nReturns statistics of reads from object stores, a dict."},
    {"unpack", whole_unpack, METH_VARARGS, "unpack(dataset, path, options, progress)"},
    {"verify", whole_verify, METH_VARARGS, "verify(dataset, options, progress)"},
    {"cache_list", cache_list, METH_O, "cache_list(folder)"},
    {"cache_verify", cache_verify, METH_VARARGS, "cache_verify(folder, progress)"},
    {"cache_fill", cache_fill, METH_VARARGS, "cache_fill(dataset, progress)"},
    {"cache_empty", cache_empty, METH_VARARGS, "cache_empty(folder, prefix, progress)"},
    {0},
};

PyMODINIT_FUNC PyInit__sluice(void); // NOLINT: Python wants this name

PyMODINIT_FUNC PyInit__sluice(void) // NOLINT
{
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};
    static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,
        .m_name = "sluice._sluice",
        .m_doc = "The library's handles. Import sluice instead.",
        .m_size = sizeof(extension),
        .m_methods = methods,
        .m_slots = slots,
        .m_traverse = traverse,
        .m_clear = clear,
    };
    return PyModuleDef_Init(&definition);
}
