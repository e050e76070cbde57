/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml: the GPU's own measurements during a run: use, memory, power, temperature, clock, and the
 * fraction of its SMs that were busy (GPM, Hopper and newer). NVIDIA's management library is opened
 * at run time ($SLUICE_NVML, else libnvidia-ml.so.1); without it, and for each value that this GPU
 * or driver lacks, there is a reason instead of a number. The monitor's own thread takes samples;
 * memory is bounded (a long run is sampled less often). start, stop, summarise and free belong to
 * one thread. Times are on clock_seconds' scale.
 */
#ifndef TOOL_NVML_H
#define TOOL_NVML_H

#include "json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum nvml_metric {
    NVML_GPU_PERCENT,  /* of the time, with at least one kernel running (of any size) */
    NVML_SM_PERCENT,   /* of the SMs that were busy, from GPM */
    NVML_MEMORY_BYTES, /* in use on the device, by all processes */
    NVML_POWER_WATTS,
    NVML_TEMPERATURE_C,
    NVML_SM_CLOCK_MHZ,
    NVML_PCIE_RX_MB_S, /* from the host to the device, from GPM, MiB/s */
    NVML_METRICS
};

struct nvml_series {
    double min, mean, max;
    uint64_t count;   /* samples; 0: none */
    char reason[112]; /* why there are none, else "" */
};

struct nvml_summary {
    char address[32]; /* on PCI, "" when unknown */
    char device[96];  /* "NVIDIA H200", "" when unknown */
    char driver[32];  /* the driver's version, "" when unknown */
    char reason[256]; /* why nothing was measured at all, else "" */
    struct nvml_series series[NVML_METRICS];
};

struct nvml_monitor;

/*
 * Begins to sample. `device`: a number in NVML's order (by PCI address), a "GPU-..." UUID, or a PCI
 * address. NULL only without memory or a thread; a machine without NVML gets a monitor whose
 * summary has the reason.
 */
struct nvml_monitor *nvml_start(const char *device, double interval_s);

/* Returns how many GPUs NVML counts; 0 without NVML. */
unsigned nvml_count(void);

/* Returns whether this is the device that nvml_start would find by `device`: the same name, or
 * any spelling of its PCI address. */
bool nvml_is(const struct nvml_monitor *monitor, const char *device);
/* Returns whether both are the same GPU, by PCI address. */
bool nvml_is_same(const struct nvml_monitor *a, const struct nvml_monitor *b);

/* Ends the sampling; returns within about 0.1 s. Further calls do nothing. */
void nvml_stop(struct nvml_monitor *monitor);

/* Summarises the samples taken in [from, to]. Only after nvml_stop. NULL monitor: a reason. */
void nvml_summarise(const struct nvml_monitor *monitor, double from, double to,
                    struct nvml_summary *summary);

/* Stops and frees; NULL is a no-op. */
void nvml_free(struct nvml_monitor *monitor);

/*
 * Writes the name for nvml_start of the device that CUDA calls `ordinal` in a process with this
 * value of CUDA_VISIBLE_DEVICES (NULL: unset), if its PCI address is unknown. CUDA and NVML use the
 * same order if all GPUs are of one model or CUDA_DEVICE_ORDER is PCI_BUS_ID.
 */
void nvml_device_name(char *name, size_t size, const char *visible, unsigned ordinal);

/* Writes a better name: the PCI address ("": unknown), unless CUDA_VISIBLE_DEVICES names a MIG
 * instance, whose PCI address is that of the whole GPU. */
void nvml_device_name_at(char *name, size_t size, const char *visible, unsigned ordinal,
                         const char *address);

/* Print a table for people, with lines that begin with `indent`; write a JSON object `key`. */
void nvml_print(const struct nvml_summary *summary, FILE *stream, const char *indent);
void nvml_write_json(const struct nvml_summary *summary, struct json *json, const char *key);

#endif
