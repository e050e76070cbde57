/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512: 32 samples at once down; across, the 16 samples of 5 1/3 output pixels, each pair of
 * taps picked by one permutation of 64 samples. Where 5 1/3 pixels need more than those (scale
 * factors above about 3), AVX2's horizontal pass is used: the vertical one costs far more there.
 */
#include "resample_kernels.h"

#if defined(__x86_64__)

#    include <immintrin.h>
#    include <string.h>

#    define INLINE SL_TARGET_AVX512 static inline __attribute__((always_inline))

enum { STEP = 32, LANES = 16, BLOCKS = 3, WINDOW = 64 };

INLINE __m512i resample_avx512_load_words(const uint8_t *bytes, __mmask32 mask)
{
    return _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, bytes));
}

INLINE __m512i resample_avx512_load_pair(const int16_t *weights)
{
    int32_t pair = 0;
    memcpy(&pair, weights, sizeof(pair));
    return _mm512_set1_epi32(pair);
}

/* Up to STEP samples. Unpacking and packing both stay in their 128 bits: order is kept. */
INLINE __m512i resample_avx512_vertical_step(const sl_vertical *pass, const uint8_t *in,
                                             uint32_t taps, __mmask32 mask)
{
    const __m128i shift = _mm_cvtsi32_si128((int)pass->shift);
    __m512i low = _mm512_set1_epi32((int32_t)(1U << (pass->shift - 1)));
    __m512i high = low;
    for (uint32_t k = 0; k < taps; k += 2) {
        const __m512i upper = resample_avx512_load_words(in, mask);
        in += k + 1 < taps ? pass->stride_bytes : 0; /* the pair of the last has no weight */
        const __m512i lower = resample_avx512_load_words(in, mask);
        const __m512i pair = resample_avx512_load_pair(pass->weights + k);
        in += pass->stride_bytes;
        low = _mm512_add_epi32(low, _mm512_madd_epi16(_mm512_unpacklo_epi16(upper, lower), pair));
        high = _mm512_add_epi32(high, _mm512_madd_epi16(_mm512_unpackhi_epi16(upper, lower), pair));
    }
    return _mm512_packs_epi32(_mm512_sra_epi32(low, shift), _mm512_sra_epi32(high, shift));
}

/* Inlined with constant `taps`, the loop over them unrolls. */
INLINE void resample_avx512_vertical_row(const sl_vertical *pass, uint32_t taps, int16_t *out)
{
    const sl_vertical local = *pass; /* which stores to `out` cannot change */
    const size_t whole = local.samples / STEP * STEP;
    const __mmask32 all = (__mmask32)-1;
    for (size_t x = 0; x < whole; x += STEP) {
        _mm512_storeu_si512(out + x,
                            resample_avx512_vertical_step(&local, local.in + x, taps, all));
    }
    if (whole < local.samples) {
        const __mmask32 mask = _bzhi_u32(all, (uint32_t)(local.samples - whole));
        const __m512i sums = resample_avx512_vertical_step(&local, local.in + whole, taps, mask);
        _mm512_mask_storeu_epi16(out + whole, mask, sums);
    }
}

SL_TARGET_AVX512 static void vertical(const sl_vertical *pass, int16_t *out)
{
    switch (pass->taps) {
    case 1:
        resample_avx512_vertical_row(pass, 1, out);
        break;
    case 2:
        resample_avx512_vertical_row(pass, 2, out);
        break;
    case 3:
        resample_avx512_vertical_row(pass, 3, out);
        break;
    case 4:
        resample_avx512_vertical_row(pass, 4, out);
        break;
    default:
        resample_avx512_vertical_row(pass, pass->taps, out);
        break;
    }
}

/* Lane l of block b of 16 outputs belongs to output (16b + l) / 3. */
INLINE __m512i outputs_of_lanes(uint32_t block)
{
    switch (block) {
    case 0:
        return _mm512_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5);
    case 1:
        return _mm512_setr_epi32(5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10);
    default:
        return _mm512_setr_epi32(10, 11, 11, 11, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15);
    }
}

/* And to this sample of its pixel. */
INLINE __m512i samples_of_lanes(uint32_t block)
{
    switch (block) {
    case 0:
        return _mm512_setr_epi32(0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0);
    case 1:
        return _mm512_setr_epi32(1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1);
    default:
        return _mm512_setr_epi32(2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2);
    }
}

/*
 * The first sample that a block needs, and for each lane where, from there on, the two samples of
 * its first pair of taps are (those of pair j are 6j further). False when one is too far.
 */
INLINE bool resample_avx512_aim(sl_horizontal *pass, uint32_t group, uint32_t block)
{
    const int32_t *starts = pass->starts + (size_t)group * SL_LANES;
    const uint32_t number = group * BLOCKS + block;
    const int32_t left = starts[block * LANES / 3];
    const int32_t right = starts[(block * LANES + LANES - 1) / 3];
    const int32_t first = left < right ? left : right;
    const int32_t last = left < right ? right : left;
    __m512i at = _mm512_permutexvar_epi32(outputs_of_lanes(block), _mm512_loadu_si512(starts));
    at = _mm512_sub_epi32(at, _mm512_set1_epi32(first));
    at = _mm512_add_epi32(_mm512_mullo_epi32(at, _mm512_set1_epi32(3)), samples_of_lanes(block));
    const __m512i next = _mm512_slli_epi32(_mm512_add_epi32(at, _mm512_set1_epi32(3)), 16);
    _mm512_storeu_si512(pass->picks + (size_t)number * LANES, _mm512_or_si512(at, next));
    pass->bases[number] = first * 3;
    pass->near = pass->near && (last - first) * 3 + (int32_t)pass->pairs * 6 <= WINDOW;
    return (last - first) * 3 + 6 <= WINDOW;
}

