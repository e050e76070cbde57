/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml: what the GPU itself says while something runs: use, memory, power, temperature, clock, and
 * the share of its SMs that were busy (GPM, Hopper and newer). NVIDIA's management library is
 * opened at run time ($SLUICE_NVML, else libnvidia-ml.so.1); without it, and for each figure that
 * this GPU or driver does not give, there is a reason instead of a number. One thread of the
 * monitor's own takes samples; memory is bounded (a long run is sampled more thinly). start, stop,
 * summarise and free belong to one thread. Times are on clock_seconds' scale.
 */
#ifndef TOOL_NVML_H
#define TOOL_NVML_H

#include "json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum nvml_metric {
    NVML_GPU_PERCENT,  /* of the time, at least one kernel ran (any kernel, however small) */
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
    uint64_t count;   /* samples; 0: there is none */
    char reason[112]; /* why there is none, else "" */
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
 * address. NULL only when memory or a thread cannot be had; a machine without NVML gives a monitor
 * whose summary says so.
 */
struct nvml_monitor *nvml_start(const char *device, double interval_s);

/* How many GPUs NVML counts; 0 where there is no NVML. */
unsigned nvml_count(void);

/* Whether this is the device that nvml_start would find by `device`: the same name, or the PCI
 * address, in whichever of its spellings. */
bool nvml_is(const struct nvml_monitor *monitor, const char *device);
/* Whether both are the same GPU, by PCI address. */
bool nvml_is_same(const struct nvml_monitor *a, const struct nvml_monitor *b);

/* Ends the sampling; returns within about 0.1 s. More calls do nothing. */
void nvml_stop(struct nvml_monitor *monitor);

/* Figures of the samples taken in [from, to]. Only after nvml_stop. NULL monitor: a reason. */
void nvml_summarise(const struct nvml_monitor *monitor, double from, double to,
                    struct nvml_summary *summary);

/* Stops and frees; NULL is fine. */
void nvml_free(struct nvml_monitor *monitor);

/*
 * The name for nvml_start of the device that CUDA calls `ordinal` in a process with this value of
 * CUDA_VISIBLE_DEVICES (NULL: unset), where its PCI address is not known. CUDA and NVML count alike
 * where all GPUs are of one model or CUDA_DEVICE_ORDER is PCI_BUS_ID.
 */
void nvml_device_name(char *name, size_t size, const char *visible, unsigned ordinal);

/* The better name: the PCI address, "" when it is not known, unless CUDA_VISIBLE_DEVICES names a
 * MIG instance, whose PCI address is that of the whole GPU. */
void nvml_device_name_at(char *name, size_t size, const char *visible, unsigned ordinal,
                         const char *address);

/* A table for people, lines that begin with `indent`; and a JSON object `key`. */
void nvml_print(const struct nvml_summary *summary, FILE *stream, const char *indent);
void nvml_write_json(const struct nvml_summary *summary, struct json *json, const char *key);

#endif
