/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar reference, and the choice of the variant for each level. Pure. */
#include "jpeg_ycc.h"

static void convert(const uint8_t *rgb, size_t pixels, const sl_ycc_row *row)
{
    for (size_t x = 0; x < pixels; x++, rgb += 3) {
        const int32_t red = rgb[0];
        const int32_t green = rgb[1];
        const int32_t blue = rgb[2];
        row->luma[x] = (uint8_t)((SL_YCC_LUMA_RED * red + SL_YCC_LUMA_GREEN * green +
                                  SL_YCC_LUMA_BLUE * blue + SL_YCC_HALF) >>
                                 16);
        row->cb[x] = (uint8_t)((SL_YCC_CB_RED * red + SL_YCC_CB_GREEN * green + SL_YCC_HALF * blue +
                                SL_YCC_CENTRE) >>
                               16);
        row->cr[x] = (uint8_t)((SL_YCC_HALF * red + SL_YCC_CR_GREEN * green +
                                SL_YCC_CR_BLUE * blue + SL_YCC_CENTRE) >>
                               16);
    }
}

static void halve(const uint8_t *upper, const uint8_t *lower, size_t count, uint8_t *out)
{
    for (size_t x = 0; x < count; x++, upper += 2, lower += 2) {
        const uint32_t bias = 1 + x % 2;
        out[x] = (uint8_t)(((uint32_t)upper[0] + upper[1] + lower[0] + lower[1] + bias) >> 2);
    }
}

const sl_jpeg_ycc sl_jpeg_ycc_scalar = {.convert = convert, .halve = halve};

const sl_jpeg_ycc *sl_jpeg_ycc_for(sl_simd simd)
{
#if defined(__x86_64__)
    if (simd >= SL_SIMD_AVX2) {
        return &sl_jpeg_ycc_avx2;
    }
#endif
    (void)simd;
    return &sl_jpeg_ycc_scalar;
}
