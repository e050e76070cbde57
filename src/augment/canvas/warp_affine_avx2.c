/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2, affine maps: the pixels in floats, 8 at once, and again in doubles where that may matter.
 *
 * Results are cut to integers, so floats give those of doubles unless a value is about an integer.
 * A group that has one within a bound on the floats' error goes to the kernels in doubles, except
 * values of four equal samples, which floats hold exactly: that is where values are integers in
 * real pictures, where one channel of one pixel is enough (in bicubic groups all must be equal).
 * Coordinates are in 32.32 fixed point, computed again from doubles for each block. A coordinate
 * about the middle of a pixel may be on the other side of it in doubles, which then look at other
 * samples: equal ones here prove nothing there.
 *
 * The doubles themselves are exact enough for these bounds while the terms of their sum are below
 * TERMS_MOST; rows with larger ones, which cancel, go to the kernels in doubles.
 *
 * The bound, bilinear: coordinates are wrong by 2^-33 and 64 steps of as much, cut to 24 bits: by
 * 2^-24 + 2^-26 each at most, which moves a value by 255 times that, twice: 3.9e-5. Four roundings
 * of numbers below 256, by 2^-17 each: 3.1e-5. Together less than 2^-13.
 *
 * Bicubic, of values less 128: the four weights of an axis are wrong by 3.0e-7 for the coordinate
 * and 4.3e-7 for their roundings, 2e-7 more where an edge makes some of them one; the others' sizes
 * sum to 1.5 at most, so both axes move a value by 128 * 1.5 * 2 * 9.3e-7 = 3.6e-4. The roundings
 * of the sums: 1.3e-4. Together less than 1.25 * 2^-11.
 */
#include "warp_kernels.h"

#if defined(__x86_64__)

#    include "warp_x86.h"

#    include <math.h>

enum { GROUP = 8, BLOCK = 64, AGAIN_MOST = 4, TERMS_MOST = 1 << 22 };

/*
 * Of a block's pixels; each group's in the order 0 1 4 5 2 3 6 7, as shuffles within the halves of
 * registers have it.
 */
typedef struct affine_aim {
    int32_t places[BLOCK];
    float right[BLOCK], down[BLOCK];
    /* Bicubic: how far the 4 x 4 pixels are moved for not to be beyond an edge. */
    int32_t moved_x[BLOCK], moved_y[BLOCK];
    float off_by[2]; /* above the difference to coordinates in doubles, of each axis */
} affine_aim;

/* A coordinate of a column's middle less a half, in 32.32. */
static int64_t start_at(const sl_warp_line *line, int axis, uint32_t column)
{
    const double at = (line->factor[axis] * (column + 0.5) + line->row[axis]) + line->offset[axis];
    return (int64_t)floor((at - 0.5) * 0x1p32);
}

/* One axis of 4 pixels and 4. */
typedef struct split {
    __m256i whole;
    __m256 fraction;
} split;

INLINE split split_axis(__m256i lower, __m256i upper)
{
    const __m256 a = _mm256_castsi256_ps(lower);
    const __m256 b = _mm256_castsi256_ps(upper);
    const __m256i rest = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
    const __m256 fraction = _mm256_cvtepi32_ps(_mm256_srli_epi32(rest, 8));
    return (split){_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD)),
                   _mm256_mul_ps(fraction, _mm256_set1_ps(0x1p-24F))};
}

/* Before the first pixel and behind the last: there, with nothing of the next one. */
INLINE split keep_inside(split at, int32_t size)
{
    const __m256i most = _mm256_set1_epi32(size - 2);
    const __m256i before = _mm256_cmpgt_epi32(_mm256_setzero_si256(), at.whole);
    const __m256i behind = _mm256_cmpgt_epi32(at.whole, most);
    const __m256 fraction = _mm256_andnot_ps(_mm256_castsi256_ps(before), at.fraction);
    return (split){_mm256_min_epi32(_mm256_max_epi32(at.whole, _mm256_setzero_si256()), most),
                   _mm256_blendv_ps(fraction, _mm256_set1_ps(1), _mm256_castsi256_ps(behind))};
}

/* The first of 4 pixels about it, all inside; *moved: how far from where they were. */
INLINE __m256i four_inside(__m256i whole, int32_t size, int32_t *moved)
{
    const __m256i first = _mm256_sub_epi32(whole, _mm256_set1_epi32(1));
    const __m256i inside = _mm256_min_epi32(_mm256_max_epi32(first, _mm256_setzero_si256()),
                                            _mm256_set1_epi32(size - 4));
    _mm256_storeu_si256((__m256i_u *)moved, _mm256_sub_epi32(inside, first));
    return inside;
}

