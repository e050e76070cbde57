/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_bench: measures CPU time of operations on canvases of 224 x 224, at every level of
 * vector instructions.
 *
 *     augment_bench [NAME]     operations whose names contain NAME
 *
 * Prints nanoseconds per pixel, and GB/s of the bytes that must be read and written: medians of
 * rounds in which the levels alternate, each on a copy of the same noise on gradients like an
 * image's. One thread, thread CPU time.
 */
#include "augment_bench.h"

#include "clock.h"
#include "measure.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 301, CALLS = 4, SCRATCH_BYTES = 32 << 20 };

static const bench_operation *const tables[] = {bench_pixel_operations};

static uint8_t picture[BENCH_PIXELS * 3], pixels[BENCH_PIXELS * 3], other[BENCH_PIXELS * 3];

static void paint(void)
{
    uint32_t state = 1;
    for (uint32_t i = 0; i < BENCH_PIXELS * 3; i++) {
        state = state * 1664525U + 1013904223U;
        const uint32_t x = i / 3 % BENCH_SIDE;
        const uint32_t y = i / 3 / BENCH_SIDE;
        picture[i] = (uint8_t)((x * (i % 3) + y * 2) / 4 + (state >> 26));
    }
}

static bool augment_bench_has(sl_simd simd)
{
    return simd == SL_SIMD_SCALAR || (simd <= sl_simd_best() && simd != SL_SIMD_NEON) ||
           simd == sl_simd_best();
}

static uint64_t round_of(const bench_operation *operation, sl_simd simd, const bench_canvas *canvas)
{
    memcpy(pixels, picture, sizeof(pixels));
    const uint64_t start = sl_thread_cpu_ns();
    for (int i = 0; i < CALLS; i++) {
        operation->run(simd, canvas);
    }
    return sl_thread_cpu_ns() - start;
}

static void measure(const bench_operation *operation, const bench_canvas *canvas)
{
    static uint64_t times[SL_SIMD_COUNT][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int simd = 0; simd < SL_SIMD_COUNT; simd++) {
            if (augment_bench_has((sl_simd)simd)) {
                times[simd][round] = round_of(operation, (sl_simd)simd, canvas);
            }
        }
    }
    (void)printf("%-14s", operation->name);
    for (int simd = 0; simd < SL_SIMD_COUNT; simd++) {
        if (augment_bench_has((sl_simd)simd)) {
            qsort(times[simd], ROUNDS, sizeof(times[simd][0]), bench_compare_times);
            const uint64_t median = times[simd][ROUNDS / 2];
            const double ns = (double)median / CALLS;
            (void)printf("  %-6s %7.3f ns %7.1f us %6.2f GB/s", sl_simd_name((sl_simd)simd),
                         ns / BENCH_PIXELS, ns / 1000.0, operation->bytes * BENCH_PIXELS / ns);
        }
    }
    (void)printf("\n");
}

int main(int argc, char **argv)
{
    sl_scratch scratch;
    sluice_error error = SLUICE_ERROR_INIT;
    bench_check(sl_scratch_open(&scratch, SCRATCH_BYTES, SCRATCH_BYTES, &error), &error);
    const bench_canvas canvas = {pixels, other, BENCH_SIDE, BENCH_SIDE, &scratch};
    paint();
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const bench_operation *row = tables[i]; row->name != NULL; row++) {
            if (argc < 2 || strstr(row->name, argv[1]) != NULL) {
                measure(row, &canvas);
            }
        }
    }
    return 0;
}
