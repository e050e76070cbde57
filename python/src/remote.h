/* SPDX-License-Identifier: Apache-2.0 */
/* remote: settings and statistics of reads from object stores. */
#ifndef SLUICE_PY_REMOTE_H
#define SLUICE_PY_REMOTE_H

#include "extension.h"

/* remote_configure(options): a dict of the members of sluice_remote_config. */
PyObject *remote_configure(PyObject *module, PyObject *options);
/* remote_stats(): a dict of the members of sluice_remote_stats. */
PyObject *remote_stats(PyObject *module, PyObject *unused);

#endif
