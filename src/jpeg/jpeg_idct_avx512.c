/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_idct_variants.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define TARGET                  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#    define VECTOR                  __m512i
#    define OP(name)                _mm512_##name
#    define ZERO                    _mm512_setzero_si512()
#    define SHIFT_RIGHT(sums, bits) _mm512_srai_epi32(sums, bits)
#    define AT_ONCE                 4
#    include "jpeg_idct_vector.h"

enum { HALF_BLOCK = SL_JPEG_BLOCK / 2 };

/* Loads the same four rows of four blocks, dequantized: row i of each to rows[i]. */
TARGET static inline void load_rows(const place places[AT_ONCE], const uint16_t *quantizers,
                                    size_t half, __m512i rows[4])
{
    __m512i quantizer = _mm512_load_si512(quantizers + half * HALF_BLOCK);
    __m512i of[AT_ONCE];
    for (size_t i = 0; i < AT_ONCE; i++) {
        of[i] =
            _mm512_mullo_epi16(_mm512_load_si512(places[i].block + half * HALF_BLOCK), quantizer);
    }
    __m512i top01 = _mm512_shuffle_i64x2(of[0], of[1], 0x44);
    __m512i top23 = _mm512_shuffle_i64x2(of[2], of[3], 0x44);
    __m512i bottom01 = _mm512_shuffle_i64x2(of[0], of[1], 0xEE);
    __m512i bottom23 = _mm512_shuffle_i64x2(of[2], of[3], 0xEE);
    rows[0] = _mm512_shuffle_i64x2(top01, top23, 0x88);
    rows[1] = _mm512_shuffle_i64x2(top01, top23, 0xDD);
    rows[2] = _mm512_shuffle_i64x2(bottom01, bottom23, 0x88);
    rows[3] = _mm512_shuffle_i64x2(bottom01, bottom23, 0xDD);
}

TARGET static inline void transform_places(const place places[AT_ONCE], const uint16_t *quantizers,
                                           size_t stride)
{
    __m512i rows[SIDE];
    __m512i samples[4];
    load_rows(places, quantizers, 0, rows);
    load_rows(places, quantizers, 1, rows + 4);
    transform_blocks(rows, samples);
    for (size_t i = 0; i < 4; i++) {
        size_t at = 2 * i * stride;
        store_two_rows(places[0].samples + at, stride, _mm512_castsi512_si128(samples[i]));
        store_two_rows(places[1].samples + at, stride, _mm512_extracti32x4_epi32(samples[i], 1));
        store_two_rows(places[2].samples + at, stride, _mm512_extracti32x4_epi32(samples[i], 2));
        store_two_rows(places[3].samples + at, stride, _mm512_extracti32x4_epi32(samples[i], 3));
    }
}

TARGET static inline shape find_shape(const int16_t *block)
{
    enum { ROW = (1 << SIDE) - 1 };
    __m512i top = _mm512_load_si512(block);
    __m512i bottom = _mm512_load_si512(block + HALF_BLOCK);
    __mmask32 above = _mm512_test_epi16_mask(top, top);
    if ((_mm512_test_epi16_mask(bottom, bottom) | (above & ~(__mmask32)ROW)) != 0) {
        return DENSE;
    }
    return above <= 1 ? CONSTANT : FLAT;
}

TARGET void sl_jpeg_idct8_avx512(const sl_jpeg_blocks *blocks)
{
    transform_run(blocks);
}

#endif
