/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2: 32 samples of a row at once (stencil_vector.h); of boxes a strip's 32 lines at once, whose
 * sums are 16-bit values: products with weights of 25 bits are put together from two of 12 bits.
 */
#include "stencil_kernels.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define INLINE            SL_TARGET_AVX2 static inline __attribute__((always_inline))
#    define VECTOR            __m256i
#    define FLOATS            __m256
#    define OP(name)          _mm256_##name
#    define ZERO              _mm256_setzero_si256()
#    define STEP              16
#    define FLOATS_OF(vector) _mm256_castsi256_ps(vector)

#    include "stencil_vector.h"

INLINE __m256i load_vector(const void *memory)
{
    return _mm256_loadu_si256((const __m256i_u *)memory);
}

INLINE void store_vector(void *memory, __m256i vector)
{
    _mm256_storeu_si256((__m256i_u *)memory, vector);
}

INLINE two to_order(two lanes)
{
    return (two){_mm256_permute2x128_si256(lanes.low, lanes.high, 0x20),
                 _mm256_permute2x128_si256(lanes.low, lanes.high, 0x31)};
}

INLINE two to_lanes(two order)
{
    return to_order(order);
}

INLINE void store_words(uint8_t *bytes, two order)
{
    const __m256i packed = _mm256_packus_epi16(order.low, order.high);
    store_vector(bytes, _mm256_permute4x64_epi64(packed, 0xD8));
}

SL_TARGET_AVX2 static void down(const sl_stencil_taps *taps, const uint8_t *const *rows,
                                size_t samples, int16_t *out)
{
    if (samples < CHUNK) {
        sl_stencil_scalar.down(taps, rows, samples, out);
        return;
    }
    down_row(taps, rows, samples, out);
}

SL_TARGET_AVX2 static void across(const sl_stencil_taps *taps, const int16_t *in, size_t samples,
                                  uint8_t *out)
{
    if (samples < CHUNK) {
        sl_stencil_scalar.across(taps, in, samples, out);
        return;
    }
    across_row(taps, in, samples, out);
}

SL_TARGET_AVX2 static void sharpen(const sl_stencil_rows *rows, size_t samples, float factor,
                                   int16_t *sums, uint8_t *out)
{
    if (samples < CHUNK) {
        sl_stencil_scalar.sharpen(rows, samples, factor, sums, out);
        return;
    }
    sharpen_row(rows, samples, factor, sums, out);
}

/* ---- boxes ---- */

enum { SPLIT = 12 };

/* Where an element is while its number goes up by one: at the line's ends it stays. */
INLINE const uint8_t *follow(const sl_stencil_box *pass, uint32_t i, uint32_t behind)
{
    return pass->in + (size_t)(i > behind ? i - behind - 1 : 0) * pass->in_stride;
}

INLINE const uint8_t *lead(const sl_stencil_box *pass, uint32_t i)
{
    const uint32_t last = pass->count - 1;
    return pass->in + (size_t)(i < last ? i : last) * pass->in_stride;
}

INLINE two start_lanes(const sl_stencil_box *pass)
{
    const __m256i first = _mm256_set1_epi16((int16_t)(pass->reach + 1));
    two sums = load_samples(pass->in);
    sums.low = _mm256_mullo_epi16(sums.low, first);
    sums.high = _mm256_mullo_epi16(sums.high, first);
    for (uint32_t i = 0; i < pass->reach; i++) {
        sums = add_words(sums, load_samples(lead(pass, i)));
    }
    return sums;
}

INLINE two subtract_words(two a, two b)
{
    return (two){_mm256_sub_epi16(a.low, b.low), _mm256_sub_epi16(a.high, b.high)};
}

/* Both weights side by side: bits from SPLIT on, and those below. */
typedef struct box_weights {
    __m256i high, low;
} box_weights;

INLINE __m256i pair_of(uint32_t a, uint32_t b)
{
    return _mm256_set1_epi32((int32_t)(a | b << 16));
}

INLINE box_weights split_weights(const sl_stencil_box *pass)
{
    const uint32_t mask = (1U << SPLIT) - 1;
    return (box_weights){pair_of(pass->weight >> SPLIT, pass->far_weight >> SPLIT),
                         pair_of(pass->weight & mask, pass->far_weight & mask)};
}

INLINE __m256i weigh_pairs(__m256i pairs, const box_weights *weights)
{
    const __m256i high = _mm256_madd_epi16(pairs, weights->high);
    const __m256i low =
        _mm256_add_epi32(_mm256_madd_epi16(pairs, weights->low), _mm256_set1_epi32(1 << 23));
    return _mm256_srli_epi32(_mm256_add_epi32(_mm256_slli_epi32(high, SPLIT), low), 24);
}

