/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_idct: the scalar reference, and the choice of the variant for each size. Pure. Arithmetic
 * is done modulo 2^32 on unsigned numbers, and truncated to 16 bits where vectors would be. */
#include "jpeg_idct.h"
#include "jpeg_idct_variants.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { SIDE = 8 };

static int32_t wrap16(int32_t value)
{
    return (int16_t)(uint16_t)value;
}

static int32_t saturate16(int32_t value)
{
    return value > INT16_MAX ? INT16_MAX : value < INT16_MIN ? INT16_MIN : value;
}

static uint8_t to_sample(int32_t value)
{
    int32_t sample = value + SL_IDCT_CENTRE;
    return (uint8_t)(sample > UINT8_MAX ? UINT8_MAX : sample < 0 ? 0 : sample);
}

/* Returns a term of a sum modulo 2^32. */
static uint32_t term(int32_t value, int32_t constant)
{
    return (uint32_t)value * (uint32_t)constant;
}

static uint32_t scale(int32_t value, unsigned bits)
{
    return (uint32_t)value << bits;
}

/* Divides by 2^bits, rounded. */
static int32_t descale(uint32_t value, unsigned bits)
{
    return (int32_t)(value + (1U << (bits - 1))) >> bits;
}

typedef void block_work(const int16_t *block, const uint16_t *quantizers, uint8_t *samples,
                        size_t stride);

static inline void each_block(const sl_jpeg_blocks *blocks, block_work *work, size_t size)
{
    for (size_t i = 0; i < blocks->count; i++) {
        work(blocks->coefficients + i * blocks->pitch, blocks->quantizers,
             blocks->samples + i * size, blocks->stride);
    }
}

static bool row_is_zero(const int16_t *block, unsigned row)
{
    static const int16_t zero[SIDE];
    return memcmp(block + (size_t)row * SIDE, zero, sizeof(zero)) == 0;
}

/* Returns whether none of the rows in `rows` (bit i: row i) has a coefficient. */
static bool rows_are_zero(const int16_t *block, unsigned rows)
{
    for (unsigned row = 0; row < SIDE; row++) {
        if ((rows >> row & 1) != 0 && !row_is_zero(block, row)) {
            return false;
        }
    }
    return true;
}

static void jpeg_idct_dequantize(const int16_t *block, const uint16_t *quantizers, int32_t *values)
{
    for (size_t i = 0; i < SL_JPEG_BLOCK; i++) {
        values[i] = wrap16((int32_t)((uint32_t)block[i] * quantizers[i]));
    }
}

typedef struct four_sums {
    uint32_t sum0, sum1, sum2, sum3;
} four_sums;

/* Takes eight inputs, `step` apart, here and below. */
static inline four_sums even_sums8(const int32_t *in, size_t step)
{
    int32_t in2 = in[2 * step];
    int32_t in6 = in[6 * step];
    uint32_t plus = scale(wrap16(in[0] + in[4 * step]), SL_IDCT_CONST_BITS);
    uint32_t minus = scale(wrap16(in[0] - in[4 * step]), SL_IDCT_CONST_BITS);
    uint32_t even0 = term(in2, SL_IDCT8_EVEN0_IN2) + term(in6, SL_IDCT8_EVEN0_IN6);
    uint32_t even1 = term(in2, SL_IDCT8_EVEN1_IN2) + term(in6, SL_IDCT8_EVEN1_IN6);
    return (four_sums){plus + even0, minus + even1, minus - even1, plus - even0};
}

static inline four_sums odd_sums8(const int32_t *in, size_t step)
{
    int32_t in1 = in[1 * step];
    int32_t in3 = in[3 * step];
    int32_t in5 = in[5 * step];
    int32_t in7 = in[7 * step];
    int32_t in73 = wrap16(in7 + in3);
    int32_t in51 = wrap16(in5 + in1);
    uint32_t odd02 = term(in73, SL_IDCT8_ODD02_IN73) + term(in51, SL_IDCT8_ODD02_IN51);
    uint32_t odd13 = term(in73, SL_IDCT8_ODD13_IN73) + term(in51, SL_IDCT8_ODD13_IN51);
    return (four_sums){
        term(in7, SL_IDCT8_ODD0_IN7) + term(in1, SL_IDCT8_ODD0_IN1) + odd02,
        term(in5, SL_IDCT8_ODD1_IN5) + term(in3, SL_IDCT8_ODD1_IN3) + odd13,
        term(in5, SL_IDCT8_ODD2_IN5) + term(in3, SL_IDCT8_ODD2_IN3) + odd02,
        term(in7, SL_IDCT8_ODD3_IN7) + term(in1, SL_IDCT8_ODD3_IN1) + odd13,
    };
}

