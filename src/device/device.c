/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include "error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define AUTO       "auto"
#define AUTO_FIRST "cuda:0"
#define AUTO_ELSE  "host"
#define LINE_BYTES 1024

static const sl_device_ops *const backends[] = {&sl_device_host, &sl_device_cuda};

static const sl_device_ops *device_find(const char *kind, size_t length)
{
    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
        if (strlen(backends[i]->name) == length && memcmp(backends[i]->name, kind, length) == 0) {
            return backends[i];
        }
    }
    return NULL;
}

static sluice_status open_named(sl_device **device, const char *name, sluice_error *error)
{
    const char *colon = strchr(name, ':');
    const size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    const sl_device_ops *ops = device_find(name, length);
    if (ops == NULL) {
        sl_error_set(error, SLUICE_INVALID, "staging",
                     "unknown device \"%s\": expected \"host\", \"cuda\", \"cuda:N\" or \"auto\"",
                     name);
        return SLUICE_INVALID;
    }
    if (colon != NULL && colon[1] == '\0') {
        sl_error_set(error, SLUICE_INVALID, "staging", "device \"%s\" has a colon without a number",
                     name);
        return SLUICE_INVALID;
    }
    return ops->open(device, colon != NULL ? colon + 1 : "", error);
}

sluice_status sl_device_open(sl_device **device, const char *name, sluice_error *error)
{
    *device = NULL;
    if (strcmp(name, AUTO) != 0) {
        return open_named(device, name, error);
    }
    const sluice_status status = open_named(device, AUTO_FIRST, error);
    return status == SLUICE_UNSUPPORTED ? open_named(device, AUTO_ELSE, error) : status;
}

sluice_status sl_device_describe(const char *name, char *text, size_t bytes)
{
    const bool any = strcmp(name, AUTO) == 0;
    const char *wanted = any ? AUTO_FIRST : name;
    sl_device *device = NULL;
    sluice_error why;
    sl_error_clear(&why);
    const sluice_status status = open_named(&device, wanted, &why);
    if (status == SLUICE_OK) {
        char line[LINE_BYTES];
        device->ops->describe(device, line, sizeof(line));
        snprintf(text, bytes, "%s%s", any ? AUTO_FIRST ": " : "", line);
        sl_device_close(device);
        return SLUICE_OK;
    }
    if (any && status == SLUICE_UNSUPPORTED) {
        snprintf(text, bytes, "host memory: %s", why.text);
        return SLUICE_OK;
    }
    snprintf(text, bytes, "%s", why.text);
    return status;
}

void sl_device_close(sl_device *device)
{
    if (device != NULL) {
        assert(device->ops != NULL);
        device->ops->close(device);
    }
}
