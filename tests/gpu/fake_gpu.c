/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_gpu: extends the fake driver (tests/support/fake_cuda.h) for the checks of this folder and
 * examples/cuda_training.c: kernels known by name, copies on the device, graphs of one kernel.
 * These programs then run without a GPU, but cannot show a chip's behaviour. Kernels work on host
 * memory, in the order of their stream, after the fake's own checks.
 *
 * The build renames the fake's functions that this file replaces: fake_cuLaunchKernel is the
 * fake's, cuLaunchKernel is this file's.
 */
#include "cuda_driver.h"
#include "fake_cuda.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARAMETERS = 7, ILLEGAL_ADDRESS = 700 };

#define EXPORT __attribute__((visibility("default")))
/* A device address, as a pointer. */
#define AT(address) ((void *)(uintptr_t)(address)) /* NOLINT(performance-no-int-to-ptr) */

/* A unit of work: a kernel with its parameters, or a copy. */
typedef struct work {
    const struct kernel *kernel;
    uint64_t parameters[PARAMETERS];
    uint32_t rows;
    void *memory[PARAMETERS]; /* host memory of the leading pointers */
    struct work *next;
} work;

typedef struct kernel {
    const char *name;
    uint8_t bytes[PARAMETERS]; /* of each parameter */
    void (*run)(const work *w);
    /* The memory that the kernel reads, from two of its parameters: a count and the bytes per
     * unit. */
    fake_cuda_reader (*reads)(const work *w);
} kernel;

static void sleep_ns(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&time, NULL);
}

/* ---- kernels ---- */

static void run_spin(const work *w)
{
    sleep_ns(w->parameters[0]);
}

static fake_cuda_reader reads_nothing(const work *w)
{
    (void)w;
    return (fake_cuda_reader){.from = {NULL, NULL}};
}

static void run_checksum(const work *w)
{
    uint32_t sum = 0;
    const uint32_t *words = w->memory[0];
    sleep_ns(w->parameters[2]);
    for (uint32_t i = 0; i < (uint32_t)w->parameters[1]; i++) {
        sum += words[i] * (2 * i + 1);
    }
    *(uint32_t *)w->memory[3] += sum;
}

static fake_cuda_reader reads_words(const work *w)
{
    return (fake_cuda_reader){.from = {AT(w->parameters[0])}, .bytes = {w->parameters[1] * 4}};
}

static void run_write(const work *w)
{
    if (w->memory[0] == NULL) {
        fake_cuda_get_control()->lose(ILLEGAL_ADDRESS);
    } else {
        *(uint32_t *)w->memory[0] = 1;
    }
}

static float from_half(uint16_t half)
{
    const int exponent = half >> 10 & 31;
    const float fraction = (float)(half & 1023);
    const float size =
        exponent == 0 ? ldexpf(fraction, -24) : ldexpf(fraction + 1024, exponent - 25);
    return (half & 0x8000) != 0 ? -size : size;
}

static void run_class_means(const work *w)
{
    const uint32_t values = (uint32_t)w->parameters[4];
    for (uint32_t row = 0; row < w->rows; row++) {
        const int64_t label = ((const int64_t *)w->memory[1])[row];
        const uint16_t *image = (const uint16_t *)w->memory[0] + (size_t)row * values;
        double sum = 0;
        for (uint32_t i = 0; i < values; i++) {
            sum += (double)from_half(image[i]);
        }
        if (label >= 0 && (uint64_t)label < w->parameters[5]) {
            ((float *)w->memory[2])[label] += (float)(sum / values);
            ((uint32_t *)w->memory[3])[label]++;
        }
    }
}

static fake_cuda_reader reads_batch(const work *w)
{
    return (fake_cuda_reader){.from = {AT(w->parameters[0]), AT(w->parameters[1])},
                              .bytes = {w->parameters[4] * w->rows * 2, (size_t)w->rows * 8}};
}

static void run_copy(const work *w)
{
    memcpy(w->memory[0], w->memory[1], w->parameters[2]);
}

static fake_cuda_reader reads_source(const work *w)
{
    return (fake_cuda_reader){.from = {AT(w->parameters[1])}, .bytes = {w->parameters[2]}};
}

static void run_fill(const work *w)
{
    memset(w->memory[0], (int)w->parameters[1], w->parameters[2]);
}

static const kernel kernels[] = {
    {"gpu_spin", {8}, run_spin, reads_nothing},
    {"gpu_checksum", {8, 4, 8, 8}, run_checksum, reads_words},
    {"sluice_step_spin", {8}, run_spin, reads_nothing}, /* of sluice bench */
    {"gpu_write", {8}, run_write, reads_nothing},
    {"gpu_lazy", {8}, run_write, reads_nothing},
    {"class_means", {8, 8, 8, 8, 4, 4, 4}, run_class_means, reads_batch},
};
static const kernel copying = {"copy", {0}, run_copy, reads_source};
static const kernel filling = {"fill", {0}, run_fill, reads_nothing};