static inline void transform8(const int32_t *in, size_t step, int32_t out[SIDE], unsigned bits)
{
    four_sums even = even_sums8(in, step);
    four_sums odd = odd_sums8(in, step);
    out[0] = saturate16(descale(even.sum0 + odd.sum0, bits));
    out[1] = saturate16(descale(even.sum1 + odd.sum1, bits));
    out[2] = saturate16(descale(even.sum2 + odd.sum2, bits));
    out[3] = saturate16(descale(even.sum3 + odd.sum3, bits));
    out[4] = saturate16(descale(even.sum3 - odd.sum3, bits));
    out[5] = saturate16(descale(even.sum2 - odd.sum2, bits));
    out[6] = saturate16(descale(even.sum1 - odd.sum1, bits));
    out[7] = saturate16(descale(even.sum0 - odd.sum0, bits));
}

/* Converts one row of results of the first pass (`step` apart) to samples. */
static void finish8(const int32_t *in, size_t step, uint8_t *row)
{
    int32_t out[SIDE];
    transform8(in, step, out, SL_IDCT_CONST_BITS + SL_IDCT_PASS1_BITS + 3);
    for (size_t x = 0; x < SIDE; x++) {
        row[x] = to_sample(out[x]);
    }
}

void sl_jpeg_idct8_flat(const int16_t *block, const uint16_t *quantizers, uint8_t row[SIDE])
{
    int32_t values[SIDE];
    for (size_t i = 0; i < SIDE; i++) {
        values[i] = wrap16((int32_t)((uint32_t)block[i] * quantizers[i] << SL_IDCT_PASS1_BITS));
    }
    finish8(values, 1, row);
}

static void block8(const int16_t *block, const uint16_t *quantizers, uint8_t *samples,
                   size_t stride)
{
    if (rows_are_zero(block, 0xFE)) {
        uint8_t row[SIDE];
        sl_jpeg_idct8_flat(block, quantizers, row);
        for (size_t y = 0; y < SIDE; y++) {
            memcpy(samples + y * stride, row, SIDE);
        }
        return;
    }
    int32_t values[SL_JPEG_BLOCK];
    int32_t columns[SL_JPEG_BLOCK]; /* of the first pass, one after the other */
    jpeg_idct_dequantize(block, quantizers, values);
    for (size_t x = 0; x < SIDE; x++) {
        transform8(values + x, SIDE, columns + x * SIDE, SL_IDCT_CONST_BITS - SL_IDCT_PASS1_BITS);
    }
    for (size_t y = 0; y < SIDE; y++) {
        finish8(columns + y, SIDE, samples + y * stride);
    }
}

void sl_jpeg_idct8_scalar(const sl_jpeg_blocks *blocks)
{
    each_block(blocks, block8, SIDE);
}

/* Does not use the input at 4. */
static void jpeg_idct_transform4(const int32_t *in, size_t step, int32_t out[4], unsigned bits)
{
    int32_t in1 = in[1 * step];
    int32_t in3 = in[3 * step];
    int32_t in5 = in[5 * step];
    int32_t in7 = in[7 * step];
    uint32_t base = scale(in[0], SL_IDCT_CONST_BITS + 1);
    uint32_t even = term(in[2 * step], SL_IDCT4_EVEN_IN2) + term(in[6 * step], SL_IDCT4_EVEN_IN6);
    uint32_t odd0 = term(in7, SL_IDCT4_ODD0_IN7) + term(in5, SL_IDCT4_ODD0_IN5) +
                    term(in3, SL_IDCT4_ODD0_IN3) + term(in1, SL_IDCT4_ODD0_IN1);
    uint32_t odd1 = term(in7, SL_IDCT4_ODD1_IN7) + term(in5, SL_IDCT4_ODD1_IN5) +
                    term(in3, SL_IDCT4_ODD1_IN3) + term(in1, SL_IDCT4_ODD1_IN1);
    out[0] = saturate16(descale(base + even + odd0, bits));
    out[1] = saturate16(descale(base - even + odd1, bits));
    out[2] = saturate16(descale(base - even - odd1, bits));
    out[3] = saturate16(descale(base + even - odd0, bits));
}

