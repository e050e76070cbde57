/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_rows_variants.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define TARGET                    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#    define VECTOR                    __m512i
#    define OP(name)                  _mm512_##name
#    define SPAN                      64
#    define AND(a, b)                 _mm512_and_si512(a, b)
#    define SELECT(mask, yes, no)     _mm512_ternarylogic_epi32(mask, yes, no, 0xCA)
#    define SPREAD(sixteen)           _mm512_broadcast_i32x4(sixteen)
#    define LOAD(bytes)               _mm512_loadu_si512(bytes)
#    define WIDEN(bytes)              jpeg_rows_avx512_widen(bytes)
#    define AFTER(before, current)    jpeg_rows_avx512_after(before, current)
#    define AHEAD(current, next)      jpeg_rows_avx512_ahead(current, next)
#    define REPLACE(value, by, index) _mm512_mask_mov_epi16(value, UINT32_C(1) << (index), by)
#    define STORE(rgb, thirds, bytes) jpeg_rows_avx512_store(rgb, thirds, bytes)

TARGET static inline __m512i jpeg_rows_avx512_widen(const uint8_t *bytes)
{
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)bytes));
}

TARGET static inline __m512i jpeg_rows_avx512_after(__m512i before, __m512i current)
{
    return _mm512_alignr_epi8(current, _mm512_alignr_epi64(current, before, 6), 14);
}

TARGET static inline __m512i jpeg_rows_avx512_ahead(__m512i current, __m512i next)
{
    return _mm512_alignr_epi8(_mm512_alignr_epi64(next, current, 2), current, 2);
}

/* Stores quarters a0 b0 c0 d0, a1 b1 c1 d1, a2 b2 c2 d2 in their order in memory. */
TARGET static inline void jpeg_rows_avx512_store(uint8_t *rgb, const __m512i thirds[3],
                                                 uint32_t bytes)
{
    /* of thirds 0 and 1, then with third 2; eight and more mean the second operand */
    __m512i first =
        _mm512_permutex2var_epi64(thirds[0], _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 2, 3), thirds[1]);
    first = _mm512_permutex2var_epi64(first, _mm512_setr_epi64(0, 1, 2, 3, 8, 9, 4, 5), thirds[2]);
    _mm512_storeu_si512(rgb, first);
    if (bytes > SPAN) {
        __m512i second = _mm512_permutex2var_epi64(
            thirds[1], _mm512_setr_epi64(2, 3, 10, 11, 4, 5, 4, 5), thirds[2]);
        second = _mm512_permutex2var_epi64(second, _mm512_setr_epi64(0, 1, 2, 3, 12, 13, 4, 5),
                                           thirds[0]);
        _mm512_storeu_si512(rgb + SPAN, second);
    }
    if (bytes > 2 * SPAN) {
        __m512i third = _mm512_permutex2var_epi64(
            thirds[2], _mm512_setr_epi64(4, 5, 14, 15, 6, 7, 6, 7), thirds[0]);
        third = _mm512_permutex2var_epi64(third, _mm512_setr_epi64(0, 1, 2, 3, 14, 15, 4, 5),
                                          thirds[1]);
        _mm512_storeu_si512(rgb + 2 * (size_t)SPAN, third);
    }
}

#    include "jpeg_rows_vector.h"

const sl_jpeg_row_maker sl_jpeg_rows_avx512[SL_JPEG_SAMPLING_COUNT] = {
    [SL_JPEG_GREY] = make_grey, [SL_JPEG_444] = make_444, [SL_JPEG_422] = make_422,
    [SL_JPEG_440] = make_440,   [SL_JPEG_420] = make_420, [SL_JPEG_422_PLAIN] = make_422_plain,
};

#endif
