/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2: multiply-adds of pairs of taps, 16 samples at once down, 4 pixels at once across. */
#include "resample_kernels.h"

#if defined(__x86_64__)

#    include <immintrin.h>
#    include <string.h>

#    define INLINE SL_TARGET_AVX2 static inline __attribute__((always_inline))

enum { STEP = 16 };

INLINE __m256i resample_avx2_load_words(const uint8_t *bytes)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i_u *)bytes));
}

INLINE __m256i resample_avx2_load_pair(const int16_t *weights)
{
    int32_t pair = 0;
    memcpy(&pair, weights, sizeof(pair));
    return _mm256_set1_epi32(pair);
}

/* STEP samples from `in` on. Unpacking and packing both stay in their 128 bits: order is kept. */
INLINE void resample_avx2_vertical_step(const sl_vertical *pass, const uint8_t *in, uint32_t taps,
                                        int16_t *out)
{
    const __m128i shift = _mm_cvtsi32_si128((int)pass->shift);
    __m256i low = _mm256_set1_epi32((int32_t)(1U << (pass->shift - 1)));
    __m256i high = low;
    for (uint32_t k = 0; k < taps; k += 2) {
        const __m256i upper = resample_avx2_load_words(in);
        in += k + 1 < taps ? pass->stride_bytes : 0; /* the pair of the last has no weight */
        const __m256i lower = resample_avx2_load_words(in);
        const __m256i pair = resample_avx2_load_pair(pass->weights + k);
        in += pass->stride_bytes;
        low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(upper, lower), pair));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(upper, lower), pair));
    }
    const __m256i sums =
        _mm256_packs_epi32(_mm256_sra_epi32(low, shift), _mm256_sra_epi32(high, shift));
    _mm256_storeu_si256((__m256i_u *)out, sums);
}

/* Inlined with constant `taps`, the loop over them unrolls. */
INLINE void resample_avx2_vertical_row(const sl_vertical *pass, uint32_t taps, int16_t *out)
{
    const sl_vertical local = *pass; /* which stores to `out` cannot change */
    const uint8_t *in = local.in;
    for (size_t x = 0; x + STEP <= local.samples; x += STEP) {
        resample_avx2_vertical_step(&local, in + x, taps, out + x);
    }
    if (local.samples % STEP != 0) { /* the last step overlaps the one before */
        const size_t last = local.samples - STEP;
        resample_avx2_vertical_step(&local, in + last, taps, out + last);
    }
}

SL_TARGET_AVX2 static void vertical(const sl_vertical *pass, int16_t *out)
{
    if (pass->samples < STEP) {
        sl_resample_scalar.vertical(pass, out);
        return;
    }
    switch (pass->taps) {
    case 1:
        resample_avx2_vertical_row(pass, 1, out);
        break;
    case 2:
        resample_avx2_vertical_row(pass, 2, out);
        break;
    case 3:
        resample_avx2_vertical_row(pass, 3, out);
        break;
    case 4:
        resample_avx2_vertical_row(pass, 4, out);
        break;
    default:
        resample_avx2_vertical_row(pass, pass->taps, out);
        break;
    }
}

/* The weights of each two outputs as two_pixels wants them, one pair of taps after another. */
SL_TARGET_AVX2 static bool prepare(sl_horizontal *pass, sl_scratch *scratch)
{
    const size_t bytes = (size_t)pass->padded * pass->pairs * 4 * sizeof(int32_t);
    pass->spread = sl_scratch_take(scratch, bytes);
    if (pass->spread == NULL) {
        return false;
    }
    const __m256i halves = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
    int32_t *spread = pass->spread;
    for (uint32_t i = 0; i < pass->padded; i += 2) {
        const int16_t *weights = pass->weights + (size_t)i * 2;
        for (uint32_t j = 0; j < pass->pairs; j++) {
            const __m128i both = _mm_loadl_epi64((const __m128i_u *)weights);
            _mm256_storeu_si256((__m256i_u *)spread,
                                _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(both), halves));
            weights += (size_t)pass->padded * 2;
            spread += 8;
        }
    }
    return true;
}

