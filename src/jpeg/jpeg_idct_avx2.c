/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse transform in AVX2, two blocks at a time; jpeg_idct_vector.h describes their layout
 * in the vectors. Pure; equal to the scalar reference bit for bit. */
#include "jpeg_idct_variants.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define TARGET                  __attribute__((target("avx2,bmi,bmi2,fma")))
#    define VECTOR                  __m256i
#    define OP(name)                _mm256_##name
#    define ZERO                    _mm256_setzero_si256()
#    define SHIFT_RIGHT(sums, bits) _mm256_srai_epi32(sums, (int)(bits))
#    define AT_ONCE                 2
#    include "jpeg_idct_vector.h"

/* ---- size 8 ---- */

TARGET static inline __m128i load_row(const void *row)
{
    return _mm_load_si128((const __m128i *)row);
}

TARGET static inline __m256i load_two_rows(const int16_t *block, size_t row)
{
    return _mm256_load_si256((const __m256i *)(const void *)(block + row * SIDE));
}

/* Loads the same row of two blocks. */
TARGET static inline __m256i load_both(const int16_t *first, const int16_t *second, size_t row)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_row(first + row * SIDE)),
                                   load_row(second + row * SIDE), 1);
}

TARGET static inline __m256i dequantize(__m256i values, const uint16_t *quantizers, size_t row)
{
    return _mm256_mullo_epi16(values,
                              _mm256_broadcastsi128_si256(load_row(quantizers + row * SIDE)));
}

TARGET static inline void transform_places(const place places[AT_ONCE], const uint16_t *quantizers,
                                           size_t stride)
{
    __m256i rows[SIDE];
    __m256i samples[4];
    for (size_t y = 0; y < SIDE; y++) {
        rows[y] = dequantize(load_both(places[0].block, places[1].block, y), quantizers, y);
    }
    transform_blocks(rows, samples);
    for (size_t i = 0; i < 4; i++) {
        store_two_rows(places[0].samples + 2 * i * stride, stride,
                       _mm256_castsi256_si128(samples[i]));
        store_two_rows(places[1].samples + 2 * i * stride, stride,
                       _mm256_extracti128_si256(samples[i], 1));
    }
}

TARGET static inline shape find_shape(const int16_t *block)
{
    __m256i first = load_two_rows(block, 0);
    __m256i rest = _mm256_or_si256(
        load_two_rows(block, 2), _mm256_or_si256(load_two_rows(block, 4), load_two_rows(block, 6)));
    __m256i below = _mm256_or_si256(rest, _mm256_permute2x128_si256(first, first, 0x81));
    if (!_mm256_testz_si256(below, below)) {
        return DENSE;
    }
    __m128i dc = _mm_cvtsi32_si128(UINT16_MAX);
    return _mm_testc_si128(dc, _mm256_castsi256_si128(first)) ? CONSTANT : FLAT;
}

TARGET void sl_jpeg_idct8_avx2(const sl_jpeg_blocks *blocks)
{
    transform_run(blocks);
}

/* ---- sizes 4 and 2 ---- */

/* Two blocks and their destinations; the same block may be given twice. */
typedef struct couple {
    const int16_t *blocks[AT_ONCE];
    uint8_t *samples[AT_ONCE];
    const uint16_t *quantizers;
    size_t stride;
} couple;

/* Computes outputs from the even sum of inputs 2 and 6, with the base of input 0, and the odd
 * inputs. */
