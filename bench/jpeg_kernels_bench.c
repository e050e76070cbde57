/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_kernels_bench: measures CPU time of the JPEG kernels at every level of vector instructions.
 *
 * Prints nanoseconds per block of the inverse transform (dense blocks, half of the blocks with only
 * the first coefficient, and all of them with only that) and per pixel of the rows. The levels
 * alternate within a round; prints medians of the rounds. One thread, thread CPU time.
 */
#include "clock.h"
#include "jpeg_idct.h"
#include "jpeg_rows.h"
#include "measure.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 201, BLOCKS = 64, RUNS = 24, WIDTH = 500, MARGIN = 64, ROWS = 200 };

typedef void (*task)(sl_simd simd, unsigned which);

typedef struct blocks_of {
    const char *name;
    unsigned flat_percent;
} blocks_of;

static const blocks_of mixes[] = {{"dense", 0}, {"half flat", 50}, {"flat", 100}};
enum { MIXES = sizeof(mixes) / sizeof(mixes[0]) };

static const char *const samplings[] = {
    [SL_JPEG_GREY] = "grey", [SL_JPEG_444] = "4:4:4", [SL_JPEG_422] = "4:2:2",
    [SL_JPEG_440] = "4:4:0", [SL_JPEG_420] = "4:2:0", [SL_JPEG_422_PLAIN] = "4:2:2 plain",
};

static alignas(64) int16_t coefficients[MIXES][BLOCKS * RUNS * SL_JPEG_BLOCK];
static alignas(64) uint16_t quantizers[SL_JPEG_BLOCK];
static uint8_t samples[8 * BLOCKS * 8];
static uint8_t planes[5][WIDTH + 2 * MARGIN];
static uint8_t rgb[3 * WIDTH + MARGIN];

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

/* About twenty coefficients, mostly at low frequencies. */
static void fill(void)
{
    uint32_t state = 1;
    for (size_t i = 0; i < SL_JPEG_BLOCK; i++) {
        quantizers[i] = (uint16_t)(4 + i / 4);
    }
    for (size_t m = 0; m < MIXES; m++) {
        for (size_t b = 0; b < (size_t)BLOCKS * RUNS; b++) {
            int16_t *block = coefficients[m] + b * SL_JPEG_BLOCK;
            block[0] = (int16_t)((int32_t)(next_random(&state) % 128) - 64);
            int more = next_random(&state) % 100 < mixes[m].flat_percent ? 0 : 20;
            for (int c = 0; c < more; c++) {
                uint32_t at = next_random(&state) % 8;
                at *= 1 + next_random(&state) % 8;
                block[at] = (int16_t)((int32_t)(next_random(&state) % 17) - 8);
            }
        }
    }
    for (size_t i = 0; i < sizeof(planes[0]) * 5; i++) {
        planes[i % 5][i / 5] = (uint8_t)next_random(&state);
    }
}

static void transform(sl_simd simd, unsigned size, unsigned mix)
{
    sl_jpeg_idct kernel = sl_jpeg_idct_for(simd, size);
    for (size_t run = 0; run < RUNS; run++) {
        sl_jpeg_blocks blocks = {.coefficients = coefficients[mix] + run * BLOCKS * SL_JPEG_BLOCK,
                                 .pitch = SL_JPEG_BLOCK,
                                 .count = BLOCKS,
                                 .quantizers = quantizers,
                                 .samples = samples,
                                 .stride = (size_t)BLOCKS * size};
        kernel(&blocks);
    }
}

static void transform_any(sl_simd simd, unsigned which)
{
    transform(simd, 1U << (which / MIXES), which % MIXES);
}

static void make_rows(sl_simd simd, unsigned which)
{
    sl_jpeg_row_maker maker = sl_jpeg_row_for(simd, (sl_jpeg_sampling)which);
    bool halved = which == SL_JPEG_422 || which == SL_JPEG_420 || which == SL_JPEG_422_PLAIN;
    sl_jpeg_row row = {.luma = planes[0] + MARGIN,
                       .cb = planes[1] + MARGIN,
                       .cb_far = planes[2] + MARGIN,
                       .cr = planes[3] + MARGIN,
                       .cr_far = planes[4] + MARGIN,
                       .end = WIDTH,
                       .chroma_width = halved ? WIDTH / 2 : WIDTH,
                       .rgb = rgb};
    for (int i = 0; i < ROWS; i++) {
        row.lower = i % 2 == 1;
        maker(&row);
    }
}

static bool has_level(sl_simd simd)
{
    return simd == SL_SIMD_SCALAR || (simd <= sl_simd_best() && simd != SL_SIMD_NEON) ||
           simd == sl_simd_best();
}

static void measure(const char *kind, const char *name, task work, unsigned which, double units)
{
    static uint64_t times[SL_SIMD_COUNT][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int simd = 0; simd < SL_SIMD_COUNT; simd++) {
            if (has_level((sl_simd)simd)) {
                uint64_t start = sl_thread_cpu_ns();
                work((sl_simd)simd, which);
                times[simd][round] = sl_thread_cpu_ns() - start;
            }
        }
    }
    (void)printf("%-10s %-12s", kind, name);
    for (int simd = 0; simd < SL_SIMD_COUNT; simd++) {
        if (has_level((sl_simd)simd)) {
            qsort(times[simd], ROUNDS, sizeof(times[simd][0]), bench_compare_times);
            uint64_t middle = times[simd][ROUNDS / 2];
            (void)printf("  %s %8.3f ns", sl_simd_name((sl_simd)simd), (double)middle / units);
        }
    }
    (void)printf("\n");
}

int main(void)
{
    const double blocks = (double)((size_t)BLOCKS * RUNS);
    const double pixels = (double)((size_t)WIDTH * ROWS);
    static const char *const sizes[] = {"block 1", "block 2", "block 4", "block 8"};
    fill();
    for (unsigned i = 0; i < 4 * MIXES; i++) {
        unsigned which = 4 * MIXES - 1 - i;
        measure(sizes[which / MIXES], mixes[which % MIXES].name, transform_any, which, blocks);
    }
    for (unsigned i = 0; i < SL_JPEG_SAMPLING_COUNT; i++) {
        measure("pixel", samplings[i], make_rows, i, pixels);
    }
    return 0;
}
