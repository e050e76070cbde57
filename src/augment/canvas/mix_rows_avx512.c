/* SPDX-License-Identifier: Apache-2.0 */
/* AVX-512: 16 samples at once, in one vector. */
#include "mix_rows.h"

#include "dtype.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define SL_MIX_INLINE SL_TARGET_AVX512 static inline __attribute__((always_inline))

/* Of SL_CONVERT_STEP elements. */
typedef struct mix_factors {
    const float *scales, *biases;
    float weight;
} mix_factors;

SL_MIX_INLINE __m512 mix_avx512_take(const uint8_t *samples)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i_u *)samples);
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

SL_MIX_INLINE __m512i mix_avx512_round_bfloat16(__m512 values)
{
    const __m512i bits = _mm512_castps_si512(values);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF));
    return _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
}

SL_MIX_INLINE void mix_avx512_store(__m512 values, sluice_dtype dtype, uint8_t *out)
{
    if (dtype == SLUICE_F32) {
        _mm512_storeu_ps(out, values);
    } else if (dtype == SLUICE_F16) {
        _mm256_storeu_si256((__m256i_u *)out,
                            _mm512_maskz_cvtps_ph(0xFFFF, values, _MM_FROUND_TO_NEAREST_INT));
    } else if (dtype == SLUICE_BF16) {
        _mm256_storeu_si256((__m256i_u *)out,
                            _mm512_cvtepi32_epi16(mix_avx512_round_bfloat16(values)));
    } else {
        _mm_storeu_si128((__m128i_u *)out, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(values)));
    }
}

SL_MIX_INLINE void mix_samples(const uint8_t *own, const uint8_t *other, const mix_factors *factors,
                               sluice_dtype dtype, uint8_t *out)
{
    if (dtype == SLUICE_U8 && other == NULL) {
        _mm_storeu_si128((__m128i_u *)out, _mm_loadu_si128((const __m128i_u *)own));
        return;
    }
    const __m512 scale = _mm512_loadu_ps(factors->scales);
    const __m512 bias = _mm512_loadu_ps(factors->biases);
    __m512 value = mix_avx512_take(own);
    if (dtype != SLUICE_U8) {
        value = _mm512_fmadd_ps(value, scale, bias);
    }
    if (other != NULL) {
        const __m512 weight = _mm512_set1_ps(factors->weight);
        const __m512 rest = _mm512_set1_ps(1.0F - factors->weight);
        __m512 partner = mix_avx512_take(other);
        if (dtype != SLUICE_U8) {
            partner = _mm512_fmadd_ps(partner, scale, bias);
        }
        value = _mm512_fmadd_ps(weight, value, _mm512_mul_ps(rest, partner));
    }
    mix_avx512_store(value, dtype, out);
}

#    include "mix_rows_loop.h"

SL_TARGET_AVX512 void sl_mix_avx512(const sl_converter *converter, const sl_mix_piece *piece)
{
    mix_any(converter, piece);
}

#endif
