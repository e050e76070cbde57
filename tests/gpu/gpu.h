/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu: shared by the checks of this folder: a CUDA device, driver functions beyond the library's
 * own, kernels, and the reporting of results.
 *
 * Each check is a program with one main thread. It prints `figure NAME VALUE UNIT` for each
 * measurement and `FAIL: reason` for each failed check; scripts/gpu-check reads both. Exit code 77,
 * with a reason: no GPU. A failed driver call ends the program.
 */
#ifndef GPU_H
#define GPU_H

#include "cuda_driver.h"
#include "device.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(field, symbol, parameters): driver functions that only tests need. */
#define GPU_EXTRA(X)                                                             \
    X(set_current, cuCtxSetCurrent, (sl_cu_context context))                     \
    X(copy_to_host, cuMemcpyDtoHAsync_v2,                                        \
      (void *to, sl_cu_address from, size_t bytes, sl_cu_stream stream))         \
    X(copy_on_device, cuMemcpyDtoDAsync_v2,                                      \
      (sl_cu_address to, sl_cu_address from, size_t bytes, sl_cu_stream stream)) \
    X(fill, cuMemsetD8Async,                                                     \
      (sl_cu_address memory, unsigned char value, size_t bytes, sl_cu_stream stream))

typedef enum gpu_kernel {
    GPU_SPIN,     /* (u64 ns) */
    GPU_CHECKSUM, /* (u64 words, u32 count, u64 spin_ns, u64 sum): spins, then adds word i x (2i+1)
                   */
    GPU_WRITE,    /* (u64 address): stores to it, valid or not */
    GPU_KERNELS
} gpu_kernel;

typedef struct gpu {
    sl_device *device; /* cuda:0 as the library opens it */
    const sl_cuda_driver *cu;
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name and a list, not values. */
#define GPU_FIELD(field, symbol, parameters) sl_cu_result(*field) parameters;
    GPU_EXTRA(GPU_FIELD)
#undef GPU_FIELD
    sl_cu_context context; /* the primary context, current in the opening thread */
    sl_cu_stream stream;
    sl_cu_module module;
    sl_cu_function kernels[GPU_KERNELS];
} gpu;

/* Opens cuda:0. Without a GPU, ends the program with 77 and the reason. */
void gpu_open(gpu *g);
void gpu_close(gpu *g);
/* True if cuda:0 can be used; otherwise prints the reason. */
bool gpu_is_there(void);
/* Looks up another driver function; `place` points to a function pointer. */
void gpu_symbol(const char *name, void *place);
/* Ends the program if `code` is not 0. */
void gpu_must(const gpu *g, const char *call, sl_cu_result code);
#define GPU_MUST(g, field, ...) gpu_must((g), #field, (g)->cu->field(__VA_ARGS__))
#define GPU_DO(g, field, ...)   gpu_must((g), #field, (g)->field(__VA_ARGS__))

sl_cu_address gpu_alloc(const gpu *g, size_t bytes);
void gpu_free(const gpu *g, sl_cu_address memory);
/* Copies and waits. */
void gpu_upload(const gpu *g, sl_cu_address to, const void *from, size_t bytes);
void gpu_download(const gpu *g, void *to, sl_cu_address from, size_t bytes);
void gpu_wait(const gpu *g);

void gpu_spin(const gpu *g, uint64_t ns);
/* Keeps the whole device busy for 300 ms, so that its clocks are up before anything is timed. */
void gpu_warm_up(const gpu *g);
void gpu_checksum(const gpu *g, const void *words, uint32_t count, uint64_t spin_ns,
                  sl_cu_address sum);
void gpu_write(const gpu *g, sl_cu_address address);
/* Returns the sum that GPU_CHECKSUM adds. */
uint32_t gpu_checksum_expected(const uint32_t *words, uint32_t count);

/* Times the work queued on g->stream between begin and end. Returns seconds. */
typedef struct gpu_timer {
    sl_cu_event begin, end;
} gpu_timer;
void gpu_timer_open(const gpu *g, gpu_timer *timer);
void gpu_timer_close(const gpu *g, const gpu_timer *timer);
void gpu_timer_begin(const gpu *g, const gpu_timer *timer);
double gpu_timer_end(const gpu *g, const gpu_timer *timer);

/* ---- results ---- */

void gpu_figure(const char *name, double value, const char *unit);
/* Unless the condition holds, prints a FAIL line and remembers the failure. */
__attribute__((format(printf, 2, 3))) void gpu_expect(bool holds, const char *format, ...);
/* Returns 0, or 1 if a check failed. */
int gpu_result(void);
__attribute__((format(printf, 1, 2))) _Noreturn void gpu_die(const char *format, ...);

/* A random generator that is good enough for tests. */
uint64_t gpu_random(uint64_t *state);

#endif
