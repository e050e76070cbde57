/* SPDX-License-Identifier: Apache-2.0 */
/* The forward transform in AVX2, two blocks at a time (jpeg_dct_vector.h). Pure. */
#include "jpeg_fdct.h"

#include <stdbool.h>

#if defined(__x86_64__)

#    include <immintrin.h>

#    define TARGET                  SL_TARGET_AVX2
#    define VECTOR                  __m256i
#    define OP(name)                _mm256_##name
#    define SHIFT_RIGHT(sums, bits) _mm256_srai_epi32(sums, (int)(bits))
#    include "jpeg_dct_vector.h"

enum { SIDE = 8, CENTRE = 128 };

TARGET static inline __m256i load_samples(const uint8_t *left, const uint8_t *right)
{
    const __m128i both = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i_u *)left),
                                            _mm_loadl_epi64((const __m128i_u *)right));
    return _mm256_sub_epi16(_mm256_cvtepu8_epi16(both), _mm256_set1_epi16(CENTRE));
}

TARGET static inline __m256i narrow_rounded(wide sums, unsigned bits)
{
    const __m256i half = _mm256_set1_epi32(1 << (bits - 1));
    return narrow(add(sums, (wide){half, half}), bits);
}

TARGET static inline void forward_even(const __m256i sums[4], bool first, unsigned bits,
                                       __m256i rows[8])
{
    const __m256i t10 = _mm256_add_epi16(sums[0], sums[3]);
    const __m256i t13 = _mm256_sub_epi16(sums[0], sums[3]);
    const __m256i t11 = _mm256_add_epi16(sums[1], sums[2]);
    const __m256i t12 = _mm256_sub_epi16(sums[1], sums[2]);
    const __m256i all = _mm256_add_epi16(t10, t11);
    const __m256i middle = _mm256_sub_epi16(t10, t11);
    const __m256i half = _mm256_set1_epi16(1 << (SL_FDCT_PASS1_BITS - 1));
    if (first) {
        rows[0] = _mm256_slli_epi16(all, SL_FDCT_PASS1_BITS);
        rows[4] = _mm256_slli_epi16(middle, SL_FDCT_PASS1_BITS);
    } else {
        rows[0] = _mm256_srai_epi16(_mm256_add_epi16(all, half), SL_FDCT_PASS1_BITS);
        rows[4] = _mm256_srai_epi16(_mm256_add_epi16(middle, half), SL_FDCT_PASS1_BITS);
    }
    const wide pairs = pair(t13, t12);
    rows[2] = narrow_rounded(multiply(pairs, SL_FDCT_OUT2_T13, SL_FDCT_OUT2_T12), bits);
    rows[6] = narrow_rounded(multiply(pairs, SL_FDCT_OUT6_T13, SL_FDCT_OUT6_T12), bits);
}

TARGET static inline void forward_odd(const __m256i d[4], unsigned bits, __m256i rows[8])
{
    const wide both = pair(_mm256_add_epi16(d[3], d[1]), _mm256_add_epi16(d[2], d[0]));
    const wide odd73 = multiply(both, SL_FDCT_ODD73_D31, SL_FDCT_ODD73_D20);
    const wide odd51 = multiply(both, SL_FDCT_ODD51_D31, SL_FDCT_ODD51_D20);
    const wide d30 = pair(d[3], d[0]);
    const wide d21 = pair(d[2], d[1]);
    rows[7] = narrow_rounded(add(multiply(d30, SL_FDCT_OUT7_D3, SL_FDCT_OUT7_D0), odd73), bits);
    rows[5] = narrow_rounded(add(multiply(d21, SL_FDCT_OUT5_D2, SL_FDCT_OUT5_D1), odd51), bits);
    rows[3] = narrow_rounded(add(multiply(d21, SL_FDCT_OUT3_D2, SL_FDCT_OUT3_D1), odd73), bits);
    rows[1] = narrow_rounded(add(multiply(d30, SL_FDCT_OUT1_D3, SL_FDCT_OUT1_D0), odd51), bits);
}

/* Transforms the vectors, in place. Inlined with constant `first`. */
TARGET static inline void forward(__m256i rows[8], bool first)
{
    const unsigned bits =
        first ? SL_FDCT_CONST_BITS - SL_FDCT_PASS1_BITS : SL_FDCT_CONST_BITS + SL_FDCT_PASS1_BITS;
    __m256i sums[4];
    __m256i differences[4];
    for (size_t i = 0; i < 4; i++) {
        sums[i] = _mm256_add_epi16(rows[i], rows[7 - i]);
        differences[i] = _mm256_sub_epi16(rows[i], rows[7 - i]);
    }
    forward_even(sums, first, bits, rows);
    forward_odd(differences, bits, rows);
}

TARGET static inline __m256i load_row(const uint16_t *values, size_t row)
{
    return _mm256_broadcastsi128_si256(
        _mm_load_si128((const __m128i *)(const void *)(values + row * SIDE)));
}

TARGET static inline __m256i quantize(__m256i values, const sl_jpeg_divisors *divisors, size_t row)
{
    const __m256i sizes =
        _mm256_add_epi16(_mm256_abs_epi16(values), load_row(divisors->halves, row));
    const __m256i doubled = _mm256_slli_epi16(_mm256_srli_epi16(sizes, 3), 1);
    const __m256i parts = _mm256_mulhi_epu16(doubled, load_row(divisors->reciprocals, row));
    const __m256i levels =
        _mm256_mulhi_epu16(_mm256_slli_epi16(parts, 1), load_row(divisors->scales, row));
    return _mm256_sign_epi16(levels, values);
}

/* With an odd number, the last block is processed twice. */
TARGET void sl_jpeg_fdct_avx2(const uint8_t *samples, size_t stride, size_t count,
                              const sl_jpeg_divisors *divisors, int16_t *coefficients)
{
    for (size_t b = 0; b < count; b += 2) {
        const size_t next = b + 1 < count ? b + 1 : b;
        int16_t *left = coefficients + b * SL_JPEG_BLOCK;
        int16_t *right = coefficients + next * SL_JPEG_BLOCK;
        __m256i rows[8];
        for (size_t y = 0; y < SIDE; y++) {
            const uint8_t *row = samples + y * stride;
            rows[y] = load_samples(row + b * SIDE, row + next * SIDE);
        }
        transpose(rows);
        forward(rows, true);
        transpose(rows);
        forward(rows, false);
        for (size_t y = 0; y < SIDE; y++) {
            const __m256i levels = quantize(rows[y], divisors, y);
            _mm_store_si128((__m128i *)(void *)(left + y * SIDE), _mm256_castsi256_si128(levels));
            _mm_store_si128((__m128i *)(void *)(right + y * SIDE),
                            _mm256_extracti128_si256(levels, 1));
        }
    }
}

#endif
