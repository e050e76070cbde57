/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events and copies of a CUDA device. An sl_event is the driver's own event. */
#include "device_cuda.h"
#include "error.h"

#include <unistd.h>

static sl_cu_event event_of(sl_event *event)
{
    return (sl_cu_event)(void *)event;
}

/* ---- streams ---- */

static sluice_status device_cuda_stream_open_stream(const sl_cuda_device *cuda, bool urgent,
                                                    sl_cu_stream *stream, sluice_error *error)
{
    int least = 0;
    int greatest = 0;
    const sl_cu_result code = cuda->driver->stream_priorities(&least, &greatest);
    if (code != SL_CU_SUCCESS) {
        return sl_cuda_result(cuda, "cuCtxGetStreamPriorityRange", code, error);
    }
    /* Non-blocking: otherwise a program's default stream would wait for ours, and ours for it. */
    return sl_cuda_made(
        cuda, "cuStreamCreateWithPriority",
        cuda->driver->stream_create(stream, SL_CU_STREAM_NON_BLOCKING, urgent ? greatest : 0),
        error);
}

sluice_status sl_cuda_stream_open(sl_device *device, bool urgent, struct CUstream_st **stream,
                                  sluice_error *error)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    sluice_status status = sl_cuda_enter(cuda, &mode, error);
    if (status == SLUICE_OK) {
        status = device_cuda_stream_open_stream(cuda, urgent, stream, error);
        sl_cuda_leave(cuda, mode);
    }
    return status;
}

void sl_cuda_stream_close(sl_device *device, struct CUstream_st *stream)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    if (sl_cuda_enter(cuda, &mode, NULL) == SLUICE_OK) {
        (void)cuda->driver->stream_synchronize(stream);
        (void)cuda->driver->stream_destroy(stream);
        sl_cuda_leave(cuda, mode);
    }
}

/* Returns whether our own context is alive, when a stream's may not be. */
static bool is_alive(const sl_cuda_device *cuda)
{
    int least;
    int greatest;
    return cuda->driver->stream_priorities(&least, &greatest) == SL_CU_SUCCESS;
}

/* Returns whether a result is about the stream, not about the device. */
static bool is_of_stream(const sl_cuda_device *cuda, sl_cu_result code)
{
    switch (code) {
    case SL_CU_INVALID_VALUE:
    case SL_CU_INVALID_HANDLE:
    case SL_CU_INVALID_CONTEXT:
    case SL_CU_NOT_SUPPORTED: /* from cuStreamGetCtx, for any stream */
        return true;
    case SL_CU_CONTEXT_IS_DESTROYED:
        return is_alive(cuda);
    default:
        return false;
    }
}

/* Interprets the result of a call on a stream of the program. */
static sluice_status stream_result(const sl_cuda_device *cuda, const char *call, sl_cu_result code,
                                   sluice_error *error)
{
    if (is_of_stream(cuda, code)) {
        return sl_cuda_error(cuda->driver, SLUICE_INVALID, call, code, error);
    }
    if (code >= SL_CU_STREAM_CAPTURE_UNSUPPORTED && code <= SL_CU_STREAM_CAPTURE_WRONG_THREAD) {
        return sl_cuda_error(cuda->driver, SLUICE_STATE, call, code, error);
    }
    return sl_cuda_result(cuda, call, code, error);
}

/* Returns the number of the device that a stream of another context belongs to; -1: not known. */
static int device_of(const sl_cuda_device *cuda, sl_cu_stream stream)
{
    const sl_cuda_driver *driver = cuda->driver;
    sl_cu_device theirs;
    if (driver->stream_device == NULL || driver->stream_device(stream, &theirs) != SL_CU_SUCCESS) {
        return -1;
    }
    for (int number = 0; number < driver->devices; number++) {
        sl_cu_device device;
        if (driver->device_get(&device, number) == SL_CU_SUCCESS && device == theirs) {
            return number;
        }
    }
    return -1;
}

static sluice_status refuse_context(const sl_cuda_device *cuda, sl_cu_stream stream,
                                    sluice_error *error)
{
    const int number = device_of(cuda, stream);
    if (number >= 0 && number != cuda->base.number) {
        return sl_error_set(error, SLUICE_INVALID, "staging",
                            "the stream is on cuda:%d, but the batch is on cuda:%d", number,
                            cuda->base.number);
    }
    return sl_error_set(error, SLUICE_INVALID, "staging",
                        "the stream is not of the primary context of cuda:%d, but of another "
                        "device or of a context made by cuCtxCreate",
                        cuda->base.number);
}

