/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions on a CUDA device. Without them batches arrive as the bytes that were copied. The
 * kernels are in the fatbin or, for drivers that refuse it, in PTX of an old version.
 */
#include "device_cuda.h"
#include "error.h"
#include "memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static sluice_status load_kernels(sl_cuda_device *cuda, sluice_error *why)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < SL_CONVERSION_KERNELS && status == SLUICE_OK; i++) {
        status = load_kernel(cuda, i, why);
    }
    return status;
}

static sluice_status load_fatbin(sl_cuda_device *cuda, sluice_error *why)
{
    sl_cu_module module;
    void *fatbin;
    sluice_status status = sl_conversion_unpack_fatbin(&fatbin, why);
    if (status != SLUICE_OK) {
        return status;
    }
    status =
        sl_cuda_result(cuda, "cuModuleLoadData", cuda->driver->module_load(&module, fatbin), why);
    sl_free(fatbin); /* the driver has a copy */
    if (status != SLUICE_OK) {
        return status;
    }
    cuda->module = module;
    return load_kernels(cuda, why);
}

/* The driver's compiler also gives a reason: `log`, cut to its first line, or "". */
static sluice_status load_ptx(sl_cuda_device *cuda, const char *ptx, char *log, size_t log_bytes,
                              sluice_error *why)
{
    sl_cu_module module;
    unsigned options[] = {SL_CU_JIT_ERROR_LOG_BUFFER, SL_CU_JIT_ERROR_LOG_BUFFER_BYTES};
    void *values[] = {log, (void *)(uintptr_t)log_bytes}; /* NOLINT(performance-no-int-to-ptr) */
    log[0] = '\0';
    const sl_cu_result code = cuda->driver->module_load_options(&module, ptx, 2, options, values);
    log[strcspn(log, "\n")] = '\0';
    const sluice_status status = sl_cuda_result(cuda, "cuModuleLoadDataEx", code, why);
    if (status != SLUICE_OK) {
        return status;
    }
    cuda->module = module;
    return load_kernels(cuda, why);
}

/* What drivers return for an image that is too new for them, or not for their device; also when a
 * kernel is requested, since they load as late as possible. */
static bool is_refusal(int32_t code)
{
    switch (code) {
    case SL_CU_INVALID_IMAGE:
    case SL_CU_NO_BINARY_FOR_GPU:
    case SL_CU_INVALID_PTX:
    case SL_CU_JIT_COMPILER_NOT_FOUND:
    case SL_CU_UNSUPPORTED_PTX_VERSION:
    case SL_CU_JIT_COMPILATION_DISABLED:
    case SL_CU_INVALID_SOURCE:
        return true;
    default:
        return false;
    }
}

__attribute__((format(printf, 2, 3))) static void tell(sl_cuda_device *cuda, const char *format,
                                                       ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(cuda->kernels_text, sizeof(cuda->kernels_text), format, arguments);
    va_end(arguments);
}

static void tell_code(sl_cuda_device *cuda)
{
    const sl_cuda_driver *driver = cuda->driver;
    int version = 0;
    if (driver->function_attribute != NULL &&
        driver->function_attribute(&version, SL_CU_FUNCTION_BINARY_VERSION, cuda->kernels[0]) ==
            SL_CU_SUCCESS) {
        tell(cuda, " by code for sm_%d", version);
    }
}

/* Returns the version that the PTX states, such as "7.0". */
static int version_of_ptx(const char *ptx, const char **version)
{
    static const char word[] = ".version ";
    const char *at = strstr(ptx, word);
    assert(at != NULL);
    *version = at + sizeof(word) - 1;
    return (int)strcspn(*version, "\n");
}

/* Tries the PTX after the driver refused the fatbin. */
static sluice_status load_old(sl_cuda_device *cuda, const sluice_error *refused)
{
    char log[512];
    const char *version;
    char *ptx;
    sluice_error why;
    sl_error_clear(&why);
    sluice_status status = sl_conversion_unpack_ptx(&ptx, &why);
    if (status != SLUICE_OK) {
        tell(cuda, "%s; PTX: %s", refused->text, why.text);
        return status;
    }
    const int length = version_of_ptx(ptx, &version);
    status = load_ptx(cuda, ptx, log, sizeof(log), &why);
    if (status == SLUICE_OK) {
        tell(cuda, " by PTX %.*s that the driver compiled; it rejects the code: %s", length,
             version, refused->text);
    } else {
        tell(cuda, "%s; PTX %.*s: %s%s%s", refused->text, length, version, why.text,
             log[0] != '\0' ? ": " : "", log);
    }
    sl_free(ptx);
    return status;
}

static sluice_status device_cuda_conversion_load(sl_cuda_device *cuda)
{
    sluice_error why;
    sl_error_clear(&why);
    const sluice_status status = load_fatbin(cuda, &why);
    if (status == SLUICE_OK) {
        tell_code(cuda);
    } else if (is_refusal(why.device_code)) {
        sl_cuda_convert_close(cuda);
        return load_old(cuda, &why);
    } else {
        tell(cuda, "%s", why.text);
    }
    return status;
}

void sl_cuda_convert_open(sl_cuda_device *cuda)
{
    cuda->base.converts = device_cuda_conversion_load(cuda) == SLUICE_OK;
    if (!cuda->base.converts) {
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
    const uint32_t kernel = sl_conversion_kernel_for(conversion, rows);
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
