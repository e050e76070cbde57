/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stencil_vector: the kernels of rows in vectors of any width, to be included once by a variant
 * that has defined INLINE, VECTOR and FLOATS (the types), STEP (the 16-bit values of a vector),
 * OP(name) (the intrinsic), ZERO, and these, at any address:
 *     load_vector, store_vector
 *     to_order, to_lanes, store_words
 *
 * CHUNK samples go at once, two vectors of 16-bit values. These are "in order", or, where unpacking
 * bytes made them, "in lanes": unpacking stays in its 128 bits, so that `low` has the lower half of
 * each 16 samples and `high` the upper one. Packing restores the order. So most operations stay
 * within 128-bit lanes, since crossing them is slow.
 * Threads: pure.
 */
#ifndef SL_STENCIL_VECTOR_H
#define SL_STENCIL_VECTOR_H

#include "stencil_kernels.h"

#include <string.h>

#define CHUNK ((size_t)STEP * 2)

/* Two vectors of 16-bit values, or of their 32-bit sums. */
typedef struct two {
    VECTOR low, high;
} two;

/* Defined by the variant: */
INLINE VECTOR load_vector(const void *memory);
INLINE void store_vector(void *memory, VECTOR vector);
INLINE two to_order(two lanes);
INLINE two to_lanes(two order);
/* CHUNK values in order, 0..255, as bytes. */
INLINE void store_words(uint8_t *bytes, two order);

INLINE two unpack_bytes(VECTOR a, VECTOR b)
{
    return (two){OP(unpacklo_epi8)(a, b), OP(unpackhi_epi8)(a, b)};
}

INLINE two unpack_words(VECTOR a, VECTOR b)
{
    return (two){OP(unpacklo_epi16)(a, b), OP(unpackhi_epi16)(a, b)};
}

INLINE two add_words(two a, two b)
{
    return (two){OP(add_epi16)(a.low, b.low), OP(add_epi16)(a.high, b.high)};
}

/* Samples in lanes. */
INLINE two load_samples(const uint8_t *samples)
{
    return unpack_bytes(load_vector(samples), ZERO);
}

/* Sums of two bytes, in lanes. */
INLINE two fold(VECTOR a, VECTOR b)
{
    const VECTOR ones = OP(set1_epi8)(1);
    const two mixed = unpack_bytes(a, b);
    return (two){OP(maddubs_epi16)(mixed.low, ones), OP(maddubs_epi16)(mixed.high, ones)};
}

INLINE two load_sums(const uint8_t *a, const uint8_t *b)
{
    return fold(load_vector(a), load_vector(b));
}

INLINE two load_order(const int16_t *words)
{
    return (two){load_vector(words), load_vector(words + STEP)};
}

INLINE void store_order(int16_t *words, two order)
{
    store_vector(words, order.low);
    store_vector(words + STEP, order.high);
}

/* ---- gaussian ---- */

INLINE VECTOR load_pair(const int16_t *weights)
{
    int32_t pair = 0;
    memcpy(&pair, weights, sizeof(pair));
    return OP(set1_epi32)(pair);
}

/* Sums for CHUNK samples, in order or in lanes. */
typedef struct weighted {
    two low, high;
} weighted;

INLINE two add_weighted(two sum, VECTOR a, VECTOR b, VECTOR weights)
{
    const two pairs = unpack_words(a, b);
    sum.low = OP(add_epi32)(sum.low, OP(madd_epi16)(pairs.low, weights));
    sum.high = OP(add_epi32)(sum.high, OP(madd_epi16)(pairs.high, weights));
    return sum;
}

INLINE weighted add_pair(weighted sum, two a, two b, VECTOR weights)
{
    sum.low = add_weighted(sum.low, a.low, b.low, weights);
    sum.high = add_weighted(sum.high, a.high, b.high, weights);
    return sum;
}

INLINE VECTOR narrow_sum(two sum, __m128i shift)
{
    return OP(packs_epi32)(OP(sra_epi32)(sum.low, shift), OP(sra_epi32)(sum.high, shift));
}

INLINE two narrow_weighted(weighted sum, __m128i shift)
{
    return (two){narrow_sum(sum.low, shift), narrow_sum(sum.high, shift)};
}

/* The samples at distance j above and below, added. */
INLINE two folded_rows(const uint8_t *const *middle, ptrdiff_t j, size_t x)
{
    return load_sums(middle[-j] + x, middle[j] + x);
}

INLINE void down_step(const sl_stencil_taps *taps, const uint8_t *const *middle, size_t x,
                      int16_t *out)
{
    const uint32_t bits = taps->bits - SL_STENCIL_FRACTION;
    const VECTOR first = OP(set1_epi32)((1 << (bits - 1)) - (SL_STENCIL_CENTRE << taps->bits));
    const ptrdiff_t reach = (ptrdiff_t)taps->reach;
    const two none = {ZERO, ZERO};
    weighted sum = {{first, first}, {first, first}};
    sum = add_pair(sum, load_samples(*middle + x), reach > 0 ? folded_rows(middle, 1, x) : none,
                   load_pair(taps->weights));
    const uint8_t *const *above = middle - 2;
    const uint8_t *const *below = middle + 2;
    const int16_t *weights = taps->weights + 2;
    for (; above > middle - reach; above -= 2) {
        /* in this order: rows at a distance of two would meet in one bank of the cache */
        const VECTOR a = load_vector(above[0] + x);
        const VECTOR b = load_vector(above[-1] + x);
        const VECTOR c = load_vector(below[0] + x);
        const VECTOR d = load_vector(below[1] + x);
        sum = add_pair(sum, fold(a, c), fold(b, d), load_pair(weights));
        below += 2;
        weights += 2;
    }
    if (above == middle - reach) {
        sum = add_pair(sum, load_sums(*above + x, *below + x), none, load_pair(weights));
    }
    const two words = narrow_weighted(sum, _mm_cvtsi32_si128((int)bits));
    store_order(out + x, to_order(words));
}

