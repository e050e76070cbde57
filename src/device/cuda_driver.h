/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_driver: the CUDA driver, opened at run time.
 *
 * Purpose: libcuda.so.1 (or the file named by the environment variable SLUICE_CUDA_DRIVER) is
 * opened at first use, so that one library works with and without a driver and is built without a
 * toolkit. The declarations are our own, written from the documentation; a test compares them with
 * the toolkit's header if there is one.
 *
 * Life: opened once per process and never closed (its threads may outlive us). Prints nothing: each
 * caller gets the reason why there is no driver.
 *
 * Threads: all functions from any thread; the table is immutable.
 */
#ifndef SL_CUDA_DRIVER_H
#define SL_CUDA_DRIVER_H

#include <sluice/common.h>

#include <stdbool.h>

/* The tags are the driver's own, so that a program's handles need no cast. */
typedef unsigned sl_cu_result; /* an enumeration without negative values */
typedef int sl_cu_device;
typedef unsigned long long sl_cu_address;
typedef struct CUctx_st *sl_cu_context;
typedef struct CUevent_st *sl_cu_event;
typedef struct CUstream_st *sl_cu_stream;
typedef struct CUmod_st *sl_cu_module;
typedef struct CUfunc_st *sl_cu_function;
typedef struct CUgreenCtx_st *sl_cu_green_context;
typedef struct CUuuid_st sl_cu_uuid; /* 16 bytes */

enum {
    SL_CU_SUCCESS = 0,
    SL_CU_INVALID_VALUE = 1,
    SL_CU_OUT_OF_MEMORY = 2,
    SL_CU_NOT_INITIALIZED = 3,
    SL_CU_DEINITIALIZED = 4, /* the process is ending */
    SL_CU_STUB_LIBRARY = 34,
    SL_CU_CALL_REQUIRES_NEWER_DRIVER = 36,
    SL_CU_DEVICE_UNAVAILABLE = 46,
    SL_CU_NO_DEVICE = 100,
    SL_CU_INVALID_DEVICE = 101,
    SL_CU_INVALID_IMAGE = 200,
    SL_CU_INVALID_CONTEXT = 201,
    SL_CU_NO_BINARY_FOR_GPU = 209,
    SL_CU_INVALID_PTX = 218,
    SL_CU_JIT_COMPILER_NOT_FOUND = 221,
    SL_CU_UNSUPPORTED_PTX_VERSION = 222,
    SL_CU_JIT_COMPILATION_DISABLED = 223,
    SL_CU_INVALID_SOURCE = 300,
    SL_CU_OPERATING_SYSTEM = 304,
    SL_CU_INVALID_HANDLE = 400,
    SL_CU_NOT_READY = 600,
    SL_CU_CONTEXT_IS_DESTROYED = 709,
    SL_CU_NOT_SUPPORTED = 801,
    SL_CU_SYSTEM_NOT_READY = 802,
    SL_CU_SYSTEM_DRIVER_MISMATCH = 803,
    SL_CU_COMPAT_NOT_SUPPORTED = 804,
    SL_CU_STREAM_CAPTURE_UNSUPPORTED = 900, /* the first and the last of capture's errors */
    SL_CU_STREAM_CAPTURE_WRONG_THREAD = 908,
    SL_CU_UNKNOWN = 999
};

