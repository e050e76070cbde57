/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2, interpolation: 4 pixels at once in doubles, one channel after the other.
 *
 * A load takes 8 bytes: the 6 of a pixel and the next one, and two more. Where those two would be
 * past the view's end, the pixels are loaded from patches, as beyond edges. A byte becomes a double
 * as the low bits of 2^52: two such doubles differ by the difference of their bytes.
 */
#include "warp_kernels.h"

#if defined(__x86_64__)

#    include "warp_x86.h"

enum { LANES = 4, BLOCK = 64, PATCH = 16 };

/*
 * Positions of a block's pixels, computed before any pixel is loaded: each takes a long chain of
 * instructions, and a processor has few such chains in flight at once.
 */
typedef struct block_aim {
    int32_t columns[BLOCK], rows[BLOCK];
    int32_t places[BLOCK], below[BLOCK]; /* in the view; below: in the next row, if there is one */
    double right[BLOCK], down[BLOCK];
} block_aim;

/* 8 bytes of each of 4 places, the last two of them those of 2^52's double. */
INLINE __m256i load_words(const uint8_t *from, const int32_t places[4])
{
    const __m256i magic = _mm256_set1_epi64x(0x4330000000000000);
    const __m128i low = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i_u *)(from + places[0])),
                                           _mm_loadl_epi64((const __m128i_u *)(from + places[1])));
    const __m128i high = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i_u *)(from + places[2])),
                                            _mm_loadl_epi64((const __m128i_u *)(from + places[3])));
    const __m256i words = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    return _mm256_blend_epi16(words, magic, 0x88);
}

/* Bytes of a word: one of the first 6, none, the last two; of the upper word of each half, too. */
#    define PICK(byte)                                                                            \
        {                                                                                         \
            (byte), -1, -1, -1, -1, -1, 6, 7, (byte) + 8, -1, -1, -1, -1, -1, 14, 15, (byte), -1, \
                -1, -1, -1, -1, 6, 7, (byte) + 8, -1, -1, -1, -1, -1, 14, 15                      \
        }
static const int8_t picks[6][32] = {PICK(0), PICK(1), PICK(2), PICK(3), PICK(4), PICK(5)};

/* Byte `byte` of each word as 2^52 and that. */
INLINE __m256d pick(__m256i words, int byte)
{
    const __m256i which = _mm256_loadu_si256((const __m256i_u *)picks[byte]);
    return _mm256_castsi256_pd(_mm256_shuffle_epi8(words, which));
}

INLINE __m256d offset_of_bytes(void)
{
    return _mm256_set1_pd(0x1p52);
}

/* a + difference * at */
INLINE __m256d blend_pd(__m256d a, __m256d difference, __m256d at)
{
    return _mm256_add_pd(a, _mm256_mul_pd(difference, at));
}

INLINE __m128i linear_channel(__m256i upper, __m256i lower, int channel, __m256d right,
                              __m256d down)
{
    const __m256d a = pick(upper, channel);
    const __m256d c = pick(lower, channel);
    const __m256d top = blend_pd(_mm256_sub_pd(a, offset_of_bytes()),
                                 _mm256_sub_pd(pick(upper, channel + 3), a), right);
    const __m256d bottom = blend_pd(_mm256_sub_pd(c, offset_of_bytes()),
                                    _mm256_sub_pd(pick(lower, channel + 3), c), right);
    return _mm256_cvttpd_epi32(blend_pd(top, _mm256_sub_pd(bottom, top), down));
}

INLINE void store_channels(__m128i red, __m128i green, __m128i blue, uint8_t *out)
{
    green = _mm_slli_epi32(green, 8);
    blue = _mm_slli_epi32(blue, 16);
    store_pixels(_mm_or_si128(_mm_or_si128(red, green), blue), out);
}

/* Coordinates from the first pixel's middle to the last one's. */
INLINE __m256d between_middles(const double *at, __m256d last)
{
    const __m256d from_first = _mm256_sub_pd(_mm256_loadu_pd(at), _mm256_set1_pd(0.5));
    return _mm256_min_pd(_mm256_max_pd(from_first, _mm256_setzero_pd()), last);
}

