/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_driver: loads the driver once per process, under pthread_once, fills the table of its
 * functions, and turns its results into words and statuses. Everything is read-only after loading.
 */
#include "cuda_driver.h"

#include "error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRIVER_FILE    "libcuda.so.1"
#define VERSION_OLDEST 12000

/* Written once, by load(). */
static struct {
    sl_cuda_driver driver;
    bool usable;
    pid_t pid; /* the driver does not work in a process forked from this one */
    sluice_error why;
} loaded;

static pthread_once_t once = PTHREAD_ONCE_INIT;

typedef struct symbol {
    const char *name;
    void **place;
} symbol;

static bool find_symbols(void *library, const symbol *symbols, size_t count, bool required)
{
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (found == NULL && required) {
            sl_error_set(&loaded.why, SLUICE_UNSUPPORTED, "staging",
                         "the CUDA driver is too old: it lacks %s", symbols[i].name);
            return false;
        }
        memcpy(symbols[i].place, &found, sizeof(found));
    }
    return true;
}

static bool fill_table(void *library)
{
    sl_cuda_driver *d = &loaded.driver;
#define SYMBOL(field, symbol, parameters) {#symbol, (void **)(void *)&d->field},
    const symbol required[] = {SL_CUDA_REQUIRED(SYMBOL)};
    const symbol optional[] = {SL_CUDA_OPTIONAL(SYMBOL)};
#undef SYMBOL
    if (!find_symbols(library, required, sizeof(required) / sizeof(required[0]), true)) {
        return false;
    }
    (void)find_symbols(library, optional, sizeof(optional) / sizeof(optional[0]), false);
    if (d->event_elapsed == NULL) {
        d->event_elapsed = d->event_elapsed_before;
    }
    return true;
}

static void *open_library(void)
{
    const char *given = secure_getenv("SLUICE_CUDA_DRIVER");
    const char *file = given != NULL && given[0] != '\0' ? given : DRIVER_FILE;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *why = dlerror(); /* NOLINT(concurrency-mt-unsafe): it is each thread's own */
        sl_error_set(&loaded.why, SLUICE_UNSUPPORTED, "staging", "cannot load the CUDA driver: %s",
                     why != NULL ? why : file);
    }
    return library;
}

typedef struct meaning {
    sl_cu_result code;
    const char *name, *words; /* what the code means, and what to do */
} meaning;

/* The codes that users meet most often when CUDA starts, in our words; the driver's own are terse
 * or missing. */
static const meaning meanings[] = {
    {SL_CU_NOT_INITIALIZED, "NOT_INITIALIZED",
     "the CUDA driver was initialised before a fork: use it in a fresh process"},
    {SL_CU_STUB_LIBRARY, "STUB_LIBRARY",
     "this libcuda is the toolkit's stub, not a driver: take its folder off LD_LIBRARY_PATH"},
    {SL_CU_CALL_REQUIRES_NEWER_DRIVER, "CALL_REQUIRES_NEWER_DRIVER",
     "this libcuda needs a newer kernel driver than is loaded: update the driver"},
    {SL_CU_DEVICE_UNAVAILABLE, "DEVICE_UNAVAILABLE",
     "the device is used by another process (compute mode EXCLUSIVE_PROCESS) or not ready: see "
     "nvidia-smi"},
    {SL_CU_NO_DEVICE, "NO_DEVICE",
     "the CUDA driver shows this process no device: give the container one, or check "
     "CUDA_VISIBLE_DEVICES"},
    {SL_CU_INVALID_DEVICE, "INVALID_DEVICE",
     "the driver does not know a device in CUDA_VISIBLE_DEVICES: correct the variable (a MIG "
     "instance may be gone)"},
    {SL_CU_OPERATING_SYSTEM, "OPERATING_SYSTEM",
     "the system denied the driver access: /dev/nvidia* is missing in this container or cannot be "
     "opened, or the module nvidia-uvm is not loaded"},
    {SL_CU_SYSTEM_NOT_READY, "SYSTEM_NOT_READY",
     "the GPUs are not ready yet: machines with NVSwitch need the nvidia-fabricmanager service in "
     "the driver's version"},
    {SL_CU_SYSTEM_DRIVER_MISMATCH, "SYSTEM_DRIVER_MISMATCH",
     "the versions of the CUDA driver's library and kernel module differ: reboot after an update, "
     "or restart the container"},
    {SL_CU_COMPAT_NOT_SUPPORTED, "COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "this libcuda is for forward compatibility, which this GPU does not support: take it off "
     "LD_LIBRARY_PATH"},
    {SL_CU_UNKNOWN, "UNKNOWN",
     "the driver does not say why: see dmesg (NVRM, Xid) and nvidia-smi; restart a container that "
     "lost its GPUs"},
};

