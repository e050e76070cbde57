/* SPDX-License-Identifier: Apache-2.0 */
#include "convert.h"

#include "cupti_api.h"

#include <string.h>

/* The name prefix of the library's kernels (src/device/conversion.cu). */
static const char sluice_prefix[] = "sl_conversion_";

static uint8_t kernel_class(const char *name)
{
    if (name == NULL) {
        return IDLE_KERNEL_PROGRAM;
    }
    if (strncmp(name, sluice_prefix, sizeof sluice_prefix - 1) == 0) {
        return IDLE_KERNEL_SLUICE;
    }
    return strstr(name, "nccl") != NULL ? IDLE_KERNEL_NCCL : IDLE_KERNEL_PROGRAM;
}

static enum convert_result set_times(struct idle_record *to, uint64_t start, uint64_t end)
{
    to->start = (int64_t)start;
    to->end = (int64_t)end;
    return start == 0 || end < start || end > INT64_MAX ? CONVERT_ODD : CONVERT_RECORD;
}

enum convert_result convert_record(const void *cupti_record, struct idle_record *to)
{
    *to = (struct idle_record){0};
    switch (*(const uint32_t *)cupti_record) {
    case CUPTI_KIND_CONCURRENT_KERNEL: {
        const struct cupti_kernel *kernel = cupti_record;
        to->kind = IDLE_KERNEL;
        to->detail = kernel_class(kernel->name);
        to->stream = kernel->stream;
        to->device = (uint16_t)kernel->device;
        return set_times(to, kernel->start, kernel->end);
    }
    case CUPTI_KIND_MEMCPY: {
        const struct cupti_memcpy *copy = cupti_record;
        to->kind = IDLE_MEMCPY;
        to->detail = copy->copy_kind;
        to->bytes = copy->bytes;
        to->stream = copy->stream;
        to->device = (uint16_t)copy->device;
        return set_times(to, copy->start, copy->end);
    }
    case CUPTI_KIND_MEMSET: {
        const struct cupti_memset *fill = cupti_record;
        to->kind = IDLE_MEMSET;
        to->bytes = fill->bytes;
        to->stream = fill->stream;
        to->device = (uint16_t)fill->device;
        return set_times(to, fill->start, fill->end);
    }
    default:
        return CONVERT_OTHER;
    }
}
