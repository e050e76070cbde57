/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_cuda: life, memory and description of a CUDA device, and its table. Threads and life:
 * device_cuda.h. Every call of the driver is between sl_cuda_enter and sl_cuda_leave.
 */
#include "device_cuda.h"

#include "error.h"
#include "memory.h"
#include "numa.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* ---- calls ---- */

sluice_status sl_cuda_result(const sl_cuda_device *cuda, const char *call, sl_cu_result code,
                             sluice_error *error)
{
    if (code == SL_CU_SUCCESS) {
        return SLUICE_OK;
    }
    sl_cuda_error(cuda->driver, SLUICE_DEVICE, call, code, error);
    return SLUICE_DEVICE;
}

sluice_status sl_cuda_made(const sl_cuda_device *cuda, const char *call, sl_cu_result code,
                           sluice_error *error)
{
    return code == SL_CU_OUT_OF_MEMORY
               ? sl_cuda_error(cuda->driver, SLUICE_NOMEM, call, code, error)
               : sl_cuda_result(cuda, call, code, error);
}

/* Relaxed: a capture in another thread of the program must not forbid our calls, and they must not
 * end it. */
static sluice_status relax(const sl_cuda_device *cuda, unsigned *mode, sluice_error *error)
{
    *mode = SL_CU_CAPTURE_MODE_RELAXED;
    return sl_cuda_result(cuda, "cuThreadExchangeStreamCaptureMode",
                          cuda->driver->capture_mode(mode), error);
}

sluice_status sl_cuda_enter(const sl_cuda_device *cuda, unsigned *mode, sluice_error *error)
{
    if (cuda->pid != getpid()) {
        sl_error_set(error, SLUICE_STATE, "staging",
                     "a CUDA device belongs to the process that opened it, not to a fork");
        return SLUICE_STATE;
    }
    sluice_status status = relax(cuda, mode, error);
    if (status != SLUICE_OK) {
        return status;
    }
    status =
        sl_cuda_result(cuda, "cuCtxPushCurrent", cuda->driver->context_push(cuda->context), error);
    if (status != SLUICE_OK) {
        (void)cuda->driver->capture_mode(mode);
    }
    return status;
}

void sl_cuda_leave(const sl_cuda_device *cuda, unsigned mode)
{
    sl_cu_context popped;
    (void)cuda->driver->context_pop(&popped);
    (void)cuda->driver->capture_mode(&mode);
}

/* ---- life ---- */

/* Returns the number of a device by its argument: "" or digits; -1 for anything else. */
static int parse_number(const char *argument)
{
    int number = 0;
    for (const char *at = argument; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || number > INT_MAX / 10 - 1) {
            return -1;
        }
        number = number * 10 + (*at - '0');
    }
    return number;
}

static int nearest_node(const sl_cuda_device *cuda)
{
    const sl_cuda_driver *driver = cuda->driver;
    char pci[32] = "";
    int node = -1;
    if (driver->device_attribute(&node, SL_CU_ATTRIBUTE_HOST_NUMA_ID, cuda->handle) ==
            SL_CU_SUCCESS &&
        node >= 0) {
        return node;
    }
    if (driver->device_pci == NULL ||
        driver->device_pci(pci, (int)sizeof(pci), cuda->handle) != SL_CU_SUCCESS) {
        return -1;
    }
    return sl_numa_of_pci(pci);
}

static sluice_status device_cuda_find(sl_cuda_device *cuda, int number, sluice_error *error)
{
    const sl_cuda_driver *driver = cuda->driver;
    if (number >= driver->devices) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "staging",
                            "cuda:%d does not exist: CUDA shows this process %d %s", number,
                            driver->devices, driver->devices == 1 ? "device" : "devices");
    }
    cuda->base.number = number;
    return sl_cuda_result(cuda, "cuDeviceGet", driver->device_get(&cuda->handle, number), error);
}