bool sl_cuda_explain(sluice_status status, const char *call, sl_cu_result code, sluice_error *error)
{
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        if (meanings[i].code == code) {
            sl_error_set(error, status, "staging", "%s (%s: CUDA_ERROR_%s, %u)", meanings[i].words,
                         call, meanings[i].name, code);
            if (error != NULL) {
                error->device_code = (int32_t)code;
            }
            return true;
        }
    }
    return false;
}

static void cuda_driver_refuse(sluice_status status, const char *call, sl_cu_result code)
{
    if (!sl_cuda_explain(status, call, code, &loaded.why)) {
        sl_cuda_error(&loaded.driver, status, call, code, &loaded.why);
    }
}

/* Whatever else cuInit returns, CUDA cannot be used, and "auto" continues without it: a machine
 * without a GPU may have the libraries, and return any of a dozen codes. */
static sluice_status status_of_init(sl_cu_result code)
{
    return code == SL_CU_OUT_OF_MEMORY ? SLUICE_NOMEM : SLUICE_UNSUPPORTED;
}

static bool cuda_driver_start(void)
{
    sl_cuda_driver *d = &loaded.driver;
    sl_cu_result code = d->init(0);
    if (code != SL_CU_SUCCESS) {
        cuda_driver_refuse(status_of_init(code), "cuInit", code);
        return false;
    }
    code = d->driver_version(&d->version);
    if (code != SL_CU_SUCCESS) {
        cuda_driver_refuse(SLUICE_DEVICE, "cuDriverGetVersion", code);
        return false;
    }
    if (d->version < VERSION_OLDEST) {
        sl_error_set(&loaded.why, SLUICE_UNSUPPORTED, "staging",
                     "the CUDA driver is too old: it is for CUDA %d.%d, must be for %d.0 or later",
                     d->version / 1000, d->version % 1000 / 10, VERSION_OLDEST / 1000);
        return false;
    }
    code = d->device_count(&d->devices);
    if (code == SL_CU_SUCCESS && d->devices < 1) {
        code = SL_CU_NO_DEVICE;
    }
    if (code != SL_CU_SUCCESS) {
        cuda_driver_refuse(code == SL_CU_NO_DEVICE ? SLUICE_UNSUPPORTED : SLUICE_DEVICE,
                           "cuDeviceGetCount", code);
    }
    return code == SL_CU_SUCCESS;
}

static void cuda_driver_load(void)
{
    sl_error_clear(&loaded.why);
    loaded.pid = getpid();
    void *library = open_library();
    loaded.usable = library != NULL && fill_table(library) && cuda_driver_start();
}

const sl_cuda_driver *sl_cuda_driver_get(sluice_error *error)
{
    (void)pthread_once(&once, cuda_driver_load);
    if (!loaded.usable) {
        if (error != NULL) {
            *error = loaded.why;
        }
        return NULL;
    }
    if (loaded.pid != getpid()) {
        (void)sl_cuda_explain(SLUICE_UNSUPPORTED, "after a fork", SL_CU_NOT_INITIALIZED, error);
        return NULL;
    }
    return &loaded.driver;
}

sluice_status sl_cuda_error(const sl_cuda_driver *driver, sluice_status status, const char *call,
                            sl_cu_result code, sluice_error *error)
{
    const char *name = NULL;
    const char *text = NULL;
    if (driver->error_name == NULL || driver->error_name(code, &name) != SL_CU_SUCCESS) {
        name = NULL; /* the stub's own function fails */
    }
    if (driver->error_text == NULL || driver->error_text(code, &text) != SL_CU_SUCCESS) {
        text = NULL;
    }
    sl_error_set(error, status, "staging", "%s: CUDA error %u, %s (%s)", call, code,
                 name != NULL ? name : "without a name", text != NULL ? text : "no text");
    if (error != NULL) {
        error->device_code = (int32_t)code;
    }
    return status;
}

bool sl_cuda_describe(char *text, size_t bytes)
{
    sluice_error why;
    sl_error_clear(&why);
    const sl_cuda_driver *d = sl_cuda_driver_get(&why);
    if (d == NULL) {
        snprintf(text, bytes, "%s", why.text);
        return false;
    }
    char name[64] = "a device without a name";
    sl_cu_device device;
    if (d->device_get(&device, 0) == SL_CU_SUCCESS) {
        (void)d->device_name(name, (int)sizeof(name), device);
    }
    snprintf(text, bytes, "%d %s, cuda:0 is %s, driver for CUDA %d.%d", d->devices,
             d->devices == 1 ? "device" : "devices", name, d->version / 1000,
             d->version % 1000 / 10);
    return true;
}
