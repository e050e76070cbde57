/* SPDX-License-Identifier: Apache-2.0 */
/* Brightness, contrast and saturation with the arithmetic of Pillow's ImageEnhance. */
#include "pixels.h"
#include "steps.h"

static void jitter_look_up(uint8_t *pixels, size_t count, const uint8_t table[SL_LUT_SIZE])
{
    sl_pixel_kernels_for(sl_simd_best())->look_up_one(pixels, count, table);
}

void sl_brightness(uint8_t *pixels, uint32_t width, uint32_t height, float factor)
{
    uint8_t table[SL_LUT_SIZE];
    sl_lut_brightness(table, factor);
    jitter_look_up(pixels, (size_t)width * height, table);
}

void sl_contrast(uint8_t *pixels, uint32_t width, uint32_t height, float factor)
{
    const size_t count = (size_t)width * height;
    const uint64_t sum = sl_pixel_kernels_for(sl_simd_best())->sum_grey(pixels, count);
    uint8_t table[SL_LUT_SIZE];
    sl_lut_contrast(table, sl_mean_grey(sum, count), factor);
    jitter_look_up(pixels, count, table);
}

void sl_saturation(uint8_t *pixels, uint32_t width, uint32_t height, float factor)
{
    sl_pixel_kernels_for(sl_simd_best())->blend_grey(pixels, (size_t)width * height, factor);
}
