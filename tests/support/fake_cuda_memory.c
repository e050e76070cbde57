/* SPDX-License-Identifier: Apache-2.0 */
/* Host and device memory, and copies between them. */
#include "fake_cuda_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

uint64_t fake_cuda_hash(const void *memory, size_t bytes)
{
    const uint8_t *at = memory;
    const uint8_t *end = at + bytes;
    uint64_t word; /* FNV-1a over words, since ThreadSanitizer checks each access */
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; (size_t)(end - at) >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        hash = (hash ^ word) * UINT64_C(1099511628211);
    }
    for (; at < end; at++) {
        hash = (hash ^ *at) * UINT64_C(1099511628211);
    }
    return hash;
}

/* ---- host memory ---- */

sl_cu_result cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    const sl_cu_result code = fake_cuda_enter(CALL_host_register, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    if (memory == NULL || bytes == 0 || flags != SL_CU_HOST_REGISTER_PORTABLE) {
        return fake_cuda_leave(SL_CU_INVALID_VALUE);
    }
    fake_cuda_thing *thing = fake_cuda_make_locked(KIND_PINNED, sizeof(*thing));
    thing->key = (uintptr_t)memory;
    thing->bytes = bytes;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

/* Does the steps common to calls that close host memory. */
static sl_cu_result close_host(fake_cuda_call call, fake_cuda_kind kind, void *memory)
{
    sl_cu_result code = fake_cuda_enter_close(call, NEEDS_CONTEXT);
    if (fake_cuda_is_fork()) {
        return code;
    }
    fake_cuda_thing *thing = fake_cuda_find_locked(kind, memory, call);
    if (thing == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_VALUE);
    }
    const bool busy = fake_cuda_in_use_locked(thing->key, thing->key + thing->bytes);
    fake_cuda_expect_locked(!busy, FAKE_CUDA_PULLED, call);
    thing->open = false;
    if (thing->backing != NULL) {
        munmap(thing->backing, thing->bytes);
        thing->backing = NULL;
    }
    return fake_cuda_leave(code);
}

sl_cu_result cuMemHostUnregister(void *memory)
{
    return close_host(CALL_host_unregister, KIND_PINNED, memory);
}

sl_cu_result cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    const sl_cu_result code = fake_cuda_enter(CALL_host_alloc, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    (void)flags;
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) {
        return fake_cuda_leave(SL_CU_OUT_OF_MEMORY);
    }
    fake_cuda_thing *thing = fake_cuda_make_locked(KIND_HOST, sizeof(*thing));
    thing->key = (uintptr_t)found;
    thing->bytes = bytes;
    thing->backing = found;
    memset(found, 0x5A, bytes < 4096 ? bytes : 4096); /* zeros are not guaranteed */
    *memory = found;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuMemFreeHost(void *memory)
{
    return close_host(CALL_host_free, KIND_HOST, memory);
}

/* ---- device memory ---- */

