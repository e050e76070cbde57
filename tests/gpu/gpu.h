/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu: what the checks of this folder share: a CUDA device, driver functions beyond the library's
 * own, kernels, and how results are told.
 *
 * Each check is a program of one main thread. It prints `figure NAME VALUE UNIT` for everything
 * that it measured and `FAIL: reason` for everything that is not as it should be; scripts/gpu-check
 * reads both. Exit code 77, with a reason: there is no GPU. A failed driver call ends the program.
 */
#ifndef GPU_H
#define GPU_H

#include "cuda_driver.h"
#include "device.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(field, symbol, parameters): what tests need and the library does not. */
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
    GPU_WRITE,    /* (u64 address): stores to it, whatever it is */
    GPU_KERNELS
} gpu_kernel;

typedef struct gpu {
    sl_device *device; /* cuda:0, as the library has it */
    const sl_cuda_driver *cu;
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name and a list, not values. */
#define GPU_FIELD(field, symbol, parameters) sl_cu_result(*field) parameters;
    GPU_EXTRA(GPU_FIELD)
#undef GPU_FIELD
    sl_cu_context context; /* the primary one, current in the opening thread */
    sl_cu_stream stream;
    sl_cu_module module;
    sl_cu_function kernels[GPU_KERNELS];
} gpu;

/* Opens cuda:0. Ends the program with 77 and the reason when there is none. */
void gpu_open(gpu *g);
void gpu_close(gpu *g);
/* Whether cuda:0 can be used; if not, says why. */
bool gpu_is_there(void);
/* Another function of the driver; `place` is of a pointer to it. */
void gpu_symbol(const char *name, void *place);
/* Ends the program when `code` is not 0. */
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
/* What GPU_CHECKSUM adds. */
uint32_t gpu_checksum_expected(const uint32_t *words, uint32_t count);

/* Times work on g->stream: between begin and end is what was queued there. Seconds. */
typedef struct gpu_timer {
    sl_cu_event begin, end;
} gpu_timer;
void gpu_timer_open(const gpu *g, gpu_timer *timer);
void gpu_timer_close(const gpu *g, const gpu_timer *timer);
void gpu_timer_begin(const gpu *g, const gpu_timer *timer);
double gpu_timer_end(const gpu *g, const gpu_timer *timer);

/* ---- results ---- */

void gpu_figure(const char *name, double value, const char *unit);
/* Prints a FAIL line, and remembers it, unless it holds. */
__attribute__((format(printf, 2, 3))) void gpu_expect(bool holds, const char *format, ...);
/* 0, or 1 when something did not hold. */
int gpu_result(void);
__attribute__((format(printf, 1, 2))) _Noreturn void gpu_die(const char *format, ...);

/* A generator of numbers that is enough for tests. */
uint64_t gpu_random(uint64_t *state);

#endif