INLINE __m256i weigh(__m256i sums, __m256i beyond, const box_weights *weights)
{
    const two pairs = unpack_words(sums, beyond);
    return _mm256_packs_epi32(weigh_pairs(pairs.low, weights), weigh_pairs(pairs.high, weights));
}

INLINE void box_lanes(const sl_stencil_box *pass)
{
    const box_weights weights = split_weights(pass);
    two sums = start_lanes(pass);
    two coming = load_samples(lead(pass, pass->reach));
    uint8_t *out = pass->out;
    for (uint32_t i = 0; i < pass->count; i++, out += pass->out_stride) {
        const two leaving = load_samples(follow(pass, i, pass->reach));
        const two far = load_samples(lead(pass, i + pass->reach + 1));
        const two beyond = add_words(leaving, far);
        sums = subtract_words(add_words(sums, coming), leaving);
        coming = far;
        store_vector(out, _mm256_packus_epi16(weigh(sums.low, beyond.low, &weights),
                                              weigh(sums.high, beyond.high, &weights)));
    }
}

SL_TARGET_AVX2 static void box(const sl_stencil_box *pass)
{
    if (pass->reach > SL_STENCIL_BOX_MAX) {
        sl_stencil_scalar.box(pass);
        return;
    }
    const sl_stencil_box local = *pass; /* which stores to its output cannot change */
    box_lanes(&local);
}

/* ---- rows to lines and back ---- */

enum { SQUARE = 16 };

/* Of each 128 bits: 16 rows of 16 bytes become columns. */
INLINE void transpose_bytes(__m256i rows[SQUARE])
{
    __m256i mixed[SQUARE];
    for (size_t round = 0; round < 4; round++) {
        for (size_t i = 0; i < SQUARE / 2; i++) {
            mixed[2 * i] = _mm256_unpacklo_epi8(rows[i], rows[i + SQUARE / 2]);
            mixed[2 * i + 1] = _mm256_unpackhi_epi8(rows[i], rows[i + SQUARE / 2]);
        }
        for (size_t i = 0; i < SQUARE; i++) {
            rows[i] = mixed[i];
        }
    }
}

SL_TARGET_AVX2 static void to_lines(const uint8_t *const rows[SL_STENCIL_LANES], size_t count,
                                    uint8_t *lines)
{
    if (count < SQUARE) {
        sl_stencil_scalar.to_lines(rows, count, lines);
        return;
    }
    for (size_t done = 0; done < count; done += SQUARE) {
        const size_t b = done + SQUARE <= count ? done : count - SQUARE;
        __m256i block[SQUARE];
        for (size_t r = 0; r < SQUARE; r++) {
            block[r] = _mm256_loadu2_m128i((const __m128i_u *)(rows[r + SQUARE] + b),
                                           (const __m128i_u *)(rows[r] + b));
        }
        transpose_bytes(block);
        for (size_t r = 0; r < SQUARE; r++) {
            _mm256_storeu_si256((__m256i_u *)(lines + (b + r) * SL_STENCIL_LANES), block[r]);
        }
    }
}

INLINE void store_row(uint8_t *row, __m128i bytes)
{
    _mm_storeu_si128((__m128i_u *)row, bytes);
}

SL_TARGET_AVX2 static void from_lines(const uint8_t *lines, size_t count, uint8_t *row,
                                      size_t stride, uint32_t used)
{
    if (count < SQUARE) {
        sl_stencil_scalar.from_lines(lines, count, row, stride, used);
        return;
    }
    for (size_t done = 0; done < count; done += SQUARE) {
        const size_t b = done + SQUARE <= count ? done : count - SQUARE;
        __m256i block[SQUARE];
        for (size_t r = 0; r < SQUARE; r++) {
            const uint8_t *line = lines + (b + r) * SL_STENCIL_LANES;
            block[r] = _mm256_loadu_si256((const __m256i_u *)line);
        }
        transpose_bytes(block);
        for (size_t r = 0; r < SQUARE && r < used; r++) {
            store_row(row + r * stride + b, _mm256_castsi256_si128(block[r]));
        }
        for (size_t r = SQUARE; r < used; r++) {
            store_row(row + r * stride + b, _mm256_extracti128_si256(block[r - SQUARE], 1));
        }
    }
}

const sl_stencil_kernels sl_stencil_avx2 = {.down = down,
                                            .across = across,
                                            .box = box,
                                            .to_lines = to_lines,
                                            .from_lines = from_lines,
                                            .sharpen = sharpen};

#endif
