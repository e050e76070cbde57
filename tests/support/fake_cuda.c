/* SPDX-License-Identifier: Apache-2.0 */
/* Entry of all calls: locks, faults, thread checks; and the device. */
#include "fake_cuda_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VERSION_DEFAULT 13000
#define MEMORY_DEFAULT  ((uint64_t)1 << 30)

fake_cuda fake_cuda_the = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
};

_Thread_local uint64_t fake_cuda_host_waits;

static const char *const texts[FAKE_CUDA_CHECKS] = {
    [FAKE_CUDA_UNPINNED] = "copy from memory that is not registered",
    [FAKE_CUDA_NO_TARGET] = "memory that is not the device's",
    [FAKE_CUDA_CHANGED] = "source changed before it was copied",
    [FAKE_CUDA_OVERWRITE] = "write over memory that earlier work still has to read",
    [FAKE_CUDA_TOO_EARLY] = "read of memory that earlier work still has to write",
    [FAKE_CUDA_DISORDER] = "write over memory that earlier work still has to write",
    [FAKE_CUDA_UNRECORDED] = "wait for an event never recorded",
    [FAKE_CUDA_SPINNING] = "host wait for an event that is not made for it",
    [FAKE_CUDA_DEAD] = "use of something that does not exist (any more)",
    [FAKE_CUDA_PULLED] = "memory taken away under work",
    [FAKE_CUDA_NO_CONTEXT] = "no context of the device is current",
    [FAKE_CUDA_NOT_RELAXED] = "the thread's capture mode is not relaxed",
    [FAKE_CUDA_CAPTURED] = "work for a stream that is being captured",
    [FAKE_CUDA_JOINED] = "a stream that waits for the default stream",
    [FAKE_CUDA_BAD_LAUNCH] = "a launch that cannot run",
    [FAKE_CUDA_KERNEL] = "a kernel fails",
    [FAKE_CUDA_POLLED] = "time between events that are not done",
};

const char *fake_cuda_call_name(fake_cuda_call call)
{
#define NAME(field, symbol, parameters) #symbol,
    static const char *const names[CALLS] = {SL_CUDA_REQUIRED(NAME) SL_CUDA_OPTIONAL(NAME)
                                                 FAKE_CUDA_EXTRA(NAME)};
#undef NAME
    return names[call];
}

/* ---- checks ---- */

static void count_locked(const char *where, fake_cuda_check check)
{
    fake_cuda *f = &fake_cuda_the;
    f->violations_of[check]++;
    if (f->violations++ == 0) {
        snprintf(f->first, sizeof(f->first), "%s: %s", where, texts[check]);
    }
}

bool fake_cuda_expect_locked(bool condition, fake_cuda_check check, fake_cuda_call call)
{
    if (!condition) {
        count_locked(fake_cuda_call_name(call), check);
    }
    return condition;
}

bool fake_cuda_expect_work_locked(bool condition, fake_cuda_check check)
{
    if (!condition) {
        count_locked("on a stream", check);
    }
    return condition;
}

void fake_cuda_blame_kernel_locked(const char *text)
{
    count_locked(text, FAKE_CUDA_KERNEL);
}

/* ---- calls ---- */

bool fake_cuda_is_fork(void)
{
    fake_cuda *f = &fake_cuda_the;
    const pid_t here = getpid();
    pid_t first = 0;
    /* Relaxed: the number orders nothing. */
    return !atomic_compare_exchange_strong_explicit(&f->pid, &first, here, memory_order_relaxed,
                                                    memory_order_relaxed) &&
           first != here;
}

static bool is_asked_for_locked(fake_cuda_call call)
{
    fake_cuda_fault *fault = &fake_cuda_the.fault;
    if (fault->nth == 0 ||
        (fault->symbol != NULL && strcmp(fault->symbol, fake_cuda_call_name(call)) != 0)) {
        return false;
    }
    return --fault->nth == 0;
}

static bool is_idle_locked(void)
{
    const fake_cuda *f = &fake_cuda_the;
    for (size_t i = 0; i < f->thing_count; i++) {
        const struct CUstream_st *stream = (const struct CUstream_st *)(const void *)f->things[i];
        if (f->things[i]->kind == KIND_STREAM && stream->done < stream->given) {
            return false;
        }
    }
    return true;
}

/*
 * Lets a device that fails stop before the caller learns of it. When a wait fails, or its context
 * is unusable, no stream may still be working while the caller frees memory. Streams that the test
 * holds are not waited for to the end.
 */
static void settle_locked(fake_cuda_call call)
{
    fake_cuda *f = &fake_cuda_the;
    const bool waits =
        call == CALL_stream_synchronize || call == CALL_context_push || call == CALL_capture_mode;
    struct timespec until;
    int late = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    while (f->lost == SL_CU_SUCCESS && waits && !is_idle_locked() && late == 0) {
        late = pthread_cond_timedwait(&f->changed, &f->mutex, &until);
    }
    while (f->lost != SL_CU_SUCCESS && f->busy > 0) {
        pthread_cond_wait(&f->changed, &f->mutex);
    }
}