sl_cu_result cuMemAlloc_v2(sl_cu_address *memory, size_t bytes)
{
    fake_cuda *f = &fake_cuda_the;
    const sl_cu_result code = fake_cuda_enter(CALL_memory_alloc, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    const uint64_t size = f->options.memory != 0 ? f->options.memory : (uint64_t)1 << 30;
    if (bytes == 0 || bytes > size - f->memory_used) {
        return fake_cuda_leave(bytes == 0 ? SL_CU_INVALID_VALUE : SL_CU_OUT_OF_MEMORY);
    }
    /* The address must not be accessed on the host. */
    void *address =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    fake_cuda_thing *thing = fake_cuda_make_locked(KIND_MEMORY, sizeof(*thing));
    thing->backing = malloc(bytes);
    thing->written = calloc(bytes, 1);
    assert(address != MAP_FAILED && thing->backing != NULL && thing->written != NULL);
    memset(thing->backing, 0xA5, bytes);
    thing->key = (uintptr_t)address;
    thing->bytes = bytes;
    thing->device = f->options.memory_device;
    thing->managed = f->options.memory_managed;
    thing->unmapped = f->options.memory_unmapped;
    f->memory_used += bytes;
    *memory = (sl_cu_address)thing->key;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuMemFree_v2(sl_cu_address memory)
{
    sl_cu_result code = fake_cuda_enter_close(CALL_memory_free, NEEDS_CONTEXT);
    if (fake_cuda_is_fork()) {
        return code;
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
    const void *key = (const void *)(uintptr_t)memory;
    fake_cuda_thing *thing = fake_cuda_find_locked(KIND_MEMORY, key, CALL_memory_free);
    if (thing == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_VALUE);
    }
    const bool busy = fake_cuda_in_use_locked(thing->key, thing->key + thing->bytes);
    fake_cuda_expect_locked(!busy, FAKE_CUDA_PULLED, CALL_memory_free);
    thing->open = false; /* the bytes stay until reset, because a kernel may use them */
    fake_cuda_the.memory_used -= thing->bytes;
    return fake_cuda_leave(code);
}

sl_cu_result cuPointerGetAttribute(void *data, unsigned attribute, sl_cu_address address)
{
    const sl_cu_result code = fake_cuda_enter(CALL_pointer_attribute, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
    const void *at = (const void *)(uintptr_t)address;
    const fake_cuda_thing *memory = fake_cuda_holding_locked(KIND_MEMORY, at, 1);
    const bool host = fake_cuda_holding_locked(KIND_PINNED, at, 1) != NULL ||
                      fake_cuda_holding_locked(KIND_HOST, at, 1) != NULL;
    if (memory == NULL && !host) {
        return fake_cuda_leave(SL_CU_INVALID_VALUE);
    }
    if (attribute == SL_CU_POINTER_MEMORY_TYPE) {
        *(unsigned *)data = host ? SL_CU_MEMORY_HOST : SL_CU_MEMORY_DEVICE;
    } else if (attribute == SL_CU_POINTER_DEVICE_ORDINAL) {
        *(int *)data = host ? 0 : memory->device;
    } else if (attribute == SL_CU_POINTER_IS_MANAGED) {
        *(bool *)data = !host && memory->managed; /* callers must not rely on more bytes */
    } else if (attribute == SL_CU_POINTER_MAPPED) {
        *(bool *)data = host || !memory->unmapped;
    } else {
        return fake_cuda_leave(SL_CU_INVALID_VALUE);
    }
    return fake_cuda_leave(SL_CU_SUCCESS);
}

void *fake_cuda_backing_locked(uintptr_t address)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
    fake_cuda_thing *thing = fake_cuda_holding_locked(KIND_MEMORY, (const void *)address, 1);
    return thing != NULL ? (uint8_t *)thing->backing + (address - thing->key) : NULL;
}

uint8_t *fake_cuda_written_locked(uintptr_t address)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
    fake_cuda_thing *thing = fake_cuda_holding_locked(KIND_MEMORY, (const void *)address, 1);
    return thing != NULL && !thing->handed_out ? thing->written + (address - thing->key) : NULL;
}

/* ---- copies ---- */

sl_cu_result cuMemcpyHtoDAsync_v2(sl_cu_address to, const void *from, size_t bytes,
                                  sl_cu_stream stream)
{
    fake_cuda *f = &fake_cuda_the;
    const sl_cu_result code = fake_cuda_enter(CALL_copy_to_device, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
    const void *target = (const void *)(uintptr_t)to;
    struct CUstream_st *given = fake_cuda_stream_locked(stream, CALL_copy_to_device);
    const bool pinned = fake_cuda_holding_locked(KIND_PINNED, from, bytes) != NULL ||
                        fake_cuda_holding_locked(KIND_HOST, from, bytes) != NULL;
    const bool fits = fake_cuda_holding_locked(KIND_MEMORY, target, bytes) != NULL;
    fake_cuda_expect_locked(pinned || f->options.pageable, FAKE_CUDA_UNPINNED, CALL_copy_to_device);
    fake_cuda_expect_locked(fits, FAKE_CUDA_NO_TARGET, CALL_copy_to_device);
    if (given == NULL || !fits) {
        return fake_cuda_leave(given == NULL ? SL_CU_INVALID_HANDLE : SL_CU_INVALID_VALUE);
    }
    fake_cuda_work work = {.kind = WORK_COPY,
                           .from = from,
                           .bytes = bytes,
                           .hash = fake_cuda_hash(from, bytes),
                           .ranges = {{(uintptr_t)to, (uintptr_t)to + bytes, true}}};
    if (!pinned) {
        /* The driver reads pageable memory before it returns. */
        work.bounce = malloc(bytes);
        assert(work.bounce != NULL);
        memcpy(work.bounce, from, bytes);
        work.from = work.bounce;
    }
    fake_cuda_give_locked(given, &work);
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuMemcpyDtoHAsync_v2(void *to, sl_cu_address from, size_t bytes, sl_cu_stream stream)
{
    const sl_cu_result code = fake_cuda_enter(CALL_copy_to_host, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
    const void *source = (const void *)(uintptr_t)from;
    struct CUstream_st *given = fake_cuda_stream_locked(stream, CALL_copy_to_host);
    const bool there = fake_cuda_holding_locked(KIND_MEMORY, source, bytes) != NULL;
    fake_cuda_expect_locked(there, FAKE_CUDA_NO_TARGET, CALL_copy_to_host);
    if (given == NULL || !there) {
        return fake_cuda_leave(given == NULL ? SL_CU_INVALID_HANDLE : SL_CU_INVALID_VALUE);
    }
    const fake_cuda_work work = {.kind = WORK_READER,
                                 .to = to,
                                 .bytes = bytes,
                                 .ranges = {{(uintptr_t)from, (uintptr_t)from + bytes, false}}};
    fake_cuda_give_locked(given, &work);
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuLaunchHostFunc(sl_cu_stream stream, void (*run)(void *ctx), void *ctx)
{
    const sl_cu_result code = fake_cuda_enter(CALL_host_function, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    struct CUstream_st *given = fake_cuda_stream_locked(stream, CALL_host_function);
    const fake_cuda_work work = {.kind = WORK_READER, .run = run, .ctx = ctx};
    if (given != NULL) {
        fake_cuda_give_locked(given, &work);
    }
    return fake_cuda_leave(given != NULL ? SL_CU_SUCCESS : SL_CU_INVALID_HANDLE);
}