/*
 * Our events belong to the primary context, and are only recorded on streams of that context. With
 * cuStreamGetCtx_v2, a stream of a green context belongs to its device's primary context; the older
 * call reports a context of its own. The special handles are streams of the current context, which
 * is now ours.
 */
static sluice_status check_context(const sl_cuda_device *cuda, sl_cu_stream stream,
                                   sluice_error *error)
{
    const sl_cuda_driver *driver = cuda->driver;
    const uintptr_t handle = (uintptr_t)stream;
    sl_cu_context context = cuda->context;
    sl_cu_green_context green = NULL;
    sl_cu_result code = SL_CU_SUCCESS;
    if (handle <= SL_CU_STREAM_PER_THREAD) {
        return SLUICE_OK;
    }
    if (driver->stream_contexts != NULL) {
        code = driver->stream_contexts(stream, &context, &green);
    } else if (driver->stream_context != NULL) {
        code = driver->stream_context(stream, &context);
    }
    if (code != SL_CU_SUCCESS) {
        return stream_result(cuda, "cuStreamGetCtx", code, error);
    }
    return context == cuda->context ? SLUICE_OK : refuse_context(cuda, stream, error);
}

/* Checks that a stream of the program's may be waited on and recorded. Our events must not become
 * part of a graph: it would wait for them once and never again. */
static sluice_status device_cuda_stream_check_stream(const sl_cuda_device *cuda,
                                                     sl_cu_stream stream, sluice_error *error)
{
    unsigned capture = SL_CU_CAPTURE_STATUS_NONE;
    sluice_status status = check_context(cuda, stream, error);
    if (status != SLUICE_OK) {
        return status;
    }
    status = stream_result(cuda, "cuStreamIsCapturing",
                           cuda->driver->stream_is_capturing(stream, &capture), error);
    if (status == SLUICE_OK && capture != SL_CU_CAPTURE_STATUS_NONE) {
        return sl_error_set(error, SLUICE_STATE, "staging",
                            "the stream is being captured into a CUDA graph: wait for batches and "
                            "release them outside the capture");
    }
    return status;
}

/*
 * A special handle is taken for a stream of our context, the primary one. If another context of
 * this device is current, the caller means that context's stream, on which its kernels run: they
 * would not be waited for. If another device's context is current, or none, nothing else can be
 * meant: frameworks name a device's default stream without making the device current.
 */
static sluice_status check_current(const sl_cuda_device *cuda, sl_cu_stream stream,
                                   sluice_error *error)
{
    const sl_cuda_driver *driver = cuda->driver;
    sl_cu_context current = NULL;
    sl_cu_device device;
    if ((uintptr_t)stream > SL_CU_STREAM_PER_THREAD || cuda->pid != getpid()) {
        return SLUICE_OK; /* a fork is refused next */
    }
    const sl_cu_result code = driver->context_current(&current);
    if (code != SL_CU_SUCCESS || current == NULL || current == cuda->context) {
        return sl_cuda_result(cuda, "cuCtxGetCurrent", code, error);
    }
    if (driver->context_device(&device) == SL_CU_SUCCESS && device != cuda->handle) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_INVALID, "staging",
                        "the default stream belongs to the thread's current context, which is not "
                        "the primary one of cuda:%d but one made by cuCtxCreate or a green one: "
                        "give a stream handle, or make the primary context current",
                        cuda->base.number);
}

/* Calls sl_cuda_enter for a stream of the program's, after checking that it may be waited on and
 * recorded. */
