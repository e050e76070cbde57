/* SPDX-License-Identifier: Apache-2.0 */
#include "remote.h"

#include "options.h"

#include <sluice/remote.h>

PyObject *remote_configure(PyObject *module, PyObject *options)
{
    const extension *e = PyModule_GetState(module);
    sluice_remote_config config = SLUICE_REMOTE_CONFIG_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    option_texts texts = {.count = 0};
    PyObject *result = NULL;
    if (!PyDict_Check(options)) {
        PyErr_SetString(PyExc_TypeError, "expected a dict");
    } else if (options_set(e, SLUICE_OPTIONS_REMOTE, &config, options, &texts) == 0) {
        result = sluice_remote_configure(&config, &error) < 0 ? sluice_raise(e, &error)
                                                              : Py_NewRef(Py_None);
    }
    option_texts_drop(&texts);
    return result;
}

PyObject *remote_stats(PyObject *module, PyObject *unused)
{
    const extension *e = PyModule_GetState(module);
    sluice_remote_stats s = SLUICE_REMOTE_STATS_INIT;
    (void)unused;
    const sluice_status status = sluice_remote_get_stats(&s);
    if (status < 0) {
        return sluice_raise_status(e, status, "no statistics of remote reading");
    }
#define U(name) #name, (unsigned long long)s.name
    return Py_BuildValue(
        "{s:s,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:s}",
        "host", s.host, U(hosts), U(requests), U(lists), U(bytes), U(retried), U(hedged),
        U(hedges_won), U(busy), U(failed), U(stalled), U(p50_ns), U(p99_ns), U(window),
        U(cache_hits), U(cache_misses), U(cache_hit_bytes), U(cache_miss_bytes),
        U(cache_kept_bytes), U(cache_most_bytes), U(cache_damaged), "cache_off", s.cache_off);
#undef U
}
