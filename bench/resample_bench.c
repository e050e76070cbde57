/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resample_bench: CPU time of what follows decoding, per picture, over synthetic pixels.
 *
 * For each crop size and output it runs rounds until half a second has passed and prints the median
 * round's microseconds per picture of 224 x 224. One thread, thread CPU time.
 */
#include "clock.h"
#include "finish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 1024, OUTPUT = 224, ROUNDS_MAX = 4096, CALLS = 8 };
#define BUDGET_NS UINT64_C(500000000)

typedef struct setting {
    const char *name;
    sluice_dtype dtype;
    sluice_layout layout;
    uint32_t crop_width, crop_height;
    bool jitter;
} setting;

static const setting settings[] = {
    {"u8 NHWC, crop 224 x 224", SLUICE_U8, SLUICE_NHWC, 224, 224, false},
    {"u8 NHWC, crop 300 x 300", SLUICE_U8, SLUICE_NHWC, 300, 300, false},
    {"u8 NHWC, crop 500 x 375", SLUICE_U8, SLUICE_NHWC, 500, 375, false},
    {"u8 NHWC, crop 1000 x 1000", SLUICE_U8, SLUICE_NHWC, 1000, 1000, false},
    {"u8 NHWC, crop 120 x 120", SLUICE_U8, SLUICE_NHWC, 120, 120, false},
    {"u8 NHWC, crop 300 x 300, jitter", SLUICE_U8, SLUICE_NHWC, 300, 300, true},
    {"u8 NCHW, crop 300 x 300", SLUICE_U8, SLUICE_NCHW, 300, 300, false},
    {"f32 NCHW, crop 300 x 300", SLUICE_F32, SLUICE_NCHW, 300, 300, false},
    {"f16 NCHW, crop 300 x 300", SLUICE_F16, SLUICE_NCHW, 300, 300, false},
};

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void check(sluice_status status, const sluice_error *error)
{
    if (status != SLUICE_OK) {
        (void)fprintf(stderr, "%s\n", error->text);
        exit(1);
    }
}

static double median_us(const setting *chosen, const sl_image *view, sl_scratch *scratch)
{
    static uint64_t times[ROUNDS_MAX];
    sluice_error error = SLUICE_ERROR_INIT;
    struct sluice_augment recipe = {
        .geometry = SL_GEOMETRY_RANDOM_RESIZED_CROP, .width = OUTPUT, .height = OUTPUT};
    sl_converter converter;
    check(sl_converter_make(&converter, &recipe, chosen->dtype, chosen->layout, &error), &error);
    sl_params params = {.source = {13, 17, chosen->crop_width, chosen->crop_height},
                        .virtual_width = OUTPUT,
                        .virtual_height = OUTPUT,
                        .width = OUTPUT,
                        .height = OUTPUT};
    if (chosen->jitter) {
        params.jitter[0] = SL_JITTER_SATURATION;
        params.jitter[1] = SL_JITTER_BRIGHTNESS;
        params.jitter[2] = SL_JITTER_CONTRAST;
        params.factor[0] = params.factor[1] = params.factor[2] = 1.2F;
    }
    void *row = malloc(sl_converter_row_bytes(&converter));
    uint64_t end = sl_now_ns() + BUDGET_NS;
    size_t rounds = 0;
    while (rounds < ROUNDS_MAX && sl_now_ns() < end) {
        uint64_t start = sl_thread_cpu_ns();
        for (int i = 0; i < CALLS; i++) {
            params.flip = i % 2 == 1;
            check(sl_augment_apply(&converter, view, &params, row, scratch, &error), &error);
        }
        times[rounds++] = sl_thread_cpu_ns() - start;
    }
    free(row);
    qsort(times, rounds, sizeof(times[0]), by_value);
    uint64_t middle = times[rounds / 2];
    return (double)middle / CALLS / 1000.0;
}

int main(void)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sl_scratch scratch;
    check(sl_scratch_open(&scratch, 64 << 20, 32 << 20, &error), &error);
    uint8_t *pixels = malloc((size_t)SIDE * SIDE * 3);
    if (pixels == NULL) {
        return 1;
    }
    for (size_t i = 0; i < (size_t)SIDE * SIDE * 3; i++) {
        pixels[i] = (uint8_t)(i * 2654435761U >> 13);
    }
    sl_image view = {.pixels = pixels,
                     .width = SIDE,
                     .height = SIDE,
                     .channels = 3,
                     .stride_bytes = (size_t)SIDE * 3,
                     .picture_width = SIDE,
                     .picture_height = SIDE,
                     .denominator = 1};
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        (void)printf("%-34s %8.1f us\n", settings[i].name,
                     median_us(&settings[i], &view, &scratch));
    }
    free(pixels);
    sl_scratch_close(&scratch);
    return 0;
}
