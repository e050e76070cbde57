/* SPDX-License-Identifier: Apache-2.0 */
#include "loader_holds.h"

#include "waiting.h"

#include <stdio.h>

#define WHO_BYTES 256
/* Memory left for the rest of the program. */
#define COPY_SPARE_BYTES ((uint64_t)64 << 20)

unsigned loader_held(const loader_object *self)
{
    return atomic_load_explicit(&self->count->held, memory_order_relaxed);
}

/* Warns once about the columns that hold all batches except `own` of the caller's. If garbage
 * collection frees some, sets *fewer and does not warn. -1 with an exception. */
static int warn_of_holds(loader_object *self, unsigned own, const char *outcome, bool *fewer)
{
    char who[WHO_BYTES];
    *fewer = false;
    if (self->warned) {
        return 0;
    }
    (void)PyGC_Collect();
    *fewer = loader_held(self) < self->slots;
    if (*fewer) {
        return 0;
    }
    self->warned = true;
    hold_count_describe(self->count, who, sizeof(who));
    return PyErr_WarnFormat(PyExc_RuntimeWarning, LOOP_LEVEL,
                            "%s%u batches of the loader are held by columns that are still alive, "
                            "as tensors or as arrays made from them (%s), so %s: release these "
                            "columns, copy the ones that you keep, or raise %s",
                            own > 0 ? "all except one of " : "all ", (unsigned)self->slots, who,
                            outcome, self->on_device ? "device_slots" : "prefetch_factor");
}

static int raise_holds(loader_object *self)
{
    char who[WHO_BYTES];
    char text[WHO_BYTES + 256];
    hold_count_describe(self->count, who, sizeof(who));
    (void)snprintf(text, sizeof(text),
                   "all %u batches of the loader are held by columns that are still alive, as "
                   "tensors or as arrays made from them (%s): release these columns, or copy the "
                   "ones that you keep%s",
                   (unsigned)self->slots, who,
                   self->on_device ? "" : ", or open the loader with hold='copy'");
    (void)sluice_raise_status(extension_of(self), SLUICE_STATE, text);
    return -1;
}

int loader_look_at_holds(loader_object *self, uint64_t slices)
{
    bool fewer;
    if (loader_held(self) < self->slots) {
        return 0;
    }
    if (slices * WAIT_SLICE_MS >= self->hold_ms) {
        return raise_holds(self);
    }
    return warn_of_holds(self, 0, "the loader cannot make another one", &fewer);
}

/* Checks that memory for a copy of a batch is available; -1 with an exception. */
static int ask_for_memory(loader_object *self, uint64_t bytes)
{
    const uint64_t available = sluice_memory_available();
    char who[WHO_BYTES];
    char text[WHO_BYTES + 256];
    if (self->on_device || bytes + bytes / 2 + COPY_SPARE_BYTES <= available) {
        return 0;
    }
    hold_count_describe(self->count, who, sizeof(who));
    (void)snprintf(
        text, sizeof(text),
        "out of memory for a copy of a batch: it takes %llu MiB, and %llu MiB are left; all "
        "batches except one are held by their columns (%s), and copies of others: release the "
        "batches that you do not need",
        (unsigned long long)(bytes >> 20), (unsigned long long)(available >> 20), who);
    (void)sluice_raise_status(extension_of(self), SLUICE_NOMEM, text);
    return -1;
}

PyObject *loader_settle(loader_object *self, PyObject *batch)
{
    bool fewer;
    if (!self->copies || loader_held(self) < self->slots) {
        Py_RETURN_NONE;
    }
    if (!Py_IS_TYPE(batch, extension_of(self)->batch)) {
        PyErr_SetString(PyExc_TypeError, "not a batch");
        return NULL;
    }
    if (warn_of_holds(self, 1, "the next ones are copies", &fewer) < 0) {
        return NULL;
    }
    if (!fewer && (ask_for_memory(self, batch_bytes(batch)) < 0 || batch_detach(batch) < 0)) {
        return NULL;
    }
    Py_RETURN_NONE;
}
