/* SPDX-License-Identifier: Apache-2.0 */
/* AVX-512: 64 samples of a row at once (stencil_vector.h). Boxes are AVX2's. */
#include "stencil_kernels.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define INLINE            SL_TARGET_AVX512 static inline __attribute__((always_inline))
#    define VECTOR            __m512i
#    define FLOATS            __m512
#    define OP(name)          _mm512_##name
#    define ZERO              _mm512_setzero_si512()
#    define STEP              32
#    define FLOATS_OF(vector) _mm512_castsi512_ps(vector)

#    include "stencil_vector.h"

INLINE __m512i load_vector(const void *memory)
{
    return _mm512_loadu_si512(memory);
}

INLINE void store_vector(void *memory, __m512i vector)
{
    _mm512_storeu_si512(memory, vector);
}

INLINE two to_order(two lanes)
{
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    return (two){_mm512_permutex2var_epi64(lanes.low, first, lanes.high),
                 _mm512_permutex2var_epi64(lanes.low, second, lanes.high)};
}

INLINE two to_lanes(two order)
{
    return (two){_mm512_shuffle_i64x2(order.low, order.high, 0x88),
                 _mm512_shuffle_i64x2(order.low, order.high, 0xDD)};
}

INLINE void store_words(uint8_t *bytes, two order)
{
    const two lanes = to_lanes(order);
    store_vector(bytes, _mm512_packus_epi16(lanes.low, lanes.high));
}

SL_TARGET_AVX512 static void down(const sl_stencil_taps *taps, const uint8_t *const *rows,
                                  size_t samples, int16_t *out)
{
    if (samples < CHUNK) {
        sl_stencil_avx2.down(taps, rows, samples, out);
        return;
    }
    down_row(taps, rows, samples, out);
}

SL_TARGET_AVX512 static void across(const sl_stencil_taps *taps, const int16_t *in, size_t samples,
                                    uint8_t *out)
{
    if (samples < CHUNK) {
        sl_stencil_avx2.across(taps, in, samples, out);
        return;
    }
    across_row(taps, in, samples, out);
}

SL_TARGET_AVX512 static void sharpen(const sl_stencil_rows *rows, size_t samples, float factor,
                                     int16_t *sums, uint8_t *out)
{
    if (samples < CHUNK) {
        sl_stencil_avx2.sharpen(rows, samples, factor, sums, out);
        return;
    }
    sharpen_row(rows, samples, factor, sums, out);
}

SL_TARGET_AVX512 static void box(const sl_stencil_box *pass)
{
    sl_stencil_avx2.box(pass);
}

SL_TARGET_AVX512 static void to_lines(const uint8_t *const rows[SL_STENCIL_LANES], size_t count,
                                      uint8_t *lines)
{
    sl_stencil_avx2.to_lines(rows, count, lines);
}

SL_TARGET_AVX512 static void from_lines(const uint8_t *lines, size_t count, uint8_t *row,
                                        size_t stride, uint32_t used)
{
    sl_stencil_avx2.from_lines(lines, count, row, stride, used);
}

const sl_stencil_kernels sl_stencil_avx512 = {.down = down,
                                              .across = across,
                                              .box = box,
                                              .to_lines = to_lines,
                                              .from_lines = from_lines,
                                              .sharpen = sharpen};

#endif
