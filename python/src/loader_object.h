/* SPDX-License-Identifier: Apache-2.0 */
/* loader_object: the object of loader.c, and what its files share. */
#ifndef SLUICE_PY_LOADER_OBJECT_H
#define SLUICE_PY_LOADER_OBJECT_H

#include "batch.h"
#include "extension.h"
#include "hold.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/* clang-format off */
typedef struct loader_object {
    PyObject_HEAD
    sluice_loader *handle; /* NULL: closed */
    hold_count *count;
    pthread_mutex_t consumer;
    pid_t process; /* that opened it: in a forked child the mutex may be held by nobody */
    uint64_t epoch; /* in progress, or just ended; 0 before the first */
    uint64_t first; /* number of the first batch of it */
    uint64_t hold_ms; /* how long to wait when all batches are held */
    uint32_t slots; /* batches that can be held at once */
    bool copies;    /* the one that would be the last of them is given out as copies */
    batch_kind kind; /* of its batches; convert: NULL, as it comes with each call */
    bool on_device; /* these are in device memory */
    bool warned;
    uint32_t told; /* warnings of the library's loader, which were given */
} loader_object;
/* clang-format on */

/* Of a warning: the line of the loop, above Batches.__next__, Loader._next_of and _take. */
enum { LOOP_LEVEL = 4 };

/*
 * Opens the library's loader for a new object. Arguments: dataset, options, device, quarantine,
 * recipe, columns, of which the last four may be None, hold_ms, views (batch.h), and whether
 * batches may be copies. Looks for signals meanwhile. -1 with an exception.
 */
int loader_open(const extension *e, loader_object *self, PyObject *arguments);

/* False with an exception. */
bool loader_is_open(loader_object *self);
/* Raises what the library's loader says of the status that it gave; returns NULL. */
PyObject *loader_raise(loader_object *self, sluice_status status);

#endif