TARGET static inline void transform4_rows(wide base, wide pair26, wide pair75, wide pair31,
                                          wide out[4])
{
    wide even = multiply(pair26, SL_IDCT4_EVEN_IN2, SL_IDCT4_EVEN_IN6);
    wide odd0 = add(multiply(pair75, SL_IDCT4_ODD0_IN7, SL_IDCT4_ODD0_IN5),
                    multiply(pair31, SL_IDCT4_ODD0_IN3, SL_IDCT4_ODD0_IN1));
    wide odd1 = add(multiply(pair75, SL_IDCT4_ODD1_IN7, SL_IDCT4_ODD1_IN5),
                    multiply(pair31, SL_IDCT4_ODD1_IN3, SL_IDCT4_ODD1_IN1));
    wide outer = add(base, even);
    wide inner = subtract(base, even);
    out[0] = add(outer, odd0);
    out[1] = add(inner, odd1);
    out[2] = subtract(inner, odd1);
    out[3] = subtract(outer, odd0);
}

/* Runs the first pass: eight columns of four rows. Does not use input row 4. */
TARGET static inline void columns4(const couple *two, __m256i rows[4])
{
    enum { BITS = SL_IDCT_CONST_BITS - SL_IDCT_PASS1_BITS + 1 };
    __m256i in[SIDE];
    __m256i below = ZERO;
    for (size_t y = 0; y < SIDE; y += y == 3 ? 2 : 1) {
        __m256i values = load_both(two->blocks[0], two->blocks[1], y);
        below = y == 0 ? below : _mm256_or_si256(below, values);
        in[y] = dequantize(values, two->quantizers, y);
    }
    wide out[4];
    transform4_rows(widen(in[0], SL_IDCT_CONST_BITS + 1, BITS), pair(in[2], in[6]),
                    pair(in[7], in[5]), pair(in[3], in[1]), out);
    /* if only row 0 has coefficients: modulo 2^16 instead of saturated */
    __m256i halves = _mm256_cmpeq_epi64(below, ZERO);
    __m256i flat = _mm256_and_si256(halves, _mm256_shuffle_epi32(halves, 0x4E));
    __m256i wrapped = _mm256_slli_epi16(in[0], SL_IDCT_PASS1_BITS);
    for (size_t y = 0; y < 4; y++) {
        rows[y] = _mm256_blendv_epi8(narrow(out[y], BITS), wrapped, flat);
    }
}

/* Runs the second pass. Returns four rows of four samples, one after the other, in each 128
 * bits. The sums of a column take 128 bits: only the `low` halves are used, until the end. */
TARGET static inline __m256i rows4(const __m256i rows[4])
{
    enum { BITS = SL_IDCT_CONST_BITS + SL_IDCT_PASS1_BITS + 3 + 1 };
    wide top = pair(rows[0], rows[1]);
    wide bottom = pair(rows[2], rows[3]);
    __m256i c01 = _mm256_unpacklo_epi32(top.low, bottom.low);
    __m256i c23 = _mm256_unpackhi_epi32(top.low, bottom.low);
    __m256i c45 = _mm256_unpacklo_epi32(top.high, bottom.high);
    __m256i c67 = _mm256_unpackhi_epi32(top.high, bottom.high);
    wide pair26 = {_mm256_unpacklo_epi16(c23, c67), ZERO};
    wide pair75 = {_mm256_unpackhi_epi16(c67, c45), ZERO};
    wide pair31 = {_mm256_unpackhi_epi16(c23, c01), ZERO};
    wide out[4];
    transform4_rows(widen(c01, SL_IDCT_CONST_BITS + 1, BITS), pair26, pair75, pair31, out);
    __m256i left = narrow((wide){out[0].low, out[1].low}, BITS);
    __m256i right = narrow((wide){out[2].low, out[3].low}, BITS);
    __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    return _mm256_add_epi8(_mm256_shuffle_epi8(_mm256_packs_epi16(left, right), order),
                           _mm256_set1_epi8((char)SL_IDCT_CENTRE));
}

TARGET static inline void jpeg_idct_avx2_transform4(const couple *two)
{
    __m256i rows[4];
    uint8_t samples[AT_ONCE][4][4];
    columns4(two, rows);
    _mm256_storeu_si256((__m256i *)(void *)samples, rows4(rows));
    for (size_t i = 0; i < AT_ONCE; i++) {
        for (size_t y = 0; y < 4; y++) {
            memcpy(two->samples[i] + y * two->stride, samples[i][y], 4);
        }
    }
}