/* One axis of a group, and how far it is to the next. */
typedef struct march {
    __m256i at[2], ahead;
} march;

INLINE march march_from(const sl_warp_line *line, int axis, uint32_t column)
{
    const int64_t step = (int64_t)floor(line->factor[axis] * 0x1p32 + 0.5);
    const __m256i start = _mm256_set1_epi64x(start_at(line, axis, column));
    const __m256i next = _mm256_setr_epi64x(0, step, step * 2, step * 3);
    const __m256i half = _mm256_set1_epi64x(step * (GROUP / 2));
    const __m256i first = _mm256_add_epi64(start, next);
    return (march){{first, _mm256_add_epi64(first, half)}, _mm256_add_epi64(half, half)};
}

INLINE split march_on(march *m)
{
    const split here = split_axis(m->at[0], m->at[1]);
    m->at[0] = _mm256_add_epi64(m->at[0], m->ahead);
    m->at[1] = _mm256_add_epi64(m->at[1], m->ahead);
    return here;
}

INLINE void aim_affine(const sl_warp_source *source, const sl_warp_line *line, uint32_t first,
                       uint32_t count, bool cubic, affine_aim *aim)
{
    const __m256i stride = _mm256_set1_epi32((int32_t)source->stride_bytes);
    const __m256i origin_x = _mm256_set1_epi32(source->origin_x);
    const __m256i origin_y = _mm256_set1_epi32(source->origin_y);
    /* At most 2^-24 + 2^-26. A constant coordinate is cut below its integer, which is the same. */
    aim->off_by[0] = line->factor[0] == 0 ? 0 : 0x1p-22F;
    aim->off_by[1] = line->factor[1] == 0 ? 0 : 0x1p-22F;
    march x = march_from(line, 0, first);
    march y = march_from(line, 1, first);
    for (uint32_t i = 0; i < count; i += GROUP) {
        split x_at = march_on(&x);
        split y_at = march_on(&y);
        if (cubic) {
            x_at.whole = four_inside(x_at.whole, source->picture_width, aim->moved_x + i);
            y_at.whole = four_inside(y_at.whole, source->picture_height, aim->moved_y + i);
        } else {
            x_at = keep_inside(x_at, source->picture_width);
            y_at = keep_inside(y_at, source->picture_height);
        }
        __m256i column = x_at.whole;
        __m256i row = y_at.whole;
        column = _mm256_sub_epi32(column, origin_x);
        row = _mm256_mullo_epi32(_mm256_sub_epi32(row, origin_y), stride);
        column = _mm256_add_epi32(column, _mm256_slli_epi32(column, 1));
        _mm256_storeu_si256((__m256i_u *)(aim->places + i), _mm256_add_epi32(row, column));
        _mm256_storeu_ps(aim->right + i, x_at.fraction);
        _mm256_storeu_ps(aim->down + i, y_at.fraction);
    }
}

/* ---- pixels ---- */

/* 8 bytes of each of 4 places, the last two of them those of 2^23's float. */
INLINE __m256i load_float_words(const uint8_t *from, const int32_t *places, const int order[4])
{
    const __m256i magic = _mm256_set1_epi64x(0x4B00000000000000);
    const __m128i low =
        _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i_u *)(from + places[order[0]])),
                           _mm_loadl_epi64((const __m128i_u *)(from + places[order[1]])));
    const __m128i high =
        _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i_u *)(from + places[order[2]])),
                           _mm_loadl_epi64((const __m128i_u *)(from + places[order[3]])));
    const __m256i words = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    return _mm256_blend_epi16(words, magic, 0x88);
}

static const int first_four[] = {0, 1, 4, 5};
static const int last_four[] = {2, 3, 6, 7};

/* A channel of both pixels of each word, as 2^23 and that. */
#    define PICK(channel)                                                                   \
        {                                                                                   \
            (channel), -1, -1, 7, (channel) + 3, -1, -1, 7, (channel) + 8, -1, -1, 15,      \
                (channel) + 11, -1, -1, 15, (channel), -1, -1, 7, (channel) + 3, -1, -1, 7, \
                (channel) + 8, -1, -1, 15, (channel) + 11, -1, -1, 15                       \
        }