/*
 * Points beyond the middles of the outer pixels are moved there: the interpolation gives the
 * outer pixel, which is what it is of that and its copy. The last column is then the one before
 * and a whole step; of the last row the next is itself.
 */
INLINE void aim_bilinear(const sl_warp_source *source, const double *xs, const double *ys,
                         uint32_t count, block_aim *aim)
{
    const __m256d last_x = _mm256_set1_pd(source->picture_width - 1);
    const __m256d last_y = _mm256_set1_pd(source->picture_height - 1);
    const __m256d last_column = _mm256_set1_pd(source->picture_width - 2);
    const __m128i last_row = _mm_set1_epi32(source->picture_height - 1);
    const __m128i stride = _mm_set1_epi32((int32_t)source->stride_bytes);
    for (uint32_t i = 0; i < count; i += LANES) {
        const uint32_t k = i + LANES <= count ? i : count - LANES;
        const __m256d x = between_middles(xs + k, last_x);
        const __m256d y = between_middles(ys + k, last_y);
        const __m256d column = _mm256_min_pd(_mm256_floor_pd(x), last_column);
        const __m256d row = _mm256_floor_pd(y);
        const __m128i rows = _mm256_cvttpd_epi32(row);
        const __m128i below = _mm_and_si128(_mm_cmplt_epi32(rows, last_row), stride);
        const __m128i places = places_of(source, _mm256_cvttpd_epi32(column), rows);
        _mm_storeu_si128((__m128i_u *)(aim->places + k), places);
        _mm_storeu_si128((__m128i_u *)(aim->below + k), _mm_add_epi32(places, below));
        _mm256_storeu_pd(aim->right + k, _mm256_sub_pd(x, column));
        _mm256_storeu_pd(aim->down + k, _mm256_sub_pd(y, row));
    }
}

/* Copies the pixels at `places` to a patch each, for loads that would pass the view's end. */
INLINE void copy_pairs(const sl_warp_source *source, const int32_t places[4],
                       uint8_t patches[LANES * 8])
{
    for (int k = 0; k < LANES; k++) {
        memcpy(patches + (size_t)k * 8, source->pixels + places[k], 6);
    }
}

static const int32_t pair_places[] = {0, 8, 16, 24};

INLINE void make_bilinear(const sl_warp_source *source, const block_aim *aim, uint32_t i,
                          int32_t most, uint8_t *out)
{
    __m256i top;
    __m256i bottom;
    if (any_above(_mm_loadu_si128((const __m128i_u *)(aim->below + i)), most)) {
        uint8_t patches[2][LANES * 8] = {{0}};
        copy_pairs(source, aim->places + i, patches[0]);
        copy_pairs(source, aim->below + i, patches[1]);
        top = load_words(patches[0], pair_places);
        bottom = load_words(patches[1], pair_places);
    } else {
        top = load_words(source->pixels, aim->places + i);
        bottom = load_words(source->pixels, aim->below + i);
    }
    const __m256d right = _mm256_loadu_pd(aim->right + i);
    const __m256d down = _mm256_loadu_pd(aim->down + i);
    store_channels(linear_channel(top, bottom, 0, right, down),
                   linear_channel(top, bottom, 1, right, down),
                   linear_channel(top, bottom, 2, right, down), out + (size_t)i * 3);
}

SL_TARGET_AVX2 void sl_warp_bilinear_avx2(const sl_warp_source *source, const double *xs,
                                          const double *ys, uint32_t count, uint8_t *out)
{
    const sl_warp_source local = *source;
    const int32_t bytes = view_bytes(source);
    block_aim aim;
    if (bytes == 0 || local.picture_width < 2 || count < LANES) {
        sl_warp_scalar.sample[SL_BILINEAR](source, xs, ys, count, out);
        return;
    }
    while (count > 0) {
        const uint32_t back = count < LANES ? LANES - count : 0; /* the last group overlaps */
        xs -= back;
        ys -= back;
        count += back;
        out -= (size_t)back * 3;
        const uint32_t part = count < BLOCK ? count : BLOCK;
        aim_bilinear(&local, xs, ys, part, &aim);
        for (uint32_t i = 0; i < part; i += LANES) {
            make_bilinear(&local, &aim, i + LANES <= part ? i : part - LANES, bytes - 8, out);
        }
        xs += part;
        ys += part;
        out += (size_t)part * 3;
        count -= part;
    }
}