enum {
    SL_CU_HOST_REGISTER_PORTABLE = 1,
    SL_CU_HOST_ALLOC_PORTABLE = 1,
    SL_CU_STREAM_NON_BLOCKING = 1,
    SL_CU_STREAM_PER_THREAD = 2, /* a handle; 0 and 1 are the legacy default stream */
    SL_CU_EVENT_BLOCKING_SYNC = 1,
    SL_CU_EVENT_DISABLE_TIMING = 2,
    SL_CU_CAPTURE_MODE_RELAXED = 2,
    SL_CU_CAPTURE_STATUS_NONE = 0,
    SL_CU_ATTRIBUTE_CAPABILITY_MAJOR = 75,
    SL_CU_ATTRIBUTE_CAPABILITY_MINOR = 76,
    SL_CU_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
    SL_CU_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
    SL_CU_ATTRIBUTE_HOST_NUMA_ID = 134,
    SL_CU_POINTER_MEMORY_TYPE = 2,
    SL_CU_POINTER_IS_MANAGED = 8,
    SL_CU_POINTER_DEVICE_ORDINAL = 9,
    SL_CU_POINTER_MAPPED = 13,
    SL_CU_MEMORY_HOST = 1,
    SL_CU_MEMORY_DEVICE = 2,
    SL_CU_JIT_ERROR_LOG_BUFFER = 5,
    SL_CU_JIT_ERROR_LOG_BUFFER_BYTES = 6,
    SL_CU_FUNCTION_BINARY_VERSION = 6 /* 10 x major + minor of the GPU that the code is for */
};

/* X(field, symbol, parameters). The symbol carries its version, which fixes the ABI. */
#define SL_CUDA_REQUIRED(X)                                                                     \
    X(init, cuInit, (unsigned flags))                                                           \
    X(driver_version, cuDriverGetVersion, (int *version))                                       \
    X(device_count, cuDeviceGetCount, (int *count))                                             \
    X(device_get, cuDeviceGet, (sl_cu_device * device, int ordinal))                            \
    X(device_name, cuDeviceGetName, (char *name, int length, sl_cu_device device))              \
    X(device_attribute, cuDeviceGetAttribute,                                                   \
      (int *value, unsigned attribute, sl_cu_device device))                                    \
    X(context_retain, cuDevicePrimaryCtxRetain, (sl_cu_context * context, sl_cu_device device)) \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (sl_cu_device device))                     \
    X(context_push, cuCtxPushCurrent_v2, (sl_cu_context context))                               \
    X(context_pop, cuCtxPopCurrent_v2, (sl_cu_context * context))                               \
    X(context_current, cuCtxGetCurrent, (sl_cu_context * context))                              \
    X(context_device, cuCtxGetDevice, (sl_cu_device * device))                                  \
    X(capture_mode, cuThreadExchangeStreamCaptureMode, (unsigned *mode))                        \
    X(host_register, cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags))        \
    X(host_unregister, cuMemHostUnregister, (void *memory))                                     \
    X(host_alloc, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                \
    X(host_free, cuMemFreeHost, (void *memory))                                                 \
    X(memory_alloc, cuMemAlloc_v2, (sl_cu_address * memory, size_t bytes))                      \
    X(memory_free, cuMemFree_v2, (sl_cu_address memory))                                        \
    X(pointer_attribute, cuPointerGetAttribute,                                                 \
      (void *data, unsigned attribute, sl_cu_address address))                                  \
    X(copy_to_device, cuMemcpyHtoDAsync_v2,                                                     \
      (sl_cu_address to, const void *from, size_t bytes, sl_cu_stream stream))                  \
    X(stream_priorities, cuCtxGetStreamPriorityRange, (int *least, int *greatest))              \
    X(stream_create, cuStreamCreateWithPriority,                                                \
      (sl_cu_stream * stream, unsigned flags, int priority))                                    \
    X(stream_destroy, cuStreamDestroy_v2, (sl_cu_stream stream))                                \
    X(stream_synchronize, cuStreamSynchronize, (sl_cu_stream stream))                           \
    X(stream_wait_event, cuStreamWaitEvent,                                                     \
      (sl_cu_stream stream, sl_cu_event event, unsigned flags))                                 \
    X(stream_is_capturing, cuStreamIsCapturing, (sl_cu_stream stream, unsigned *status))        \
    X(event_create, cuEventCreate, (sl_cu_event * event, unsigned flags))                       \
    X(event_destroy, cuEventDestroy_v2, (sl_cu_event event))                                    \
    X(event_record, cuEventRecord, (sl_cu_event event, sl_cu_stream stream))                    \
    X(event_query, cuEventQuery, (sl_cu_event event))                                           \
    X(event_synchronize, cuEventSynchronize, (sl_cu_event event))                               \
    X(module_load, cuModuleLoadData, (sl_cu_module * module, const void *image))                \
    X(module_load_options, cuModuleLoadDataEx,                                                  \
      (sl_cu_module * module, const void *image, unsigned count, unsigned *options,             \
       void **values))                                                                          \
    X(module_unload, cuModuleUnload, (sl_cu_module module))                                     \
    X(module_function, cuModuleGetFunction,                                                     \
      (sl_cu_function * function, sl_cu_module module, const char *name))                       \
    X(launch, cuLaunchKernel,                                                                   \
      (sl_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,              \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,             \
       sl_cu_stream stream, void **parameters, void **extra))

/* NULL in the table when the driver lacks them: they give texts, hints and a statistic, and nothing
 * depends on them. */
#define SL_CUDA_OPTIONAL(X)                                                                      \
    X(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, sl_cu_device device))                 \
    X(memory_info, cuMemGetInfo_v2, (size_t * free_bytes, size_t * bytes))                       \
    X(function_load, cuFuncLoad, (sl_cu_function function)) /* CUDA 12.4 */                      \
    X(function_attribute, cuFuncGetAttribute,                                                    \
      (int *value, unsigned attribute, sl_cu_function function))                                 \
    X(device_pci, cuDeviceGetPCIBusId, (char *name, int length, sl_cu_device device))            \
    X(device_uuid, cuDeviceGetUuid_v2, (sl_cu_uuid * uuid, sl_cu_device device))                 \
    X(stream_context, cuStreamGetCtx, (sl_cu_stream stream, sl_cu_context * context))            \
    X(stream_contexts, cuStreamGetCtx_v2, /* CUDA 12.5 */                                        \
      (sl_cu_stream stream, sl_cu_context * context, sl_cu_green_context * green))               \
    X(stream_device, cuStreamGetDevice, /* CUDA 12.8 */                                          \
      (sl_cu_stream stream, sl_cu_device * device))                                              \
    X(event_elapsed, cuEventElapsedTime_v2, /* CUDA 12.8; with older drivers the next one */     \
      (float *ms, sl_cu_event begin, sl_cu_event end))                                           \
    X(event_elapsed_before, cuEventElapsedTime, (float *ms, sl_cu_event begin, sl_cu_event end)) \
    X(error_name, cuGetErrorName, (sl_cu_result code, const char **name))                        \
    X(error_text, cuGetErrorString, (sl_cu_result code, const char **text))