/* Opens everything but the memory of `cuda` itself; leaves nothing open when it fails. */
static sluice_status device_cuda_start(sl_cuda_device *cuda, int number, sluice_error *error)
{
    const sl_cuda_driver *driver = cuda->driver;
    unsigned mode;
    sluice_status status = device_cuda_find(cuda, number, error);
    if (status == SLUICE_OK) {
        status = relax(cuda, &mode, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    const sl_cu_result code = driver->context_retain(&cuda->context, cuda->handle);
    status = sl_cuda_made(cuda, "cuDevicePrimaryCtxRetain", code, error);
    if (status == SLUICE_DEVICE) {
        (void)sl_cuda_explain(status, "cuDevicePrimaryCtxRetain", code, error);
    }
    (void)driver->capture_mode(&mode);
    if (status != SLUICE_OK) {
        return status;
    }
    status = sl_cuda_enter(cuda, &mode, error);
    if (status != SLUICE_OK) {
        (void)driver->context_release(cuda->handle);
        return status;
    }
    cuda->base.numa_node = nearest_node(cuda);
    sl_cuda_convert_open(cuda);
    sl_cuda_leave(cuda, mode);
    return SLUICE_OK;
}

static sluice_status cuda_open(sl_device **device, const char *argument, sluice_error *error)
{
    const int number = parse_number(argument);
    if (number < 0) {
        return sl_error_set(error, SLUICE_INVALID, "staging",
                            "a CUDA device must be \"cuda\" or \"cuda:N\", not \"cuda:%.64s\"",
                            argument);
    }
    sluice_error why;
    sl_error_clear(&why);
    const sl_cuda_driver *driver = sl_cuda_driver_get(&why);
    if (driver == NULL) {
        if (error != NULL) {
            *error = why;
        }
        return (sluice_status)why.status;
    }
    sl_cuda_device *cuda = sl_calloc(1, sizeof(*cuda));
    if (cuda == NULL) {
        return sl_no_memory(error, "staging", "for the device");
    }
    cuda->base.ops = &sl_device_cuda;
    cuda->base.type = SLUICE_DEVICE_TYPE_CUDA;
    cuda->base.pinning = "none";
    cuda->base.measures = driver->event_elapsed != NULL;
    cuda->driver = driver;
    cuda->pid = getpid();
    const sluice_status status = device_cuda_start(cuda, number, error);
    if (status != SLUICE_OK) {
        sl_free(cuda);
        return status;
    }
    *device = &cuda->base;
    return SLUICE_OK;
}

static void cuda_close(sl_device *device)
{
    sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    if (sl_cuda_enter(cuda, &mode, NULL) == SLUICE_OK) {
        sl_cuda_convert_close(cuda);
        sl_cuda_leave(cuda, mode);
    }
    if (cuda->pid == getpid()) {
        /* Outside: a context must not be released while it is current. */
        (void)cuda->driver->context_release(cuda->handle);
    }
    sl_free(cuda);
}

/* ---- memory ---- */

static sluice_status device_cuda_no_memory(const sl_cuda_device *cuda, size_t bytes,
                                           sluice_error *error)
{
    char known[64] = "";
    size_t left = 0;
    size_t all = 0;
    if (cuda->driver->memory_info != NULL &&
        cuda->driver->memory_info(&left, &all) == SL_CU_SUCCESS) {
        snprintf(known, sizeof(known), ": %zu of its %zu MiB are free", left / MIB, all / MIB);
    }
    sl_error_set(error, SLUICE_NOMEM, "staging", "cuda:%d does not have %zu bytes for batches%s",
                 cuda->base.number, bytes, known);
    if (error != NULL) {
        error->device_code = SL_CU_OUT_OF_MEMORY;
    }
    return SLUICE_NOMEM;
}

static sluice_status cuda_memory_open(sl_device *device, size_t bytes, void **memory,
                                      sluice_error *error)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    sl_cu_address address = 0;
    unsigned mode;
    sluice_status status = sl_cuda_enter(cuda, &mode, error);
    if (status != SLUICE_OK) {
        return status;
    }
    const sl_cu_result code = cuda->driver->memory_alloc(&address, bytes);
    if (code == SL_CU_OUT_OF_MEMORY) {
        status = device_cuda_no_memory(cuda, bytes, error);
    } else {
        status = sl_cuda_result(cuda, "cuMemAlloc", code, error);
    }
    if (status == SLUICE_OK) {
        *memory = (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr): it is one */
    }
    sl_cuda_leave(cuda, mode);
    return status;
}

static void cuda_memory_close(sl_device *device, void *memory)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    if (sl_cuda_enter(cuda, &mode, NULL) == SLUICE_OK) {
        (void)cuda->driver->memory_free((sl_cu_address)(uintptr_t)memory);
        sl_cuda_leave(cuda, mode);
    }
}

