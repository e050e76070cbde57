/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions on a CUDA device. Without them batches arrive as the bytes that were copied. */
#include "device_cuda.h"
#include "error.h"

#include <assert.h>
#include <stdio.h>

static sluice_status load_kernel(sl_cuda_device *cuda, uint32_t kernel, sluice_error *why)
{
    const sl_cuda_driver *driver = cuda->driver;
    const sluice_status status =
        sl_cuda_result(cuda, "cuModuleGetFunction",
                       driver->module_function(&cuda->kernels[kernel], cuda->module,
                                               sl_conversion_kernel_name(kernel)),
                       why);
    if (status != SLUICE_OK || driver->function_load == NULL) {
        return status;
    }
    /* Not at the first launch: loading may wait for all work of the context, and a program's kernel
     * may be waiting for our batch. */
    return sl_cuda_result(cuda, "cuFuncLoad", driver->function_load(cuda->kernels[kernel]), why);
}

static sluice_status load(sl_cuda_device *cuda, sluice_error *why)
{
    const void *image = sl_conversion_image();
    if (image == NULL) {
        return sl_error_set(why, SLUICE_UNSUPPORTED, "staging",
                            "this library was built without its CUDA kernels");
    }
    sl_cu_module module;
    sluice_status status =
        sl_cuda_result(cuda, "cuModuleLoadData", cuda->driver->module_load(&module, image), why);
    if (status == SLUICE_OK) {
        cuda->module = module;
    }
    for (uint32_t i = 0; i < SL_CONVERSION_KERNELS && status == SLUICE_OK; i++) {
        status = load_kernel(cuda, i, why);
    }
    return status;
}

void sl_cuda_convert_open(sl_cuda_device *cuda)
{
    sluice_error why;
    sl_error_clear(&why);
    cuda->base.converts = load(cuda, &why) == SLUICE_OK;
    if (!cuda->base.converts) {
        snprintf(cuda->refusal, sizeof(cuda->refusal), "%.*s", (int)sizeof(cuda->refusal) - 1,
                 why.text);
        sl_cuda_convert_close(cuda);
    }
}

void sl_cuda_convert_close(sl_cuda_device *cuda)
{
    if (cuda->module != NULL) {
        (void)cuda->driver->module_unload(cuda->module);
        cuda->module = NULL;
    }
}

sluice_status sl_cuda_convert(sl_device *device, const sl_conversion *conversion,
                              const sl_conversion_rows *rows, struct CUstream_st *stream,
                              sluice_error *error)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    assert(device->converts);
    const uint32_t kernel = sl_conversion_kernel(conversion->dtype, conversion->layout);
    assert(kernel < SL_CONVERSION_KERNELS);
    sl_conversion_launch launch;
    sl_conversion_launch_make(&launch, conversion, rows);
    void *parameters[] = {&launch.parameters};
    unsigned mode;
    sluice_status status = sl_cuda_enter(cuda, &mode, error);
    if (status != SLUICE_OK) {
        return status;
    }
    status =
        sl_cuda_result(cuda, "cuLaunchKernel",
                       cuda->driver->launch(cuda->kernels[kernel], launch.grid[0], launch.grid[1],
                                            launch.grid[2], launch.block[0], launch.block[1],
                                            launch.block[2], 0, stream, parameters, NULL),
                       error);
    sl_cuda_leave(cuda, mode);
    return status;
}
