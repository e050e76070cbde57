/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_idct_vector: the inverse transform of size 8, and the steps that the smaller sizes share
 * with it, in vectors of any width, to be included once by a variant that has defined VECTOR (the
 * type), OP(name) (the intrinsic), ZERO, SHIFT_RIGHT(sums, bits), TARGET and AT_ONCE (the blocks of
 * a vector), and that defines the two functions declared here. jpeg_dct_vector.h describes the
 * layout of blocks in vectors.
 */
#ifndef SL_JPEG_IDCT_VECTOR_H
#define SL_JPEG_IDCT_VECTOR_H

#include "jpeg_dct_vector.h"
#include "jpeg_idct_variants.h"

#include <stdbool.h>
#include <string.h>

enum { SIDE = 8 };

typedef struct place {
    const int16_t *block;
    uint8_t *samples;
} place;

/* The coefficients of a block: in any row, in row 0 only, the first one only. */
typedef enum shape { DENSE, FLAT, CONSTANT } shape;

/* Defined by the variant: */
TARGET static inline shape find_shape(const int16_t *block);
TARGET static inline void transform_places(const place places[AT_ONCE], const uint16_t *quantizers,
                                           size_t stride);

/* Multiplies by 2^up, and adds the rounding of the final division by 2^bits. */
TARGET static inline wide widen(VECTOR a, unsigned up, unsigned bits)
{
    VECTOR rounding = OP(set1_epi32)(1 << (bits - 1));
    wide high = pair(ZERO, a);
    return (wide){OP(add_epi32)(SHIFT_RIGHT(high.low, 16 - up), rounding),
                  OP(add_epi32)(SHIFT_RIGHT(high.high, 16 - up), rounding)};
}

TARGET static inline void even_sums(const VECTOR rows[8], unsigned bits, wide sums[4])
{
    wide pair26 = pair(rows[2], rows[6]);
    wide plus = widen(OP(add_epi16)(rows[0], rows[4]), SL_IDCT_CONST_BITS, bits);
    wide minus = widen(OP(sub_epi16)(rows[0], rows[4]), SL_IDCT_CONST_BITS, bits);
    wide sum0 = multiply(pair26, SL_IDCT8_EVEN0_IN2, SL_IDCT8_EVEN0_IN6);
    wide sum1 = multiply(pair26, SL_IDCT8_EVEN1_IN2, SL_IDCT8_EVEN1_IN6);
    sums[0] = add(plus, sum0);
    sums[1] = add(minus, sum1);
    sums[2] = subtract(minus, sum1);
    sums[3] = subtract(plus, sum0);
}

TARGET static inline void odd_sums(const VECTOR rows[8], wide sums[4])
{
    wide pair71 = pair(rows[7], rows[1]);
    wide pair53 = pair(rows[5], rows[3]);
    wide both = pair(OP(add_epi16)(rows[7], rows[3]), OP(add_epi16)(rows[5], rows[1]));
    wide sum02 = multiply(both, SL_IDCT8_ODD02_IN73, SL_IDCT8_ODD02_IN51);
    wide sum13 = multiply(both, SL_IDCT8_ODD13_IN73, SL_IDCT8_ODD13_IN51);
    sums[0] = add(multiply(pair71, SL_IDCT8_ODD0_IN7, SL_IDCT8_ODD0_IN1), sum02);
    sums[1] = add(multiply(pair53, SL_IDCT8_ODD1_IN5, SL_IDCT8_ODD1_IN3), sum13);
    sums[2] = add(multiply(pair53, SL_IDCT8_ODD2_IN5, SL_IDCT8_ODD2_IN3), sum02);
    sums[3] = add(multiply(pair71, SL_IDCT8_ODD3_IN7, SL_IDCT8_ODD3_IN1), sum13);
}

/* Transforms the vectors, in place. */
TARGET static inline void transform(VECTOR rows[8], unsigned bits)
{
    wide even[4];
    wide odd[4];
    even_sums(rows, bits, even);
    odd_sums(rows, odd);
    for (size_t i = 0; i < 4; i++) {
        rows[i] = narrow(add(even[i], odd[i]), bits);
        rows[7 - i] = narrow(subtract(even[i], odd[i]), bits);
    }
}

