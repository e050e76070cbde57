/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert_x86: takes 16 pixels apart, for the variants of convert.h on x86-64 (see convert_loop.h).
 * Threads: pure.
 */
#ifndef SL_CONVERT_X86_H
#define SL_CONVERT_X86_H

#include "convert.h"

#include <immintrin.h>

/* Of channel c's 16 samples, those that are in the k-th 16 of 48 bytes: where there, or none. */
static const int8_t places[3][3][16] = {
    {{0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13}},
    {{1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14}},
    {{2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15}},
};

SL_TARGET_AVX2 static inline __attribute__((always_inline)) __m128i take_channel(
    const uint8_t *pixels, size_t c)
{
    __m128i samples = _mm_setzero_si128();
    for (size_t k = 0; k < 3; k++) {
        const __m128i bytes = _mm_loadu_si128((const __m128i_u *)(pixels + k * 16));
        const __m128i place = _mm_loadu_si128((const __m128i_u *)places[c][k]);
        samples = _mm_or_si128(samples, _mm_shuffle_epi8(bytes, place));
    }
    return samples;
}

SL_TARGET_AVX2 static inline __attribute__((always_inline)) __m128i take_bytes(
    const uint8_t *pixels, size_t c)
{
    return _mm_loadu_si128((const __m128i_u *)(pixels + c * 16));
}

#endif
