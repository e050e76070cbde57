/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a CUDA device can copy from by itself. Our own memory is registered rather than the
 * driver's used: it has huge pages and a chosen place, and io_uring can read into it. If
 * registering is refused (confidential computing, some virtual machines), the driver's own memory
 * is tried, and if that is refused too, copies go through the driver's bounce buffer.
 */
#include "device_cuda.h"
#include "error.h"
#include "numa.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void add_reason(sl_cuda_device *cuda, const char *reason)
{
    char *text = cuda->base.pinning_reason;
    const size_t used = strlen(text);
    snprintf(text + used, sizeof(cuda->base.pinning_reason) - used, "%s%s", used > 0 ? "; " : "",
             reason);
}

/* Returns whether a call that pins memory succeeded; otherwise keeps the reason. */
static bool succeeded(sl_cuda_device *cuda, const char *call, sl_cu_result code)
{
    sluice_error why;
    sl_error_clear(&why);
    if (sl_cuda_result(cuda, call, code, &why) == SLUICE_OK) {
        return true;
    }
    add_reason(cuda, why.text);
    return false;
}

static bool register_memory(sl_cuda_device *cuda, const sl_slab *slab)
{
    const sl_cuda_driver *driver = cuda->driver;
    int possible = 0;
    if (!succeeded(cuda, "cuDeviceGetAttribute",
                   driver->device_attribute(&possible, SL_CU_ATTRIBUTE_HOST_REGISTER_SUPPORTED,
                                            cuda->handle))) {
        return false;
    }
    if (possible == 0) {
        add_reason(cuda, "the device cannot register a program's own memory");
        return false;
    }
    return succeeded(cuda, "cuMemHostRegister",
                     driver->host_register(slab->base, slab->bytes, SL_CU_HOST_REGISTER_PORTABLE));
}

static uint8_t *align_up(void *memory)
{
    const size_t over = (uintptr_t)memory % SL_SLAB_ALIGN;
    return (uint8_t *)memory + (over == 0 ? 0 : SL_SLAB_ALIGN - over);
}

/* Replaces the slab's memory by the driver's. */
static bool exchange_memory(sl_cuda_device *cuda, sl_slab *slab)
{
    void *memory = NULL;
    /* The pages are freed first, so that the memory is not needed twice. */
    (void)madvise(slab->base, slab->bytes, MADV_DONTNEED);
    if (!succeeded(cuda, "cuMemHostAlloc",
                   cuda->driver->host_alloc(&memory, slab->bytes + SL_SLAB_ALIGN,
                                            SL_CU_HOST_ALLOC_PORTABLE))) {
        memset(slab->base, 0, slab->bytes); /* they are needed after all */
        return false;
    }
    cuda->driver_memory = memory;
    munmap(slab->base, slab->bytes);
    slab->base = align_up(memory);
    memset(slab->base, 0, slab->bytes);
    /* Best effort, as for our own memory. */
    (void)madvise(slab->base, slab->bytes, MADV_DONTFORK);
    return true;
}

sluice_status sl_cuda_slab_register(sl_device *device, sl_slab *slab, sluice_error *error)
{
    sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    assert(!cuda->registered && cuda->driver_memory == NULL); /* a device has one slab */
    const sluice_status status = sl_cuda_enter(cuda, &mode, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (cuda->base.numa_node >= 0) {
        (void)sl_numa_prefer(slab->base, slab->bytes, cuda->base.numa_node);
    }
    cuda->registered = register_memory(cuda, slab);
    if (cuda->registered) {
        device->pinning = "registered";
    } else if (exchange_memory(cuda, slab)) {
        device->pinning = "driver";
    } else {
        device->pinning = "pageable";
    }
    sl_cuda_leave(cuda, mode);
    return SLUICE_OK;
}

static void give_driver_memory_back(sl_cuda_device *cuda, sl_slab *slab, bool inside)
{
    if (inside) {
        (void)cuda->driver->host_free(cuda->driver_memory);
    }
    cuda->driver_memory = NULL;
    if (slab->budget != NULL) {
        sl_budget_give(slab->budget, slab->bytes);
    }
    sl_slab_forget(slab); /* no mapping of ours is left there */
}

void sl_cuda_slab_unregister(sl_device *device, sl_slab *slab)
{
    sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    const bool inside = sl_cuda_enter(cuda, &mode, NULL) == SLUICE_OK;
    if (cuda->driver_memory != NULL) {
        give_driver_memory_back(cuda, slab, inside);
    } else if (inside && cuda->registered) {
        (void)cuda->driver->host_unregister(slab->base);
    }
    cuda->registered = false;
    device->pinning = "none";
    device->pinning_reason[0] = '\0';
    if (inside) {
        sl_cuda_leave(cuda, mode);
    }
}
