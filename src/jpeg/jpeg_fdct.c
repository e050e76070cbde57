/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar reference, and the choice of the variant for each level. Pure. */
#include "jpeg_fdct.h"

#include <stdbool.h>

enum { SIDE = 8, CENTRE = 128 };

void sl_jpeg_divisors_prepare(sl_jpeg_divisors *divisors)
{
    for (size_t i = 0; i < SL_JPEG_BLOCK; i++) {
        const uint32_t quantizer = divisors->quantizers[i];
        uint32_t bits = 0;
        while (quantizer >> (bits + 1) != 0) {
            bits++;
        }
        divisors->halves[i] = (uint16_t)(quantizer * 4);
        divisors->reciprocals[i] =
            (uint16_t)(((UINT32_C(1) << (15 + bits)) + quantizer - 1) / quantizer);
        divisors->scales[i] = (uint16_t)(1U << (15 - bits));
    }
}

static int32_t jpeg_fdct_descale(int32_t value, unsigned bits)
{
    return (value + (1 << (bits - 1))) >> bits;
}

/* Transforms eight values, `step` apart, in place. Outputs of the first pass keep
 * SL_FDCT_PASS1_BITS extra bits. */
static void jpeg_fdct_line(int32_t *line, size_t step, bool first)
{
    const unsigned bits =
        first ? SL_FDCT_CONST_BITS - SL_FDCT_PASS1_BITS : SL_FDCT_CONST_BITS + SL_FDCT_PASS1_BITS;
    int32_t sum[4];
    int32_t d[4];
    for (size_t i = 0; i < 4; i++) {
        sum[i] = line[i * step] + line[(7 - i) * step];
        d[i] = line[i * step] - line[(7 - i) * step];
    }
    const int32_t t10 = sum[0] + sum[3];
    const int32_t t13 = sum[0] - sum[3];
    const int32_t t11 = sum[1] + sum[2];
    const int32_t t12 = sum[1] - sum[2];
    const int32_t all = t10 + t11;
    const int32_t middle = t10 - t11;
    line[0] = first ? all * 4 : jpeg_fdct_descale(all, SL_FDCT_PASS1_BITS);
    line[4 * step] = first ? middle * 4 : jpeg_fdct_descale(middle, SL_FDCT_PASS1_BITS);
    line[2 * step] = jpeg_fdct_descale(t13 * SL_FDCT_OUT2_T13 + t12 * SL_FDCT_OUT2_T12, bits);
    line[6 * step] = jpeg_fdct_descale(t13 * SL_FDCT_OUT6_T13 + t12 * SL_FDCT_OUT6_T12, bits);
    const int32_t d31 = d[3] + d[1];
    const int32_t d20 = d[2] + d[0];
    const int32_t odd73 = d31 * SL_FDCT_ODD73_D31 + d20 * SL_FDCT_ODD73_D20;
    const int32_t odd51 = d31 * SL_FDCT_ODD51_D31 + d20 * SL_FDCT_ODD51_D20;
    line[7 * step] =
        jpeg_fdct_descale(d[3] * SL_FDCT_OUT7_D3 + d[0] * SL_FDCT_OUT7_D0 + odd73, bits);
    line[5 * step] =
        jpeg_fdct_descale(d[2] * SL_FDCT_OUT5_D2 + d[1] * SL_FDCT_OUT5_D1 + odd51, bits);
    line[3 * step] =
        jpeg_fdct_descale(d[2] * SL_FDCT_OUT3_D2 + d[1] * SL_FDCT_OUT3_D1 + odd73, bits);
    line[step] = jpeg_fdct_descale(d[3] * SL_FDCT_OUT1_D3 + d[0] * SL_FDCT_OUT1_D0 + odd51, bits);
}

static int16_t jpeg_fdct_quantize(int32_t value, uint32_t quantizer)
{
    const uint32_t size = (uint32_t)(value < 0 ? -value : value);
    const int32_t level = (int32_t)((size + quantizer * 4) / (quantizer * 8));
    return (int16_t)(value < 0 ? -level : level);
}

void sl_jpeg_fdct_scalar(const uint8_t *samples, size_t stride, size_t count,
                         const sl_jpeg_divisors *divisors, int16_t *coefficients)
{
    for (size_t b = 0; b < count; b++, samples += SIDE, coefficients += SL_JPEG_BLOCK) {
        int32_t block[SL_JPEG_BLOCK];
        for (size_t i = 0; i < SL_JPEG_BLOCK; i++) {
            block[i] = samples[i / SIDE * stride + i % SIDE] - CENTRE;
        }
        for (size_t y = 0; y < SIDE; y++) {
            jpeg_fdct_line(block + y * SIDE, 1, true);
        }
        for (size_t x = 0; x < SIDE; x++) {
            jpeg_fdct_line(block + x, SIDE, false);
        }
        for (size_t i = 0; i < SL_JPEG_BLOCK; i++) {
            coefficients[i] = jpeg_fdct_quantize(block[i], divisors->quantizers[i]);
        }
    }
}

sl_jpeg_fdct sl_jpeg_fdct_for(sl_simd simd)
{
#if defined(__x86_64__)
    if (simd >= SL_SIMD_AVX2) {
        return sl_jpeg_fdct_avx2;
    }
#endif
    (void)simd;
    return sl_jpeg_fdct_scalar;
}
