/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on pixels in place (pixels.h, erase.h). */
#include "augment_bench.h"
#include "erase.h"
#include "pixels.h"

/* A table that preserves pixels of all values. */
static void run_look_up(sl_simd simd, const bench_canvas *canvas)
{
    uint8_t tables[3][SL_LUT_SIZE];
    for (uint32_t i = 0; i < 3 * SL_LUT_SIZE; i++) {
        tables[i / SL_LUT_SIZE][i % SL_LUT_SIZE] = (uint8_t)(i * 5 + i / SL_LUT_SIZE);
    }
    sl_pixel_kernels_for(simd)->look_up(canvas->pixels, BENCH_PIXELS, tables);
}

static void run_look_up_one(sl_simd simd, const bench_canvas *canvas)
{
    uint8_t table[SL_LUT_SIZE];
    sl_lut_invert(table);
    sl_pixel_kernels_for(simd)->look_up_one(canvas->pixels, BENCH_PIXELS, table);
}

static void run_histogram(sl_simd simd, const bench_canvas *canvas)
{
    uint32_t histograms[3][SL_LUT_SIZE] = {{0}};
    sl_pixel_kernels_for(simd)->histogram(canvas->pixels, BENCH_PIXELS, histograms);
}

static void run_contrast(sl_simd simd, const bench_canvas *canvas)
{
    const sl_pixel_kernels *kernels = sl_pixel_kernels_for(simd);
    const uint64_t sum = kernels->sum_grey(canvas->pixels, BENCH_PIXELS);
    uint8_t table[SL_LUT_SIZE];
    sl_lut_contrast(table, sl_mean_grey(sum, BENCH_PIXELS), 1.0F);
    kernels->look_up_one(canvas->pixels, BENCH_PIXELS, table);
}

static void run_equalize(sl_simd simd, const bench_canvas *canvas)
{
    const sl_pixel_kernels *kernels = sl_pixel_kernels_for(simd);
    uint32_t histograms[3][SL_LUT_SIZE] = {{0}};
    uint8_t tables[3][SL_LUT_SIZE];
    kernels->histogram(canvas->pixels, BENCH_PIXELS, histograms);
    for (size_t c = 0; c < 3; c++) {
        sl_lut_equalize(tables[c], histograms[c]);
    }
    kernels->look_up(canvas->pixels, BENCH_PIXELS, tables);
}

static void run_sum_grey(sl_simd simd, const bench_canvas *canvas)
{
    (void)sl_pixel_kernels_for(simd)->sum_grey(canvas->pixels, BENCH_PIXELS);
}

static void run_grey(sl_simd simd, const bench_canvas *canvas)
{
    sl_pixel_kernels_for(simd)->grey(canvas->pixels, BENCH_PIXELS);
}

static void run_blend_grey(sl_simd simd, const bench_canvas *canvas)
{
    sl_pixel_kernels_for(simd)->blend_grey(canvas->pixels, BENCH_PIXELS, 0.99F);
}

static void run_hue(sl_simd simd, const bench_canvas *canvas)
{
    sl_pixel_kernels_for(simd)->hue(canvas->pixels, BENCH_PIXELS, 25);
}

static void run_hsv(sl_simd simd, const bench_canvas *canvas)
{
    const sl_hsv_change change = {.hue = 3, .saturation = 1.3F, .value = 0.9F};
    sl_pixel_kernels_for(simd)->hsv(canvas->pixels, BENCH_PIXELS, &change);
}

static void run_permute(sl_simd simd, const bench_canvas *canvas)
{
    static const uint8_t order[3] = {1, 2, 0};
    sl_pixel_kernels_for(simd)->permute(canvas->pixels, BENCH_PIXELS, order);
}

static void run_fill_noise(sl_simd simd, const bench_canvas *canvas)
{
    static const sl_noise noise = {.key = 1, .mean = {124, 116, 104}, .stddev = {58, 57, 57}};
    (void)simd;
    sl_fill_noise(canvas->pixels, BENCH_PIXELS, &noise, 0);
}

const bench_operation bench_pixel_operations[] = {{"look_up", 6, run_look_up},
                                                  {"look_up_one", 6, run_look_up_one},
                                                  {"contrast", 9, run_contrast},
                                                  {"histogram", 3, run_histogram},
                                                  {"equalize", 9, run_equalize},
                                                  {"sum_grey", 3, run_sum_grey},
                                                  {"grey", 6, run_grey},
                                                  {"blend_grey", 6, run_blend_grey},
                                                  {"hue", 6, run_hue},
                                                  {"hsv", 6, run_hsv},
                                                  {"permute", 6, run_permute},
                                                  {"fill_noise", 3, run_fill_noise},
                                                  {NULL, 0, NULL}};
