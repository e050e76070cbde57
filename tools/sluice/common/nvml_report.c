/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml.h"

#include <string.h>

struct metric {
    const char *key, *label, *unit;
    double scale; /* from the stored unit to the printed one */
};

static const struct metric metrics[NVML_METRICS] = {
    [NVML_GPU_PERCENT] = {"gpu_percent", "GPU in use (any kernel)", "%", 1},
    [NVML_SM_PERCENT] = {"sm_percent", "SMs in use (GPM)", "%", 1},
    [NVML_MEMORY_BYTES] = {"memory_bytes", "memory in use", "GiB", 1.0 / (1 << 30)},
    [NVML_POWER_WATTS] = {"power_watts", "power", "W", 1},
    [NVML_TEMPERATURE_C] = {"temperature_c", "temperature", "C", 1},
    [NVML_SM_CLOCK_MHZ] = {"sm_clock_mhz", "SM clock", "MHz", 1},
    [NVML_PCIE_RX_MB_S] = {"pcie_rx_mib_s", "PCIe to the GPU (GPM)", "MiB/s", 1},
};

void nvml_device_name(char *name, size_t size, const char *visible, unsigned ordinal)
{
    if (visible == NULL || *visible == '\0') {
        snprintf(name, size, "%u", ordinal);
        return;
    }
    const char *item = visible;
    for (unsigned i = 0; i < ordinal; i++) {
        const char *comma = strchr(item, ',');
        if (comma == NULL) {
            snprintf(name, size, "%u", ordinal);
            return;
        }
        item = comma + 1;
    }
    item += strspn(item, " ");
    int length = (int)strcspn(item, ", ");
    snprintf(name, size, "%.*s", length, item);
}

void nvml_device_name_at(char *name, size_t size, const char *visible, unsigned ordinal,
                         const char *address)
{
    nvml_device_name(name, size, visible, ordinal);
    if (*address != '\0' && strncmp(name, "MIG-", 4) != 0) {
        snprintf(name, size, "%s", address);
    }
}

void nvml_print(const struct nvml_summary *summary, FILE *stream, const char *indent)
{
    if (*summary->reason != '\0') {
        fprintf(stream, "%sn/a: %s\n", indent, summary->reason);
        return;
    }
    fprintf(stream, "%s%s%s%s, driver %s\n", indent,
            *summary->device != '\0' ? summary->device : "a GPU without a name",
            *summary->address != '\0' ? ", PCI " : "", summary->address,
            *summary->driver != '\0' ? summary->driver : "unknown");
    for (size_t i = 0; i < NVML_METRICS; i++) {
        const struct nvml_series *series = &summary->series[i];
        const struct metric *metric = &metrics[i];
        if (series->count == 0) {
            fprintf(stream, "%s%-24s n/a (%s)\n", indent, metric->label, series->reason);
            continue;
        }
        fprintf(stream, "%s%-24s mean %.1f, min %.1f, max %.1f %s\n", indent, metric->label,
                series->mean * metric->scale, series->min * metric->scale,
                series->max * metric->scale, metric->unit);
    }
}

static void write_series(const struct nvml_series *series, struct json *json, const char *key)
{
    json_open_object(json, key);
    if (series->count > 0) {
        json_real(json, "min", series->min);
        json_real(json, "mean", series->mean);
        json_real(json, "max", series->max);
    }
    json_unsigned(json, "samples", series->count);
    json_text(json, "reason", series->count > 0 ? NULL : series->reason);
    json_close_object(json);
}

void nvml_write_json(const struct nvml_summary *summary, struct json *json, const char *key)
{
    json_open_object(json, key);
    json_text(json, "reason", *summary->reason != '\0' ? summary->reason : NULL);
    if (*summary->reason == '\0') {
        json_text(json, "device", summary->device);
        json_text(json, "driver", summary->driver);
        json_text(json, "pci_address", *summary->address != '\0' ? summary->address : NULL);
        for (size_t i = 0; i < NVML_METRICS; i++) {
            write_series(&summary->series[i], json, metrics[i].key);
        }
    }
    json_close_object(json);
}
