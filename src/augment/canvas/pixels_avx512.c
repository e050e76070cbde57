/* SPDX-License-Identifier: Apache-2.0 */
/* AVX-512: 64 pixels at once (pixels_loop.h). */
#include "pixels.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define SL_PIXELS_TARGET SL_TARGET_AVX512
#    define SL_PIXELS_INLINE SL_TARGET_AVX512 static inline __attribute__((always_inline))
#    define V(name)          _mm512_##name
#    define V_AND            _mm512_and_si512
#    define V_OR             _mm512_or_si512
#    define V_XOR            _mm512_xor_si512
#    define V_ZERO           _mm512_setzero_si512()
#    define V_AS_FLOATS      _mm512_castsi512_ps
#    define V_AS_BITS        _mm512_castps_si512

enum { LANES = 64 };

typedef __m512i pixels_vector;
typedef __m512 pixels_floats;

SL_PIXELS_INLINE __m512i pixels_pick(__m512i mask, __m512i a, __m512i b)
{
    return _mm512_ternarylogic_epi32(mask, a, b, 0xca);
}

SL_PIXELS_INLINE __m512i pixels_equal(__m512i a, __m512i b)
{
    return _mm512_movm_epi8(_mm512_cmpeq_epi8_mask(a, b));
}

SL_PIXELS_INLINE __m512i pixels_same(__m512 x, __m512 y)
{
    return _mm512_movm_epi32(_mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ));
}

SL_PIXELS_INLINE __m512i pixels_gather(const uint8_t *bytes, size_t stride)
{
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i_u *)bytes));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i_u *)(bytes + stride)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i_u *)(bytes + stride * 2)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i_u *)(bytes + stride * 3)), 3);
}

SL_PIXELS_INLINE void pixels_scatter(uint8_t *bytes, size_t stride, __m512i vector)
{
    _mm_storeu_si128((__m128i_u *)bytes, _mm512_castsi512_si128(vector));
    _mm_storeu_si128((__m128i_u *)(bytes + stride), _mm512_extracti32x4_epi32(vector, 1));
    _mm_storeu_si128((__m128i_u *)(bytes + stride * 2), _mm512_extracti32x4_epi32(vector, 2));
    _mm_storeu_si128((__m128i_u *)(bytes + stride * 3), _mm512_extracti32x4_epi32(vector, 3));
}

SL_PIXELS_INLINE __m512i pixels_repeat(const uint8_t *bytes)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i_u *)bytes));
}

#    include "pixels_loop.h"

#    include "pixels_hsv_loop.h"

const sl_pixel_kernels sl_pixels_avx512 = {.look_up = look_up,
                                           .look_up_one = look_up_one,
                                           .histogram = sl_pixels_histogram,
                                           .grey = grey,
                                           .sum_grey = sum_grey,
                                           .blend_grey = blend_grey,
                                           .hue = hue,
                                           .hsv = hsv,
                                           .permute = permute};

#endif
