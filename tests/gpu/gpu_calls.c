/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_calls [--held-ms N]: measures the copier's driver calls while another thread of the program
 * loads kernels and launches them for the first time. The driver loads a kernel lazily, at its
 * first launch, and may hold the context meanwhile: every call of the loader would wait, and an
 * empty ring is idle time that no statistic accounts for.
 *
 * Batches run through staging at full speed, converted if the device can; a layer between the
 * library and the driver times the copier's calls. The results have no limit, since the driver's
 * times are not under our control. --held-ms means that the driver holds the context for N ms at a
 * first launch, as the fake can: then a call must take that long while kernels are loaded, and none
 * otherwise. Kernels are loaded until such a call was seen: if conversions are slow, the copier
 * mostly waits for them and makes no calls.
 */
#include "clock.h"
#include "gpu.h"
#include "staging.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 16, ROWS = 4, CALLS_MAX = 1 << 20, LAPS = 32, LAPS_MAX = 640, LINES = 4000 };

#define MS UINT64_C(1000000)

/* ---- the copier's calls ---- */

typedef enum phase { QUIET, LOADING, PHASES } phase;

typedef struct calls {
    uint64_t count; /* may exceed the capacity */
    uint32_t *ns;
} calls;

static calls made[PHASES]; /* written by the copier; read after joining it */
/* Odd while kernels are loaded. Relaxed: a call may miss an edge by a little. */
static atomic_uint edges;
static uint64_t held_ns; /* set before threads start */
/* True if a call took half of that: it may begin when part of the time has passed. Relaxed. */
static atomic_bool held_seen;
static _Thread_local bool is_copier;
static sl_cuda_driver timed;
static const sl_cuda_driver *real;

const sl_cuda_driver *__real_sl_cuda_driver_get(sluice_error *error);
const sl_cuda_driver *__wrap_sl_cuda_driver_get(sluice_error *error);

static unsigned edges_so_far(void)
{
    return atomic_load_explicit(&edges, memory_order_relaxed);
}

static void edge(void)
{
    atomic_fetch_add_explicit(&edges, 1, memory_order_relaxed);
}

/* A call delayed until the loading ended counts as during it. */
static void note(uint64_t begin, unsigned at_begin)
{
    if (!is_copier) {
        return;
    }
    const uint64_t ns = sl_now_ns() - begin;
    const bool loading = at_begin % 2 == 1 || edges_so_far() != at_begin;
    calls *c = &made[loading ? LOADING : QUIET];
    if (loading && ns >= held_ns / 2) {
        atomic_store_explicit(&held_seen, true, memory_order_relaxed);
    }
    if (c->count < CALLS_MAX) {
        c->ns[c->count] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
    }
    c->count++;
}

#define TIMED(field, parameters, arguments)              \
    static sl_cu_result field parameters                 \
    {                                                    \
        const unsigned at_begin = edges_so_far();        \
        const uint64_t begin = sl_now_ns();              \
        const sl_cu_result code = real->field arguments; \
        note(begin, at_begin);                           \
        return code;                                     \
    }

TIMED(capture_mode, (unsigned *mode), (mode))
TIMED(context_push, (sl_cu_context context), (context))
TIMED(context_pop, (sl_cu_context * context), (context))
TIMED(stream_is_capturing, (sl_cu_stream stream, unsigned *status), (stream, status))
TIMED(event_record, (sl_cu_event event, sl_cu_stream stream), (event, stream))
TIMED(stream_wait_event, (sl_cu_stream stream, sl_cu_event event, unsigned flags),
      (stream, event, flags))
/* NOLINTNEXTLINE(readability-function-size): as many parameters as the driver has */
TIMED(launch,
      (sl_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
       unsigned block_y, unsigned block_z, unsigned shared_bytes, sl_cu_stream stream,
       void **parameters, void **extra),
      (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
       parameters, extra))

static sl_cu_result copy_to_device(sl_cu_address to, const void *from, size_t bytes,
                                   sl_cu_stream stream)
{
    is_copier = true; /* only the copier copies */
    const unsigned at_begin = edges_so_far();
    const uint64_t begin = sl_now_ns();
    const sl_cu_result code = real->copy_to_device(to, from, bytes, stream);
    note(begin, at_begin);
    return code;
}

const sl_cuda_driver *__wrap_sl_cuda_driver_get(sluice_error *error)
{
    const sl_cuda_driver *driver = __real_sl_cuda_driver_get(error);
    if (driver == NULL) {
        return NULL;
    }
    if (real == NULL) { /* main makes the first call, before threads start */
        timed = *driver;
        timed.capture_mode = capture_mode;
        timed.context_push = context_push;
        timed.context_pop = context_pop;
        timed.stream_is_capturing = stream_is_capturing;
        timed.copy_to_device = copy_to_device;
        timed.event_record = event_record;
        timed.stream_wait_event = stream_wait_event;
        timed.launch = launch;
        real = driver;
    }
    return &timed;
}