static sluice_status enter_for(const sl_cuda_device *cuda, sl_cu_stream stream, unsigned *mode,
                               sluice_error *error)
{
    sluice_status status = check_current(cuda, stream, error);
    if (status == SLUICE_OK) {
        status = sl_cuda_enter(cuda, mode, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    status = device_cuda_stream_check_stream(cuda, stream, error);
    if (status != SLUICE_OK) {
        sl_cuda_leave(cuda, *mode);
    }
    return status;
}

sluice_status sl_cuda_stream_wait(sl_device *device, struct CUstream_st *stream, sl_event *event,
                                  sluice_error *error)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    sluice_status status = enter_for(cuda, stream, &mode, error);
    if (status == SLUICE_OK) {
        status = stream_result(cuda, "cuStreamWaitEvent",
                               cuda->driver->stream_wait_event(stream, event_of(event), 0), error);
        sl_cuda_leave(cuda, mode);
    }
    return status;
}

sluice_status sl_cuda_copy_to_device(sl_device *device, void *to, const void *from, size_t bytes,
                                     struct CUstream_st *stream, sluice_error *error)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    sluice_status status = sl_cuda_enter(cuda, &mode, error);
    if (status == SLUICE_OK) {
        status = sl_cuda_result(
            cuda, "cuMemcpyHtoDAsync",
            cuda->driver->copy_to_device((sl_cu_address)(uintptr_t)to, from, bytes, stream), error);
        sl_cuda_leave(cuda, mode);
    }
    return status;
}

/* ---- events ---- */

/* Timing costs the device a little; a thread that waits for a blocking event sleeps. */
static unsigned event_flags(sl_event_kind kind)
{
    switch (kind) {
    case SL_EVENT_ORDER:
        return SL_CU_EVENT_DISABLE_TIMING;
    case SL_EVENT_HOST:
        return SL_CU_EVENT_DISABLE_TIMING | SL_CU_EVENT_BLOCKING_SYNC;
    case SL_EVENT_TIMED:
        break;
    }
    return 0;
}

sluice_status sl_cuda_event_open(sl_device *device, sl_event_kind kind, sl_event **event,
                                 sluice_error *error)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    sl_cu_event made = NULL;
    unsigned mode;
    sluice_status status = sl_cuda_enter(cuda, &mode, error);
    if (status == SLUICE_OK) {
        status = sl_cuda_made(cuda, "cuEventCreate",
                              cuda->driver->event_create(&made, event_flags(kind)), error);
        sl_cuda_leave(cuda, mode);
    }
    if (status == SLUICE_OK) {
        *event = (sl_event *)(void *)made;
    }
    return status;
}

void sl_cuda_event_close(sl_device *device, sl_event *event)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    if (sl_cuda_enter(cuda, &mode, NULL) == SLUICE_OK) {
        (void)cuda->driver->event_destroy(event_of(event));
        sl_cuda_leave(cuda, mode);
    }
}

sluice_status sl_cuda_event_record(sl_device *device, sl_event *event, struct CUstream_st *stream,
                                   sluice_error *error)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    sluice_status status = enter_for(cuda, stream, &mode, error);
    if (status == SLUICE_OK) {
        status = stream_result(cuda, "cuEventRecord",
                               cuda->driver->event_record(event_of(event), stream), error);
        sl_cuda_leave(cuda, mode);
    }
    return status;
}

static sluice_status answer(const sl_cuda_device *cuda, const char *call, sl_cu_result code,
                            sluice_error *error)
{
    return code == SL_CU_NOT_READY ? SLUICE_AGAIN : sl_cuda_result(cuda, call, code, error);
}

sluice_status sl_cuda_event_query(sl_device *device, sl_event *event, sluice_error *error)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    sluice_status status = sl_cuda_enter(cuda, &mode, error);
    if (status == SLUICE_OK) {
        status = answer(cuda, "cuEventQuery", cuda->driver->event_query(event_of(event)), error);
        sl_cuda_leave(cuda, mode);
    }
    return status;
}

sluice_status sl_cuda_event_synchronize(sl_device *device, sl_event *event, sluice_error *error)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    unsigned mode;
    sluice_status status = sl_cuda_enter(cuda, &mode, error);
    if (status == SLUICE_OK) {
        status = sl_cuda_result(cuda, "cuEventSynchronize",
                                cuda->driver->event_synchronize(event_of(event)), error);
        sl_cuda_leave(cuda, mode);
    }
    return status;
}

sluice_status sl_cuda_event_elapsed(sl_device *device, sl_event *begin, sl_event *end, uint64_t *ns,
                                    sluice_error *error)
{
    const sl_cuda_device *cuda = sl_cuda_of(device);
    float ms = 0;
    unsigned mode;
    sluice_status status = sl_cuda_enter(cuda, &mode, error);
    if (status != SLUICE_OK) {
        return status;
    }
    status = answer(cuda, "cuEventElapsedTime",
                    cuda->driver->event_elapsed(&ms, event_of(begin), event_of(end)), error);
    sl_cuda_leave(cuda, mode);
    *ns = ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
    return status;
}
