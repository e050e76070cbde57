/* SPDX-License-Identifier: Apache-2.0 */
/* Size 8, a block at a time: a vector is a row of eight 16-bit values. */
#include "jpeg_idct_variants.h"

#if defined(__aarch64__)

#    include <arm_neon.h>
#    include <stdbool.h>
#    include <string.h>

enum { SIDE = 8 };

/* Sums of 32 bits: columns 0..3 and 4..7. */
typedef struct wide {
    int32x4_t low, high;
} wide;

static inline wide add(wide a, wide b)
{
    return (wide){vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)};
}

static inline wide subtract(wide a, wide b)
{
    return (wide){vsubq_s32(a.low, b.low), vsubq_s32(a.high, b.high)};
}

static inline wide multiply(int16x8_t a, int16_t of_a, int16x8_t b, int16_t of_b)
{
    int32x4_t low = vmull_n_s16(vget_low_s16(a), of_a);
    int32x4_t high = vmull_high_n_s16(a, of_a);
    return (wide){vmlal_n_s16(low, vget_low_s16(b), of_b), vmlal_high_n_s16(high, b, of_b)};
}

/* Widens, and adds the rounding of the final division by 2^bits. */
static inline wide widen(int16x8_t a, int bits)
{
    int32x4_t rounding = vdupq_n_s32(1 << (bits - 1));
    return (wide){vaddq_s32(vshll_n_s16(vget_low_s16(a), SL_IDCT_CONST_BITS), rounding),
                  vaddq_s32(vshll_high_n_s16(a, SL_IDCT_CONST_BITS), rounding)};
}

static inline int16x8_t narrow(wide a, int bits)
{
    int32x4_t shift = vdupq_n_s32(-bits);
    return vqmovn_high_s32(vqmovn_s32(vshlq_s32(a.low, shift)), vshlq_s32(a.high, shift));
}

static inline void even_sums(const int16x8_t rows[SIDE], int bits, wide sums[4])
{
    wide plus = widen(vaddq_s16(rows[0], rows[4]), bits);
    wide minus = widen(vsubq_s16(rows[0], rows[4]), bits);
    wide sum0 = multiply(rows[2], SL_IDCT8_EVEN0_IN2, rows[6], SL_IDCT8_EVEN0_IN6);
    wide sum1 = multiply(rows[2], SL_IDCT8_EVEN1_IN2, rows[6], SL_IDCT8_EVEN1_IN6);
    sums[0] = add(plus, sum0);
    sums[1] = add(minus, sum1);
    sums[2] = subtract(minus, sum1);
    sums[3] = subtract(plus, sum0);
}

static inline void odd_sums(const int16x8_t rows[SIDE], wide sums[4])
{
    int16x8_t in73 = vaddq_s16(rows[7], rows[3]);
    int16x8_t in51 = vaddq_s16(rows[5], rows[1]);
    wide sum02 = multiply(in73, SL_IDCT8_ODD02_IN73, in51, SL_IDCT8_ODD02_IN51);
    wide sum13 = multiply(in73, SL_IDCT8_ODD13_IN73, in51, SL_IDCT8_ODD13_IN51);
    sums[0] = add(multiply(rows[7], SL_IDCT8_ODD0_IN7, rows[1], SL_IDCT8_ODD0_IN1), sum02);
    sums[1] = add(multiply(rows[5], SL_IDCT8_ODD1_IN5, rows[3], SL_IDCT8_ODD1_IN3), sum13);
    sums[2] = add(multiply(rows[5], SL_IDCT8_ODD2_IN5, rows[3], SL_IDCT8_ODD2_IN3), sum02);
    sums[3] = add(multiply(rows[7], SL_IDCT8_ODD3_IN7, rows[1], SL_IDCT8_ODD3_IN1), sum13);
}

/* Transforms in place. */
static inline void transform(int16x8_t rows[SIDE], int bits)
{
    wide even[4];
    wide odd[4];
    even_sums(rows, bits, even);
    odd_sums(rows, odd);
    for (size_t i = 0; i < 4; i++) {
        rows[i] = narrow(add(even[i], odd[i]), bits);
        rows[SIDE - 1 - i] = narrow(subtract(even[i], odd[i]), bits);
    }
}

/* Transposes in place: interleaves `rows` with the rows four further, three times. */
static inline void transpose(int16x8_t rows[SIDE])
{
    for (int step = 0; step < 3; step++) {
        int16x8_t mixed[SIDE];
        for (size_t i = 0; i < 4; i++) {
            mixed[2 * i] = vzip1q_s16(rows[i], rows[i + 4]);
            mixed[2 * i + 1] = vzip2q_s16(rows[i], rows[i + 4]);
        }
        memcpy(rows, mixed, sizeof(mixed));
    }
}

static inline int16x8_t load_row(const int16_t *block, size_t row)
{
    return vld1q_s16(block + row * SIDE);
}

static void transform_block(const int16_t *block, const uint16_t *quantizers, uint8_t *samples,
                            size_t stride)
{
    int16x8_t rows[SIDE];
    for (size_t y = 0; y < SIDE; y++) {
        uint16x8_t quantizer = vld1q_u16(quantizers + y * SIDE);
        rows[y] = vmulq_s16(load_row(block, y), vreinterpretq_s16_u16(quantizer));
    }
    transform(rows, SL_IDCT_CONST_BITS - SL_IDCT_PASS1_BITS);
    transpose(rows);
    transform(rows, SL_IDCT_CONST_BITS + SL_IDCT_PASS1_BITS + 3);
    transpose(rows);
    for (size_t y = 0; y < SIDE; y++) {
        uint8x8_t row = vreinterpret_u8_s8(vqmovn_s16(rows[y]));
        vst1_u8(samples + y * stride, vadd_u8(row, vdup_n_u8(SL_IDCT_CENTRE)));
    }
}

/* Handles blocks without coefficients below row 0, whose rows are all equal. True: it was one. */
static bool try_flat(const int16_t *block, const uint16_t *quantizers, uint8_t *samples,
                     size_t stride)
{
    int16x8_t below = load_row(block, 1);
    for (size_t y = 2; y < SIDE; y++) {
        below = vorrq_s16(below, load_row(block, y));
    }
    if (vmaxvq_u16(vreinterpretq_u16_s16(below)) != 0) {
        return false;
    }
    uint8_t row[SIDE];
    sl_jpeg_idct8_flat(block, quantizers, row);
    for (size_t y = 0; y < SIDE; y++) {
        memcpy(samples + y * stride, row, SIDE);
    }
    return true;
}

void sl_jpeg_idct8_neon(const sl_jpeg_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++) {
        const int16_t *block = blocks->coefficients + i * blocks->pitch;
        uint8_t *samples = blocks->samples + i * SIDE;
        if (!try_flat(block, blocks->quantizers, samples, blocks->stride)) {
            transform_block(block, blocks->quantizers, samples, blocks->stride);
        }
    }
}

#endif
