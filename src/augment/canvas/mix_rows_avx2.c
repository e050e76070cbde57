/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2 with F16C: 16 samples at once. */
#include "mix_rows.h"

#include "dtype.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define SL_MIX_INLINE SL_TARGET_AVX2 static inline __attribute__((always_inline))

/* Of SL_CONVERT_STEP elements. */
typedef struct mix_factors {
    const float *scales, *biases;
    float weight;
} mix_factors;

SL_MIX_INLINE __m256 mix_avx2_take(const uint8_t *samples)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i_u *)samples);
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

SL_MIX_INLINE __m256i mix_avx2_round_bfloat16(__m256 values)
{
    const __m256i bits = _mm256_castps_si256(values);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF));
    return _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
}

/* 8 elements; `out` points to the first. */
SL_MIX_INLINE void mix_avx2_store(__m256 values, sluice_dtype dtype, uint8_t *out)
{
    if (dtype == SLUICE_F32) {
        _mm256_storeu_ps((float *)(void *)out, values);
    } else if (dtype == SLUICE_F16) {
        _mm_storeu_si128((__m128i_u *)out, _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
    } else {
        const __m256i wide =
            dtype == SLUICE_U8 ? _mm256_cvtps_epi32(values) : mix_avx2_round_bfloat16(values);
        const __m128i words =
            _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
        if (dtype == SLUICE_U8) {
            _mm_storel_epi64((__m128i_u *)out, _mm_packus_epi16(words, words));
        } else {
            _mm_storeu_si128((__m128i_u *)out, words);
        }
    }
}

SL_MIX_INLINE void mix_samples(const uint8_t *own, const uint8_t *other, const mix_factors *factors,
                               sluice_dtype dtype, uint8_t *out)
{
    const __m256 weight = _mm256_set1_ps(factors->weight);
    const __m256 rest = _mm256_set1_ps(1.0F - factors->weight);
    if (dtype == SLUICE_U8 && other == NULL) {
        _mm_storeu_si128((__m128i_u *)out, _mm_loadu_si128((const __m128i_u *)own));
        return;
    }
    for (size_t i = 0; i < SL_CONVERT_STEP; i += 8) {
        const __m256 scale = _mm256_loadu_ps(factors->scales + i);
        const __m256 bias = _mm256_loadu_ps(factors->biases + i);
        __m256 value = mix_avx2_take(own + i);
        __m256 partner;
        if (dtype != SLUICE_U8) {
            value = _mm256_fmadd_ps(value, scale, bias);
        }
        if (other != NULL) {
            partner = mix_avx2_take(other + i);
            if (dtype != SLUICE_U8) {
                partner = _mm256_fmadd_ps(partner, scale, bias);
            }
            value = _mm256_fmadd_ps(weight, value, _mm256_mul_ps(rest, partner));
        }
        mix_avx2_store(value, dtype, out + i * sl_dtype_bytes(dtype));
    }
}

#    include "mix_rows_loop.h"

SL_TARGET_AVX2 void sl_mix_avx2(const sl_converter *converter, const sl_mix_piece *piece)
{
    mix_any(converter, piece);
}

#endif