typedef struct sl_cuda_driver {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name and a list, not values. */
#define SL_CUDA_FIELD(field, symbol, parameters) sl_cu_result(*field) parameters;
    SL_CUDA_REQUIRED(SL_CUDA_FIELD)
    SL_CUDA_OPTIONAL(SL_CUDA_FIELD)
#undef SL_CUDA_FIELD
    int version; /* 1000 x major + 10 x minor of the newest CUDA that it supports */
    int devices; /* at least 1 */
} sl_cuda_driver;

/* Returns the driver, or NULL with the reason in `error`: UNSUPPORTED when there is no driver, none
 * that starts in this process (whatever cuInit returns, except NOMEM for lack of memory), or no
 * device; DEVICE when it fails later. */
const sl_cuda_driver *sl_cuda_driver_get(sluice_error *error);

/* Records that `call` returned `code`: `status`, with the driver's words for the code. */
sluice_status sl_cuda_error(const sl_cuda_driver *driver, sluice_status status, const char *call,
                            sl_cu_result code, sluice_error *error);

/* Records the meaning of a code that CUDA returns when it starts or opens a device, and what to do.
 * Returns false, and records nothing, when the meaning of `code` is not known. */
bool sl_cuda_explain(sluice_status status, const char *call, sl_cu_result code,
                     sluice_error *error);

/* Writes one line: the devices and the driver, or why there is none. Returns whether there is
 * one. */
bool sl_cuda_describe(char *text, size_t bytes);

#endif