static const int8_t float_picks[3][32] = {PICK(0), PICK(1), PICK(2)};

INLINE __m256 pick_pairs(__m256i words, int channel)
{
    const __m256i which = _mm256_loadu_si256((const __m256i_u *)float_picks[channel]);
    return _mm256_castsi256_ps(_mm256_shuffle_epi8(words, which));
}

/* Left and right of 4 pixels between two rows. */
INLINE __m256 between_rows(__m256i upper, __m256i lower, int channel, __m256 down)
{
    const __m256 top = pick_pairs(upper, channel);
    const __m256 difference = _mm256_sub_ps(pick_pairs(lower, channel), top);
    return _mm256_fmadd_ps(difference, down, _mm256_sub_ps(top, _mm256_set1_ps(0x1p23F)));
}

/* How far from an integer. */
INLINE __m256 from_integer(__m256 values)
{
    const __m256 rounded = _mm256_round_ps(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), _mm256_sub_ps(values, rounded));
}

/* Whether the four pixels of each word and the one below it are the same. */
INLINE bool words_are_flat(__m256i upper, __m256i lower)
{
    const __m256i pixel = _mm256_set1_epi64x(0xFFFFFF);
    const __m256i next = _mm256_xor_si256(upper, _mm256_srli_epi64(upper, 24));
    const __m256i differences =
        _mm256_or_si256(_mm256_xor_si256(upper, lower), _mm256_and_si256(next, pixel));
    return _mm256_testz_si256(differences, differences) != 0;
}

/* Of a channel of both pixels of each word, 0 where they and those below are the same. */
INLINE __m256 pairs_differ(__m256i upper, __m256i lower, int channel)
{
    const __m256 top = pick_pairs(upper, channel);
    const __m256 down = _mm256_xor_ps(top, pick_pairs(lower, channel));
    const __m256 across = _mm256_xor_ps(top, _mm256_permute_ps(top, 0xB1));
    return _mm256_or_ps(across, _mm256_or_ps(down, _mm256_permute_ps(down, 0xB1)));
}

/* Whether all values of a channel that are about an integer are of four equal samples. */
INLINE bool close_are_flat(const __m256i upper[2], const __m256i lower[2], int channel,
                           __m256 close)
{
    const __m256 differ = _mm256_shuffle_ps(pairs_differ(upper[0], lower[0], channel),
                                            pairs_differ(upper[1], lower[1], channel), 0x88);
    const __m256i same = _mm256_cmpeq_epi32(_mm256_castps_si256(differ), _mm256_setzero_si256());
    return _mm256_movemask_ps(_mm256_andnot_ps(_mm256_castsi256_ps(same), close)) == 0;
}

/* 8 pixels of three channels each, in the order of affine_aim. */
INLINE void store_group(const __m256i channels[3], uint8_t *out)
{
    const __m256i dense = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    __m256i pixels = _mm256_or_si256(channels[0], _mm256_slli_epi32(channels[1], 8));
    pixels = _mm256_or_si256(pixels, _mm256_slli_epi32(channels[2], 16));
    pixels = _mm256_shuffle_epi8(_mm256_permute4x64_epi64(pixels, 0xD8), dense);
    const __m128i last = _mm256_extracti128_si256(pixels, 1);
    const int32_t end = _mm_extract_epi32(last, 2);
    _mm_storeu_si128((__m128i_u *)out, _mm256_castsi256_si128(pixels));
    _mm_storel_epi64((__m128i_u *)(out + 12), last);
    memcpy(out + 20, &end, sizeof(end));
}

/* How far from the middle of a pixel, at one end or the other. */
INLINE __m256 from_middle(const float *fractions)
{
    const __m256 at = _mm256_loadu_ps(fractions);
    return _mm256_min_ps(at, _mm256_sub_ps(_mm256_set1_ps(1), at));
}

/* Coordinates that may be on the other side of the middle of a pixel in doubles. */
INLINE __m256 is_about_middle(const affine_aim *aim, uint32_t i)
{
    const __m256 x =
        _mm256_cmp_ps(from_middle(aim->right + i), _mm256_set1_ps(aim->off_by[0]), _CMP_LT_OQ);
    const __m256 y =
        _mm256_cmp_ps(from_middle(aim->down + i), _mm256_set1_ps(aim->off_by[1]), _CMP_LT_OQ);
    return _mm256_or_ps(x, y);
}

