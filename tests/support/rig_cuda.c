/* SPDX-License-Identifier: Apache-2.0 */
#include "rig_cuda.h"

#include "device_cuda.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS_MAX 4
#define COPIES      256 /* batches read and kept: more than any test has in flight */

struct rig_cuda {
    sl_device *device; /* separate from the staging's device, which may be closed first */
    const sl_cuda_device *cuda;
    sl_cu_result (*copy_to_host)(void *to, sl_cu_address from, size_t bytes, sl_cu_stream stream);
    sl_cu_result (*host_function)(sl_cu_stream stream, void (*run)(void *ctx), void *ctx);
    sl_cu_stream streams[STREAMS_MAX];
    size_t stream_count;
    uint8_t *copies[COPIES];
    size_t next;
};

static void must(sl_cu_result code, const char *call)
{
    if (code != SL_CU_SUCCESS) {
        fprintf(stderr, "%s: CUDA error %u\n", call, code);
        abort();
    }
}

static unsigned enter(const rig_cuda *cuda)
{
    unsigned mode = 0;
    const sluice_status status = sl_cuda_enter(cuda->cuda, &mode, NULL);
    assert(status == SLUICE_OK);
    (void)status;
    return mode;
}

static void find(void *library, const char *name, void *place)
{
    void *symbol = dlsym(library, name);
    assert(symbol != NULL);
    memcpy(place, &symbol, sizeof(symbol));
}

rig_cuda *rig_cuda_open(void)
{
    rig_cuda *cuda = calloc(1, sizeof(*cuda));
    assert(cuda != NULL);
    const sluice_status status = sl_device_open(&cuda->device, "cuda:0", NULL);
    assert(status == SLUICE_OK);
    (void)status;
    cuda->cuda = sl_cuda_of(cuda->device);
    const char *given = getenv("SLUICE_CUDA_DRIVER");
    void *library = dlopen(given != NULL ? given : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert(library != NULL);
    find(library, "cuMemcpyDtoHAsync_v2", &cuda->copy_to_host);
    find(library, "cuLaunchHostFunc", &cuda->host_function);
    return cuda;
}

void rig_cuda_close(rig_cuda *cuda)
{
    if (cuda == NULL) {
        return;
    }
    const unsigned mode = enter(cuda);
    for (size_t i = 0; i < cuda->stream_count; i++) {
        must(cuda->cuda->driver->stream_synchronize(cuda->streams[i]), "cuStreamSynchronize");
        must(cuda->cuda->driver->stream_destroy(cuda->streams[i]), "cuStreamDestroy");
    }
    sl_cuda_leave(cuda->cuda, mode);
    for (size_t i = 0; i < COPIES; i++) {
        free(cuda->copies[i]);
    }
    sl_device_close(cuda->device);
    free(cuda);
}

struct CUstream_st *rig_cuda_stream_new(rig_cuda *cuda)
{
    assert(cuda->stream_count < STREAMS_MAX);
    const unsigned mode = enter(cuda);
    sl_cu_stream *stream = &cuda->streams[cuda->stream_count++];
    must(cuda->cuda->driver->stream_create(stream, SL_CU_STREAM_NON_BLOCKING, 0),
         "cuStreamCreateWithPriority");
    sl_cuda_leave(cuda->cuda, mode);
    return *stream;
}

void rig_cuda_synchronize(rig_cuda *cuda, struct CUstream_st *stream)
{
    const unsigned mode = enter(cuda);
    must(cuda->cuda->driver->stream_synchronize(stream), "cuStreamSynchronize");
    sl_cuda_leave(cuda->cuda, mode);
}

/* Returns host memory for one batch, replacing the oldest. */
static uint8_t *next_copy(rig_cuda *cuda, size_t bytes)
{
    uint8_t **place = &cuda->copies[cuda->next++ % COPIES];
    free(*place);
    *place = malloc(bytes);
    assert(*place != NULL);
    return *place;
}

void rig_cuda_kernel(rig_cuda *cuda, const rig_cuda_reader *reader)
{
    rig_view *view = reader->view;
    const size_t gap = (reader->images + 255) / 256 * 256; /* labels are aligned */
    uint8_t *to = next_copy(cuda, gap + reader->tail);
    uint8_t *tail = to + gap;
    const uint8_t *from = (const uint8_t *)view->labels;
    const rig_view there = {.images = to,
                            .labels = (int64_t *)(void *)tail,
                            .indices =
                                (int64_t *)(void *)(tail + ((uint8_t *)view->indices - from)),
                            .status = tail + (view->status - from),
                            .mask = tail + (view->mask - from)};
    const unsigned mode = enter(cuda);
    must(cuda->copy_to_host(to, (uintptr_t)view->images, reader->images, reader->stream),
         "cuMemcpyDtoHAsync");
    must(cuda->copy_to_host(tail, (uintptr_t)from, reader->tail, reader->stream),
         "cuMemcpyDtoHAsync");
    *view = there;
    must(cuda->host_function(reader->stream, reader->run, reader->ctx), "cuLaunchHostFunc");
    sl_cuda_leave(cuda->cuda, mode);
}
