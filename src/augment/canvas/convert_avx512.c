/* SPDX-License-Identifier: Apache-2.0 */
/* AVX-512: 16 pixels at once, each vector 16 results. */
#include "convert.h"

#if defined(__x86_64__)

#    include "convert_x86.h"

#    define SL_CONVERT_INLINE SL_TARGET_AVX512 static inline __attribute__((always_inline))

SL_CONVERT_INLINE __m512i convert_avx512_round_bfloat16(__m512 values)
{
    const __m512i bits = _mm512_castps_si512(values);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF));
    return _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
}

SL_CONVERT_INLINE void convert_samples(__m128i samples, const float *scales, const float *biases,
                                       sluice_dtype dtype, uint8_t *out)
{
    if (dtype == SLUICE_U8) {
        _mm_storeu_si128((__m128i_u *)out, samples);
        return;
    }
    const __m512 values = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(samples)),
                                          _mm512_loadu_ps(scales), _mm512_loadu_ps(biases));
    if (dtype == SLUICE_F32) {
        _mm512_storeu_ps(out, values);
    } else if (dtype == SLUICE_F16) {
        _mm256_storeu_si256((__m256i_u *)out,
                            _mm512_maskz_cvtps_ph(0xFFFF, values, _MM_FROUND_TO_NEAREST_INT));
    } else {
        _mm256_storeu_si256((__m256i_u *)out,
                            _mm512_cvtepi32_epi16(convert_avx512_round_bfloat16(values)));
    }
}

#    include "convert_loop.h"

SL_TARGET_AVX512 void sl_convert_avx512(const sl_converter *converter, const uint8_t *pixels,
                                        size_t first, size_t count, void *picture)
{
    convert(converter, pixels, first, count, picture);
}

#endif
