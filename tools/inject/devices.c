/* SPDX-License-Identifier: Apache-2.0 */
#include "devices.h"

#include <dlfcn.h>
#include <string.h>

static const char driver_file[] = "libcuda.so.1";

/* CUresult and CUdevice have the size of int. */
struct driver {
    int (*count)(int *count);
    int (*get)(int *device, int ordinal);
    int (*address)(char *text, int bytes, int device);
};

static bool find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

bool devices_read(char addresses[IDLE_DEVICES_NAMED][IDLE_PCI_BYTES])
{
    struct driver driver;
    int count = 0;
    void *library = dlopen(driver_file, RTLD_NOW | RTLD_NOLOAD);
    bool known = library != NULL && find(library, "cuDeviceGetCount", &driver.count) &&
                 find(library, "cuDeviceGet", &driver.get) &&
                 find(library, "cuDeviceGetPCIBusId", &driver.address) && driver.count(&count) == 0;
    for (int i = 0; known && i < count && i < IDLE_DEVICES_NAMED; i++) {
        int device;
        if (driver.get(&device, i) != 0 ||
            driver.address(addresses[i], IDLE_PCI_BYTES, device) != 0) {
            addresses[i][0] = '\0';
        }
    }
    if (library != NULL) {
        dlclose(library); /* the program's own handle keeps it */
    }
    return known && count > 0;
}