/* Returns a yes-or-no attribute of an address; `unknown` if the driver does not say. */
static bool pointer_is(const sl_cuda_driver *driver, unsigned attribute, sl_cu_address address,
                       bool unknown)
{
    int value = 0; /* the driver writes one byte or four: all four must be zero before */
    return driver->pointer_attribute(&value, attribute, address) == SL_CU_SUCCESS ? value != 0
                                                                                  : unknown;
}

/* Managed memory moves to the processor that touches it, so any of it may be used, provided that
 * the device may touch it while the host runs; elsewhere the host must not touch it while the
 * device writes. */
static const char *managed_refusal(const sl_cuda_device *cuda)
{
    int concurrent = 0;
    return cuda->driver->device_attribute(&concurrent, SL_CU_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                                          cuda->handle) == SL_CU_SUCCESS &&
                   concurrent != 0
               ? ""
               : "managed memory, which this device cannot share with the host at the same time";
}

/*
 * Finds whose memory is at an address: `whose` in words, or "" if it is this device's. Memory of
 * pools (cudaMallocAsync) and mapped ranges (cuMemMap) is device memory like any other; of a range
 * that is reserved but not mapped, the driver may still know the device.
 */
static sluice_status device_cuda_look_at(const sl_cuda_device *cuda, sl_cu_address address,
                                         char *whose, size_t bytes, sluice_error *error)
{
    const sl_cuda_driver *driver = cuda->driver;
    unsigned type = 0;
    int ordinal = -1;
    sl_cu_result code = driver->pointer_attribute(&type, SL_CU_POINTER_MEMORY_TYPE, address);
    if (code == SL_CU_SUCCESS && type == SL_CU_MEMORY_DEVICE) {
        code = driver->pointer_attribute(&ordinal, SL_CU_POINTER_DEVICE_ORDINAL, address);
    }
    whose[0] = '\0';
    if (code == SL_CU_INVALID_VALUE) {
        snprintf(whose, bytes, "unknown to CUDA, like ordinary host memory");
    } else if (code != SL_CU_SUCCESS) {
        return sl_cuda_result(cuda, "cuPointerGetAttribute", code, error);
    } else if (pointer_is(driver, SL_CU_POINTER_IS_MANAGED, address, false)) {
        snprintf(whose, bytes, "%s", managed_refusal(cuda));
    } else if (type == SL_CU_MEMORY_HOST) {
        snprintf(whose, bytes, "host memory");
    } else if (type != SL_CU_MEMORY_DEVICE) {
        snprintf(whose, bytes, "memory of CUDA's type %u", type);
    } else if (ordinal != cuda->base.number) {
        snprintf(whose, bytes, "memory of cuda:%d", ordinal);
    } else if (!pointer_is(driver, SL_CU_POINTER_MAPPED, address, true)) {
        snprintf(whose, bytes, "reserved address space with nothing mapped");
    }
    return SLUICE_OK;
}

static sluice_status device_cuda_check_ends(const sl_cuda_device *cuda, sl_cu_address memory,
                                            size_t bytes, sluice_error *error)
{
    char whose[96];
    const char *const ends[] = {"it", "its end"};
    const sl_cu_address at[] = {memory, memory + (bytes - 1)};
    for (int i = 0; i < 2; i++) {
        const sluice_status status = device_cuda_look_at(cuda, at[i], whose, sizeof(whose), error);
        if (status != SLUICE_OK) {
            return status;
        }
        if (whose[0] != '\0') {
            return sl_error_set(error, SLUICE_INVALID, "staging",
                                "%s is %s; it must be memory of cuda:%d", ends[i], whose,
                                cuda->base.number);
        }
    }
    return SLUICE_OK;
}