static void block4(const int16_t *block, const uint16_t *quantizers, uint8_t *samples,
                   size_t stride)
{
    int32_t values[SL_JPEG_BLOCK];
    int32_t columns[4 * SIDE]; /* of the first pass, one after the other */
    jpeg_idct_dequantize(block, quantizers, values);
    bool flat = rows_are_zero(block, 0xEE);
    for (size_t x = 0; x < SIDE; x++) {
        int32_t *column = columns + x * 4;
        jpeg_idct_transform4(values + x, SIDE, column, SL_IDCT_CONST_BITS - SL_IDCT_PASS1_BITS + 1);
        for (size_t y = 0; flat && y < 4; y++) {
            column[y] = wrap16((int32_t)scale(values[x], SL_IDCT_PASS1_BITS));
        }
    }
    for (size_t y = 0; y < 4; y++) {
        int32_t out[4];
        jpeg_idct_transform4(columns + y, 4, out, SL_IDCT_CONST_BITS + SL_IDCT_PASS1_BITS + 3 + 1);
        for (size_t x = 0; x < 4; x++) {
            samples[y * stride + x] = to_sample(out[x]);
        }
    }
}

void sl_jpeg_idct4_scalar(const sl_jpeg_blocks *blocks)
{
    each_block(blocks, block4, 4);
}

/* Uses inputs 0 and the odd ones. */
static void jpeg_idct_transform2(const int32_t *in, size_t step, int32_t out[2], unsigned bits)
{
    uint32_t base = scale(in[0], SL_IDCT_CONST_BITS + 2);
    uint32_t odd = term(in[7 * step], SL_IDCT2_ODD_IN7) + term(in[5 * step], SL_IDCT2_ODD_IN5) +
                   term(in[3 * step], SL_IDCT2_ODD_IN3) + term(in[1 * step], SL_IDCT2_ODD_IN1);
    out[0] = descale(base + odd, bits);
    out[1] = descale(base - odd, bits);
}

static void block2(const int16_t *block, const uint16_t *quantizers, uint8_t *samples,
                   size_t stride)
{
    int32_t values[SL_JPEG_BLOCK];
    int32_t columns[2 * SIDE]; /* of the first pass, one after the other */
    jpeg_idct_dequantize(block, quantizers, values);
    for (size_t x = 0; x < SIDE; x++) {
        int32_t *column = columns + x * 2;
        jpeg_idct_transform2(values + x, SIDE, column, SL_IDCT_CONST_BITS - SL_IDCT_PASS1_BITS + 2);
        /* column 0 enters the second pass by a shift alone, modulo 2^32 */
        column[0] = x == 0 ? column[0] : saturate16(column[0]);
        column[1] = x == 0 ? column[1] : saturate16(column[1]);
    }
    for (size_t y = 0; y < 2; y++) {
        int32_t out[2];
        jpeg_idct_transform2(columns + y, 2, out, SL_IDCT_CONST_BITS + SL_IDCT_PASS1_BITS + 3 + 2);
        samples[y * stride] = to_sample(out[0]);
        samples[y * stride + 1] = to_sample(out[1]);
    }
}

void sl_jpeg_idct2_scalar(const sl_jpeg_blocks *blocks)
{
    each_block(blocks, block2, 2);
}

/* libjpeg has no vector code here: its C code keeps the whole product, and the mean modulo 2^10. */
void sl_jpeg_idct1_scalar(const sl_jpeg_blocks *blocks)
{
    enum { MEAN_BITS = 10 };
    int32_t quantizer = (int16_t)blocks->quantizers[0];
    for (size_t i = 0; i < blocks->count; i++) {
        int32_t mean = descale((uint32_t)(blocks->coefficients[i * blocks->pitch] * quantizer), 3);
        int32_t wrapped = (int32_t)((uint32_t)mean << (32 - MEAN_BITS)) >> (32 - MEAN_BITS);
        blocks->samples[i] = to_sample(wrapped);
    }
}

enum { SIZES = 4 }; /* 1, 2, 4, 8 */

static const sl_jpeg_idct kernels[SL_SIMD_COUNT][SIZES] = {
    [SL_SIMD_SCALAR] = {sl_jpeg_idct1_scalar, sl_jpeg_idct2_scalar, sl_jpeg_idct4_scalar,
                        sl_jpeg_idct8_scalar},
#if defined(__x86_64__)
    [SL_SIMD_AVX2] = {NULL, sl_jpeg_idct2_avx2, sl_jpeg_idct4_avx2, sl_jpeg_idct8_avx2},
    [SL_SIMD_AVX512] = {[3] = sl_jpeg_idct8_avx512},
#elif defined(__aarch64__)
    [SL_SIMD_NEON] = {[3] = sl_jpeg_idct8_neon},
#endif
};

/* If a level has no variant of its own, uses the best one below it. */
sl_jpeg_idct sl_jpeg_idct_for(sl_simd simd, unsigned size)
{
    assert(simd < SL_SIMD_COUNT && (size == 8 || size == 4 || size == 2 || size == 1));
    unsigned index = size == 8 ? 3 : size / 2;
    while (kernels[simd][index] == NULL) {
        assert(simd != SL_SIMD_SCALAR);
        simd--;
    }
    return kernels[simd][index];
}
