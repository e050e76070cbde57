/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_rows_variants.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define TARGET                    __attribute__((target("avx2,bmi,bmi2,fma")))
#    define VECTOR                    __m256i
#    define OP(name)                  _mm256_##name
#    define SPAN                      32
#    define AND(a, b)                 _mm256_and_si256(a, b)
#    define SELECT(mask, yes, no)     _mm256_blendv_epi8(no, yes, mask)
#    define SPREAD(sixteen)           _mm256_broadcastsi128_si256(sixteen)
#    define LOAD(bytes)               jpeg_rows_avx2_load(bytes)
#    define WIDEN(bytes)              jpeg_rows_avx2_widen(bytes)
#    define AFTER(before, current)    jpeg_rows_avx2_after(before, current)
#    define AHEAD(current, next)      jpeg_rows_avx2_ahead(current, next)
#    define REPLACE(value, by, index) jpeg_rows_avx2_replace(value, by, index)
#    define STORE(rgb, thirds, bytes) jpeg_rows_avx2_store(rgb, thirds, bytes)

TARGET static inline __m256i jpeg_rows_avx2_load(const uint8_t *bytes)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)bytes);
}

TARGET static inline __m256i jpeg_rows_avx2_widen(const uint8_t *bytes)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)bytes));
}

TARGET static inline __m256i jpeg_rows_avx2_after(__m256i before, __m256i current)
{
    __m256i middle = _mm256_permute2x128_si256(before, current, 0x21);
    return _mm256_alignr_epi8(current, middle, 14);
}

TARGET static inline __m256i jpeg_rows_avx2_ahead(__m256i current, __m256i next)
{
    __m256i middle = _mm256_permute2x128_si256(current, next, 0x21);
    return _mm256_alignr_epi8(middle, current, 2);
}

TARGET static inline __m256i jpeg_rows_avx2_replace(__m256i value, __m256i by, uint32_t index)
{
    __m256i lanes = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m256i mask = _mm256_cmpeq_epi16(lanes, _mm256_set1_epi16((short)index));
    return _mm256_blendv_epi8(value, by, mask);
}

TARGET static inline void jpeg_rows_avx2_store(uint8_t *rgb, const __m256i thirds[3],
                                               uint32_t bytes)
{
    __m256i *to = (__m256i *)(void *)rgb;
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(thirds[0], thirds[1], 0x20));
    if (bytes > SPAN) {
        _mm256_storeu_si256(to + 1, _mm256_blend_epi32(thirds[2], thirds[0], 0xF0));
    }
    if (bytes > 2 * SPAN) {
        _mm256_storeu_si256(to + 2, _mm256_permute2x128_si256(thirds[1], thirds[2], 0x31));
    }
}

#    include "jpeg_rows_vector.h"

const sl_jpeg_row_maker sl_jpeg_rows_avx2[SL_JPEG_SAMPLING_COUNT] = {
    [SL_JPEG_GREY] = make_grey, [SL_JPEG_444] = make_444, [SL_JPEG_422] = make_422,
    [SL_JPEG_440] = make_440,   [SL_JPEG_420] = make_420, [SL_JPEG_422_PLAIN] = make_422_plain,
};

#endif