INLINE void spread_weights(const sl_horizontal *pass, uint32_t group, uint32_t block)
{
    const __m512i outputs = outputs_of_lanes(block);
    const int16_t *weights = pass->weights + (size_t)group * SL_LANES * 2;
    int32_t *spread = pass->spread + ((size_t)group * BLOCKS + block) * pass->pairs * LANES;
    for (uint32_t j = 0; j < pass->pairs; j++) {
        const __m512i pairs = _mm512_loadu_si512(weights);
        _mm512_storeu_si512(spread, _mm512_permutexvar_epi32(outputs, pairs));
        weights += (size_t)pass->padded * 2;
        spread += LANES;
    }
}

SL_TARGET_AVX512 static bool prepare(sl_horizontal *pass, sl_scratch *scratch)
{
    const size_t blocks = (size_t)pass->padded / SL_LANES * BLOCKS;
    pass->bases = sl_scratch_take(scratch, blocks * sizeof(int32_t));
    pass->picks = sl_scratch_take(scratch, blocks * LANES * sizeof(int32_t));
    if (pass->bases == NULL || pass->picks == NULL) {
        return false;
    }
    pass->near = true;
    for (uint32_t group = 0; group < pass->padded / SL_LANES; group++) {
        if (!resample_avx512_aim(pass, group, 0) || !resample_avx512_aim(pass, group, 1) ||
            !resample_avx512_aim(pass, group, 2)) {
            pass->picks = NULL;
            return sl_resample_avx2.prepare(pass, scratch);
        }
    }
    pass->spread = sl_scratch_take(scratch, blocks * pass->pairs * LANES * sizeof(int32_t));
    if (pass->spread == NULL) {
        return false;
    }
    for (uint32_t group = 0; group < pass->padded / SL_LANES; group++) {
        spread_weights(pass, group, 0);
        spread_weights(pass, group, 1);
        spread_weights(pass, group, 2);
    }
    return true;
}

/*
 * With `near` all pairs of taps of a block are in one window, else the window moves on. Inlined
 * with constants, the loop over the pairs unrolls.
 */
INLINE void resample_avx512_horizontal_row(const sl_horizontal *pass, uint32_t pairs, bool near,
                                           const int16_t *in, uint8_t *out)
{
    const sl_horizontal local = *pass; /* which stores to `out` cannot change */
    const __m128i shift = _mm_cvtsi32_si128((int)local.shift);
    const __m512i half = _mm512_set1_epi32((int32_t)(1U << (local.shift - 1)));
    const int32_t *spread = local.spread;
    for (size_t start = 0; start < (size_t)local.outputs * 3; start += LANES) {
        const int16_t *window = in + local.bases[start / LANES];
        __m512i pick = _mm512_loadu_si512(local.picks + start);
        __m512i left = _mm512_loadu_si512(window);
        __m512i right = _mm512_loadu_si512(window + WINDOW / 2);
        __m512i sum = half;
        for (uint32_t j = 0; j < pairs; j++) {
            const __m512i taps = _mm512_permutex2var_epi16(left, pick, right);
            sum = _mm512_add_epi32(sum, _mm512_madd_epi16(taps, _mm512_loadu_si512(spread)));
            spread += LANES;
            if (near) {
                pick = _mm512_add_epi16(pick, _mm512_set1_epi16(6));
            } else {
                window += 6;
                left = _mm512_loadu_si512(window);
                right = _mm512_loadu_si512(window + WINDOW / 2);
            }
        }
        const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_sra_epi32(sum, shift));
        _mm_storeu_si128((__m128i_u *)(out + start), bytes);
    }
}

SL_TARGET_AVX512 static void horizontal(const sl_horizontal *pass, const int16_t *in, uint8_t *out)
{
    if (pass->picks == NULL) {
        sl_resample_avx2.horizontal(pass, in, out);
    } else if (pass->pairs == 1) {
        resample_avx512_horizontal_row(pass, 1, true, in, out);
    } else if (pass->pairs == 2 && pass->near) {
        resample_avx512_horizontal_row(pass, 2, true, in, out);
    } else if (pass->near) {
        resample_avx512_horizontal_row(pass, pass->pairs, true, in, out);
    } else {
        resample_avx512_horizontal_row(pass, pass->pairs, false, in, out);
    }
}

SL_TARGET_AVX512 static void mirror(const uint8_t *in, uint8_t *out, size_t pixels)
{
    sl_resample_avx2.mirror(in, out, pixels);
}

const sl_resample_kernels sl_resample_avx512 = {.vertical = vertical,
                                                .horizontal = horizontal,
                                                .mirror = mirror,
                                                .prepare = prepare};

#endif
