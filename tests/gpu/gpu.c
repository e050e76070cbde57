/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"

#include "error.h"

#include "kernels.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_SKIP = 77 };

static int failures;

/* ---- results ---- */

void gpu_figure(const char *name, double value, const char *unit)
{
    printf("figure %s %.6g %s\n", name, value, unit);
    fflush(stdout);
}

void gpu_expect(bool holds, const char *format, ...)
{
    if (holds) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    printf("FAIL: ");
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
    failures++;
}

int gpu_result(void)
{
    return failures > 0;
}

void gpu_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("FAIL: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    exit(1);
}

uint64_t gpu_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t value = *state;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* ---- the device ---- */

void gpu_must(const gpu *g, const char *call, sl_cu_result code)
{
    if (code != SL_CU_SUCCESS) {
        sluice_error error;
        sl_error_clear(&error);
        sl_cuda_error(g->cu, SLUICE_DEVICE, call, code, &error);
        gpu_die("%s", error.text);
    }
}

bool gpu_is_there(void)
{
    char text[256];
    const sluice_status status = sl_device_describe("cuda:0", text, sizeof(text));
    if (status == SLUICE_UNSUPPORTED) {
        printf("skipped: %s\n", text);
        return false;
    }
    if (status != SLUICE_OK) {
        gpu_die("%s", text);
    }
    return true;
}

/* The library that sluice has already opened. */
void gpu_symbol(const char *name, void *place)
{
    const char *given = getenv("SLUICE_CUDA_DRIVER");
    void *library = dlopen(given != NULL ? given : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *found = library != NULL ? dlsym(library, name) : NULL;
    if (found == NULL) {
        gpu_die("the CUDA driver has no %s", name);
    }
    memcpy(place, &found, sizeof(found));
}

static void load_kernels(gpu *g)
{
    static const char *const names[GPU_KERNELS] = {"gpu_spin", "gpu_checksum", "gpu_write"};
    GPU_MUST(g, module_load, &g->module, gpu_kernels_ptx);
    for (int i = 0; i < GPU_KERNELS; i++) {
        GPU_MUST(g, module_function, &g->kernels[i], g->module, names[i]);
        if (g->cu->function_load != NULL) {
            GPU_MUST(g, function_load, g->kernels[i]);
        }
    }
}

void gpu_open(gpu *g)
{
    sluice_error error;
    sl_error_clear(&error);
    if (!gpu_is_there()) {
        exit(EXIT_SKIP);
    }
    memset(g, 0, sizeof(*g));
    if (sl_device_open(&g->device, "cuda:0", &error) != SLUICE_OK) {
        gpu_die("%s", error.text);
    }
    g->cu = sl_cuda_driver_get(NULL);
#define FIND(field, symbol, parameters) gpu_symbol(#symbol, &g->field);
    GPU_EXTRA(FIND)
#undef FIND
    GPU_MUST(g, context_retain, &g->context, 0);
    GPU_DO(g, set_current, g->context);
    GPU_MUST(g, stream_create, &g->stream, SL_CU_STREAM_NON_BLOCKING, 0);
    load_kernels(g);
}

void gpu_close(gpu *g)
{
    GPU_MUST(g, stream_synchronize, g->stream);
    GPU_MUST(g, stream_destroy, g->stream);
    GPU_MUST(g, module_unload, g->module);
    sl_device_close(g->device);
    GPU_MUST(g, context_release, 0);
}

/* ---- memory ---- */

sl_cu_address gpu_alloc(const gpu *g, size_t bytes)
{
    sl_cu_address memory = 0;
    GPU_MUST(g, memory_alloc, &memory, bytes);
    return memory;
}

void gpu_free(const gpu *g, sl_cu_address memory)
{
    GPU_MUST(g, memory_free, memory);
}

void gpu_wait(const gpu *g)
{
    GPU_MUST(g, stream_synchronize, g->stream);
}

void gpu_upload(const gpu *g, sl_cu_address to, const void *from, size_t bytes)
{
    GPU_MUST(g, copy_to_device, to, from, bytes, g->stream);
    gpu_wait(g);
}

void gpu_download(const gpu *g, void *to, sl_cu_address from, size_t bytes)
{
    GPU_DO(g, copy_to_host, to, from, bytes, g->stream);
    gpu_wait(g);
}

/* ---- kernels ---- */

static void launch(const gpu *g, gpu_kernel kernel, unsigned blocks, unsigned threads,
                   void **parameters)
{
    GPU_MUST(g, launch, g->kernels[kernel], blocks, 1, 1, threads, 1, 1, 0, g->stream, parameters,
             NULL);
}

void gpu_spin(const gpu *g, uint64_t ns)
{
    void *parameters[] = {&ns};
    launch(g, GPU_SPIN, 1, 1, parameters);
}

void gpu_warm_up(const gpu *g)
{
    uint64_t ns = 300000000;
    void *parameters[] = {&ns};
    GPU_MUST(g, launch, g->kernels[GPU_SPIN], 1024, 1, 1, 256, 1, 1, 0, g->stream, parameters,
             NULL);
    gpu_wait(g);
}

void gpu_checksum(const gpu *g, const void *words, uint32_t count, uint64_t spin_ns,
                  sl_cu_address sum)
{
    sl_cu_address address = (sl_cu_address)(uintptr_t)words;
    void *parameters[] = {&address, &count, &spin_ns, &sum};
    launch(g, GPU_CHECKSUM, 8, 256, parameters);
}

void gpu_write(const gpu *g, sl_cu_address address)
{
    void *parameters[] = {&address};
    launch(g, GPU_WRITE, 1, 1, parameters);
}

uint32_t gpu_checksum_expected(const uint32_t *words, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += words[i] * (2 * i + 1);
    }
    return sum;
}

/* ---- time ---- */

void gpu_timer_open(const gpu *g, gpu_timer *timer)
{
    GPU_MUST(g, event_create, &timer->begin, 0);
    GPU_MUST(g, event_create, &timer->end, 0);
}

void gpu_timer_close(const gpu *g, const gpu_timer *timer)
{
    GPU_MUST(g, event_destroy, timer->begin);
    GPU_MUST(g, event_destroy, timer->end);
}

void gpu_timer_begin(const gpu *g, const gpu_timer *timer)
{
    GPU_MUST(g, event_record, timer->begin, g->stream);
}

double gpu_timer_end(const gpu *g, const gpu_timer *timer)
{
    float ms = 0;
    GPU_MUST(g, event_record, timer->end, g->stream);
    GPU_MUST(g, event_synchronize, timer->end);
    GPU_MUST(g, event_elapsed, &ms, timer->begin, timer->end);
    return (double)ms * 1e-3;
}
