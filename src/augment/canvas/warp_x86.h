/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp_x86: places of pixels in a view, and stores of 4 pixels, for the variants of warp_kernels.h
 * on x86-64. Threads: pure.
 */
#ifndef SL_WARP_X86_H
#define SL_WARP_X86_H

#include "warp_kernels.h"

#include <immintrin.h>
#include <string.h>

#define INLINE SL_TARGET_AVX2 static inline __attribute__((always_inline))

/* Returns the bytes of the view; 0 if they exceed 32 bits. */
static inline int32_t view_bytes(const sl_warp_source *source)
{
    const size_t bytes =
        (size_t)(source->height - 1) * source->stride_bytes + (size_t)source->width * 3;
    return bytes <= INT32_MAX ? (int32_t)bytes : 0;
}

INLINE __m128i places_of(const sl_warp_source *source, __m128i columns, __m128i rows)
{
    const __m128i stride = _mm_set1_epi32((int32_t)source->stride_bytes);
    columns = _mm_sub_epi32(columns, _mm_set1_epi32(source->origin_x));
    rows = _mm_sub_epi32(rows, _mm_set1_epi32(source->origin_y));
    columns = _mm_add_epi32(columns, _mm_slli_epi32(columns, 1));
    return _mm_add_epi32(_mm_mullo_epi32(rows, stride), columns);
}

INLINE bool any_above(__m128i places, int32_t most)
{
    const __m128i above = _mm_cmpgt_epi32(places, _mm_set1_epi32(most));
    return _mm_movemask_epi8(above) != 0;
}

/* Stores 4 pixels of 4 bytes each, without each pixel's last byte. */
INLINE void store_pixels(__m128i pixels, uint8_t *out)
{
    const __m128i dense = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    pixels = _mm_shuffle_epi8(pixels, dense);
    const int32_t last = _mm_extract_epi32(pixels, 2);
    _mm_storel_epi64((__m128i_u *)out, pixels);
    memcpy(out + 8, &last, sizeof(last));
}

#endif
