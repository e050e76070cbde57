/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of pixels.h, and the choice of a table. */
#include "blend.h"
#include "pixels.h"

#include <stdbool.h>
#include <string.h>

const uint8_t sl_hue_below[32] = {0xfe, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                  0x11, 0x11, 0x01, 0x00, 0x00, 0xaa, 0xaa, 0x2a, 0x22, 0x22, 0x22,
                                  0x23, 0x23, 0x22, 0x22, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00};

static void pixels_look_up(uint8_t *pixels, size_t count, uint8_t tables[3][SL_LUT_SIZE])
{
    for (size_t i = 0; i < count * 3; i += 3) {
        for (size_t c = 0; c < 3; c++) {
            pixels[i + c] = tables[c][pixels[i + c]];
        }
    }
}

static void pixels_look_up_one(uint8_t *pixels, size_t count, const uint8_t table[SL_LUT_SIZE])
{
    for (size_t i = 0; i < count * 3; i += 3) {
        pixels[i] = table[pixels[i]];
        pixels[i + 1] = table[pixels[i + 1]];
        pixels[i + 2] = table[pixels[i + 2]];
    }
}

/*
 * Alternates between two sets of counters: equal adjacent pixels would wait for one another.
 */
void sl_pixels_histogram(const uint8_t *pixels, size_t count, uint32_t histograms[3][SL_LUT_SIZE])
{
    uint32_t others[3][SL_LUT_SIZE] = {{0}};
    const size_t pairs = count / 2;
    for (size_t i = 0; i < pairs; i++) {
        const uint8_t *pair = pixels + i * 6;
        for (size_t c = 0; c < 3; c++) {
            histograms[c][pair[c]]++;
            others[c][pair[c + 3]]++;
        }
    }
    for (size_t c = 0; c < 3; c++) {
        if (count % 2 != 0) {
            histograms[c][pixels[pairs * 6 + c]]++;
        }
        for (size_t i = 0; i < SL_LUT_SIZE; i++) {
            histograms[c][i] += others[c][i];
        }
    }
}

static uint64_t pixels_sum_grey(const uint8_t *pixels, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += sl_grey(pixels + i * 3);
    }
    return sum;
}

static void pixels_make_grey(uint8_t *pixels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memset(pixels + i * 3, (int)sl_grey(pixels + i * 3), 3);
    }
}

static void pixels_blend_grey(uint8_t *pixels, size_t count, float factor)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t *pixel = pixels + i * 3;
        const int32_t grey = (int32_t)sl_grey(pixel);
        for (size_t c = 0; c < 3; c++) {
            pixel[c] = sl_blend(grey, pixel[c], factor);
        }
    }
}

/* H of a pixel that is not grey; `chroma`: `most` less its smallest channel. */
static uint32_t hue_of(const uint8_t *pixel, int32_t most, int32_t chroma)
{
    const int32_t red = pixel[0];
    const int32_t green = pixel[1];
    const int32_t blue = pixel[2];
    int32_t sixths = 0; /* of a turn, times the chroma */
    if (red == most) {
        sixths = green - blue + (green < blue ? 6 * chroma : 0);
    } else if (green == most) {
        sixths = blue - red + 2 * chroma;
    } else {
        sixths = red - green + 4 * chroma;
    }
    const uint32_t above = (uint32_t)sixths * 85;
    const uint32_t below = (uint32_t)chroma * 2;
    const uint32_t hue = above / below;
    const bool whole = hue * below == above;
    return whole ? hue - (sl_hue_below[hue / 8] >> (hue % 8) & 1U) : hue;
}

static uint32_t larger_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void hue_pixel(uint8_t *pixel, uint8_t shift)
{
    /* The places of V, of the second of the values, and of the third. */
    static const uint8_t orders[7][3] = {{0, 2, 1}, {1, 2, 0}, {1, 0, 2}, {2, 0, 1},
                                         {2, 1, 0}, {0, 1, 2}, {0, 2, 1}};
    const uint32_t most = larger_of(pixel[0], larger_of(pixel[1], pixel[2]));
    const uint32_t least =
        255 - larger_of(255U - pixel[0], larger_of(255U - pixel[1], 255U - pixel[2]));
    if (most == least) {
        return;
    }
    const uint32_t chroma = most - least;
    const uint32_t hue = (hue_of(pixel, (int32_t)most, (int32_t)chroma) + shift) & 255U;
    const uint32_t saturation = 255 * chroma / most;
    const uint32_t sextant = hue * 2 / 85;
    const uint32_t part = hue * 2 % 85;
    const uint32_t grade = sextant % 2 != 0 ? part : 85 - part;
    const uint8_t *places = orders[sextant];
    pixel[places[0]] = (uint8_t)most;
    pixel[places[1]] = (uint8_t)((most * (255 - saturation) + 127) / 255);
    pixel[places[2]] = (uint8_t)((most * (21675 - saturation * grade) + 10837) / 21675);
}

static void pixels_hue(uint8_t *pixels, size_t count, uint8_t shift)
{
    for (size_t i = 0; i < count; i++) {
        hue_pixel(pixels + i * 3, shift);
    }
}

static void pixels_hsv(uint8_t *pixels, size_t count, const sl_hsv_change *change)
{
    for (size_t i = 0; i < count; i++) {
        sl_hsv_pixel(pixels + i * 3, change);
    }
}

static void pixels_permute(uint8_t *pixels, size_t count, const uint8_t order[3])
{
    const size_t places[3] = {order[0], order[1], order[2]}; /* which stores cannot modify */
    for (size_t i = 0; i < count * 3; i += 3) {
        const uint8_t first = pixels[i + places[0]];
        const uint8_t second = pixels[i + places[1]];
        const uint8_t third = pixels[i + places[2]];
        pixels[i] = first;
        pixels[i + 1] = second;
        pixels[i + 2] = third;
    }
}

const sl_pixel_kernels sl_pixels_scalar = {.look_up = pixels_look_up,
                                           .look_up_one = pixels_look_up_one,
                                           .histogram = sl_pixels_histogram,
                                           .sum_grey = pixels_sum_grey,
                                           .grey = pixels_make_grey,
                                           .blend_grey = pixels_blend_grey,
                                           .hue = pixels_hue,
                                           .hsv = pixels_hsv,
                                           .permute = pixels_permute};

const sl_pixel_kernels *sl_pixel_kernels_for(sl_simd simd)
{
#if defined(__x86_64__)
    if (simd == SL_SIMD_AVX512) {
        return &sl_pixels_avx512;
    }
    if (simd == SL_SIMD_AVX2) {
        return &sl_pixels_avx2;
    }
#elif defined(__aarch64__)
    if (simd == SL_SIMD_NEON) {
        return &sl_pixels_neon;
    }
#endif
    (void)simd;
    return &sl_pixels_scalar;
}
