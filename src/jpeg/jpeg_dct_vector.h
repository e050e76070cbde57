/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_dct_vector: the parts shared by the forward and the inverse transform of size 8, in vectors
 * of any width, to be included once by a variant that has defined VECTOR (the type), OP(name) (the
 * intrinsic), SHIFT_RIGHT(sums, bits) and TARGET.
 *
 * Every 128 bits of a vector belong to another block: a row of eight 16-bit values. So nothing
 * crosses a 128-bit border, and the width is the number of blocks processed at once.
 * Sums of 32 bits are in two vectors: columns 0..3 (`low`) and 4..7 (`high`) of a row.
 */
#ifndef SL_JPEG_DCT_VECTOR_H
#define SL_JPEG_DCT_VECTOR_H

#include <stddef.h>
#include <stdint.h>

typedef struct wide {
    VECTOR low, high;
} wide;

/* Interleaves the values of two rows; constants are paired the same way. */
TARGET static inline wide pair(VECTOR a, VECTOR b)
{
    return (wide){OP(unpacklo_epi16)(a, b), OP(unpackhi_epi16)(a, b)};
}

TARGET static inline wide multiply(wide pairs, int a, int b)
{
    VECTOR constants = OP(set1_epi32)((int)((uint32_t)(uint16_t)a | (uint32_t)b << 16));
    return (wide){OP(madd_epi16)(pairs.low, constants), OP(madd_epi16)(pairs.high, constants)};
}

TARGET static inline wide add(wide a, wide b)
{
    return (wide){OP(add_epi32)(a.low, b.low), OP(add_epi32)(a.high, b.high)};
}

TARGET static inline wide subtract(wide a, wide b)
{
    return (wide){OP(sub_epi32)(a.low, b.low), OP(sub_epi32)(a.high, b.high)};
}

TARGET static inline VECTOR narrow(wide a, unsigned bits)
{
    return OP(packs_epi32)(SHIFT_RIGHT(a.low, bits), SHIFT_RIGHT(a.high, bits));
}

/* Transposes rows to columns, in place. */
TARGET static inline void transpose(VECTOR rows[8])
{
    wide a[4]; /* of rows i and i + 4 */
    wide b[4]; /* columns 2 * i and 2 * i + 1 */
    for (size_t i = 0; i < 4; i++) {
        a[i] = pair(rows[i], rows[i + 4]);
    }
    wide even_left = pair(a[0].low, a[2].low);
    wide even_right = pair(a[0].high, a[2].high);
    wide odd_left = pair(a[1].low, a[3].low);
    wide odd_right = pair(a[1].high, a[3].high);
    b[0] = pair(even_left.low, odd_left.low);
    b[1] = pair(even_left.high, odd_left.high);
    b[2] = pair(even_right.low, odd_right.low);
    b[3] = pair(even_right.high, odd_right.high);
    for (size_t i = 0; i < 4; i++) {
        rows[2 * i] = b[i].low;
        rows[2 * i + 1] = b[i].high;
    }
}

#endif