static sluice_status cuda_memory_check(sl_device *device, const void *memory, size_t bytes,
                                       sluice_error *error)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    sluice_status status = sl_cuda_enter(cuda, &mode, error);
    if (status == SLUICE_OK) {
        status = device_cuda_check_ends(cuda, (sl_cu_address)(uintptr_t)memory, bytes, error);
        sl_cuda_leave(cuda, mode);
    }
    return status;
}

/* ---- description ---- */

/* Writes the name that CUDA_VISIBLE_DEVICES and NVML use; for a MIG instance, the instance's. "" if
 * the driver does not say. */
static void put_uuid(const sl_cuda_device *cuda, bool instance, char *text, size_t bytes)
{
    uint8_t uuid[16];
    text[0] = '\0';
    if (cuda->driver->device_uuid == NULL ||
        cuda->driver->device_uuid((sl_cu_uuid *)(void *)uuid, cuda->handle) != SL_CU_SUCCESS) {
        return;
    }
    size_t used = (size_t)snprintf(text, bytes, ", %s", instance ? "MIG" : "GPU");
    for (size_t i = 0; i < sizeof(uuid) && used < bytes; i++) {
        const bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        used += (size_t)snprintf(text + used, bytes - used, "%s%02x", dash ? "-" : "", uuid[i]);
    }
}

static void put_facts(const sl_cuda_device *cuda, char *text, size_t bytes)
{
    const sl_cuda_driver *driver = cuda->driver;
    char name[96] = "a device without a name";
    char pci[32] = "no PCI address";
    char uuid[64];
    size_t memory = 0;
    int major = 0;
    int minor = 0;
    /* What the driver does not say stays unchanged. */
    (void)driver->device_name(name, (int)sizeof(name), cuda->handle);
    (void)driver->device_attribute(&major, SL_CU_ATTRIBUTE_CAPABILITY_MAJOR, cuda->handle);
    (void)driver->device_attribute(&minor, SL_CU_ATTRIBUTE_CAPABILITY_MINOR, cuda->handle);
    if (driver->device_memory != NULL) {
        (void)driver->device_memory(&memory, cuda->handle);
    }
    if (driver->device_pci != NULL) {
        (void)driver->device_pci(pci, (int)sizeof(pci), cuda->handle);
    }
    put_uuid(cuda, strstr(name, " MIG ") != NULL, uuid, sizeof(uuid));
    snprintf(text, bytes, "%s, %zu MiB, compute capability %d.%d, %s%s, driver for CUDA %d.%d",
             name, memory / MIB, major, minor, pci, uuid, driver->version / 1000,
             driver->version % 1000 / 10);
}

static void cuda_describe(const sl_device *device, char *text, size_t bytes)
{
    const sl_cuda_device *cuda = (const sl_cuda_device *)(const void *)device;
    char facts[320];
    char near[32] = "";
    put_facts(cuda, facts, sizeof(facts));
    if (cuda->base.numa_node >= 0) {
        snprintf(near, sizeof(near), ", NUMA node %d", cuda->base.numa_node);
    }
    snprintf(
        text, bytes, "%s%s; %s%s", facts, near,
        device->converts ? "converts batches" : "does not convert batches: ", cuda->kernels_text);
}

const sl_device_ops sl_device_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .slab_register = sl_cuda_slab_register,
    .slab_unregister = sl_cuda_slab_unregister,
    .memory_open = cuda_memory_open,
    .memory_close = cuda_memory_close,
    .memory_check = cuda_memory_check,
    .stream_open = sl_cuda_stream_open,
    .stream_close = sl_cuda_stream_close,
    .event_open = sl_cuda_event_open,
    .event_close = sl_cuda_event_close,
    .event_record = sl_cuda_event_record,
    .event_query = sl_cuda_event_query,
    .event_synchronize = sl_cuda_event_synchronize,
    .event_elapsed = sl_cuda_event_elapsed,
    .stream_wait = sl_cuda_stream_wait,
    .copy_to_device = sl_cuda_copy_to_device,
    .convert = sl_cuda_convert,
};
