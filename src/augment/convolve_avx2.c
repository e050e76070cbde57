/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2: multiply-adds of pairs of taps, with the high and the low parts of weights; 2 pixels at
 * once across, 16 samples down. */
#include "convolve.h"

#if defined(__x86_64__)

#    include <immintrin.h>
#    include <string.h>

#    define INLINE SL_TARGET_AVX2 static inline __attribute__((always_inline))

enum { STEP = 16, LOW_BITS = 8, SPREAD = 32, SLACK = 32 };

/* Parts of the weights of two taps as an int32: 0 for the high ones, 1 for the low ones. */
static int32_t weight_pair(const int32_t *weights, uint32_t k, uint32_t taps, int part)
{
    const int32_t first = weights[k];
    const int32_t second = k + 1 < taps ? weights[k + 1] : 0;
    const int32_t mask = (1 << LOW_BITS) - 1;
    const uint16_t left = (uint16_t)(part == 0 ? first >> LOW_BITS : first & mask);
    const uint16_t right = (uint16_t)(part == 0 ? second >> LOW_BITS : second & mask);
    return (int32_t)((uint32_t)left | (uint32_t)right << 16);
}

/*
 * For each two outputs and pair of taps: the high parts, four times those of the first output and
 * four times those of the second, then the low parts.
 */
SL_TARGET_AVX2 static bool convolve_avx2_prepare(sl_convolver *convolver, sl_scratch *scratch)
{
    const sl_weights *across = &convolver->across;
    const uint32_t pairs = (across->taps + 1) / 2;
    const size_t groups = (across->outputs + 1) / 2;
    const size_t slack = (size_t)pairs * 6 + SLACK;
    const size_t samples = (size_t)convolver->columns * 3;
    convolver->spread =
        sl_scratch_take(scratch, groups * pairs * SPREAD * sizeof(*convolver->spread));
    convolver->samples = sl_scratch_take(scratch, (samples + slack) * sizeof(*convolver->samples));
    if (convolver->spread == NULL || convolver->samples == NULL) {
        return false;
    }
    memset(convolver->samples + samples, 0, slack * sizeof(*convolver->samples));
    int16_t *to = convolver->spread;
    for (uint32_t i = 0; i < across->outputs; i += 2) {
        const uint32_t last = i + 1 < across->outputs ? i + 1 : i;
        const int32_t *left = across->weights + (size_t)i * across->taps;
        const int32_t *right = across->weights + (size_t)last * across->taps;
        for (uint32_t k = 0; k < across->taps; k += 2) {
            for (int part = 0; part < 2; part++) {
                const __m128i first = _mm_set1_epi32(weight_pair(left, k, across->taps, part));
                const __m128i second = _mm_set1_epi32(weight_pair(right, k, across->taps, part));
                _mm_storeu_si128((__m128i_u *)to, first);
                _mm_storeu_si128((__m128i_u *)(to + 8), second);
                to += 16;
            }
        }
    }
    return true;
}

/* Bytes to words. */
INLINE void widen(const uint8_t *in, size_t count, int16_t *out)
{
    size_t x = 0;
    for (; x + STEP <= count; x += STEP) {
        const __m128i bytes = _mm_loadu_si128((const __m128i_u *)(in + x));
        _mm256_storeu_si256((__m256i_u *)(out + x), _mm256_cvtepu8_epi16(bytes));
    }
    for (; x < count; x++) {
        out[x] = in[x];
    }
}

INLINE __m256i finish_sums(__m256i high, __m256i low)
{
    const __m256i sums = _mm256_add_epi32(_mm256_slli_epi32(high, LOW_BITS), low);
    return _mm256_srai_epi32(sums, SL_CONVOLVE_BITS);
}

/* Two pixels as 32-bit red, green, blue, nothing; one in each half. */
INLINE __m256i convolve_two_pixels(const int16_t *left, const int16_t *right, const int16_t *spread,
                                   uint32_t pairs)
{
    const __m256i regroup = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1)); /* rgbrgb to rr gg bb */
    __m256i high = _mm256_setzero_si256();
    __m256i low = _mm256_set1_epi32(1 << (SL_CONVOLVE_BITS - 1));
    for (uint32_t j = 0; j < pairs; j++) {
        __m256i samples = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i_u *)left));
        samples = _mm256_inserti128_si256(samples, _mm_loadu_si128((const __m128i_u *)right), 1);
        samples = _mm256_shuffle_epi8(samples, regroup);
        const __m256i above = _mm256_loadu_si256((const __m256i_u *)spread);
        const __m256i below = _mm256_loadu_si256((const __m256i_u *)(spread + 16));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(samples, above));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(samples, below));
        left += 6;
        right += 6;
        spread += SPREAD;
    }
    return finish_sums(high, low);
}