/* ---- work for streams ---- */

/* All work ever given: the fake skips work in the wrong order, so nothing else could free it. */
static _Atomic(work *) given;

static void run_work(void *ctx)
{
    const work *w = ctx;
    w->kernel->run(w);
}

static void keep(work *w)
{
    w->next = atomic_load_explicit(&given, memory_order_relaxed);
    /* Relaxed: nothing is read through the pointer. */
    while (!atomic_compare_exchange_weak_explicit(&given, &w->next, w, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

/* Gives a copy of the work to the stream. */
static sl_cu_result give(sl_cu_stream stream, const work *w)
{
    const fake_cuda_control *control = fake_cuda_get_control();
    work *own = malloc(sizeof(*own));
    if (own == NULL) {
        return SL_CU_OUT_OF_MEMORY;
    }
    *own = *w;
    keep(own);
    for (int i = 0; i < PARAMETERS; i++) {
        if (own->memory[i] == NULL) {
            own->memory[i] = control->memory(AT(own->parameters[i]));
        }
    }
    fake_cuda_reader reader = own->kernel->reads(own);
    reader.run = run_work;
    reader.ctx = own;
    control->launch(stream, &reader);
    return SL_CU_SUCCESS;
}

/* NOLINTBEGIN(readability-identifier-naming): the driver's own names */

/* ---- graphs: of the one stream that is being captured ---- */

typedef struct graph {
    work work;
    bool filled;
} graph;

static sl_cu_stream capturing;
static graph captured;

enum { CAPTURE_GLOBAL, CAPTURE_INVALIDATED = 901 };

EXPORT sl_cu_result cuStreamBeginCapture_v2(sl_cu_stream stream, int mode);
EXPORT sl_cu_result cuStreamEndCapture(sl_cu_stream stream, graph **made);
EXPORT sl_cu_result cuGraphInstantiateWithFlags(graph **made, graph *from,
                                                unsigned long long flags);
EXPORT sl_cu_result cuGraphLaunch(const graph *made, sl_cu_stream stream);
EXPORT sl_cu_result cuGraphDestroy(graph *made);
EXPORT sl_cu_result cuGraphExecDestroy(graph *made);

sl_cu_result cuStreamBeginCapture_v2(sl_cu_stream stream, int mode)
{
    capturing = stream;
    captured.filled = false;
    fake_cuda_get_control()->capture(stream, true);
    (void)fake_cuda_get_control()->forbid_unsafe(mode == CAPTURE_GLOBAL);
    return SL_CU_SUCCESS;
}

static graph *copy_graph(const graph *from)
{
    graph *made = malloc(sizeof(*made));
    if (made != NULL) {
        *made = *from;
    }
    return made;
}

sl_cu_result cuStreamEndCapture(sl_cu_stream stream, graph **made)
{
    fake_cuda_get_control()->capture(stream, false);
    capturing = NULL;
    *made = NULL;
    if (!fake_cuda_get_control()->forbid_unsafe(false)) {
        return CAPTURE_INVALIDATED;
    }
    *made = copy_graph(&captured);
    return *made != NULL ? SL_CU_SUCCESS : SL_CU_OUT_OF_MEMORY;
}

sl_cu_result cuGraphInstantiateWithFlags(graph **made, graph *from, unsigned long long flags)
{
    (void)flags;
    *made = copy_graph(from);
    return *made != NULL ? SL_CU_SUCCESS : SL_CU_OUT_OF_MEMORY;
}

sl_cu_result cuGraphLaunch(const graph *made, sl_cu_stream stream)
{
    return made->filled ? give(stream, &made->work) : SL_CU_SUCCESS;
}

sl_cu_result cuGraphDestroy(graph *made)
{
    free(made);
    return SL_CU_SUCCESS;
}

sl_cu_result cuGraphExecDestroy(graph *made)
{
    return cuGraphDestroy(made);
}

/* ---- modules: PTX is ours, anything else the fake's ---- */

/* True if kernels were loaded since the last launch: the next launch will take long. */
static atomic_bool loaded;
static uint32_t first_launch_us;

static bool is_ours(const void *handle)
{
    const kernel *k = handle;
    return handle == kernels || (k >= kernels && k < kernels + sizeof(kernels) / sizeof(*kernels));
}

EXPORT sl_cu_result cuModuleLoadData(sl_cu_module *module, const void *image);
EXPORT sl_cu_result cuModuleUnload(sl_cu_module module);
EXPORT sl_cu_result cuModuleGetFunction(sl_cu_function *function, sl_cu_module module,
                                        const char *name);
EXPORT sl_cu_result cuFuncLoad(sl_cu_function function);
/* NOLINTNEXTLINE(readability-function-size): as many parameters as the driver has */
EXPORT sl_cu_result cuLaunchKernel(sl_cu_function function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared_bytes, sl_cu_stream stream,
                                   void **parameters, void **extra);

/* The fake's functions. */
sl_cu_result fake_cuModuleLoadData(sl_cu_module *module, const void *image);
sl_cu_result fake_cuModuleUnload(sl_cu_module module);
sl_cu_result fake_cuModuleGetFunction(sl_cu_function *function, sl_cu_module module,
                                      const char *name);
sl_cu_result fake_cuFuncLoad(sl_cu_function function);
sl_cu_result fake_cuLaunchKernel(sl_cu_function function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, sl_cu_stream stream,
                                 void **parameters, void **extra);

sl_cu_result cuModuleLoadData(sl_cu_module *module, const void *image)
{
    if (strncmp(image, ".version 99", 11) == 0) {
        return SL_CU_UNSUPPORTED_PTX_VERSION;
    }
    if (strncmp(image, ".version", 8) == 0) {
        /* Relaxed: nothing else depends on it. */
        atomic_store_explicit(&loaded, true, memory_order_relaxed);
        *module = (sl_cu_module)AT(kernels); /* a handle, never dereferenced */
        return SL_CU_SUCCESS;
    }
    return fake_cuModuleLoadData(module, image);
}

sl_cu_result cuModuleUnload(sl_cu_module module)
{
    return is_ours(module) ? SL_CU_SUCCESS : fake_cuModuleUnload(module);
}

sl_cu_result cuModuleGetFunction(sl_cu_function *function, sl_cu_module module, const char *name)
{
    if (!is_ours(module)) {
        return fake_cuModuleGetFunction(function, module, name);
    }
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if (strcmp(name, kernels[i].name) == 0) {
            *function = (sl_cu_function)AT(&kernels[i]);
            return SL_CU_SUCCESS;
        }
    }
    return SL_CU_INVALID_VALUE;
}

sl_cu_result cuFuncLoad(sl_cu_function function)
{
    return is_ours(function) ? SL_CU_SUCCESS : fake_cuFuncLoad(function);
}

/* NOLINTNEXTLINE(readability-function-size) */
sl_cu_result cuLaunchKernel(sl_cu_function function, unsigned grid_x, unsigned grid_y,
                            unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                            unsigned shared_bytes, sl_cu_stream stream, void **parameters,
                            void **extra)
{
    if (!is_ours(function)) {
        return fake_cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                   shared_bytes, stream, parameters, extra);
    }
    work w = {.kernel = (const kernel *)(const void *)function, .rows = grid_x};
    for (int i = 0; i < PARAMETERS && w.kernel->bytes[i] != 0; i++) {
        memcpy(&w.parameters[i], parameters[i], w.kernel->bytes[i]);
    }
    if (atomic_exchange_explicit(&loaded, false, memory_order_relaxed) && first_launch_us > 0) {
        fake_cuda_get_control()->hold_context(first_launch_us);
    }
    if (stream == capturing && stream != NULL) {
        captured = (graph){w, true};
        return SL_CU_SUCCESS;
    }
    return give(stream, &w);
}

/* ---- the rest ---- */

EXPORT sl_cu_result cuCtxSetCurrent(sl_cu_context context);
EXPORT sl_cu_result cuMemcpyDtoDAsync_v2(sl_cu_address to, sl_cu_address from, size_t bytes,
                                         sl_cu_stream stream);
EXPORT sl_cu_result cuMemsetD8Async(sl_cu_address memory, unsigned char value, size_t bytes,
                                    sl_cu_stream stream);
sl_cu_result cuCtxPushCurrent_v2(sl_cu_context context);

sl_cu_result cuCtxSetCurrent(sl_cu_context context)
{
    return cuCtxPushCurrent_v2(context);
}

sl_cu_result cuMemcpyDtoDAsync_v2(sl_cu_address to, sl_cu_address from, size_t bytes,
                                  sl_cu_stream stream)
{
    const work w = {.kernel = &copying, .parameters = {to, from, bytes}, .rows = 1};
    return give(stream, &w);
}

sl_cu_result cuMemsetD8Async(sl_cu_address memory, unsigned char value, size_t bytes,
                             sl_cu_stream stream)
{
    const work w = {.kernel = &filling, .parameters = {memory, value, bytes}, .rows = 1};
    return give(stream, &w);
}

/* NOLINTEND(readability-identifier-naming) */

static uint32_t number_of(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/* SLUICE_FAKE_DELAY_US: maximum random delay of a unit of work. SLUICE_FAKE_FIRST_LAUNCH_US: how
 * long the first launch after loading kernels holds the context. */
__attribute__((constructor)) static void begin(void)
{
    const fake_cuda_options options = {
        .seed = 1,
        .pageable = true,
        .delay_us = number_of("SLUICE_FAKE_DELAY_US"),
        .one_queue = number_of("CUDA_DEVICE_MAX_CONNECTIONS") == 1,
    };
    first_launch_us = number_of("SLUICE_FAKE_FIRST_LAUNCH_US");
    fake_cuda_get_control()->set(&options);
}
