/* SPDX-License-Identifier: Apache-2.0 */
#include "native.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A step's objects. The library owns this struct, then the list. */
typedef struct native_step {
    sluice_native_function function;
    void *user_data;
    PyInterpreterState *interpreter; /* that `buffer` and `keep` are of */
    Py_buffer buffer;                /* obj NULL: there is none */
    PyObject *keep;
    struct native_step *next;
} native_step;

static _Atomic(native_step *) gone;

static int call(uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, uint64_t seed,
                void *user_data)
{
    const native_step *step = user_data;
    return step->function(pixels, width, height, stride, seed, step->user_data);
}

static void set_gone(void *user_data)
{
    native_step *step = user_data;
    step->next = atomic_load_explicit(&gone, memory_order_relaxed);
    /* release: pairs with the acquire of native_sweep */
    while (!atomic_compare_exchange_weak_explicit(&gone, &step->next, step, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

static void drop(native_step *step)
{
    PyBuffer_Release(&step->buffer);
    Py_XDECREF(step->keep);
    free(step);
}

void native_sweep(void)
{
    if (atomic_load_explicit(&gone, memory_order_relaxed) == NULL) {
        return;
    }
    const PyInterpreterState *interpreter = PyInterpreterState_Get();
    native_step *step = atomic_exchange_explicit(&gone, NULL, memory_order_acquire);
    while (step != NULL) {
        native_step *next = step->next;
        if (step->interpreter == interpreter) {
            drop(step);
        } else {
            set_gone(step);
        }
        step = next;
    }
}

static bool take_data(native_step *step, PyObject *data)
{
    if (PyLong_Check(data)) {
        step->user_data = PyLong_AsVoidPtr(data);
        return PyErr_Occurred() == NULL;
    }
    if (PyObject_GetBuffer(data, &step->buffer, PyBUF_SIMPLE) < 0) {
        return false;
    }
    step->user_data = step->buffer.buf;
    return true;
}

int native_add(sluice_augment *recipe, PyObject *tuple)
{
    PyObject *address;
    PyObject *data;
    PyObject *keep;
    const char *kind;
    const char *name;
    if (!PyArg_ParseTuple(tuple, "ssOOO", &kind, &name, &address, &data, &keep)) {
        return NATIVE_RAISED;
    }
    native_step *step = calloc(1, sizeof(*step));
    if (step == NULL) {
        (void)PyErr_NoMemory();
        return NATIVE_RAISED;
    }
    step->interpreter = PyInterpreterState_Get();
    step->keep = Py_NewRef(keep);
    const uintptr_t number = (uintptr_t)PyLong_AsVoidPtr(address);
    memcpy(&step->function, &number, sizeof(number)); /* ISO C has no cast for it */
    if (PyErr_Occurred() || !take_data(step, data)) {
        drop(step);
        return NATIVE_RAISED;
    }
    return (int)sluice_augment_native(recipe, call, step, set_gone, name);
}
