/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake NVML for tests: a separate library with two devices. It ends the process if samples leak
 * or calls come outside init and shutdown.
 * Environment: FAKE_NVML="CALL=CODE" makes one call return that code (init, handle, power,
 * utilization, gpm_sample, gpm_metric); FAKE_NVML="no_gpm" is a GPU without GPM.
 */
#include "../../tools/sluice/common/nvml_api.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { NOT_SUPPORTED = 3, NOT_FOUND = 6, DEVICES = 2 };

struct nvml_device {
    unsigned index;
    atomic_uint calls; /* calls for utilization */
};
struct nvml_gpm_sample {
    unsigned taken; /* number of the sample, from 1 */
};

static struct nvml_device devices[DEVICES] = {{0, 0}, {1, 0}};
/* Each monitor opens NVML and has its own thread. */
static atomic_uint samples_alive, samples_taken;
static atomic_int started;

/* The names are NVML's. NOLINTBEGIN(readability-identifier-naming) */
EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int result);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device);
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvml_device *device);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *pci);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned bytes);
EXPORT int nvmlDeviceGetName(nvml_device device, char *text, unsigned bytes);
EXPORT int nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *utilization);
EXPORT int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory);
EXPORT int nvmlDeviceGetPowerUsage(nvml_device device, unsigned *milliwatts);
EXPORT int nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *celsius);
EXPORT int nvmlDeviceGetClockInfo(nvml_device device, int clock, unsigned *mhz);
EXPORT int nvmlGpmQueryDeviceSupport(nvml_device device, struct nvml_gpm_support *support);
EXPORT int nvmlGpmSampleAlloc(nvml_gpm_sample *sample);
EXPORT int nvmlGpmSampleFree(nvml_gpm_sample sample);
EXPORT int nvmlGpmSampleGet(nvml_device device, nvml_gpm_sample sample);
EXPORT int nvmlGpmMetricsGet(struct nvml_gpm_metrics *metrics);

static void must(int fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "fake NVML: %s\n", what);
        abort();
    }
}

static int scripted(const char *call)
{
    const char *script = getenv("FAKE_NVML");
    size_t length = strlen(call);
    if (script == NULL || strncmp(script, call, length) != 0 || script[length] != '=') {
        return NVML_OK;
    }
    return (int)strtol(script + length + 1, NULL, 10);
}

int nvmlInit_v2(void)
{
    int result = scripted("init");
    started += result == NVML_OK;
    return result;
}

int nvmlShutdown(void)
{
    const int before = started--;
    must(before > 0, "shutdown without init");
    must(before > 1 || samples_alive == 0, "a GPM sample leaked");
    return NVML_OK;
}

const char *nvmlErrorString(int result)
{
    switch (result) {
    case NOT_SUPPORTED:
        return "Not Supported";
    case 4:
        return "Insufficient Permissions";
    case 9:
        return "Driver Not Loaded";
    default:
        return "Not Found";
    }
}

static int find(unsigned index, nvml_device *device)
{
    must(started > 0, "a call before init");
    int result = scripted("handle");
    *device = index < DEVICES ? &devices[index] : NULL;
    return result != NVML_OK ? result : index < DEVICES ? NVML_OK : NOT_FOUND;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device)
{
    return find(index, device);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device)
{
    return find(strcmp(uuid, "GPU-one") == 0 || strncmp(uuid, "MIG-", 4) == 0 ? 1 : DEVICES,
                device);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvml_device *device)
{
    /* the second is the one of fake_cuda, so that CUDA and NVML count differently */
    const bool second = strcmp(address, "ffff:ff:1f.7") == 0;
    return find(strcmp(address, "0000:1a:00.0") == 0 ? 0 : second ? 1 : DEVICES, device);
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = DEVICES;
    return NVML_OK;
}

int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *pci)
{
    snprintf(pci->address, sizeof pci->address, "0000%s",
             device->index == 0 ? "0000:1A:00.0" : "FFFF:FF:1F.7");
    return NVML_OK;
}

int nvmlSystemGetDriverVersion(char *text, unsigned bytes)
{
    snprintf(text, bytes, "580.1");
    return NVML_OK;
}

int nvmlDeviceGetName(nvml_device device, char *text, unsigned bytes)
{
    snprintf(text, bytes, "Fake GPU %u", device->index);
    return NVML_OK;
}

/* Alternates between 50 and 70. */
int nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *utilization)
{
    utilization->gpu = device->calls++ % 2 == 0 ? 50 : 70;
    return scripted("utilization");
}

int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory)
{
    (void)device;
    *memory = (struct nvml_memory){.total = 8ull << 30, .free = 6ull << 30, .used = 2ull << 30};
    return NVML_OK;
}

int nvmlDeviceGetPowerUsage(nvml_device device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 250500;
    return scripted("power");
}

int nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *celsius)
{
    (void)device;
    *celsius = 41;
    return sensor == NVML_TEMPERATURE_GPU ? NVML_OK : NOT_SUPPORTED;
}

int nvmlDeviceGetClockInfo(nvml_device device, int clock, unsigned *mhz)
{
    (void)device;
    *mhz = 1980;
    return clock == NVML_CLOCK_SM ? NVML_OK : NOT_SUPPORTED;
}

int nvmlGpmQueryDeviceSupport(nvml_device device, struct nvml_gpm_support *support)
{
    (void)device;
    must(support->version == NVML_GPM_SUPPORT_VERSION, "wrong version of the support struct");
    const char *script = getenv("FAKE_NVML");
    support->is_supported = script == NULL || strcmp(script, "no_gpm") != 0;
    return NVML_OK;
}

int nvmlGpmSampleAlloc(nvml_gpm_sample *sample)
{
    *sample = calloc(1, sizeof **sample);
    samples_alive += *sample != NULL;
    return *sample != NULL ? NVML_OK : NOT_FOUND;
}

int nvmlGpmSampleFree(nvml_gpm_sample sample)
{
    samples_alive--;
    free(sample);
    return NVML_OK;
}

int nvmlGpmSampleGet(nvml_device device, nvml_gpm_sample sample)
{
    (void)device;
    sample->taken = ++samples_taken;
    return scripted("gpm_sample");
}

int nvmlGpmMetricsGet(struct nvml_gpm_metrics *metrics)
{
    must(metrics->version == NVML_GPM_METRICS_GET_VERSION, "wrong version of the metrics struct");
    must(metrics->first->taken < metrics->second->taken, "the samples are the wrong way round");
    for (unsigned i = 0; i < metrics->count; i++) {
        struct nvml_gpm_metric *metric = &metrics->metrics[i];
        metric->result = scripted("gpm_metric");
        metric->value = metric->id == NVML_GPM_SM_UTIL ? 62.5 : 1234;
    }
    return NVML_OK;
}
/* NOLINTEND(readability-identifier-naming) */