/* Returns the odd sums of the second pass: of the upper row, of the lower one, and both again. */
TARGET static inline __m256i odd_sums2(__m256i upper, __m256i lower)
{
    __m256i constants = _mm256_broadcastsi128_si256(_mm_setr_epi16(
        0, SL_IDCT2_ODD_IN1, 0, SL_IDCT2_ODD_IN3, 0, SL_IDCT2_ODD_IN5, 0, SL_IDCT2_ODD_IN7));
    __m256i halves =
        _mm256_hadd_epi32(_mm256_madd_epi16(upper, constants), _mm256_madd_epi16(lower, constants));
    return _mm256_hadd_epi32(halves, halves);
}

TARGET static inline void jpeg_idct_avx2_transform2(const couple *two)
{
    enum { BITS = SL_IDCT_CONST_BITS - SL_IDCT_PASS1_BITS + 2 };
    enum { BITS_AFTER = SL_IDCT_CONST_BITS + SL_IDCT_PASS1_BITS + 3 + 2 };
    __m256i in[SIDE];
    for (size_t y = 0; y < SIDE; y += y == 0 ? 1 : 2) {
        in[y] = dequantize(load_both(two->blocks[0], two->blocks[1], y), two->quantizers, y);
    }
    wide base = widen(in[0], SL_IDCT_CONST_BITS + 2, BITS);
    wide odd = add(multiply(pair(in[7], in[5]), SL_IDCT2_ODD_IN7, SL_IDCT2_ODD_IN5),
                   multiply(pair(in[3], in[1]), SL_IDCT2_ODD_IN3, SL_IDCT2_ODD_IN1));
    wide upper = add(base, odd);
    wide lower = subtract(base, odd);
    __m256i sums = odd_sums2(narrow(upper, BITS), narrow(lower, BITS));
    /* column 0 was not reduced to 16 bits */
    __m256i first = _mm256_srai_epi32(_mm256_unpacklo_epi32(upper.low, lower.low), BITS);
    first = _mm256_add_epi32(_mm256_slli_epi32(first, SL_IDCT_CONST_BITS + 2),
                             _mm256_set1_epi32(1 << (BITS_AFTER - 1)));
    __m256i samples =
        _mm256_unpacklo_epi32(_mm256_add_epi32(first, sums), _mm256_sub_epi32(first, sums));
    samples = narrow((wide){samples, samples}, BITS_AFTER);
    samples = _mm256_add_epi8(_mm256_packs_epi16(samples, samples),
                              _mm256_set1_epi8((char)SL_IDCT_CENTRE));
    uint8_t bytes[AT_ONCE][SIDE * 2];
    _mm256_storeu_si256((__m256i *)(void *)bytes, samples);
    for (size_t i = 0; i < AT_ONCE; i++) {
        memcpy(two->samples[i], bytes[i], 2);
        memcpy(two->samples[i] + two->stride, bytes[i] + 2, 2);
    }
}

static inline couple couple_at(const sl_jpeg_blocks *blocks, size_t index, size_t size)
{
    size_t other = index + 1 < blocks->count ? index + 1 : index;
    return (couple){{blocks->coefficients + index * blocks->pitch,
                     blocks->coefficients + other * blocks->pitch},
                    {blocks->samples + index * size, blocks->samples + other * size},
                    blocks->quantizers,
                    blocks->stride};
}

TARGET void sl_jpeg_idct4_avx2(const sl_jpeg_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i += AT_ONCE) {
        couple two = couple_at(blocks, i, 4);
        jpeg_idct_avx2_transform4(&two);
    }
}

TARGET void sl_jpeg_idct2_avx2(const sl_jpeg_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i += AT_ONCE) {
        couple two = couple_at(blocks, i, 2);
        jpeg_idct_avx2_transform2(&two);
    }
}

#endif