/* p + at * (linear + at * (square - at * cube)) */
INLINE __m256d horner(__m256d p, __m256d linear, __m256d square, __m256d cube, __m256d at)
{
    const __m256d inner = _mm256_sub_pd(square, _mm256_mul_pd(at, cube));
    return blend_pd(p, blend_pd(linear, inner, at), at);
}

/* The pixels are integers, so the order of additions does not matter. */
INLINE __m256d cubic_of_bytes(__m256i left, __m256i right, int channel, __m256d at)
{
    const __m256d a = pick(left, channel);
    const __m256d b = pick(left, channel + 3);
    const __m256d c = pick(right, channel);
    const __m256d d = pick(right, channel + 3);
    const __m256d first = _mm256_sub_pd(a, b);
    const __m256d both = _mm256_add_pd(first, _mm256_sub_pd(c, d));
    return horner(_mm256_sub_pd(b, offset_of_bytes()), _mm256_sub_pd(c, a),
                  _mm256_add_pd(first, both), both, at);
}

INLINE __m256d cubic_of(const __m256d v[4], __m256d at)
{
    const __m256d first = _mm256_sub_pd(v[0], v[1]);
    const __m256d square = _mm256_sub_pd(_mm256_add_pd(_mm256_add_pd(first, first), v[2]), v[3]);
    const __m256d cube = _mm256_sub_pd(_mm256_add_pd(first, v[2]), v[3]);
    return horner(v[1], _mm256_sub_pd(v[2], v[0]), square, cube, at);
}

/* words: for each of 4 rows, the two pixels on the left and those on the right. */
INLINE __m128i cubic_channel(const __m256i words[8], int channel, __m256d right, __m256d down)
{
    __m256d v[4];
    for (size_t k = 0; k < 4; k++) {
        v[k] = cubic_of_bytes(words[2 * k], words[2 * k + 1], channel, right);
    }
    const __m256d value = _mm256_max_pd(cubic_of(v, down), _mm256_setzero_pd());
    return _mm256_cvttpd_epi32(_mm256_min_pd(value, _mm256_set1_pd(255)));
}

/* The 4 x 4 pixels about a point, copied from where some are beyond an edge. */
static void copy_patch(const sl_warp_source *source, int32_t column, int32_t row,
                       uint8_t patch[4 * PATCH])
{
    const int32_t last_x = source->picture_width - 1;
    const int32_t last_y = source->picture_height - 1;
    for (int32_t k = 0; k < 4; k++) {
        int32_t y = row - 1 + k;
        y = (y < 0 ? 0 : y < last_y ? y : last_y) - source->origin_y;
        for (int32_t j = 0; j < 4; j++) {
            int32_t x = column - 1 + j;
            x = (x < 0 ? 0 : x < last_x ? x : last_x) - source->origin_x;
            memcpy(patch + (ptrdiff_t)k * PATCH + (ptrdiff_t)j * 3,
                   source->pixels + (size_t)y * source->stride_bytes + (size_t)x * 3, 3);
        }
    }
}

/* Whether any of 4 columns, or rows, has neighbours beyond an edge: is not in [1, size - 3]. */
INLINE bool any_at_edge(__m128i at, int32_t size)
{
    const __m128i low = _mm_cmplt_epi32(at, _mm_set1_epi32(1));
    const __m128i high = _mm_cmpgt_epi32(at, _mm_set1_epi32(size - 3));
    return _mm_movemask_epi8(_mm_or_si128(low, high)) != 0;
}