/* Converts columns of 16-bit values to rows of samples: rows 2 * i and 2 * i + 1 in vector i. */
TARGET static inline void finish(const VECTOR columns[8], VECTOR samples[4])
{
    VECTOR centre = OP(set1_epi8)((char)SL_IDCT_CENTRE);
    VECTOR mixed[4];
    for (size_t i = 0; i < 4; i++) { /* columns i and i + 4 */
        mixed[i] = OP(add_epi8)(OP(packs_epi16)(columns[i], columns[i + 4]), centre);
    }
    VECTOR c01 = OP(unpacklo_epi8)(mixed[0], mixed[1]);
    VECTOR c45 = OP(unpackhi_epi8)(mixed[0], mixed[1]);
    VECTOR c23 = OP(unpacklo_epi8)(mixed[2], mixed[3]);
    VECTOR c67 = OP(unpackhi_epi8)(mixed[2], mixed[3]);
    wide left = pair(c01, c23);
    wide right = pair(c45, c67);
    samples[0] = OP(unpacklo_epi32)(left.low, right.low);
    samples[1] = OP(unpackhi_epi32)(left.low, right.low);
    samples[2] = OP(unpacklo_epi32)(left.high, right.high);
    samples[3] = OP(unpackhi_epi32)(left.high, right.high);
}

/* Transforms dequantized rows to samples in the layout of `finish`. */
TARGET static inline void transform_blocks(VECTOR rows[8], VECTOR samples[4])
{
    transform(rows, SL_IDCT_CONST_BITS - SL_IDCT_PASS1_BITS);
    transpose(rows);
    transform(rows, SL_IDCT_CONST_BITS + SL_IDCT_PASS1_BITS + 3);
    finish(rows, samples);
}

TARGET static inline void store_two_rows(uint8_t *samples, size_t stride, __m128i rows)
{
    _mm_storel_epi64((__m128i *)(void *)samples, rows);
    _mm_storeh_pi((__m64 *)(void *)(samples + stride), _mm_castsi128_ps(rows));
}

/* Handles blocks without coefficients below row 0, whose rows are all equal. True: it was one. */
TARGET static inline bool try_flat(const place *where, const uint16_t *quantizers, size_t stride)
{
    const shape found = find_shape(where->block);
    uint64_t row;
    if (found == DENSE) {
        return false;
    }
    if (found == CONSTANT) {
        row = sl_jpeg_idct8_dc(where->block[0], quantizers[0]) * (UINT64_MAX / UINT8_MAX);
    } else {
        uint8_t samples[SIDE];
        sl_jpeg_idct8_flat(where->block, quantizers, samples);
        memcpy(&row, samples, SIDE);
    }
    for (size_t y = 0; y < SIDE; y++) {
        memcpy(where->samples + y * stride, &row, SIDE);
    }
    return true;
}

/* Transforms all blocks of size 8: gathers those that are not flat, AT_ONCE at a time. */
TARGET static inline void transform_run(const sl_jpeg_blocks *blocks)
{
    place dense[AT_ONCE];
    size_t waiting = 0;
    for (size_t i = 0; i < blocks->count; i++) {
        dense[waiting].block = blocks->coefficients + i * blocks->pitch;
        dense[waiting].samples = blocks->samples + i * SIDE;
        if (try_flat(&dense[waiting], blocks->quantizers, blocks->stride)) {
            continue;
        }
        waiting++;
        if (waiting == AT_ONCE) {
            transform_places(dense, blocks->quantizers, blocks->stride);
            waiting = 0;
        }
    }
    if (waiting > 0) { /* repeats the last one */
        for (size_t i = waiting; i < AT_ONCE; i++) {
            dense[i] = dense[waiting - 1];
        }
        transform_places(dense, blocks->quantizers, blocks->stride);
    }
}

#endif