INLINE bool group_is_above(const int32_t places[GROUP], int32_t most)
{
    const __m256i all = _mm256_loadu_si256((const __m256i_u *)places);
    const __m256i above = _mm256_cmpgt_epi32(all, _mm256_set1_epi32(most));
    return _mm256_testz_si256(above, above) == 0;
}

INLINE bool make_linear_group(const sl_warp_source *source, const affine_aim *aim, uint32_t i,
                              int32_t most, uint8_t *out)
{
    if (group_is_above(aim->places + i, most)) {
        return false;
    }
    const uint8_t *next = source->pixels + source->stride_bytes;
    const __m256i upper[2] = {load_float_words(source->pixels, aim->places + i, first_four),
                              load_float_words(source->pixels, aim->places + i, last_four)};
    const __m256i lower[2] = {load_float_words(next, aim->places + i, first_four),
                              load_float_words(next, aim->places + i, last_four)};
    const __m256 right = _mm256_loadu_ps(aim->right + i);
    const __m256 down = _mm256_loadu_ps(aim->down + i);
    const __m256 downs[2] = {_mm256_unpacklo_ps(down, down), _mm256_unpackhi_ps(down, down)};
    __m256 close[3];
    __m256i channels[3];
    for (int c = 0; c < 3; c++) {
        const __m256 a = between_rows(upper[0], lower[0], c, downs[0]);
        const __m256 b = between_rows(upper[1], lower[1], c, downs[1]);
        const __m256 left = _mm256_shuffle_ps(a, b, 0x88);
        const __m256 difference = _mm256_sub_ps(_mm256_shuffle_ps(a, b, 0xDD), left);
        const __m256 value = _mm256_fmadd_ps(difference, right, left);
        close[c] = _mm256_cmp_ps(from_integer(value), _mm256_set1_ps(0x1p-13F), _CMP_LT_OQ);
        channels[c] = _mm256_cvttps_epi32(value);
    }
    store_group(channels, out);
    const __m256 any = _mm256_or_ps(close[0], _mm256_or_ps(close[1], close[2]));
    return _mm256_movemask_ps(any) == 0 ||
           (close_are_flat(upper, lower, 0, close[0]) &&
            close_are_flat(upper, lower, 1, close[1]) &&
            close_are_flat(upper, lower, 2, close[2]) &&
            _mm256_movemask_ps(_mm256_and_ps(any, is_about_middle(aim, i))) == 0);
}

/* ---- bicubic ---- */

/* Weights of the 4 pixels along an axis. */
typedef struct taps {
    __m256 weights[4];
} taps;

INLINE taps taps_at(__m256 d)
{
    const __m256 square = _mm256_mul_ps(d, d);
    const __m256 last = _mm256_sub_ps(_mm256_mul_ps(square, d), square);
    const __m256 one = _mm256_set1_ps(1);
    return (taps){{_mm256_sub_ps(_mm256_sub_ps(square, d), last),
                   _mm256_add_ps(_mm256_sub_ps(one, square), last), _mm256_sub_ps(d, last), last}};
}

INLINE __m256 choose(__m256i moved, int by, __m256 then, __m256 otherwise)
{
    const __m256i is = _mm256_cmpeq_epi32(moved, _mm256_set1_epi32(by));
    return _mm256_blendv_ps(otherwise, then, _mm256_castsi256_ps(is));
}

/* Of pixels moved by 1, as at the first edge: those beyond it are the first one, and so on. */
INLINE taps taps_moved(taps t, __m256i moved)
{
    const __m256 *w = t.weights;
    const __m256 zero = _mm256_setzero_ps();
    const __m256 first = _mm256_add_ps(w[0], w[1]);
    const __m256 last = _mm256_add_ps(w[2], w[3]);
    taps made = t;
    made.weights[0] = choose(moved, 1, first, made.weights[0]);
    made.weights[1] = choose(moved, 1, w[2], made.weights[1]);
    made.weights[2] = choose(moved, 1, w[3], made.weights[2]);
    made.weights[3] = choose(moved, 1, zero, made.weights[3]);
    made.weights[0] = choose(moved, 2, _mm256_add_ps(first, w[2]), made.weights[0]);
    made.weights[1] = choose(moved, 2, w[3], made.weights[1]);
    made.weights[2] = choose(moved, 2, zero, made.weights[2]);
    made.weights[3] = choose(moved, 2, zero, made.weights[3]);
    made.weights[3] = choose(moved, -1, last, made.weights[3]);
    made.weights[2] = choose(moved, -1, w[1], made.weights[2]);
    made.weights[1] = choose(moved, -1, w[0], made.weights[1]);
    made.weights[0] = choose(moved, -1, zero, made.weights[0]);
    made.weights[3] = choose(moved, -2, _mm256_add_ps(w[1], last), made.weights[3]);
    made.weights[2] = choose(moved, -2, w[0], made.weights[2]);
    made.weights[1] = choose(moved, -2, zero, made.weights[1]);
    made.weights[0] = choose(moved, -2, zero, made.weights[0]);
    return made;
}

