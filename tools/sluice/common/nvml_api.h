/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml_api: the part of NVIDIA's management library that the tool uses, declared from its
 * documentation, and opened at run time. A function that this driver lacks is NULL; required ones
 * always exist after nvml_api_open. One thread.
 */
#ifndef TOOL_NVML_API_H
#define TOOL_NVML_API_H

#include <stdbool.h>
#include <stddef.h>

typedef struct nvml_device *nvml_device;
typedef struct nvml_gpm_sample *nvml_gpm_sample;

enum {
    NVML_OK = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_TEMPERATURE_GPU = 0,
    NVML_CLOCK_SM = 1,
    NVML_GPM_SUPPORT_VERSION = 1,
    NVML_GPM_METRICS_GET_VERSION = 1,
    NVML_GPM_SM_UTIL = 2,
    NVML_GPM_PCIE_RX = 21,
    /* The array at the end of the struct is longer in newer drivers; this is enough for all. */
    NVML_GPM_METRICS_ROOM = 512
};

struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};

struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};

struct nvml_gpm_support {
    unsigned version, is_supported;
};

struct nvml_gpm_metric {
    unsigned id;
    int result;
    double value;
    char *short_name, *long_name, *unit;
};

struct nvml_gpm_metrics {
    unsigned version, count;
    nvml_gpm_sample first, second;
    struct nvml_gpm_metric metrics[NVML_GPM_METRICS_ROOM];
};

struct nvml_pci {
    char short_address[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char address[32];
};

struct nvml_api {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int result);
    int (*device_by_index)(unsigned index, nvml_device *device);
    /* may be NULL from here on */
    int (*device_by_uuid)(const char *uuid, nvml_device *device);
    int (*device_by_pci)(const char *address, nvml_device *device);
    int (*driver_version)(char *text, unsigned bytes);
    int (*device_count)(unsigned *count);
    int (*pci)(nvml_device device, struct nvml_pci *pci);
    int (*name)(nvml_device device, char *text, unsigned bytes);
    int (*utilization)(nvml_device device, struct nvml_utilization *utilization);
    int (*memory)(nvml_device device, struct nvml_memory *memory);
    int (*power)(nvml_device device, unsigned *milliwatts);
    int (*temperature)(nvml_device device, int sensor, unsigned *celsius);
    int (*clock)(nvml_device device, int clock, unsigned *mhz);
    int (*gpm_support)(nvml_device device, struct nvml_gpm_support *support);
    int (*gpm_alloc)(nvml_gpm_sample *sample);
    int (*gpm_free)(nvml_gpm_sample sample);
    int (*gpm_sample)(nvml_device device, nvml_gpm_sample sample);
    int (*gpm_metrics)(struct nvml_gpm_metrics *metrics);
};

/* Opens the library and initialises it. False: `reason` is the cause and nothing is held. */
bool nvml_api_open(struct nvml_api *api, char *reason, size_t bytes);
void nvml_api_close(struct nvml_api *api);

/* Returns the library's own text for a result. */
const char *nvml_api_words(const struct nvml_api *api, int result);

#endif
