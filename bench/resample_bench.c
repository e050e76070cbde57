/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resample_bench: measures CPU time per image of the steps after decoding, with synthetic pixels.
 *
 * For each output and crop size, it runs rounds for a quarter of a second; a round processes a few
 * images with every instruction set in turn. Prints the median round's microseconds per image of
 * 224 x 224. One thread, thread CPU time.
 */
#include "clock.h"
#include "converter.h"
#include "geometry.h"
#include "measure.h"
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 2100, HEIGHT = 1600, OUTPUT = 224, ROUNDS_MAX = 2048, CALLS = 4 };
#define BUDGET_NS UINT64_C(250000000)

typedef struct setting {
    const char *name;
    sluice_dtype dtype;
    sluice_layout layout;
    bool jitter;
} setting;

static const setting settings[] = {
    {"u8 NHWC", SLUICE_U8, SLUICE_NHWC, false},
    {"f32 NCHW", SLUICE_F32, SLUICE_NCHW, false},
    {"f16 NCHW", SLUICE_F16, SLUICE_NCHW, false},
    {"u8 NHWC, jitter", SLUICE_U8, SLUICE_NHWC, true},
};

static const uint32_t crops[][2] = {{100, 75},  {224, 224}, {300, 300},
                                    {350, 270}, {500, 375}, {2000, 1500}};

/* Times of one level, one per round. */
typedef struct series {
    bool here;
    uint64_t times[ROUNDS_MAX];
    sl_converter converter;
} series;

static series levels[SL_SIMD_COUNT];

/* NEON and AVX2 exist on different machines. */
static bool runs_here(int level, sl_simd best)
{
    return level == SL_SIMD_SCALAR || level == (int)best ||
           (level == SL_SIMD_AVX2 && best == SL_SIMD_AVX512);
}

static void make_converters(const setting *chosen)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = NULL;
    (void)sluice_augment_create(&recipe);
    (void)sluice_augment_random_resized_crop(recipe, OUTPUT, OUTPUT, 0.08, 1, 0.75, 1.33);
    for (int level = 0; level < SL_SIMD_COUNT; level++) {
        sl_converter *converter = &levels[level].converter;
        bench_check(sl_converter_make(converter, recipe, chosen->dtype, chosen->layout, &error),
                    &error);
        levels[level].here = runs_here(level, converter->tools.simd);
        converter->tools.simd = (sl_simd)level;
    }
    sluice_augment_destroy(recipe);
}

static void params_of(const setting *chosen, const uint32_t crop[2], sl_params *params)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sl_drawing drawing;
    sl_drawing_begin(&drawing, params, WIDTH, HEIGHT, false, &error);
    bench_check(sl_draw_crop(&drawing, 13, 17, crop[0], crop[1], (const uint8_t[3]){0, 0, 0}),
                &error);
    bench_check(sl_draw_resize(&drawing, OUTPUT, OUTPUT, SL_BILINEAR), &error);
    if (chosen->jitter) {
        static const sl_operation_kind *const jitter[] = {
            &sl_operation_saturation, &sl_operation_brightness, &sl_operation_contrast};
        for (size_t i = 0; i < sizeof(jitter) / sizeof(jitter[0]); i++) {
            sl_draw_operation(&drawing, jitter[i])->values[0] = (double)1.2F;
        }
    }
    sl_drawing_end(&drawing);
}

static uint64_t round_ns(const sl_converter *converter, const sl_image *view, sl_params *params,
                         void *row, sl_scratch *scratch)
{
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_apply_work work = {.scratch = scratch};
    const uint64_t start = sl_thread_cpu_ns();
    for (int i = 0; i < CALLS; i++) {
        params->geometries[0].box.flip_x = i % 2 == 1;
        bench_check(sl_augment_apply(converter, view, params, &work, row, &error), &error);
    }
    return sl_thread_cpu_ns() - start;
}

static void run(const setting *chosen, const uint32_t crop[2], const sl_image *view, void *row,
                sl_scratch *scratch)
{
    static sl_geometry geometries[SL_GEOMETRIES_MAX];
    static sl_operation operations[SL_OPERATIONS_MAX];
    sl_params params = {
        .operations_most = SL_OPERATIONS_MAX, .geometries = geometries, .operations = operations};
    params_of(chosen, crop, &params);
    const uint64_t end = sl_now_ns() + BUDGET_NS;
    size_t rounds = 0;
    while (rounds < ROUNDS_MAX && (rounds == 0 || sl_now_ns() < end)) {
        for (int level = 0; level < SL_SIMD_COUNT; level++) {
            if (levels[level].here) {
                levels[level].times[rounds] =
                    round_ns(&levels[level].converter, view, &params, row, scratch);
            }
        }
        rounds++;
    }
    (void)printf("%-16s crop %4u x %-4u", chosen->name, crop[0], crop[1]);
    for (int level = 0; level < SL_SIMD_COUNT; level++) {
        if (levels[level].here) {
            qsort(levels[level].times, rounds, sizeof(uint64_t), bench_compare_times);
            const uint64_t median = levels[level].times[rounds / 2];
            (void)printf("  %s %7.1f us", sl_simd_name((sl_simd)level),
                         (double)median / CALLS / 1000.0);
        }
    }
    (void)printf("\n");
}

int main(void)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sl_scratch scratch;
    bench_check(sl_scratch_open(&scratch, 64 << 20, 32 << 20, &error), &error);
    static uint8_t pixels[(size_t)WIDTH * HEIGHT * 3];
    static float row[(size_t)OUTPUT * OUTPUT * 3];
    for (size_t i = 0; i < sizeof(pixels); i++) {
        pixels[i] = (uint8_t)(i * 2654435761U >> 13);
    }
    const sl_image view = {.pixels = pixels,
                           .width = WIDTH,
                           .height = HEIGHT,
                           .channels = 3,
                           .stride_bytes = (size_t)WIDTH * 3,
                           .picture_width = WIDTH,
                           .picture_height = HEIGHT,
                           .denominator = 1};
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        make_converters(&settings[i]);
        for (size_t k = 0; k < sizeof(crops) / sizeof(crops[0]); k++) {
            run(&settings[i], crops[k], &view, row, &scratch);
        }
    }
    sl_scratch_close(&scratch);
    return 0;
}