/* Inlined with constant `pairs`, the loop over them unrolls. */
INLINE void convolve_outputs(const sl_convolver *convolver, uint32_t pairs, uint8_t *out)
{
    const int32_t *starts = convolver->across.starts;
    const int16_t *samples = convolver->samples;
    const int16_t *spread = convolver->spread;
    const uint32_t outputs = convolver->across.outputs;
    for (uint32_t i = 0; i < outputs; i += 2) {
        const bool both = i + 1 < outputs;
        const int16_t *left = samples + (size_t)starts[i] * 3;
        const int16_t *right = samples + (size_t)starts[both ? i + 1 : i] * 3;
        __m256i words = convolve_two_pixels(left, right, spread, pairs);
        words = _mm256_packs_epi32(words, words);
        const __m256i bytes = _mm256_packus_epi16(words, words);
        const int32_t first = _mm256_extract_epi32(bytes, 0);
        const int32_t second = _mm256_extract_epi32(bytes, 4);
        memcpy(out, &first, 3);
        if (both) {
            memcpy(out + 3, &second, 3);
        }
        spread += (size_t)pairs * SPREAD;
        out += 6;
    }
}

SL_TARGET_AVX2 static void convolve_avx2_across(const sl_convolver *convolver, const uint8_t *in,
                                                uint8_t *out)
{
    const uint32_t pairs = (convolver->across.taps + 1) / 2;
    widen(in, (size_t)convolver->columns * 3, convolver->samples);
    switch (pairs) {
    case 2:
        convolve_outputs(convolver, 2, out);
        break;
    case 3:
        convolve_outputs(convolver, 3, out);
        break;
    case 4:
        convolve_outputs(convolver, 4, out);
        break;
    default:
        convolve_outputs(convolver, pairs, out);
        break;
    }
}

/* Of 8 samples each: the first row's and the second's, in turn. */
typedef struct two_rows {
    __m256i left, right;
} two_rows;

INLINE two_rows load_two_rows(const uint8_t *upper, const uint8_t *lower)
{
    const __m128i a = _mm_loadu_si128((const __m128i_u *)upper);
    const __m128i b = _mm_loadu_si128((const __m128i_u *)lower);
    return (two_rows){_mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)),
                      _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b))};
}

INLINE void convolve_down_step(const uint8_t *const *rows, const int32_t *pairs, uint32_t taps,
                               size_t x, uint8_t *out)
{
    __m256i high[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    __m256i low[2] = {_mm256_set1_epi32(1 << (SL_CONVOLVE_BITS - 1)),
                      _mm256_set1_epi32(1 << (SL_CONVOLVE_BITS - 1))};
    for (uint32_t k = 0; k < taps; k += 2) {
        const two_rows samples = load_two_rows(rows[k] + x, rows[k + 1 < taps ? k + 1 : k] + x);
        const __m256i above = _mm256_set1_epi32(pairs[k]);
        const __m256i below = _mm256_set1_epi32(pairs[k + 1]);
        high[0] = _mm256_add_epi32(high[0], _mm256_madd_epi16(samples.left, above));
        high[1] = _mm256_add_epi32(high[1], _mm256_madd_epi16(samples.right, above));
        low[0] = _mm256_add_epi32(low[0], _mm256_madd_epi16(samples.left, below));
        low[1] = _mm256_add_epi32(low[1], _mm256_madd_epi16(samples.right, below));
    }
    __m256i words = _mm256_packs_epi32(finish_sums(high[0], low[0]), finish_sums(high[1], low[1]));
    words = _mm256_permute4x64_epi64(words, 0xD8);
    const __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i_u *)(out + x), bytes);
}

enum { PAIRS_MAX = 256 };

SL_TARGET_AVX2 static void convolve_avx2_down(const uint8_t *const *rows, const int32_t *weights,
                                              uint32_t taps, size_t bytes, uint8_t *out)
{
    int32_t pairs[2 * PAIRS_MAX];
    if (bytes < STEP || taps > 2 * PAIRS_MAX - 1) {
        sl_convolve_scalar.down(rows, weights, taps, bytes, out);
        return;
    }
    for (uint32_t k = 0; k < taps; k += 2) {
        pairs[k] = weight_pair(weights, k, taps, 0);
        pairs[k + 1] = weight_pair(weights, k, taps, 1);
    }
    for (size_t x = 0; x + STEP <= bytes; x += STEP) {
        convolve_down_step(rows, pairs, taps, x, out);
    }
    convolve_down_step(rows, pairs, taps, bytes - STEP, out);
}

const sl_convolve_kernels sl_convolve_avx2 = {.prepare = convolve_avx2_prepare,
                                              .across = convolve_avx2_across,
                                              .down = convolve_avx2_down};

#endif
