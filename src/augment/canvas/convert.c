/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: results looked up, one channel after another. */
#include "convert.h"

#include <string.h>

/* Converts one channel of `count` pixels to every `step`th element of `out`. */
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

void sl_convert_scalar(const sl_converter *converter, const uint8_t *pixels, size_t first,
                       size_t count, void *picture)
{
    const size_t step = converter->layout == SLUICE_NHWC ? 3 : 1;
    for (size_t c = 0; c < 3; c++) {
        const size_t place = sl_convert_place(converter, first, c);
        convert_channel(pixels + c, count, converter->table[c], converter->dtype,
                        (uint8_t *)picture + place * sl_dtype_bytes(converter->dtype), step);
    }
}

static void convert_copy(const sl_converter *converter, const uint8_t *pixels, size_t first,
                         size_t count, void *picture)
{
    (void)converter;
    memcpy((uint8_t *)picture + first * 3, pixels, count * 3);
}

sl_convert *sl_convert_for(const sl_converter *converter)
{
    if (converter->dtype == SLUICE_U8 && converter->layout == SLUICE_NHWC) {
        return convert_copy;
    }
#if defined(__x86_64__)
    if (converter->finite && converter->tools.simd == SL_SIMD_AVX512) {
        return sl_convert_avx512;
    }
    if (converter->finite && converter->tools.simd == SL_SIMD_AVX2) {
        return sl_convert_avx2;
    }
#elif defined(__aarch64__)
    if (converter->finite && converter->tools.simd == SL_SIMD_NEON) {
        return sl_convert_neon;
    }
#endif
    return sl_convert_scalar;
}