INLINE taps taps_of(const float *fractions, const int32_t *moves)
{
    const __m256i moved = _mm256_loadu_si256((const __m256i_u *)moves);
    const taps t = taps_at(_mm256_loadu_ps(fractions));
    return _mm256_testz_si256(moved, moved) != 0 ? t : taps_moved(t, moved);
}

/* Of 4 pixels: 4 rows of the two on the left, and of those on the right. */
typedef struct cubic_words {
    __m256i left[4], right[4];
} cubic_words;

INLINE cubic_words load_cubic_words(const uint8_t *from, size_t stride, const int32_t *places,
                                    const int order[4])
{
    cubic_words words;
    for (int k = 0; k < 4; k++) {
        words.left[k] = load_float_words(from, places, order);
        words.right[k] = load_float_words(from + 6, places, order);
        from += stride;
    }
    return words;
}

INLINE __m256 down_columns(const __m256i words[4], const __m256 weights[4], int channel)
{
    const __m256 middle = _mm256_set1_ps(0x1p23F + 128);
    __m256 sum = _mm256_mul_ps(_mm256_sub_ps(pick_pairs(words[0], channel), middle), weights[0]);
    for (int k = 1; k < 4; k++) {
        const __m256 values = _mm256_sub_ps(pick_pairs(words[k], channel), middle);
        sum = _mm256_fmadd_ps(values, weights[k], sum);
    }
    return sum;
}

/* Each value in two parts, side by side; less 128. */
INLINE __m256 cubic_pairs(const cubic_words *words, const __m256 down[4], const __m256 across[2],
                          int channel)
{
    const __m256 left = down_columns(words->left, down, channel);
    const __m256 right = down_columns(words->right, down, channel);
    return _mm256_fmadd_ps(right, across[1], _mm256_mul_ps(left, across[0]));
}

INLINE bool cubic_is_flat(const cubic_words *words)
{
    const __m256i *left = words->left;
    const __m256i *right = words->right;
    return words_are_flat(left[0], right[0]) && words_are_flat(left[0], left[1]) &&
           words_are_flat(left[0], right[1]) && words_are_flat(left[0], left[2]) &&
           words_are_flat(left[0], right[2]) && words_are_flat(left[0], left[3]) &&
           words_are_flat(left[0], right[3]);
}

INLINE bool make_cubic_group(const sl_warp_source *source, const affine_aim *aim, uint32_t i,
                             int32_t most, uint8_t *out)
{
    if (group_is_above(aim->places + i, most)) {
        return false;
    }
    const taps x = taps_of(aim->right + i, aim->moved_x + i);
    const taps y = taps_of(aim->down + i, aim->moved_y + i);
    const cubic_words words[2] = {
        load_cubic_words(source->pixels, source->stride_bytes, aim->places + i, first_four),
        load_cubic_words(source->pixels, source->stride_bytes, aim->places + i, last_four)};
    __m256 down[2][4];
    for (int k = 0; k < 4; k++) {
        down[0][k] = _mm256_unpacklo_ps(y.weights[k], y.weights[k]);
        down[1][k] = _mm256_unpackhi_ps(y.weights[k], y.weights[k]);
    }
    const __m256 across[2][2] = {{_mm256_unpacklo_ps(x.weights[0], x.weights[1]),
                                  _mm256_unpacklo_ps(x.weights[2], x.weights[3])},
                                 {_mm256_unpackhi_ps(x.weights[0], x.weights[1]),
                                  _mm256_unpackhi_ps(x.weights[2], x.weights[3])}};
    __m256 nearest = _mm256_set1_ps(1);
    __m256i channels[3];
    __m256i rounded[3];
    for (int c = 0; c < 3; c++) {
        const __m256 a = cubic_pairs(&words[0], down[0], across[0], c);
        const __m256 b = cubic_pairs(&words[1], down[1], across[1], c);
        __m256 value = _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x88), _mm256_shuffle_ps(a, b, 0xDD));
        value = _mm256_add_ps(value, _mm256_set1_ps(128));
        value = _mm256_max_ps(value, _mm256_set1_ps(-0.5F));
        value = _mm256_min_ps(value, _mm256_set1_ps(255.5F));
        nearest = _mm256_min_ps(nearest, from_integer(value));
        rounded[c] = _mm256_cvtps_epi32(value);
        channels[c] = _mm256_cvttps_epi32(value);
    }
    store_group(channels, out);
    const __m256 close = _mm256_cmp_ps(nearest, _mm256_set1_ps(0x1.4p-11F), _CMP_LT_OQ);
    if (_mm256_movemask_ps(close) == 0) {
        return true;
    }
    if (cubic_is_flat(&words[0]) && cubic_is_flat(&words[1]) &&
        _mm256_movemask_ps(is_about_middle(aim, i)) == 0) {
        store_group(rounded, out);
        return true;
    }
    return false;
}