INLINE void aim_bicubic(const sl_warp_source *source, const double *xs, const double *ys,
                        uint32_t count, block_aim *aim)
{
    const __m256d half = _mm256_set1_pd(0.5);
    for (uint32_t i = 0; i < count; i += LANES) {
        const uint32_t k = i + LANES <= count ? i : count - LANES;
        const __m256d x = _mm256_sub_pd(_mm256_loadu_pd(xs + k), half);
        const __m256d y = _mm256_sub_pd(_mm256_loadu_pd(ys + k), half);
        const __m256d column = _mm256_floor_pd(x);
        const __m256d row = _mm256_floor_pd(y);
        const __m128i columns = _mm256_cvttpd_epi32(column);
        const __m128i rows = _mm256_cvttpd_epi32(row);
        _mm_storeu_si128((__m128i_u *)(aim->columns + k), columns);
        _mm_storeu_si128((__m128i_u *)(aim->rows + k), rows);
        _mm_storeu_si128((__m128i_u *)(aim->places + k), places_of(source, columns, rows));
        _mm256_storeu_pd(aim->right + k, _mm256_sub_pd(x, column));
        _mm256_storeu_pd(aim->down + k, _mm256_sub_pd(y, row));
    }
}

/* Whether loads of the pixels' neighbours take anything else. */
INLINE bool needs_patches(const sl_warp_source *source, const block_aim *aim, uint32_t i,
                          int32_t most)
{
    return any_at_edge(_mm_loadu_si128((const __m128i_u *)(aim->columns + i)),
                       source->picture_width) ||
           any_at_edge(_mm_loadu_si128((const __m128i_u *)(aim->rows + i)),
                       source->picture_height) ||
           any_above(_mm_loadu_si128((const __m128i_u *)(aim->places + i)), most);
}

INLINE void load_rows(const uint8_t *from, ptrdiff_t stride, const int32_t places[4],
                      __m256i words[8])
{
    for (size_t k = 0; k < 4; k++) {
        words[2 * k] = load_words(from, places);
        words[2 * k + 1] = load_words(from + 6, places);
        from += stride;
    }
}

static const int32_t patch_places[] = {0, 4 * PATCH, 8 * PATCH, 12 * PATCH};

INLINE void make_bicubic(const sl_warp_source *source, const block_aim *aim, uint32_t i,
                         int32_t most, uint8_t *out)
{
    __m256i words[8];
    if (needs_patches(source, aim, i, most)) {
        uint8_t patches[LANES * 4 * PATCH] = {0};
        for (uint32_t k = 0; k < LANES; k++) {
            copy_patch(source, aim->columns[i + k], aim->rows[i + k], patches + patch_places[k]);
        }
        load_rows(patches, PATCH, patch_places, words);
    } else {
        const ptrdiff_t stride = (ptrdiff_t)source->stride_bytes;
        load_rows(source->pixels - stride - 3, stride, aim->places + i, words);
    }
    const __m256d right = _mm256_loadu_pd(aim->right + i);
    const __m256d down = _mm256_loadu_pd(aim->down + i);
    store_channels(cubic_channel(words, 0, right, down), cubic_channel(words, 1, right, down),
                   cubic_channel(words, 2, right, down), out + (size_t)i * 3);
}

SL_TARGET_AVX2 void sl_warp_bicubic_avx2(const sl_warp_source *source, const double *xs,
                                         const double *ys, uint32_t count, uint8_t *out)
{
    const sl_warp_source local = *source;
    /* The last place whose loads stay in the view: 14 bytes from the pixel before, in 4 rows. */
    const int64_t most = view_bytes(source) - 2 * (int64_t)local.stride_bytes - 11;
    block_aim aim;
    if (view_bytes(source) == 0 || count < LANES) {
        sl_warp_scalar.sample[SL_BICUBIC](source, xs, ys, count, out);
        return;
    }
    while (count > 0) {
        const uint32_t back = count < LANES ? LANES - count : 0; /* the last group overlaps */
        xs -= back;
        ys -= back;
        count += back;
        out -= (size_t)back * 3;
        const uint32_t part = count < BLOCK ? count : BLOCK;
        aim_bicubic(&local, xs, ys, part, &aim);
        for (uint32_t i = 0; i < part; i += LANES) {
            make_bicubic(&local, &aim, i + LANES <= part ? i : part - LANES,
                         most < -1 ? -1 : (int32_t)most, out);
        }
        xs += part;
        ys += part;
        out += (size_t)part * 3;
        count -= part;
    }
}

#endif
