/* SPDX-License-Identifier: Apache-2.0 */
/* Calls for streams and events. */
#include "fake_cuda_state.h"

#include <assert.h>

#define STREAM_LEGACY     ((uintptr_t)1)
#define STREAM_PER_THREAD ((uintptr_t)2)
#define CAPTURE_ACTIVE    1
#define CAPTURE_IMPLICIT  906
#define LEAST             0
#define GREATEST          (-5)

struct CUstream_st *fake_cuda_stream_locked(struct CUstream_st *stream, fake_cuda_call call)
{
    const uintptr_t key = (uintptr_t)stream;
    if (stream == NULL || key == STREAM_LEGACY || key == STREAM_PER_THREAD) {
        return fake_cuda_the.default_stream;
    }
    return fake_cuda_find_locked(KIND_STREAM, stream, call);
}

/* ---- streams ---- */

sl_cu_result cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    const sl_cu_result code = fake_cuda_enter(CALL_stream_priorities, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    *least = LEAST;
    *greatest = GREATEST;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuStreamCreateWithPriority(sl_cu_stream *stream, unsigned flags, int priority)
{
    const sl_cu_result code = fake_cuda_enter(CALL_stream_create, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    const bool blocking = (flags & SL_CU_STREAM_NON_BLOCKING) == 0;
    fake_cuda_expect_locked(!blocking, FAKE_CUDA_JOINED, CALL_stream_create);
    if (priority > LEAST || priority < GREATEST) {
        return fake_cuda_leave(SL_CU_INVALID_VALUE);
    }
    *stream = fake_cuda_stream_make_locked(true, blocking);
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuStreamDestroy_v2(sl_cu_stream stream)
{
    const sl_cu_result code = fake_cuda_enter_close(CALL_stream_destroy, NEEDS_CONTEXT);
    if (fake_cuda_is_fork()) {
        return code;
    }
    fake_cuda_thing *thing = fake_cuda_find_locked(KIND_STREAM, stream, CALL_stream_destroy);
    if (thing == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_HANDLE);
    }
    thing->open = false; /* its thread ends when its work is done */
    fake_cuda_wake_locked();
    return fake_cuda_leave(code);
}

sl_cu_result cuStreamSynchronize(sl_cu_stream stream)
{
    fake_cuda *f = &fake_cuda_the;
    const sl_cu_result code = fake_cuda_enter(CALL_stream_synchronize, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    fake_cuda_host_waits++;
    const struct CUstream_st *waited = fake_cuda_stream_locked(stream, CALL_stream_synchronize);
    if (waited == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_HANDLE);
    }
    const uint64_t given = waited->given;
    while (waited->done < given && f->lost == SL_CU_SUCCESS) {
        pthread_cond_wait(&f->changed, &f->mutex);
    }
    return fake_cuda_leave(f->lost);
}

sl_cu_result cuStreamIsCapturing(sl_cu_stream stream, unsigned *status)
{
    fake_cuda *f = &fake_cuda_the;
    const sl_cu_result code = fake_cuda_enter(CALL_stream_is_capturing, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    const struct CUstream_st *asked = fake_cuda_stream_locked(stream, CALL_stream_is_capturing);
    if (asked == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_HANDLE);
    }
    if (asked->home == FAKE_CUDA_NO_HOME) {
        return fake_cuda_leave(SL_CU_CONTEXT_IS_DESTROYED);
    }
    *status = asked->capturing ? CAPTURE_ACTIVE : SL_CU_CAPTURE_STATUS_NONE;
    for (size_t i = 0; i < f->thing_count && asked == f->default_stream; i++) {
        const struct CUstream_st *other = (const struct CUstream_st *)(const void *)f->things[i];
        if (f->things[i]->kind == KIND_STREAM && other->blocking && other->capturing) {
            return fake_cuda_leave(CAPTURE_IMPLICIT);
        }
    }
    return fake_cuda_leave(SL_CU_SUCCESS);
}

/* Finds the context that a stream claims to belong to. */
static sl_cu_result home_of(fake_cuda_call call, sl_cu_stream stream, fake_cuda_home *home)
{
    const sl_cu_result code = fake_cuda_enter(call, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    const struct CUstream_st *asked = fake_cuda_stream_locked(stream, call);
    if (asked == NULL || asked->home == FAKE_CUDA_NO_HOME) {
        return fake_cuda_leave(asked == NULL ? SL_CU_INVALID_HANDLE : SL_CU_CONTEXT_IS_DESTROYED);
    }
    *home = asked->home;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

static sl_cu_context context_of(bool primary)
{
    int *const context = primary ? &fake_cuda_primary_context : &fake_cuda_other_context;
    return (sl_cu_context)(void *)context;
}

/* The first version does not know green contexts: they look like other contexts. */
sl_cu_result cuStreamGetCtx(sl_cu_stream stream, sl_cu_context *context)
{
    fake_cuda_home home = FAKE_CUDA_PRIMARY;
    const sl_cu_result code = home_of(CALL_stream_context, stream, &home);
    if (code == SL_CU_SUCCESS) {
        *context = context_of(home == FAKE_CUDA_PRIMARY);
    }
    return code;
}

sl_cu_result cuStreamGetCtx_v2(sl_cu_stream stream, sl_cu_context *context,
                               sl_cu_green_context *green)
{
    fake_cuda_home home = FAKE_CUDA_PRIMARY;
    const sl_cu_result code = home_of(CALL_stream_contexts, stream, &home);
    if (code == SL_CU_SUCCESS) {
        const bool is_green = home == FAKE_CUDA_GREEN;
        *context = context_of(home == FAKE_CUDA_PRIMARY || is_green);
        *green = is_green ? (sl_cu_green_context)(void *)&fake_cuda_other_context : NULL;
    }
    return code;
}

sl_cu_result cuStreamGetDevice(sl_cu_stream stream, sl_cu_device *device)
{
    fake_cuda_home home = FAKE_CUDA_PRIMARY;
    const sl_cu_result code = home_of(CALL_stream_device, stream, &home);
    if (code == SL_CU_SUCCESS) {
        *device = home == FAKE_CUDA_OTHER_DEVICE ? 1 : 0;
    }
    return code;
}

/* ---- events ---- */

sl_cu_result cuEventCreate(sl_cu_event *event, unsigned flags)
{
    const sl_cu_result code = fake_cuda_enter(CALL_event_create, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    struct CUevent_st *made = fake_cuda_make_locked(KIND_EVENT, sizeof(*made));
    made->flags = flags;
    *event = made;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuEventDestroy_v2(sl_cu_event event)
{
    const sl_cu_result code = fake_cuda_enter_close(CALL_event_destroy, NEEDS_CONTEXT);
    if (fake_cuda_is_fork()) {
        return code;
    }
    fake_cuda_thing *thing = fake_cuda_find_locked(KIND_EVENT, event, CALL_event_destroy);
    if (thing == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_HANDLE);
    }
    thing->open = false;
    return fake_cuda_leave(code);
}

/* Does the checks common to record and wait: both handles, and no capture. */
static sl_cu_result find_both_locked(fake_cuda_call call, sl_cu_stream stream, sl_cu_event event,
                                     struct CUstream_st **found)
{
    *found = fake_cuda_stream_locked(stream, call);
    if (*found == NULL || fake_cuda_find_locked(KIND_EVENT, event, call) == NULL) {
        return SL_CU_INVALID_HANDLE;
    }
    const fake_cuda_home home = (*found)->home;
    if (home == FAKE_CUDA_NO_HOME) {
        return SL_CU_CONTEXT_IS_DESTROYED;
    }
    /* Streams of any context may wait, but not record. */
    if (call == CALL_event_record &&
        (home == FAKE_CUDA_OTHER_CONTEXT || home == FAKE_CUDA_OTHER_DEVICE)) {
        return SL_CU_INVALID_HANDLE;
    }
    return fake_cuda_expect_locked(!(*found)->capturing, FAKE_CUDA_CAPTURED, call)
               ? SL_CU_SUCCESS
               : SL_CU_STREAM_CAPTURE_UNSUPPORTED;
}

sl_cu_result cuEventRecord(sl_cu_event event, sl_cu_stream stream)
{
    struct CUstream_st *given;
    sl_cu_result code = fake_cuda_enter(CALL_event_record, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    code = find_both_locked(CALL_event_record, stream, event, &given);
    if (code == SL_CU_SUCCESS) {
        const fake_cuda_work work = {
            .kind = WORK_RECORD, .event = event, .record = ++event->recorded};
        fake_cuda_give_locked(given, &work);
    }
    return fake_cuda_leave(code);
}

sl_cu_result cuStreamWaitEvent(sl_cu_stream stream, sl_cu_event event, unsigned flags)
{
    const fake_cuda_options *options = &fake_cuda_the.options;
    struct CUstream_st *given;
    sl_cu_result code = fake_cuda_enter(CALL_stream_wait_event, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    code = find_both_locked(CALL_stream_wait_event, stream, event, &given);
    if (code != SL_CU_SUCCESS || flags != 0) {
        return fake_cuda_leave(code != SL_CU_SUCCESS ? code : SL_CU_INVALID_VALUE);
    }
    fake_cuda_expect_locked(event->recorded > 0, FAKE_CUDA_UNRECORDED, CALL_stream_wait_event);
    if (!(given->thing.own ? options->ignore_releases : options->ignore_ready)) {
        const fake_cuda_work work = {.kind = WORK_WAIT, .event = event, .record = event->recorded};
        fake_cuda_give_locked(given, &work);
    }
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuEventQuery(sl_cu_event event)
{
    const sl_cu_result code = fake_cuda_enter(CALL_event_query, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    if (fake_cuda_find_locked(KIND_EVENT, event, CALL_event_query) == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_HANDLE);
    }
    const bool done = event->done >= event->recorded || fake_cuda_the.options.events_lie;
    return fake_cuda_leave(done ? SL_CU_SUCCESS : SL_CU_NOT_READY);
}

sl_cu_result cuEventSynchronize(sl_cu_event event)
{
    fake_cuda *f = &fake_cuda_the;
    const sl_cu_result code = fake_cuda_enter(CALL_event_synchronize, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    fake_cuda_host_waits++;
    if (fake_cuda_find_locked(KIND_EVENT, event, CALL_event_synchronize) == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_HANDLE);
    }
    fake_cuda_expect_locked((event->flags & SL_CU_EVENT_BLOCKING_SYNC) != 0, FAKE_CUDA_SPINNING,
                            CALL_event_synchronize);
    fake_cuda_expect_locked(event->recorded > 0, FAKE_CUDA_UNRECORDED, CALL_event_synchronize);
    const uint64_t record = event->recorded;
    while (event->done < record && f->lost == SL_CU_SUCCESS && !f->options.events_lie) {
        pthread_cond_wait(&f->changed, &f->mutex);
    }
    return fake_cuda_leave(f->lost);
}

static sl_cu_result elapsed(fake_cuda_call call, float *ms, sl_cu_event begin, sl_cu_event end)
{
    const sl_cu_result code = fake_cuda_enter(call, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    const sl_cu_event events[] = {begin, end};
    for (int i = 0; i < 2; i++) {
        if (fake_cuda_find_locked(KIND_EVENT, events[i], call) == NULL ||
            events[i]->recorded == 0 || (events[i]->flags & SL_CU_EVENT_DISABLE_TIMING) != 0) {
            return fake_cuda_leave(SL_CU_INVALID_HANDLE);
        }
    }
    const bool done = begin->done >= begin->recorded && end->done >= end->recorded;
    if (!fake_cuda_expect_locked(done, FAKE_CUDA_POLLED, call)) {
        return fake_cuda_leave(SL_CU_NOT_READY);
    }
    *ms = (float)(((double)end->done_ns - (double)begin->done_ns) / 1e6);
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuEventElapsedTime(float *ms, sl_cu_event begin, sl_cu_event end)
{
    return elapsed(CALL_event_elapsed_before, ms, begin, end);
}

sl_cu_result cuEventElapsedTime_v2(float *ms, sl_cu_event begin, sl_cu_event end)
{
    return elapsed(CALL_event_elapsed, ms, begin, end);
}