/* ---- the program's other thread: kernels that it loads and launches ---- */

typedef struct loading {
    gpu *g;
    sl_cu_stream stream;
    sl_cu_address to;
    sl_cu_module modules[LAPS_MAX];
    uint64_t load_ns, launch_ns; /* the longest of each */
    atomic_bool done;            /* release: all of the above; main's load acquires it */
} loading;

/* A kernel of LINES instructions, different for each number: none is in a cache. */
static char *make_ptx(unsigned number)
{
    static const char head[] =
        ".version 7.0\n.target sm_75\n.address_size 64\n"
        ".visible .entry gpu_lazy(.param .u64 to)\n{\n"
        "  .reg .b64 %to; .reg .b32 %n; .reg .f32 %f, %a;\n"
        "  ld.param.u64 %to, [to];\n  ld.global.u32 %n, [%to];\n  cvt.rn.f32.u32 %f, %n;\n";
    static const char tail[] = "  cvt.rzi.u32.f32 %n, %f;\n  st.global.u32 [%to], %n;\n  ret;\n}\n";
    enum { LINE = 40 };
    const size_t capacity = sizeof(head) + sizeof(tail) + (size_t)(LINES + 1) * LINE;
    char *text = malloc(capacity);
    if (text == NULL) {
        gpu_die("out of memory");
    }
    size_t at = (size_t)snprintf(text, capacity, "%s  mov.f32 %%a, 0f3F%06X;\n", head, number + 1);
    for (unsigned i = 0; i < LINES; i++) {
        at += (size_t)snprintf(text + at, capacity - at, "  fma.rn.f32 %%f, %%f, %%a, %%%c;\n",
                               i % 2 == 0 ? 'f' : 'a');
    }
    snprintf(text + at, capacity - at, "%s", tail);
    return text;
}

static void keep_longest(uint64_t *longest, uint64_t begin)
{
    const uint64_t ns = sl_now_ns() - begin;
    *longest = ns > *longest ? ns : *longest;
}

static void load_one(loading *l, unsigned number)
{
    const sl_cuda_driver *cu = real;
    sl_cu_function kernel = NULL;
    char *ptx = make_ptx(number);
    void *parameters[] = {&l->to};
    edge();
    const uint64_t begin = sl_now_ns();
    gpu_must(l->g, "cuModuleLoadData", cu->module_load(&l->modules[number], ptx));
    keep_longest(&l->load_ns, begin);
    gpu_must(l->g, "cuModuleGetFunction",
             cu->module_function(&kernel, l->modules[number], "gpu_lazy"));
    const uint64_t loaded = sl_now_ns();
    gpu_must(l->g, "cuLaunchKernel",
             cu->launch(kernel, 1, 1, 1, 1, 1, 1, 0, l->stream, parameters, NULL));
    keep_longest(&l->launch_ns, loaded);
    gpu_must(l->g, "cuStreamSynchronize", cu->stream_synchronize(l->stream));
    edge();
    free(ptx);
}

static void *load_all(void *ctx)
{
    loading *l = ctx;
    GPU_DO(l->g, set_current, l->g->context);
    for (unsigned i = 0; i < LAPS || (held_ns > 0 && i < LAPS_MAX &&
                                      !atomic_load_explicit(&held_seen, memory_order_relaxed));
         i++) {
        sl_sleep_until_ns(sl_now_ns() + 50 * MS); /* calls without loading */
        load_one(l, i);
    }
    atomic_store_explicit(&l->done, true, memory_order_release);
    return NULL;
}

/* ---- batches, as fast as they go ---- */

enum { PART_IMAGE, PART_FLAGS, PARTS };

static sl_staging *open_staging(const gpu *g)
{
    static const sl_part parts[PARTS] = {
        [PART_IMAGE] = {.name = "image", .row_bytes = UINT64_C(3) * SIDE * SIDE, .converted = true},
        [PART_FLAGS] = {.name = "flags", .row_bytes = 1, .role = SL_PART_HIDDEN},
    };
    static const sl_staging_conversion conversion = {
        .how = {.dtype = SLUICE_F16,
                .layout = SLUICE_NCHW,
                .width = SIDE,
                .height = SIDE,
                .scale = {0.01f, 0.01f, 0.01f}},
        .part = PART_IMAGE,
        .flags = PART_FLAGS,
    };
    const sl_staging_config config = {.host_slots = 4,
                                      .device_slots = 3,
                                      .batch = ROWS,
                                      .parts = parts,
                                      .part_count = PARTS,
                                      .conversions = &conversion,
                                      .conversion_count = g->device->converts ? 1 : 0};
    sluice_error error = SLUICE_ERROR_INIT;
    sl_device *device = NULL;
    sl_staging *staging = NULL;
    if (sl_device_open(&device, "cuda:0", &error) != SLUICE_OK ||
        sl_staging_open(&staging, device, &config, &error) != SLUICE_OK) {
        gpu_die("%s", error.text);
    }
    return staging;
}