/* Two pixels as 32-bit red, green, blue, nothing; one in each half. */
INLINE __m256i two_pixels(const sl_horizontal *pass, uint32_t pairs, const int16_t *in, uint32_t i)
{
    const __m256i regroup = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1)); /* rgbrgb to rr gg bb */
    const int16_t *left = in + (ptrdiff_t)pass->starts[i] * 3;
    const int16_t *right = in + (ptrdiff_t)pass->starts[i + 1] * 3;
    const int32_t *spread = pass->spread + (size_t)i * pairs * 4;
    __m256i sum = _mm256_set1_epi32((int32_t)(1U << (pass->shift - 1)));
    for (uint32_t j = 0; j < pairs; j++) {
        __m256i samples = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i_u *)left));
        samples = _mm256_inserti128_si256(samples, _mm_loadu_si128((const __m128i_u *)right), 1);
        samples = _mm256_shuffle_epi8(samples, regroup);
        const __m256i weights = _mm256_loadu_si256((const __m256i_u *)spread);
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(samples, weights));
        left += 6;
        right += 6;
        spread += 8;
    }
    return _mm256_sra_epi32(sum, _mm_cvtsi32_si128((int)pass->shift));
}

/* Inlined with constant `pairs`, the loop over them unrolls. */
INLINE void resample_avx2_horizontal_row(const sl_horizontal *pass, uint32_t pairs,
                                         const int16_t *in, uint8_t *out)
{
    /* bytes of pixels 0 and 2 in the lower half, of 1 and 3 in the upper */
    const __m256i dense =
        _mm256_setr_epi8(0, 1, 2, -1, -1, -1, 4, 5, 6, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1,
                         2, -1, -1, -1, 4, 5, 6, -1, -1, -1, -1);
    const sl_horizontal local = *pass; /* which stores to `out` cannot change */
    for (uint32_t i = 0; i < local.outputs; i += 4) {
        const __m256i words = _mm256_packs_epi32(two_pixels(&local, pairs, in, i),
                                                 two_pixels(&local, pairs, in, i + 2));
        const __m256i bytes = _mm256_shuffle_epi8(_mm256_packus_epi16(words, words), dense);
        const __m128i pixels =
            _mm_or_si128(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
        _mm_storeu_si128((__m128i_u *)out, pixels);
        out += 12;
    }
}

SL_TARGET_AVX2 static void horizontal(const sl_horizontal *pass, const int16_t *in, uint8_t *out)
{
    switch (pass->pairs) {
    case 1:
        resample_avx2_horizontal_row(pass, 1, in, out);
        break;
    case 2:
        resample_avx2_horizontal_row(pass, 2, in, out);
        break;
    default:
        resample_avx2_horizontal_row(pass, pass->pairs, in, out);
        break;
    }
}

/* 5 pixels in 15 of 16 bytes: the first of those read belongs to the pixel before. The last 5 may
 * overlap those done. */
SL_TARGET_AVX2 static void mirror(const uint8_t *in, uint8_t *out, size_t pixels)
{
    const __m128i backwards = _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, -1);
    if (pixels < 6) {
        sl_resample_scalar.mirror(in, out, pixels);
        return;
    }
    uint8_t *last = out + pixels * 3 - 15;
    for (; pixels > 5; pixels -= 5) {
        const uint8_t *from = in + pixels * 3 - 16;
        const __m128i five = _mm_loadu_si128((const __m128i_u *)from);
        _mm_storeu_si128((__m128i_u *)out, _mm_shuffle_epi8(five, backwards));
        out += 15;
    }
    const __m128i first =
        _mm_shuffle_epi8(_mm_slli_si128(_mm_loadu_si128((const __m128i_u *)in), 1), backwards);
    _mm_storel_epi64((__m128i_u *)last, first);
    _mm_storel_epi64((__m128i_u *)(last + 7), _mm_srli_si128(first, 7));
}

const sl_resample_kernels sl_resample_avx2 = {.vertical = vertical,
                                              .horizontal = horizontal,
                                              .mirror = mirror,
                                              .prepare = prepare};

#endif
