/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
    const char *name;
    size_t offset;
};

static const struct symbol symbols[] = {
#define GPU_SYMBOL(field, symbol, parameters) {#symbol, offsetof(struct gpu_driver, field)},
    GPU_FUNCTIONS(GPU_SYMBOL)
#undef GPU_SYMBOL
};

static bool resolve(void *library, struct gpu_driver *driver, char *why, size_t bytes)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (address == NULL) {
            snprintf(why, bytes, "the CUDA driver has no %s", symbols[i].name);
            return false;
        }
        memcpy((char *)driver + symbols[i].offset, &address, sizeof address);
    }
    return true;
}

const struct gpu_driver *gpu_driver_open(char *why, size_t bytes)
{
    static struct gpu_driver driver;
    static bool opened;
    if (opened) {
        return &driver;
    }
    const char *named = secure_getenv("SLUICE_CUDA_DRIVER");
    const char *file = named != NULL && named[0] != '\0' ? named : "libcuda.so.1";
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(why, bytes, "no CUDA driver: %s",
                 dlerror()); // NOLINT(concurrency-mt-unsafe): one thread
        return NULL;
    }
    opened = resolve(library, &driver, why, bytes);
    return opened ? &driver : NULL;
}

void gpu_driver_address(char *address, size_t bytes, unsigned ordinal)
{
    char why[256];
    const struct gpu_driver *driver = gpu_driver_open(why, sizeof why);
    gpu_device device;
    if (driver == NULL || driver->init(0) != 0 || driver->device_get(&device, (int)ordinal) != 0 ||
        driver->device_pci(address, (int)bytes, device) != 0) {
        address[0] = '\0';
    }
}
