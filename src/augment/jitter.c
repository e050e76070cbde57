/* SPDX-License-Identifier: Apache-2.0 */
/* Brightness, contrast and saturation with the arithmetic of Pillow's ImageEnhance. */
#include "steps.h"

/* Pillow's conversion to mode L: ITU-R 601-2, 16 bits of fraction. */
static uint32_t grey_of(const uint8_t *pixel)
{
    return (pixel[0] * 19595U + pixel[1] * 38470U + pixel[2] * 7471U + 0x8000U) >> 16;
}

/*
 * Pillow's ImagingBlend: from `base` (factor 0) to `value` (factor 1) and beyond, cut towards zero.
 * Between 0 and 1 nothing is outside 0..255, so clipping changes nothing there.
 */
static uint8_t blend(int32_t base, int32_t value, float factor)
{
    float mixed = (float)base + factor * (float)(value - base);
    if (mixed <= 0.0F) {
        return 0;
    }
    return mixed >= 255.0F ? 255 : (uint8_t)mixed;
}

/* Brightness and contrast: every value goes to the same place, so 256 blends are enough. */
static void blend_with_constant(uint8_t *pixels, size_t bytes, int32_t base, float factor)
{
    uint8_t table[256];
    for (int32_t value = 0; value < 256; value++) {
        table[value] = blend(base, value, factor);
    }
    for (size_t i = 0; i < bytes; i++) {
        pixels[i] = table[pixels[i]];
    }
}

static int32_t mean_grey(const uint8_t *pixels, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += grey_of(pixels + i * 3);
    }
    return (int32_t)((double)sum / (double)count + 0.5);
}

void sl_brightness(uint8_t *pixels, uint32_t width, uint32_t height, float factor)
{
    blend_with_constant(pixels, (size_t)width * height * 3, 0, factor);
}

void sl_contrast(uint8_t *pixels, uint32_t width, uint32_t height, float factor)
{
    const size_t count = (size_t)width * height;
    blend_with_constant(pixels, count * 3, mean_grey(pixels, count), factor);
}

void sl_saturation(uint8_t *pixels, uint32_t width, uint32_t height, float factor)
{
    const size_t count = (size_t)width * height;
    for (size_t i = 0; i < count; i++) {
        uint8_t *pixel = pixels + i * 3;
        int32_t grey = (int32_t)grey_of(pixel);
        for (size_t c = 0; c < 3; c++) {
            pixel[c] = blend(grey, pixel[c], factor);
        }
    }
}
