/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_driver: the functions of the CUDA driver that a benchmark's own steps need, opened at run
 * time ($SLUICE_CUDA_DRIVER, else libcuda.so.1) and never closed. The declarations are our own.
 */
#ifndef TOOL_GPU_DRIVER_H
#define TOOL_GPU_DRIVER_H

#include <stddef.h>

typedef unsigned gpu_result; /* 0: success */
typedef int gpu_device;
typedef unsigned long long gpu_address;
typedef struct CUctx_st *gpu_context;
typedef struct CUevent_st *gpu_event;
typedef struct CUstream_st *gpu_stream;
typedef struct CUmod_st *gpu_module;
typedef struct CUfunc_st *gpu_function;

enum {
    GPU_STREAM_NON_BLOCKING = 1,
    GPU_EVENT_BLOCKING_SYNC = 1,
    GPU_ATTRIBUTE_MULTIPROCESSORS = 16,
    GPU_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR = 39
};

/* X(field, symbol, parameters). The symbol carries its version, which fixes the ABI. */
#define GPU_FUNCTIONS(X)                                                                           \
    X(init, cuInit, (unsigned flags))                                                              \
    X(device_get, cuDeviceGet, (gpu_device * device, int ordinal))                                 \
    X(device_name, cuDeviceGetName, (char *name, int length, gpu_device device))                   \
    X(device_pci, cuDeviceGetPCIBusId, (char *name, int length, gpu_device device))                \
    X(device_attribute, cuDeviceGetAttribute, (int *value, unsigned which, gpu_device device))     \
    X(context_retain, cuDevicePrimaryCtxRetain, (gpu_context * context, gpu_device device))        \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (gpu_device device))                          \
    X(context_push, cuCtxPushCurrent_v2, (gpu_context context))                                    \
    X(context_pop, cuCtxPopCurrent_v2, (gpu_context * context))                                    \
    X(memory_alloc, cuMemAlloc_v2, (gpu_address * memory, size_t bytes))                           \
    X(memory_free, cuMemFree_v2, (gpu_address memory))                                             \
    X(copy_to_device, cuMemcpyHtoDAsync_v2,                                                        \
      (gpu_address to, const void *from, size_t bytes, gpu_stream stream))                         \
    X(stream_create, cuStreamCreateWithPriority,                                                   \
      (gpu_stream * stream, unsigned flags, int priority))                                         \
    X(stream_destroy, cuStreamDestroy_v2, (gpu_stream stream))                                     \
    X(stream_synchronize, cuStreamSynchronize, (gpu_stream stream))                                \
    X(event_create, cuEventCreate, (gpu_event * event, unsigned flags))                            \
    X(event_destroy, cuEventDestroy_v2, (gpu_event event))                                         \
    X(event_record, cuEventRecord, (gpu_event event, gpu_stream stream))                           \
    X(event_synchronize, cuEventSynchronize, (gpu_event event))                                    \
    X(event_elapsed, cuEventElapsedTime, (float *ms, gpu_event begin, gpu_event end))              \
    X(module_load, cuModuleLoadData, (gpu_module * module, const void *image))                     \
    X(module_unload, cuModuleUnload, (gpu_module module))                                          \
    X(module_function, cuModuleGetFunction,                                                        \
      (gpu_function * function, gpu_module module, const char *name))                              \
    X(launch, cuLaunchKernel,                                                                      \
      (gpu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, gpu_stream stream,               \
       void **arguments, void **extra))                                                            \
    X(error_name, cuGetErrorName, (gpu_result code, const char **name))

struct gpu_driver {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name and a list, not values. */
#define GPU_FIELD(field, symbol, parameters) gpu_result(*field) parameters;
    GPU_FUNCTIONS(GPU_FIELD)
#undef GPU_FIELD
};

/* Opens the driver. NULL: `why` is the reason. One thread. */
const struct gpu_driver *gpu_driver_open(char *why, size_t bytes);

/* Writes the PCI address of CUDA's device `ordinal`; "": unknown. One thread. */
void gpu_driver_address(char *address, size_t bytes, unsigned ordinal);

#endif
