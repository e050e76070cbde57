/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_idct_twins.h"

#if defined(__x86_64__)

#    include <immintrin.h>
#    include <stdbool.h>
#    include <string.h>

#    define TARGET                  __attribute__((target("avx2,bmi,bmi2,fma")))
#    define VECTOR                  __m256i
#    define OP(name)                _mm256_##name
#    define ZERO                    _mm256_setzero_si256()
#    define SHIFT_RIGHT(sums, bits) _mm256_srai_epi32(sums, (int)(bits))
#    include "jpeg_idct_vector.h"

enum { SIDE = 8, AT_ONCE = 2 };

typedef struct place {
    const int16_t *block;
    uint8_t *samples;
} place;

TARGET static inline __m128i jpeg_idct_avx2_load_row(const int16_t *block, size_t row)
{
    return _mm_load_si128((const __m128i *)(const void *)(block + row * SIDE));
}

TARGET static inline __m256i load_two_rows(const int16_t *block, size_t row)
{
    return _mm256_load_si256((const __m256i *)(const void *)(block + row * SIDE));
}

TARGET static inline void jpeg_idct_avx2_store_two_rows(uint8_t *samples, size_t stride,
                                                        __m128i rows)
{
    _mm_storel_epi64((__m128i *)(void *)samples, rows);
    _mm_storeh_pi((__m64 *)(void *)(samples + stride), _mm_castsi128_ps(rows));
}

TARGET static inline void transform_two(const place places[AT_ONCE], const uint16_t *quantizers,
                                        size_t stride)
{
    __m256i rows[SIDE];
    __m256i samples[4];
    for (size_t y = 0; y < SIDE; y++) {
        const void *from = quantizers + y * SIDE;
        __m256i quantizer = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)from));
        __m256i row = _mm256_inserti128_si256(
            _mm256_castsi128_si256(jpeg_idct_avx2_load_row(places[0].block, y)),
            jpeg_idct_avx2_load_row(places[1].block, y), 1);
        rows[y] = _mm256_mullo_epi16(row, quantizer);
    }
    transform_blocks(rows, samples);
    for (size_t i = 0; i < 4; i++) {
        jpeg_idct_avx2_store_two_rows(places[0].samples + 2 * i * stride, stride,
                                      _mm256_castsi256_si128(samples[i]));
        jpeg_idct_avx2_store_two_rows(places[1].samples + 2 * i * stride, stride,
                                      _mm256_extracti128_si256(samples[i], 1));
    }
}

/* Blocks without coefficients below row 0: all rows come out the same. True: it was one. */
TARGET static inline bool jpeg_idct_avx2_try_flat(const place *where, const uint16_t *quantizers,
                                                  size_t stride)
{
    __m256i first = load_two_rows(where->block, 0);
    __m256i rest = _mm256_or_si256(
        load_two_rows(where->block, 2),
        _mm256_or_si256(load_two_rows(where->block, 4), load_two_rows(where->block, 6)));
    __m256i below = _mm256_or_si256(rest, _mm256_permute2x128_si256(first, first, 0x81));
    if (!_mm256_testz_si256(below, below)) {
        return false;
    }
    __m128i dc = _mm_cvtsi32_si128(UINT16_MAX);
    uint64_t row;
    if (_mm_testc_si128(dc, _mm256_castsi256_si128(first))) {
        row = sl_jpeg_idct8_dc(where->block[0], quantizers[0]) * (UINT64_MAX / UINT8_MAX);
    } else {
        uint8_t samples[SIDE];
        sl_jpeg_idct8_flat(where->block, quantizers, samples);
        memcpy(&row, samples, SIDE);
    }
    for (size_t y = 0; y < SIDE; y++) {
        memcpy(where->samples + y * stride, &row, SIDE);
    }
    return true;
}

TARGET void sl_jpeg_idct8_avx2(const sl_jpeg_blocks *blocks)
{
    place dense[AT_ONCE];
    size_t waiting = 0;
    for (size_t i = 0; i < blocks->count; i++) {
        dense[waiting].block = blocks->coefficients + i * blocks->pitch;
        dense[waiting].samples = blocks->samples + i * SIDE;
        if (jpeg_idct_avx2_try_flat(&dense[waiting], blocks->quantizers, blocks->stride)) {
            continue;
        }
        waiting++;
        if (waiting == AT_ONCE) {
            transform_two(dense, blocks->quantizers, blocks->stride);
            waiting = 0;
        }
    }
    if (waiting > 0) { /* twice the same */
        dense[1] = dense[0];
        transform_two(dense, blocks->quantizers, blocks->stride);
    }
}

#endif