static sl_cu_result refusal_locked(fake_cuda_call call, fake_cuda_needs needs)
{
    fake_cuda *f = &fake_cuda_the;
    if (f->options.deinitialized) {
        return SL_CU_DEINITIALIZED;
    }
    if (is_asked_for_locked(call)) {
        f->failed = fake_cuda_call_name(call);
        f->lost = f->fault.sticky ? f->fault.code : f->lost;
        fake_cuda_wake_locked();
        const sl_cu_result code = f->fault.code;
        settle_locked(call);
        return code;
    }
    if (needs != NEEDS_NOTHING && !f->initialized) {
        return SL_CU_NOT_INITIALIZED;
    }
    return needs == NEEDS_CONTEXT ? f->lost : SL_CU_SUCCESS;
}

/* The calls used here that a capture in global mode forbids in other threads. */
static bool is_unsafe(fake_cuda_call call)
{
    static const fake_cuda_call calls[] = {
        CALL_memory_alloc,      CALL_memory_free, CALL_host_register,      CALL_host_unregister,
        CALL_host_alloc,        CALL_host_free,   CALL_stream_synchronize, CALL_event_query,
        CALL_event_synchronize, CALL_module_load,
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (calls[i] == call) {
            return true;
        }
    }
    return false;
}

/* True if the thread's context and capture mode are as required. */
static sl_cu_result check_thread_locked(fake_cuda_call call)
{
    fake_cuda *f = &fake_cuda_the;
    fake_cuda_expect_locked(fake_cuda_mode == SL_CU_CAPTURE_MODE_RELAXED, FAKE_CUDA_NOT_RELAXED,
                            call);
    if (f->unsafe_forbidden && fake_cuda_mode != SL_CU_CAPTURE_MODE_RELAXED && is_unsafe(call)) {
        f->unsafe_called = true;
        return SL_CU_STREAM_CAPTURE_UNSUPPORTED;
    }
    const bool current = fake_cuda_can_work_locked();
    fake_cuda_expect_locked(current, FAKE_CUDA_NO_CONTEXT, call);
    return current ? SL_CU_SUCCESS : SL_CU_INVALID_CONTEXT;
}

sl_cu_result fake_cuda_enter_close(fake_cuda_call call, fake_cuda_needs needs)
{
    fake_cuda *f = &fake_cuda_the;
    if (fake_cuda_is_fork()) {
        atomic_fetch_add_explicit(&f->forked_calls, 1, memory_order_relaxed);
        return SL_CU_NOT_INITIALIZED;
    }
    pthread_mutex_lock(&f->mutex);
    f->calls[call]++;
    sl_cu_result code = refusal_locked(call, needs);
    if (code == SL_CU_SUCCESS && needs == NEEDS_CONTEXT) {
        code = check_thread_locked(call);
    }
    return code;
}

sl_cu_result fake_cuda_enter(fake_cuda_call call, fake_cuda_needs needs)
{
    const sl_cu_result code = fake_cuda_enter_close(call, needs);
    if (code != SL_CU_SUCCESS && !fake_cuda_is_fork()) {
        pthread_mutex_unlock(&fake_cuda_the.mutex);
    }
    return code;
}

sl_cu_result fake_cuda_leave(sl_cu_result code)
{
    pthread_mutex_unlock(&fake_cuda_the.mutex);
    return code;
}

uint64_t fake_cuda_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- objects ---- */

void *fake_cuda_make_locked(fake_cuda_kind kind, size_t size)
{
    fake_cuda *f = &fake_cuda_the;
    fake_cuda_thing *thing = calloc(1, size);
    assert(thing != NULL && f->thing_count < FAKE_CUDA_THINGS);
    thing->kind = kind;
    thing->open = true;
    thing->own = true;
    thing->key = (uintptr_t)thing;
    f->things[f->thing_count++] = thing;
    return thing;
}

void *fake_cuda_find_locked(fake_cuda_kind kind, const void *key, fake_cuda_call call)
{
    fake_cuda *f = &fake_cuda_the;
    /* The latest first, since host addresses are reused. */
    for (size_t i = f->thing_count; i-- > 0;) {
        fake_cuda_thing *thing = f->things[i];
        if (thing->kind == kind && thing->key == (uintptr_t)key) {
            fake_cuda_expect_locked(thing->open, FAKE_CUDA_DEAD, call);
            return thing->open ? thing : NULL;
        }
    }
    fake_cuda_expect_locked(false, FAKE_CUDA_DEAD, call);
    return NULL;
}

