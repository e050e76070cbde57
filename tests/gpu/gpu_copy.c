/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_copy: measures copies from the host to the device: by size, from registered memory, from the
 * driver's own and from pageable memory; the cost of one call; two streams; beside a busy device.
 * Then the loader's path: batches through staging, compared with the best copy of the same size.
 */
#include "clock.h"
#include "gpu.h"
#include "slab.h"
#include "staging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

typedef struct source {
    const char *name;
    uint8_t *memory;
} source;

typedef struct bench {
    gpu g;
    bool smoke; /* only checks that it works, not its speed */
    size_t largest;
    sl_slab slab;
    source registered, driver, pageable;
    sl_cu_address device;
} bench;

/* Returns the best of three, each long enough to be timed, in bytes per second. */
static double copy_rate(const bench *b, const uint8_t *from, size_t bytes)
{
    const gpu *g = &b->g;
    const size_t enough = b->smoke ? 2 * MIB : 192 * MIB;
    const size_t laps = bytes >= enough / 3 ? 3 : enough / bytes + 1;
    gpu_timer timer;
    gpu_timer_open(g, &timer);
    double best = 1e9;
    for (int repeat = 0; repeat < 3; repeat++) {
        gpu_timer_begin(g, &timer);
        for (size_t lap = 0; lap < laps; lap++) {
            GPU_MUST(g, copy_to_device, b->device, from, bytes, g->stream);
        }
        const double seconds = gpu_timer_end(g, &timer) / (double)laps;
        best = seconds < best ? seconds : best;
    }
    gpu_timer_close(g, &timer);
    return (double)bytes / best;
}

static void sweep(const bench *b)
{
    const source sources[] = {b->registered, b->driver, b->pageable};
    const size_t largest = b->smoke ? MIB : b->largest;
    for (size_t bytes = 64 * KIB; bytes <= largest; bytes *= 4) {
        for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
            if (sources[i].memory == NULL) {
                continue;
            }
            char name[64];
            snprintf(name, sizeof(name), "h2d_%s_%zuKiB", sources[i].name, bytes / KIB);
            gpu_figure(name, copy_rate(b, sources[i].memory, bytes) * 1e-9, "GB/s");
        }
    }
}

static void measure_calls(const bench *b)
{
    const gpu *g = &b->g;
    enum { CALLS = 256 };
    const size_t piece = 148 * KIB; /* an image */
    const uint64_t begin = sl_now_ns();
    for (size_t i = 0; i < CALLS; i++) {
        GPU_MUST(g, copy_to_device, b->device + i * piece, b->registered.memory + i * piece, piece,
                 g->stream);
    }
    const uint64_t called = sl_now_ns();
    gpu_wait(g);
    const uint64_t small = sl_now_ns();
    GPU_MUST(g, copy_to_device, b->device, b->registered.memory, CALLS * piece, g->stream);
    gpu_wait(g);
    const uint64_t large = sl_now_ns();
    gpu_figure("h2d_call", (double)(called - begin) / CALLS * 1e-3, "us");
    gpu_figure("h2d_256_pieces", (double)(small - begin) * 1e-6, "ms");
    gpu_figure("h2d_1_piece", (double)(large - small) * 1e-6, "ms");
}

static void measure_two_streams(const bench *b)
{
    const gpu *g = &b->g;
    const size_t bytes = b->smoke ? MIB : 32 * MIB;
    sl_cu_stream second;
    GPU_MUST(g, stream_create, &second, SL_CU_STREAM_NON_BLOCKING, 0);
    const uint64_t begin = sl_now_ns();
    const int laps = b->smoke ? 1 : 16;
    for (int lap = 0; lap < laps; lap++) {
        GPU_MUST(g, copy_to_device, b->device, b->registered.memory, bytes, g->stream);
        GPU_MUST(g, copy_to_device, b->device + bytes, b->registered.memory + bytes, bytes, second);
    }
    gpu_wait(g);
    GPU_MUST(g, stream_synchronize, second);
    gpu_figure("h2d_two_streams", 2.0 * laps * (double)bytes / (double)(sl_now_ns() - begin),
               "GB/s");
    GPU_MUST(g, stream_destroy, second);
}

/* Copies beside a kernel that keeps every processor of the device busy. */
static void measure_beside_work(const bench *b)
{
    const gpu *g = &b->g;
    uint64_t ns = b->smoke ? 1000 : 150000000;
    void *parameters[] = {&ns};
    sl_cu_stream busy;
    GPU_MUST(g, stream_create, &busy, SL_CU_STREAM_NON_BLOCKING, 0);
    GPU_MUST(g, launch, g->kernels[GPU_SPIN], 512, 1, 1, 256, 1, 1, 0, busy, parameters, NULL);
    gpu_figure("h2d_beside_kernel",
               copy_rate(b, b->registered.memory, b->smoke ? MIB : 32 * MIB) * 1e-9, "GB/s");
    GPU_MUST(g, stream_synchronize, busy);
    GPU_MUST(g, stream_destroy, busy);
}

/* ---- copies as in the loader ---- */