/* The slots are never filled and the batches never read. */
static uint64_t run(const gpu *g, sl_staging *staging, const atomic_bool *done)
{
    uint64_t begun = 0;
    uint64_t taken = 0;
    while (!atomic_load_explicit(done, memory_order_acquire) || taken < begun) {
        uint32_t slot;
        sl_part_view arrays;
        const sl_batch_facts facts = {.step = begun, .rows = ROWS};
        while (!atomic_load_explicit(done, memory_order_acquire) &&
               sl_staging_begin(staging, &facts, &slot, &arrays) == SLUICE_OK) {
            sl_staging_filled(staging, slot, NULL);
            begun++;
        }
        sluice_batch *batch = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        const sluice_status status = sl_staging_next(staging, 200000, &batch, &error);
        if (status == SLUICE_AGAIN) {
            continue;
        }
        if (status != SLUICE_OK || sl_staging_wait(batch, g->stream) != SLUICE_OK ||
            sl_staging_release(batch, true, g->stream) != SLUICE_OK) {
            gpu_die("a batch did not come through staging: %s", error.text);
        }
        taken++;
    }
    return taken;
}

/* ---- results ---- */

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the values. Returns the one that a fraction `share` of them is below, in ns. */
static uint32_t quantile(const calls *c, double share)
{
    const size_t count = c->count < CALLS_MAX ? c->count : CALLS_MAX;
    qsort(c->ns, count, sizeof(*c->ns), ascending);
    return count > 0 ? c->ns[(size_t)((double)(count - 1) * share)] : 0;
}

static void judge(const loading *l)
{
    gpu_figure("copier_calls_quiet", (double)made[QUIET].count, "calls");
    gpu_figure("copier_calls_quiet_p99", quantile(&made[QUIET], 0.99) * 1e-3, "us");
    gpu_figure("copier_calls_quiet_max", quantile(&made[QUIET], 1) * 1e-3, "us");
    gpu_figure("copier_calls_loading", (double)made[LOADING].count, "calls");
    gpu_figure("copier_calls_loading_p99", quantile(&made[LOADING], 0.99) * 1e-3, "us");
    gpu_figure("copier_calls_loading_max", quantile(&made[LOADING], 1) * 1e-3, "us");
    gpu_figure("lazy_module_load_max", (double)l->load_ns * 1e-6, "ms");
    gpu_figure("lazy_first_launch_max", (double)l->launch_ns * 1e-6, "ms");
    gpu_expect(made[QUIET].count > 0, "the copier made no calls");
    gpu_expect(held_ns == 0 || atomic_load_explicit(&held_seen, memory_order_relaxed),
               "the context was held for %llu ms, and no call of the copier's was long",
               (unsigned long long)(held_ns / MS));
    gpu_expect(held_ns == 0 || quantile(&made[QUIET], 0.99) < held_ns,
               "the copier's calls are as long when no kernel is loaded");
}

int main(int argc, char **argv)
{
    gpu g;
    loading l = {.g = &g};
    pthread_t thread;
    const bool held = argc == 3 && strcmp(argv[1], "--held-ms") == 0;
    if (argc != 1 && !held) {
        fprintf(stderr, "usage: gpu_calls [--held-ms N]\n");
        return 2;
    }
    for (int i = 0; i < PHASES; i++) {
        made[i].ns = malloc(CALLS_MAX * sizeof(*made[i].ns));
        if (made[i].ns == NULL) {
            gpu_die("out of memory");
        }
    }
    held_ns = held ? strtoull(argv[2], NULL, 10) * MS : 0;
    setenv("CUDA_MODULE_LOADING", "LAZY", 0); /* the driver's default since 12.2 */
    gpu_open(&g);
    GPU_MUST(&g, stream_create, &l.stream, SL_CU_STREAM_NON_BLOCKING, 0);
    l.to = gpu_alloc(&g, sizeof(uint32_t));
    sl_staging *staging = open_staging(&g);
    if (pthread_create(&thread, NULL, load_all, &l) != 0) {
        gpu_die("no thread");
    }
    const uint64_t batches = run(&g, staging, &l.done);
    pthread_join(thread, NULL);
    gpu_wait(&g);
    sl_staging_close(staging);
    gpu_figure("calls_batches", (double)batches, "batches");
    judge(&l);
    for (unsigned i = 0; i < LAPS_MAX && l.modules[i] != NULL; i++) {
        GPU_MUST(&g, module_unload, l.modules[i]);
    }
    gpu_free(&g, l.to);
    GPU_MUST(&g, stream_destroy, l.stream);
    gpu_close(&g);
    for (int i = 0; i < PHASES; i++) {
        free(made[i].ns);
    }
    return gpu_result();
}
