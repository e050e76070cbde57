/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: results looked up, one channel after another. */
#include "convert.h"

#include <string.h>

/* One channel of `count` pixels to every `step`th element of `out`. */
static void convert_channel(const uint8_t *pixels, size_t count, const uint32_t table[256],
                            sluice_dtype dtype, void *out, size_t step)
{
    if (dtype == SLUICE_F32) {
        uint32_t *elements = out;
        for (size_t i = 0; i < count; i++) {
            elements[i * step] = table[pixels[i * 3]];
        }
    } else if (dtype == SLUICE_U8) {
        uint8_t *elements = out;
        for (size_t i = 0; i < count; i++) {
            elements[i * step] = pixels[i * 3];
        }
    } else {
        uint16_t *elements = out;
        for (size_t i = 0; i < count; i++) {
            elements[i * step] = (uint16_t)table[pixels[i * 3]];
        }
    }
}

void sl_convert_rest(const sl_converter *converter, const uint8_t *pixels, uint32_t y,
                     uint32_t first, void *picture)
{
    const size_t step = converter->layout == SLUICE_NHWC ? 3 : 1;
    for (size_t c = 0; c < 3; c++) {
        const size_t place = sl_convert_place(converter, y, c) + first * step;
        convert_channel(pixels + (size_t)first * 3 + c, converter->width - first,
                        converter->table[c], converter->dtype,
                        (uint8_t *)picture + place * sl_dtype_bytes(converter->dtype), step);
    }
}

static void convert_row(const sl_converter *converter, const uint8_t *pixels, uint32_t y,
                        void *picture)
{
    sl_convert_rest(converter, pixels, y, 0, picture);
}

static void copy_row(const sl_converter *converter, const uint8_t *pixels, uint32_t y,
                     void *picture)
{
    const size_t bytes = (size_t)converter->width * 3;
    memcpy((uint8_t *)picture + y * bytes, pixels, bytes);
}

sl_convert_row *sl_convert_row_for(const sl_converter *converter)
{
    if (converter->dtype == SLUICE_U8 && converter->layout == SLUICE_NHWC) {
        return copy_row;
    }
#if defined(__x86_64__)
    if (converter->finite && converter->simd == SL_SIMD_AVX512) {
        return sl_convert_row_avx512;
    }
    if (converter->finite && converter->simd == SL_SIMD_AVX2) {
        return sl_convert_row_avx2;
    }
#elif defined(__aarch64__)
    if (converter->finite && converter->simd == SL_SIMD_NEON) {
        return sl_convert_row_neon;
    }
#endif
    return convert_row;
}
