/* SPDX-License-Identifier: Apache-2.0 */
/* cache: the cache of remote data on a local disk, for sluice.cache. A folder is a path, or None:
 * the configured one. Calls show progress, and Ctrl-C ends them. */
#ifndef SLUICE_PY_CACHE_H
#define SLUICE_PY_CACHE_H

#include "extension.h"

/* cache_list(folder) -> list of (address, object_bytes, kept_bytes, chunks, used_s). */
PyObject *cache_list(PyObject *module, PyObject *folder);
/* cache_verify(folder, progress) -> (chunks, bytes, damaged, damaged_bytes). */
PyObject *cache_verify(PyObject *module, PyObject *arguments);
/* cache_fill(dataset, progress) -> (chunks, bytes, fetched_bytes, left_bytes). */
PyObject *cache_fill(PyObject *module, PyObject *arguments);
/* cache_empty(folder, prefix, progress) -> (chunks, bytes). */
PyObject *cache_empty(PyObject *module, PyObject *arguments);

#endif
