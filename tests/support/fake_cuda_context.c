/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, and the state of each thread. */
#include "fake_cuda_state.h"

#include <assert.h>

#define DEPTH_MAX 16

_Thread_local uint32_t fake_cuda_depth;
_Thread_local unsigned fake_cuda_mode; /* 0: global, as in every new thread */

static _Thread_local sl_cu_context stack[DEPTH_MAX];

/* The only usable context, which has no contents. The others can only be current. */
int fake_cuda_primary_context;
int fake_cuda_other_context;
static int context_of_another_device;

static sl_cu_context current_context(void)
{
    return fake_cuda_depth > 0 ? stack[fake_cuda_depth - 1] : NULL;
}

static bool is_current(const int *context)
{
    return (const void *)current_context() == (const void *)context;
}

bool fake_cuda_can_work_locked(void)
{
    return is_current(&fake_cuda_primary_context) && fake_cuda_the.retained > 0;
}

static void push_locked(sl_cu_context context)
{
    assert(fake_cuda_depth < DEPTH_MAX);
    stack[fake_cuda_depth++] = context;
    fake_cuda_the.pushed++;
}

sl_cu_result cuDevicePrimaryCtxRetain(sl_cu_context *context, sl_cu_device device)
{
    const sl_cu_result code = fake_cuda_enter(CALL_context_retain, NEEDS_INIT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    if (device != 0 || fake_cuda_the.lost != SL_CU_SUCCESS) {
        return fake_cuda_leave(device == 0 ? fake_cuda_the.lost : SL_CU_INVALID_VALUE);
    }
    fake_cuda_the.retained++;
    *context = (sl_cu_context)(void *)&fake_cuda_primary_context;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuDevicePrimaryCtxRelease_v2(sl_cu_device device)
{
    fake_cuda *f = &fake_cuda_the;
    const sl_cu_result code = fake_cuda_enter_close(CALL_context_release, NEEDS_INIT);
    if (fake_cuda_is_fork()) {
        return code;
    }
    (void)device;
    if (fake_cuda_expect_locked(f->retained > 0, FAKE_CUDA_DEAD, CALL_context_release)) {
        f->retained--;
    }
    return fake_cuda_leave(code);
}

sl_cu_result cuCtxPushCurrent_v2(sl_cu_context context)
{
    fake_cuda *f = &fake_cuda_the;
    const sl_cu_result code = fake_cuda_enter(CALL_context_push, NEEDS_INIT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    const bool known = (void *)context == (void *)&fake_cuda_primary_context && f->retained > 0;
    fake_cuda_expect_locked(known, FAKE_CUDA_NO_CONTEXT, CALL_context_push);
    push_locked(context);
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuCtxPopCurrent_v2(sl_cu_context *context)
{
    fake_cuda *f = &fake_cuda_the;
    const sl_cu_result code = fake_cuda_enter_close(CALL_context_pop, NEEDS_INIT);
    if (fake_cuda_is_fork()) {
        return code;
    }
    if (fake_cuda_expect_locked(fake_cuda_depth > 0, FAKE_CUDA_NO_CONTEXT, CALL_context_pop)) {
        *context = stack[--fake_cuda_depth];
        f->pushed--;
    }
    return fake_cuda_leave(code);
}

sl_cu_result cuCtxGetCurrent(sl_cu_context *context)
{
    const sl_cu_result code = fake_cuda_enter(CALL_context_current, NEEDS_INIT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    *context = current_context();
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuCtxGetDevice(sl_cu_device *device)
{
    const sl_cu_result code = fake_cuda_enter(CALL_context_device, NEEDS_INIT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    *device = is_current(&context_of_another_device) ? 1 : 0;
    return fake_cuda_leave(fake_cuda_depth > 0 ? SL_CU_SUCCESS : SL_CU_INVALID_CONTEXT);
}

/* Creates at most one context per device; they are never freed. */
sl_cu_result cuCtxCreate_v2(sl_cu_context *context, unsigned flags, sl_cu_device device)
{
    const sl_cu_result code = fake_cuda_enter(CALL_context_create, NEEDS_INIT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    int *const made = device == 0 ? &fake_cuda_other_context : &context_of_another_device;
    (void)flags;
    *context = (sl_cu_context)(void *)made;
    push_locked(*context);
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuThreadExchangeStreamCaptureMode(unsigned *mode)
{
    const sl_cu_result code = fake_cuda_enter_close(CALL_capture_mode, NEEDS_INIT);
    if (fake_cuda_is_fork()) {
        return code;
    }
    /* The mode is restored even then. */
    if (code == SL_CU_SUCCESS || *mode != SL_CU_CAPTURE_MODE_RELAXED) {
        const unsigned before = fake_cuda_mode;
        fake_cuda_mode = *mode;
        *mode = before;
    }
    return fake_cuda_leave(code);
}