/* `samples` is at least CHUNK, as for all rows here. */
INLINE void down_row(const sl_stencil_taps *taps, const uint8_t *const *rows, size_t samples,
                     int16_t *out)
{
    const sl_stencil_taps local = *taps; /* which stores to `out` cannot change */
    const uint8_t *const *middle = rows + local.reach;
    for (size_t x = 0; x + CHUNK <= samples; x += CHUNK) {
        down_step(&local, middle, x, out);
    }
    if (samples % CHUNK != 0) { /* the last step overlaps the one before */
        down_step(&local, middle, samples - CHUNK, out);
    }
}

INLINE two folded_columns(const int16_t *in, ptrdiff_t distance)
{
    return add_words(load_order(in - distance), load_order(in + distance));
}

INLINE void across_step(const sl_stencil_taps *taps, const int16_t *in, uint8_t *out)
{
    const uint32_t bits = taps->bits + SL_STENCIL_FRACTION;
    const VECTOR first = OP(set1_epi32)(1 << (bits - 1));
    const ptrdiff_t reach = (ptrdiff_t)taps->reach * 3;
    const int16_t *weights = taps->weights;
    const two none = {ZERO, ZERO};
    weighted sum = {{first, first}, {first, first}};
    sum =
        add_pair(sum, load_order(in), reach > 0 ? folded_columns(in, 3) : none, load_pair(weights));
    weights += 2;
    ptrdiff_t distance = 6;
    for (; distance < reach; distance += 6) {
        sum = add_pair(sum, folded_columns(in, distance), folded_columns(in, distance + 3),
                       load_pair(weights));
        weights += 2;
    }
    if (distance == reach) {
        sum = add_pair(sum, folded_columns(in, distance), none, load_pair(weights));
    }
    const VECTOR centre = OP(set1_epi16)(SL_STENCIL_CENTRE);
    const two words = narrow_weighted(sum, _mm_cvtsi32_si128((int)bits));
    store_words(out, add_words(words, (two){centre, centre}));
}

INLINE void across_row(const sl_stencil_taps *taps, const int16_t *in, size_t samples, uint8_t *out)
{
    const sl_stencil_taps local = *taps; /* which stores to `out` cannot change */
    for (size_t x = 0; x + CHUNK <= samples; x += CHUNK) {
        across_step(&local, in + x, out + x);
    }
    if (samples % CHUNK != 0) {
        across_step(&local, in + samples - CHUNK, out + samples - CHUNK);
    }
}

/* ---- sharpness ---- */

INLINE void sum_rows(const sl_stencil_rows *rows, size_t x, int16_t *sums)
{
    const two outer = load_sums(rows->above + x, rows->below + x);
    store_order(sums + x, to_order(add_words(outer, load_samples(rows->middle + x))));
}

/* (sum + 6) / 13: 5042 / 2^16 is larger than 1 / 13 by less than a 3321st of a 13th. */
INLINE VECTOR smooth_words(VECTOR sum, VECTOR value)
{
    sum = OP(add_epi16)(OP(add_epi16)(sum, OP(set1_epi16)(6)), OP(slli_epi16)(value, 2));
    return OP(mulhi_epu16)(sum, OP(set1_epi16)(5042));
}

/* Floats of 2^23 and more have no fraction: 2^23 + n is a float's upper half and n. */
INLINE FLOATS blend_floats(FLOATS smooth, FLOATS value, FLOATS factor)
{
    const FLOATS from = OP(sub_ps)(smooth, OP(set1_ps)(8388608.0F));
    return OP(add_ps)(from, OP(mul_ps)(factor, OP(sub_ps)(value, smooth)));
}

INLINE VECTOR blend_words(VECTOR smooth, VECTOR value, FLOATS factor)
{
    const VECTOR upper = OP(set1_epi16)(0x4B00);
    const two from = unpack_words(smooth, upper);
    const two to = unpack_words(value, upper);
    return OP(packs_epi32)(
        OP(cvttps_epi32)(blend_floats(FLOATS_OF(from.low), FLOATS_OF(to.low), factor)),
        OP(cvttps_epi32)(blend_floats(FLOATS_OF(from.high), FLOATS_OF(to.high), factor)));
}

INLINE void sharpen_step(const uint8_t *middle, const int16_t *sums, FLOATS factor, uint8_t *out)
{
    const two value = load_samples(middle);
    const two beside = add_words(load_order(sums - 3), load_order(sums + 3));
    const two sum = to_lanes(add_words(beside, load_order(sums)));
    const VECTOR low = blend_words(smooth_words(sum.low, value.low), value.low, factor);
    const VECTOR high = blend_words(smooth_words(sum.high, value.high), value.high, factor);
    store_vector(out, OP(packus_epi16)(low, high));
}

INLINE void sharpen_row(const sl_stencil_rows *rows, size_t samples, float factor, int16_t *sums,
                        uint8_t *out)
{
    const sl_stencil_rows local = *rows; /* which stores to `out` cannot change */
    const FLOATS factors = OP(set1_ps)(factor);
    const size_t all = samples + 6;
    size_t x = 0;
    for (; x + CHUNK <= all; x += CHUNK) {
        sum_rows(&local, x, sums);
    }
    sum_rows(&local, all - CHUNK, sums);
    for (x = 3; x + CHUNK <= samples + 3; x += CHUNK) {
        sharpen_step(local.middle + x, sums + x, factors, out + x);
    }
    x = samples + 3 - CHUNK;
    sharpen_step(local.middle + x, sums + x, factors, out + x);
}

#endif
