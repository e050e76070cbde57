/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2: 16 pixels at once, as pairs of red and green, and of blue and green, for multiply-adds. */
#include "jpeg_ycc.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define INLINE SL_TARGET_AVX2 static inline __attribute__((always_inline))

enum { SPAN = 16, QUARTER = 16384 };

/* Loads 8 pixels of 24 bytes, by the first 16 and the last 16 bytes: 4 pixels in each half. */
INLINE __m256i load_pixels(const uint8_t *rgb)
{
    return _mm256_loadu2_m128i((const __m128i_u *)(rgb + 8), (const __m128i_u *)rgb);
}

/* Selects two channels of 8 pixels as pairs of 16-bit values. */
INLINE __m256i pick(__m256i pixels, int a, int b)
{
    const __m256i places = _mm256_setr_epi8(
        (char)a, -1, (char)b, -1, (char)(a + 3), -1, (char)(b + 3), -1, (char)(a + 6), -1,
        (char)(b + 6), -1, (char)(a + 9), -1, (char)(b + 9), -1, (char)(a + 4), -1, (char)(b + 4),
        -1, (char)(a + 7), -1, (char)(b + 7), -1, (char)(a + 10), -1, (char)(b + 10), -1,
        (char)(a + 13), -1, (char)(b + 13), -1);
    return _mm256_shuffle_epi8(pixels, places);
}

INLINE __m256i weigh(__m256i pairs, int a, int b)
{
    return _mm256_madd_epi16(pairs,
                             _mm256_set1_epi32((int)((uint32_t)(uint16_t)a | (uint32_t)b << 16)));
}

typedef struct ycc {
    __m256i luma, cb, cr; /* 8 values of 32 bits */
} ycc;

/* Converts 8 pixels. Constants too large for 16 bits are split: green's of luma is reduced by a
 * quarter, and the half is a shift. */
INLINE ycc convert_eight(const uint8_t *rgb)
{
    const __m256i pixels = load_pixels(rgb);
    const __m256i red_green = pick(pixels, 0, 1);
    const __m256i blue_green = pick(pixels, 2, 1);
    const __m256i low = _mm256_set1_epi32(UINT16_MAX);
    const __m256i centre = _mm256_set1_epi32(SL_YCC_CENTRE);
    const __m256i red = _mm256_slli_epi32(_mm256_and_si256(red_green, low), 15);
    const __m256i blue = _mm256_slli_epi32(_mm256_and_si256(blue_green, low), 15);
    ycc made;
    made.luma = _mm256_add_epi32(weigh(red_green, SL_YCC_LUMA_RED, SL_YCC_LUMA_GREEN - QUARTER),
                                 _mm256_add_epi32(weigh(blue_green, SL_YCC_LUMA_BLUE, QUARTER),
                                                  _mm256_set1_epi32(SL_YCC_HALF)));
    made.cb = _mm256_add_epi32(weigh(red_green, SL_YCC_CB_RED, SL_YCC_CB_GREEN),
                               _mm256_add_epi32(blue, centre));
    made.cr = _mm256_add_epi32(weigh(blue_green, SL_YCC_CR_BLUE, SL_YCC_CR_GREEN),
                               _mm256_add_epi32(red, centre));
    return made;
}

/* Stores the values of 8 and 8 pixels, shifted down by 16. */
INLINE void store_sixteen(uint8_t *samples, __m256i first, __m256i second)
{
    const __m256i words =
        _mm256_packus_epi32(_mm256_srli_epi32(first, 16), _mm256_srli_epi32(second, 16));
    const __m256i order = _mm256_permute4x64_epi64(words, 0xD8);
    const __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(order), _mm256_extracti128_si256(order, 1));
    _mm_storeu_si128((__m128i_u *)samples, bytes);
}

INLINE void convert_span(const uint8_t *rgb, const sl_ycc_row *row, size_t x)
{
    const ycc first = convert_eight(rgb + x * 3);
    const ycc second = convert_eight(rgb + x * 3 + 24);
    store_sixteen(row->luma + x, first.luma, second.luma);
    store_sixteen(row->cb + x, first.cb, second.cb);
    store_sixteen(row->cr + x, first.cr, second.cr);
}

SL_TARGET_AVX2 static void convert(const uint8_t *rgb, size_t pixels, const sl_ycc_row *row)
{
    if (pixels < SPAN) {
        sl_jpeg_ycc_scalar.convert(rgb, pixels, row);
        return;
    }
    const sl_ycc_row local = *row; /* stores cannot change the copy */
    for (size_t x = 0; x + SPAN <= pixels; x += SPAN) {
        convert_span(rgb, &local, x);
    }
    convert_span(rgb, &local, pixels - SPAN);
}

SL_TARGET_AVX2 static void halve(const uint8_t *upper, const uint8_t *lower, size_t count,
                                 uint8_t *out)
{
    const __m256i ones = _mm256_set1_epi8(1);
    const __m256i bias = _mm256_set1_epi32(2 << 16 | 1);
    for (size_t x = 0; x < count; x += SPAN) {
        const __m256i above = _mm256_loadu_si256((const __m256i_u *)(upper + 2 * x));
        const __m256i below = _mm256_loadu_si256((const __m256i_u *)(lower + 2 * x));
        const __m256i sums =
            _mm256_add_epi16(_mm256_maddubs_epi16(above, ones), _mm256_maddubs_epi16(below, ones));
        const __m256i means = _mm256_srli_epi16(_mm256_add_epi16(sums, bias), 2);
        const __m128i bytes =
            _mm_packus_epi16(_mm256_castsi256_si128(means), _mm256_extracti128_si256(means, 1));
        _mm_storeu_si128((__m128i_u *)(out + x), bytes);
    }
}

const sl_jpeg_ycc sl_jpeg_ycc_avx2 = {.convert = convert, .halve = halve};

#endif
