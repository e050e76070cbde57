/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_cuda: what the files of the CUDA device share.
 *
 * Purpose: a CUDA device through the driver, in its primary context, which the CUDA runtime and
 * frameworks use as well. device_cuda.c has the table and the device's life, device_cuda_stream.c
 * streams, events and copies, device_cuda_slab.c pinned memory, device_cuda_conversion.c the
 * conversion kernels.
 *
 * Threads: any may call. Each call makes the context current and the thread's capture mode relaxed
 * (a program may be capturing a graph elsewhere), and restores both.
 *
 * Life: after a fork it belongs to the parent; a call in the child touches nothing. At the end of a
 * process the driver may be gone first: then there is nothing left to close.
 */
#ifndef SL_DEVICE_CUDA_H
#define SL_DEVICE_CUDA_H

#include "conversion_kernel.h"
#include "cuda_driver.h"
#include "device.h"

#include <sys/types.h>

typedef struct sl_cuda_device {
    sl_device base; /* first: an sl_device is cast to this */
    const sl_cuda_driver *driver;
    sl_cu_device handle;
    sl_cu_context context;
    pid_t pid;
    bool registered;     /* the slab is registered */
    void *driver_memory; /* memory of the driver that the slab uses, or NULL */
    /* Conversions; module NULL: none. `kernels_text`: from which image, or why there are none. */
    sl_cu_module module;
    sl_cu_function kernels[SL_CONVERSION_KERNELS];
    char kernels_text[640];
} sl_cuda_device;

static inline sl_cuda_device *sl_cuda_of(sl_device *device)
{
    return (sl_cuda_device *)(void *)device;
}

/* Makes the device's context current on the calling thread; `*mode` is for leave. STATE in a forked
 * process. */
sluice_status sl_cuda_enter(const sl_cuda_device *cuda, unsigned *mode, sluice_error *error);
void sl_cuda_leave(const sl_cuda_device *cuda, unsigned mode);

/* Returns OK, or DEVICE with the result of `call`. */
sluice_status sl_cuda_result(const sl_cuda_device *cuda, const char *call, sl_cu_result code,
                             sluice_error *error);
/* Does the same for calls that create something: NOMEM for lack of memory. */
sluice_status sl_cuda_made(const sl_cuda_device *cuda, const char *call, sl_cu_result code,
                           sluice_error *error);

/* Functions of the device's table. */
sluice_status sl_cuda_stream_open(sl_device *device, bool urgent, struct CUstream_st **stream,
                                  sluice_error *error);
void sl_cuda_stream_close(sl_device *device, struct CUstream_st *stream);
sluice_status sl_cuda_stream_wait(sl_device *device, struct CUstream_st *stream, sl_event *event,
                                  sluice_error *error);
sluice_status sl_cuda_copy_to_device(sl_device *device, void *to, const void *from, size_t bytes,
                                     struct CUstream_st *stream, sluice_error *error);
sluice_status sl_cuda_event_open(sl_device *device, sl_event_kind kind, sl_event **event,
                                 sluice_error *error);
void sl_cuda_event_close(sl_device *device, sl_event *event);
sluice_status sl_cuda_event_record(sl_device *device, sl_event *event, struct CUstream_st *stream,
                                   sluice_error *error);
sluice_status sl_cuda_event_query(sl_device *device, sl_event *event, sluice_error *error);
sluice_status sl_cuda_event_synchronize(sl_device *device, sl_event *event, sluice_error *error);
sluice_status sl_cuda_event_elapsed(sl_device *device, sl_event *begin, sl_event *end, uint64_t *ns,
                                    sluice_error *error);
sluice_status sl_cuda_slab_register(sl_device *device, sl_slab *slab, sluice_error *error);
void sl_cuda_slab_unregister(sl_device *device, sl_slab *slab);
sluice_status sl_cuda_convert(sl_device *device, const sl_conversion *conversion,
                              const sl_conversion_rows *rows, struct CUstream_st *stream,
                              sluice_error *error);

/* Loads the kernels: sets device->converts and kernels_text. Both are called between enter and
 * leave. */
void sl_cuda_convert_open(sl_cuda_device *cuda);
void sl_cuda_convert_close(sl_cuda_device *cuda);

#endif
