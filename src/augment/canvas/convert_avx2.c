/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2 with F16C: 16 pixels at once. */
#include "convert.h"

#if defined(__x86_64__)

#    include "convert_x86.h"

#    define SL_CONVERT_INLINE SL_TARGET_AVX2 static inline __attribute__((always_inline))

SL_CONVERT_INLINE __m256i convert_avx2_round_bfloat16(__m256 values)
{
    const __m256i bits = _mm256_castps_si256(values);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF));
    return _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
}

/* 8 elements; `picture` points to the first. */
SL_CONVERT_INLINE void convert_avx2_store(__m256 values, sluice_dtype dtype, void *picture)
{
    if (dtype == SLUICE_F32) {
        _mm256_storeu_ps(picture, values);
    } else if (dtype == SLUICE_F16) {
        _mm_storeu_si128(picture, _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
    } else {
        const __m256i wide = convert_avx2_round_bfloat16(values);
        _mm_storeu_si128(picture, _mm_packus_epi32(_mm256_castsi256_si128(wide),
                                                   _mm256_extracti128_si256(wide, 1)));
    }
}

SL_CONVERT_INLINE void convert_samples(__m128i samples, const float *scales, const float *biases,
                                       sluice_dtype dtype, uint8_t *out)
{
    if (dtype == SLUICE_U8) {
        _mm_storeu_si128((__m128i_u *)out, samples);
        return;
    }
    const size_t bytes = dtype == SLUICE_F32 ? 4 : 2;
    for (size_t i = 0; i < 16; i += 8) {
        const __m256 values = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(samples));
        convert_avx2_store(
            _mm256_fmadd_ps(values, _mm256_loadu_ps(scales + i), _mm256_loadu_ps(biases + i)),
            dtype, out + i * bytes);
        samples = _mm_srli_si128(samples, 8);
    }
}

#    include "convert_loop.h"

SL_TARGET_AVX2 void sl_convert_avx2(const sl_converter *converter, const uint8_t *pixels,
                                    size_t first, size_t count, void *picture)
{
    convert(converter, pixels, first, count, picture);
}

#endif
