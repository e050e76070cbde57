/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2: 32 pixels at once (pixels_loop.h). */
#include "pixels.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define SL_PIXELS_TARGET SL_TARGET_AVX2
#    define SL_PIXELS_INLINE SL_TARGET_AVX2 static inline __attribute__((always_inline))
#    define V(name)          _mm256_##name
#    define V_AND            _mm256_and_si256
#    define V_OR             _mm256_or_si256
#    define V_XOR            _mm256_xor_si256
#    define V_ZERO           _mm256_setzero_si256()
#    define V_AS_FLOATS      _mm256_castsi256_ps
#    define V_AS_BITS        _mm256_castps_si256

enum { LANES = 32 };

typedef __m256i pixels_vector;
typedef __m256 pixels_floats;

SL_PIXELS_INLINE __m256i pixels_pick(__m256i mask, __m256i a, __m256i b)
{
    return _mm256_blendv_epi8(b, a, mask);
}

SL_PIXELS_INLINE __m256i pixels_equal(__m256i a, __m256i b)
{
    return _mm256_cmpeq_epi8(a, b);
}

SL_PIXELS_INLINE __m256i pixels_same(__m256 x, __m256 y)
{
    return _mm256_castps_si256(_mm256_cmp_ps(x, y, _CMP_EQ_OQ));
}

SL_PIXELS_INLINE __m256i pixels_gather(const uint8_t *bytes, size_t stride)
{
    return _mm256_loadu2_m128i((const __m128i_u *)(bytes + stride), (const __m128i_u *)bytes);
}

SL_PIXELS_INLINE void pixels_scatter(uint8_t *bytes, size_t stride, __m256i vector)
{
    _mm256_storeu2_m128i((__m128i_u *)(bytes + stride), (__m128i_u *)bytes, vector);
}

SL_PIXELS_INLINE __m256i pixels_repeat(const uint8_t *bytes)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i_u *)bytes));
}

#    include "pixels_loop.h"

#    include "pixels_hsv_loop.h"

const sl_pixel_kernels sl_pixels_avx2 = {.look_up = look_up,
                                         .look_up_one = look_up_one,
                                         .histogram = sl_pixels_histogram,
                                         .grey = grey,
                                         .sum_grey = sum_grey,
                                         .blend_grey = blend_grey,
                                         .hue = hue,
                                         .hsv = hsv,
                                         .permute = permute};

#endif
