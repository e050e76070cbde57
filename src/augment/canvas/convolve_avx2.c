/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2: multiply-adds of pairs of taps; 2 pixels of 2 rows at once across, 32 samples down. */
#include "convolve.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define INLINE SL_TARGET_AVX2 static inline __attribute__((always_inline))

/* Two pixels as 32-bit red, green, blue, nothing; one in each half. 16 bytes have two pairs of
 * taps. */
INLINE __m256i convolve_two_pixels(const uint8_t *left, const uint8_t *right, const __m256i *spread,
                                   uint32_t pairs, __m256i half)
{
    const __m256i first = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
    const __m256i second = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
    __m256i sum = half;
    for (uint32_t j = 0; j < pairs; j += 2) {
        __m256i bytes = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i_u *)left));
        bytes = _mm256_inserti128_si256(bytes, _mm_loadu_si128((const __m128i_u *)right), 1);
        sum = _mm256_add_epi32(
            sum, _mm256_madd_epi16(_mm256_shuffle_epi8(bytes, first), _mm256_load_si256(spread)));
        if (j + 1 < pairs) {
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(bytes, second),
                                                          _mm256_load_si256(spread + 1)));
        }
        left += 12;
        right += 12;
        spread += 2;
    }
    return sum;
}

/* Inlined with constant `pairs`, the loop over them unrolls. */
INLINE void convolve_two_rows(const sl_horizontal *pass, uint32_t pairs, const uint8_t *upper,
                              const uint8_t *lower, int16_t most, int16_t *out)
{
    /* red, green, blue of the upper row and of the lower to a pair of each */
    const __m256i in_turn = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, -1, -1, -1, -1));
    const __m256i half = _mm256_set1_epi32((int32_t)(1U << (pass->shift - 1)));
    const __m256i limit = _mm256_set1_epi16(most);
    const __m128i shift = _mm_cvtsi32_si128((int)pass->shift);
    const int32_t *starts = pass->starts;
    const __m256i *spread = (const __m256i *)pass->spread;
    const uint32_t outputs = pass->outputs;
    for (uint32_t i = 0; i < outputs; i += 2) {
        const size_t left = (size_t)starts[i] * 3;
        const size_t right = (size_t)starts[i + 1] * 3;
        const __m256i above = convolve_two_pixels(upper + left, upper + right, spread, pairs, half);
        const __m256i below = convolve_two_pixels(lower + left, lower + right, spread, pairs, half);
        __m256i words =
            _mm256_packs_epi32(_mm256_sra_epi32(above, shift), _mm256_sra_epi32(below, shift));
        words = _mm256_min_epi16(_mm256_max_epi16(words, _mm256_setzero_si256()), limit);
        words = _mm256_shuffle_epi8(words, in_turn);
        _mm_storeu_si128((__m128i_u *)out, _mm256_castsi256_si128(words));
        _mm_storeu_si128((__m128i_u *)(out + 6), _mm256_extracti128_si256(words, 1));
        spread += pairs;
        out += 12;
    }
}

SL_TARGET_AVX2 static void convolve_avx2_across(const sl_horizontal *pass, const uint8_t *upper,
                                                const uint8_t *lower, int16_t most, int16_t *out)
{
    switch (pass->pairs) {
    case 2:
        convolve_two_rows(pass, 2, upper, lower, most, out);
        break;
    case 3:
        convolve_two_rows(pass, 3, upper, lower, most, out);
        break;
    case 4:
        convolve_two_rows(pass, 4, upper, lower, most, out);
        break;
    case 5:
        convolve_two_rows(pass, 5, upper, lower, most, out);
        break;
    default:
        convolve_two_rows(pass, pass->pairs, upper, lower, most, out);
        break;
    }
}

enum { SUMS = 4, SUM_SAMPLES = 8 };

/* Inlined with constant `count`, the loop over pairs unrolls. */
INLINE void convolve_sum_rows(const sl_row_pair *pairs, uint32_t count, uint32_t bits,
                              size_t samples, uint8_t *out)
{
    const __m128i shift = _mm_cvtsi32_si128((int)bits);
    const __m256i half = _mm256_set1_epi32((int32_t)(1U << (bits - 1)));
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (size_t x = 0; x < samples; x += (size_t)SUMS * SUM_SAMPLES) {
        __m256i sums[SUMS] = {half, half, half, half};
        for (uint32_t k = 0; k < count; k++) {
            const __m256i *two = (const __m256i *)(pairs[k].samples + x * 2);
            const __m256i weights = _mm256_set1_epi32(pairs[k].weights);
            for (int i = 0; i < SUMS; i++) {
                sums[i] = _mm256_add_epi32(sums[i],
                                           _mm256_madd_epi16(_mm256_load_si256(two + i), weights));
            }
        }
        const __m256i left =
            _mm256_packs_epi32(_mm256_sra_epi32(sums[0], shift), _mm256_sra_epi32(sums[1], shift));
        const __m256i right =
            _mm256_packs_epi32(_mm256_sra_epi32(sums[2], shift), _mm256_sra_epi32(sums[3], shift));
        const __m256i bytes = _mm256_packus_epi16(left, right);
        _mm256_storeu_si256((__m256i_u *)(out + x), _mm256_permutevar8x32_epi32(bytes, in_order));
    }
}

SL_TARGET_AVX2 static void convolve_avx2_down(const sl_row_pair *pairs, uint32_t count,
                                              uint32_t shift, size_t samples, uint8_t *out)
{
    switch (count) {
    case 2:
        convolve_sum_rows(pairs, 2, shift, samples, out);
        break;
    case 3:
        convolve_sum_rows(pairs, 3, shift, samples, out);
        break;
    case 4:
        convolve_sum_rows(pairs, 4, shift, samples, out);
        break;
    case 5:
        convolve_sum_rows(pairs, 5, shift, samples, out);
        break;
    default:
        convolve_sum_rows(pairs, count, shift, samples, out);
        break;
    }
}

static bool convolve_avx2_prepare(sl_horizontal *pass, sl_scratch *scratch)
{
    return sl_resample_avx2.prepare(pass, scratch);
}

const sl_convolve_kernels sl_convolve_avx2 = {.prepare = convolve_avx2_prepare,
                                              .across = convolve_avx2_across,
                                              .down = convolve_avx2_down};

#endif