/* ---- rows ---- */

/* In doubles. */
static void make_again(const sl_warp_source *source, const sl_warp_line *line, uint32_t first,
                       uint32_t count, sl_interpolation interpolation, uint8_t *out)
{
    double xs[BLOCK];
    double ys[BLOCK];
    for (uint32_t i = 0; i < count; i += BLOCK) {
        const uint32_t few = count - i < BLOCK ? count - i : BLOCK;
        sl_warp_avx2.locate(line, first + i, few, xs, ys);
        sl_warp_avx2.sample[interpolation](source, xs, ys, few, out + (size_t)i * 3);
    }
}

/* Whether coordinates in doubles are as exact as the bounds above assume. */
static bool terms_are_small(const sl_warp_line *line)
{
    return fabs(line->row[0]) < TERMS_MOST && fabs(line->row[1]) < TERMS_MOST &&
           fabs(line->offset[0]) < TERMS_MOST && fabs(line->offset[1]) < TERMS_MOST;
}

/* Inlined with a constant interpolation. */
INLINE void affine_row(const sl_warp_source *source, const sl_warp_line *line, uint32_t first,
                       uint32_t count, sl_interpolation interpolation, uint8_t *out)
{
    const sl_warp_source local = *source;
    const bool cubic = interpolation == SL_BICUBIC;
    const int32_t least = cubic ? 4 : 2;
    const int64_t stride = (int64_t)local.stride_bytes;
    const int64_t most = view_bytes(source) - (cubic ? 14 + 3 * stride : 8 + stride);
    affine_aim aim;
    if (count < GROUP || most < 0 || local.picture_width < least || local.picture_height < least ||
        !terms_are_small(line)) {
        make_again(&local, line, first, count, interpolation, out);
        return;
    }
    uint32_t again = 0; /* groups made in doubles, one behind the other */
    while (count > 0) {
        const uint32_t back = count < GROUP ? GROUP - count : 0; /* the last group overlaps */
        first -= back;
        count += back;
        out -= (size_t)back * 3;
        const uint32_t part = count < BLOCK ? count / GROUP * GROUP : BLOCK;
        aim_affine(&local, line, first, part, cubic, &aim);
        for (uint32_t i = 0; i < part; i += GROUP) {
            const bool made = cubic ? make_cubic_group(&local, &aim, i, (int32_t)most, out)
                                    : make_linear_group(&local, &aim, i, (int32_t)most, out);
            again = made ? 0 : again + 1;
            if (again == AGAIN_MOST) { /* they all will be */
                make_again(&local, line, first, count, interpolation, out);
                return;
            }
            if (!made) {
                make_again(&local, line, first, GROUP, interpolation, out);
            }
            first += GROUP;
            out += (size_t)GROUP * 3;
            count -= GROUP;
        }
    }
}

SL_TARGET_AVX2 void sl_warp_affine_bilinear_avx2(const sl_warp_source *source,
                                                 const sl_warp_line *line, uint32_t first,
                                                 uint32_t count, uint8_t *out)
{
    if (!sl_warp_shear_avx2(source, line, first, count, out)) {
        affine_row(source, line, first, count, SL_BILINEAR, out);
    }
}

SL_TARGET_AVX2 void sl_warp_affine_bicubic_avx2(const sl_warp_source *source,
                                                const sl_warp_line *line, uint32_t first,
                                                uint32_t count, uint8_t *out)
{
    affine_row(source, line, first, count, SL_BICUBIC, out);
}

#endif