enum { BATCHES = 120 };

static void fill_all(sl_staging *staging, uint64_t *begun, uint32_t rows)
{
    uint32_t slot;
    sl_part_view parts;
    const sl_batch_facts facts = {.step = *begun, .rows = rows};
    while (*begun < BATCHES && sl_staging_begin(staging, &facts, &slot, &parts) == SLUICE_OK) {
        sl_staging_filled(staging, slot, NULL);
        ++*begun;
    }
}

/* The slots are never filled and the batches never read, so only copying is left. Bytes per
 * second. */
static double staging_rate(const gpu *g, uint32_t rows, uint64_t row_bytes)
{
    const sl_part part = {.name = "image", .row_bytes = row_bytes};
    const sl_staging_config config = {
        .host_slots = 4, .device_slots = 3, .batch = rows, .parts = &part, .part_count = 1};
    sluice_error error = SLUICE_ERROR_INIT;
    sl_device *device = NULL;
    sl_staging *staging = NULL;
    sluice_batch *batch;
    uint64_t begun = 0;
    uint64_t begin = 0;
    const uint64_t warm = 12;
    if (sl_device_open(&device, "cuda:0", &error) != SLUICE_OK ||
        sl_staging_open(&staging, device, &config, &error) != SLUICE_OK) {
        gpu_die("%s", error.text);
    }
    for (uint64_t taken = 0; taken < BATCHES;) {
        fill_all(staging, &begun, rows);
        const sluice_status status = sl_staging_next(staging, 200000, &batch, &error);
        if (status == SLUICE_AGAIN) {
            continue;
        }
        if (status != SLUICE_OK || sl_staging_wait(batch, g->stream) != SLUICE_OK ||
            sl_staging_release(batch, true, g->stream) != SLUICE_OK) {
            gpu_die("a batch did not come through staging: %s", error.text);
        }
        if (++taken == warm) {
            gpu_wait(g);
            begin = sl_now_ns();
        }
    }
    gpu_wait(g);
    const double seconds = (double)(sl_now_ns() - begin) * 1e-9;
    sl_staging_close(staging);
    return (double)(BATCHES - warm) * (double)rows * (double)row_bytes / seconds;
}

static void compare_road(const bench *b)
{
    const uint64_t row_bytes = UINT64_C(224) * 224 * 3;
    const uint32_t rows = b->smoke ? 4 : 256;
    const size_t bytes = rows * row_bytes;
    double best = copy_rate(b, b->registered.memory, bytes);
    if (b->driver.memory != NULL) {
        const double other = copy_rate(b, b->driver.memory, bytes);
        best = other > best ? other : best;
    }
    const double staged = staging_rate(&b->g, rows, row_bytes);
    gpu_figure("h2d_best_batch", best * 1e-9, "GB/s");
    gpu_figure("h2d_staging", staged * 1e-9, "GB/s");
    gpu_figure("h2d_staging_of_best", 100 * staged / best, "%");
    gpu_expect(b->smoke || staged >= 0.95 * best,
               "staging sends %.1f GB/s, less than 95 %% of the best pinned copy's %.1f GB/s",
               staged * 1e-9, best * 1e-9);
}

/* ---- life ---- */

static void bench_open(bench *b, size_t largest)
{
    sluice_error error = SLUICE_ERROR_INIT;
    void *memory = NULL;
    gpu *g = &b->g;
    gpu_open(g);
    b->largest = largest;
    if (sl_slab_open(&b->slab, largest, NULL, &error) != SLUICE_OK ||
        g->device->ops->slab_register(g->device, &b->slab, &error) != SLUICE_OK) {
        gpu_die("%s", error.text);
    }
    b->registered = (source){g->device->pinning, b->slab.base};
    if (g->cu->host_alloc(&memory, largest, SL_CU_HOST_ALLOC_PORTABLE) == SL_CU_SUCCESS) {
        memset(memory, 1, largest);
        b->driver = (source){"hostalloc", memory};
    }
    b->pageable = (source){"pageable_malloc", malloc(largest)};
    if (b->pageable.memory != NULL) {
        memset(b->pageable.memory, 1, largest);
    }
    b->device = gpu_alloc(g, largest);
}

static void bench_close(bench *b)
{
    gpu *g = &b->g;
    gpu_free(g, b->device);
    free(b->pageable.memory);
    if (b->driver.memory != NULL) {
        GPU_MUST(g, host_free, b->driver.memory);
    }
    g->device->ops->slab_unregister(g->device, &b->slab);
    sl_slab_close(&b->slab);
    gpu_close(g);
}

int main(int argc, char **argv)
{
    const bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    bench b = {.smoke = argc > 1 && strcmp(argv[1], "--smoke") == 0};
    bench_open(&b, quick || b.smoke ? 64 * MIB : 1024 * MIB);
    if (!b.smoke) {
        gpu_warm_up(&b.g);
    }
    sweep(&b);
    measure_calls(&b);
    measure_two_streams(&b);
    measure_beside_work(&b);
    compare_road(&b);
    bench_close(&b);
    return gpu_result();
}