fake_cuda_thing *fake_cuda_holding_locked(fake_cuda_kind kind, const void *address, size_t bytes)
{
    fake_cuda *f = &fake_cuda_the;
    const uintptr_t at = (uintptr_t)address;
    for (size_t i = 0; i < f->thing_count; i++) {
        fake_cuda_thing *thing = f->things[i];
        if (thing->kind == kind && thing->open && at >= thing->key && bytes <= thing->bytes &&
            at - thing->key <= thing->bytes - bytes) {
            return thing;
        }
    }
    return NULL;
}

/* ---- driver and device ---- */

sl_cu_result cuInit(unsigned flags)
{
    sl_cu_result code = fake_cuda_enter(CALL_init, NEEDS_NOTHING);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    code = flags == 0 ? fake_cuda_the.options.init_code : SL_CU_INVALID_VALUE;
    fake_cuda_the.initialized = code == SL_CU_SUCCESS;
    return fake_cuda_leave(code);
}

sl_cu_result cuDriverGetVersion(int *version)
{
    const sl_cu_result code = fake_cuda_enter(CALL_driver_version, NEEDS_NOTHING);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    const int wanted = fake_cuda_the.options.version;
    *version = wanted != 0 ? wanted : VERSION_DEFAULT;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuDeviceGetCount(int *count)
{
    const sl_cu_result code = fake_cuda_enter(CALL_device_count, NEEDS_INIT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    const int wanted = fake_cuda_the.options.devices;
    *count = fake_cuda_the.options.no_devices ? 0 : wanted > 0 ? wanted : 1;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuDeviceGet(sl_cu_device *device, int ordinal)
{
    const sl_cu_result code = fake_cuda_enter(CALL_device_get, NEEDS_INIT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    const int wanted = fake_cuda_the.options.devices;
    *device = ordinal;
    return fake_cuda_leave(ordinal < (wanted > 0 ? wanted : 1) ? SL_CU_SUCCESS : 101);
}

static sl_cu_result give_text(fake_cuda_call call, const char *text, char *name, int length)
{
    const sl_cu_result code = fake_cuda_enter(call, NEEDS_INIT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    snprintf(name, (size_t)length, "%s", text);
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuDeviceGetName(char *name, int length, sl_cu_device device)
{
    (void)device;
    const bool instance = fake_cuda_the.options.instance;
    return give_text(CALL_device_name,
                     instance ? "Fake Accelerator MIG 1g.10gb" : "Fake Accelerator", name, length);
}

sl_cu_result cuDeviceGetUuid_v2(sl_cu_uuid *uuid, sl_cu_device device)
{
    (void)device;
    const sl_cu_result code = fake_cuda_enter(CALL_device_uuid, NEEDS_INIT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    uint8_t *bytes = (uint8_t *)(void *)uuid;
    for (int i = 0; i < 16; i++) {
        bytes[i] = (uint8_t)(0x11 * i);
    }
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuDeviceGetPCIBusId(char *name, int length, sl_cu_device device)
{
    (void)device;
    return give_text(CALL_device_pci, "ffff:ff:1f.7", name, length);
}

sl_cu_result cuDeviceGetAttribute(int *value, unsigned attribute, sl_cu_device device)
{
    (void)device;
    const sl_cu_result code = fake_cuda_enter(CALL_device_attribute, NEEDS_INIT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    switch (attribute) {
    case SL_CU_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
        *value = !fake_cuda_the.options.no_register;
        break;
    case SL_CU_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        *value = !fake_cuda_the.options.no_concurrency;
        break;
    case SL_CU_ATTRIBUTE_HOST_NUMA_ID:
        *value = fake_cuda_the.options.on_node_0 ? 0 : -1;
        break;
    case SL_CU_ATTRIBUTE_CAPABILITY_MAJOR:
        *value = 9;
        break;
    default:
        *value = 0;
        break;
    }
    return fake_cuda_leave(SL_CU_SUCCESS);
}

static uint64_t memory_size_locked(void)
{
    const uint64_t wanted = fake_cuda_the.options.memory;
    return wanted != 0 ? wanted : MEMORY_DEFAULT;
}

sl_cu_result cuDeviceTotalMem_v2(size_t *bytes, sl_cu_device device)
{
    (void)device;
    const sl_cu_result code = fake_cuda_enter(CALL_device_memory, NEEDS_INIT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    *bytes = memory_size_locked();
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *bytes)
{
    const sl_cu_result code = fake_cuda_enter(CALL_memory_info, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    *bytes = memory_size_locked();
    *free_bytes = *bytes - fake_cuda_the.memory_used;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuGetErrorName(sl_cu_result code, const char **name)
{
    *name = "CUDA_ERROR_OF_THE_FAKE";
    return code == SL_CU_SUCCESS ? SL_CU_INVALID_VALUE : SL_CU_SUCCESS;
}

sl_cu_result cuGetErrorString(sl_cu_result code, const char **text)
{
    *text = "an error on request";
    return code == SL_CU_SUCCESS ? SL_CU_INVALID_VALUE : SL_CU_SUCCESS;
}
