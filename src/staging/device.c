/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include "error.h"

#include <assert.h>
#include <string.h>

static const sl_device_ops *const backends[] = {&sl_device_host};

static const sl_device_ops *find(const char *kind, size_t length)
{
    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
        if (strlen(backends[i]->name) == length && memcmp(backends[i]->name, kind, length) == 0) {
            return backends[i];
        }
    }
    return NULL;
}

sluice_status sl_device_open(sl_device **device, const char *name, sluice_error *error)
{
    const char *colon = strchr(name, ':');
    const size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    const sl_device_ops *ops = find(name, length);
    *device = NULL;
    if (ops == NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "staging",
                            "there is no device \"%s\"; this library knows \"host\"", name);
    }
    return ops->open(device, colon != NULL ? colon + 1 : "", error);
}

void sl_device_close(sl_device *device)
{
    if (device != NULL) {
        assert(device->ops != NULL);
        device->ops->close(device);
    }
}
