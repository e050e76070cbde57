/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml_api.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char default_library[] = "libnvidia-ml.so.1";

struct symbol {
    const char *name;
    size_t offset;
    bool required;
};

#define SYMBOL(name, member, required)                    \
    {                                                     \
        name, offsetof(struct nvml_api, member), required \
    }

static const struct symbol symbols[] = {
    SYMBOL("nvmlInit_v2", init, true),
    SYMBOL("nvmlShutdown", shutdown, true),
    SYMBOL("nvmlErrorString", error_string, true),
    SYMBOL("nvmlDeviceGetHandleByIndex_v2", device_by_index, true),
    SYMBOL("nvmlDeviceGetHandleByUUID", device_by_uuid, false),
    SYMBOL("nvmlDeviceGetHandleByPciBusId_v2", device_by_pci, false),
    SYMBOL("nvmlSystemGetDriverVersion", driver_version, false),
    SYMBOL("nvmlDeviceGetCount_v2", device_count, false),
    SYMBOL("nvmlDeviceGetPciInfo_v3", pci, false),
    SYMBOL("nvmlDeviceGetName", name, false),
    SYMBOL("nvmlDeviceGetUtilizationRates", utilization, false),
    SYMBOL("nvmlDeviceGetMemoryInfo", memory, false),
    SYMBOL("nvmlDeviceGetPowerUsage", power, false),
    SYMBOL("nvmlDeviceGetTemperature", temperature, false),
    SYMBOL("nvmlDeviceGetClockInfo", clock, false),
    SYMBOL("nvmlGpmQueryDeviceSupport", gpm_support, false),
    SYMBOL("nvmlGpmSampleAlloc", gpm_alloc, false),
    SYMBOL("nvmlGpmSampleFree", gpm_free, false),
    SYMBOL("nvmlGpmSampleGet", gpm_sample, false),
    SYMBOL("nvmlGpmMetricsGet", gpm_metrics, false),
};

/* Fills the table; returns the name of a missing required function, or NULL. */
static const char *resolve(struct nvml_api *api)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(api->library, symbols[i].name);
        if (address == NULL && symbols[i].required) {
            return symbols[i].name;
        }
        /* ISO C cannot convert between the two kinds of pointers; POSIX guarantees the same
         * representation. */
        memcpy((char *)api + symbols[i].offset, &address, sizeof address);
    }
    return NULL;
}

static void close_library(struct nvml_api *api)
{
    dlclose(api->library);
    api->library = NULL;
}

bool nvml_api_open(struct nvml_api *api, char *reason, size_t bytes)
{
    *api = (struct nvml_api){0};
    const char *path = getenv("SLUICE_NVML"); // NOLINT(concurrency-mt-unsafe): never set by us
    path = path == NULL || *path == '\0' ? default_library : path;
    api->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (api->library == NULL) {
        const char *words = dlerror(); // NOLINT(concurrency-mt-unsafe): one thread
        snprintf(reason, bytes, "NVML cannot be opened: %s", words == NULL ? path : words);
        return false;
    }
    const char *missing = resolve(api);
    int result = missing == NULL ? api->init() : NVML_OK;
    if (missing != NULL) {
        snprintf(reason, bytes, "%s has no %s", path, missing);
    } else if (result != NVML_OK) {
        snprintf(reason, bytes, "NVML does not start: %s (%d)", nvml_api_words(api, result),
                 result);
    }
    if (missing != NULL || result != NVML_OK) {
        close_library(api);
        return false;
    }
    return true;
}

void nvml_api_close(struct nvml_api *api)
{
    if (api->library != NULL) {
        api->shutdown();
        close_library(api);
    }
}

const char *nvml_api_words(const struct nvml_api *api, int result)
{
    const char *words = api->error_string(result);
    return words == NULL ? "an unknown error" : words;
}
