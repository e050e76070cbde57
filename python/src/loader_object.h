/* SPDX-License-Identifier: Apache-2.0 */
/* loader_object: the object of loader.c, for the files that share it. */
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
    pid_t process; /* that opened it: in a forked child no thread may own the locked mutex */
    uint64_t epoch; /* in progress, or just ended; 0 before the first */
    uint64_t first; /* number of the first batch of it */
    uint64_t hold_ms; /* wait when all batches are held */
    uint32_t slots; /* batches that can be held at once */
    bool copies;    /* the last available batch is returned as copies */
    batch_kind kind; /* of its batches; convert: NULL, since each call passes it */
    bool on_device; /* batches are in device memory */
    bool warned;
    uint32_t told; /* reported warnings of the library's loader */
} loader_object;
/* clang-format on */

/* Stack level of a warning: the loop's line, above Batches.__next__, Loader._next_of and _take. */
enum { LOOP_LEVEL = 4 };

/*
 * Opens the library's loader for a new object. Arguments: dataset, options, device, quarantine,
 * recipe, columns (these four may be None), hold_ms, views (batch.h), and True if batches may be
 * copies. Checks for signals meanwhile. -1 with an exception.
 */
int loader_open(const extension *e, loader_object *self, PyObject *arguments);

/* Returns true if the loader is open; false with an exception. */
bool loader_is_open(loader_object *self);
/* Raises the error of the library's loader for its status; returns NULL. */
PyObject *loader_raise(loader_object *self, sluice_status status);

#endif
