/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2: 4 pixels at once in doubles, a channel after the other; 8 of the nearest in fixed point.
 * Loads of a pixel's neighbours take 8 bytes, its own and the next pixel's 6 and two more: groups
 * of pixels where these would be behind the view are the reference's.
 *
 * A byte becomes a double by being put into the number 2^52: two such differ by what their bytes
 * do.
 */
#include "warp_kernels.h"

#if defined(__x86_64__)

#    include <immintrin.h>
#    include <string.h>

#    define INLINE SL_TARGET_AVX2 static inline __attribute__((always_inline))

enum { LANES = 4, WALK = 8, BLOCK = 64, PATCH = 16 };

/* Bytes of the view; 0 when places in it are too large for 32 bits. */
static int32_t view_bytes(const sl_warp_source *source)
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

/* 4 pixels of 4 bytes, of which the last is dropped. */
INLINE void store_pixels(__m128i pixels, uint8_t *out)
{
    const __m128i dense = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    pixels = _mm_shuffle_epi8(pixels, dense);
    const int32_t last = _mm_extract_epi32(pixels, 2);
    _mm_storel_epi64((__m128i_u *)out, pixels);
    memcpy(out + 8, &last, sizeof(last));
}

INLINE int32_t load_pixel(const uint8_t *pixel)
{
    int32_t value = 0;
    memcpy(&value, pixel, sizeof(value));
    return value;
}

INLINE __m128i load_pixels(const uint8_t *pixels, const int32_t places[4])
{
    __m128i four = _mm_cvtsi32_si128(load_pixel(pixels + places[0]));
    four = _mm_insert_epi32(four, load_pixel(pixels + places[1]), 1);
    four = _mm_insert_epi32(four, load_pixel(pixels + places[2]), 2);
    return _mm_insert_epi32(four, load_pixel(pixels + places[3]), 3);
}

/* ---- coordinates ---- */

INLINE __m256d line_points(const sl_warp_line *line, int axis, __m256d at)
{
    at = _mm256_mul_pd(at, _mm256_set1_pd(line->factor[axis]));
    at = _mm256_add_pd(at, _mm256_set1_pd(line->row[axis]));
    return _mm256_add_pd(at, _mm256_set1_pd(line->offset[axis]));
}

INLINE void locate_columns(const sl_warp_line *line, uint32_t first, uint32_t count, bool divide,
                           double *xs, double *ys)
{
    const sl_warp_line local = *line;
    const __m256d middles = _mm256_setr_pd(0.5, 1.5, 2.5, 3.5);
    for (uint32_t i = 0; i < count; i += LANES) {
        const __m256d at = _mm256_add_pd(_mm256_set1_pd((double)first + i), middles);
        __m256d x = line_points(&local, 0, at);
        __m256d y = line_points(&local, 1, at);
        if (divide) {
            const __m256d w = line_points(&local, 2, at);
            x = _mm256_div_pd(x, w);
            y = _mm256_div_pd(y, w);
        }
        _mm256_storeu_pd(xs + i, x);
        _mm256_storeu_pd(ys + i, y);
    }
}

SL_TARGET_AVX2 static void locate(const sl_warp_line *line, uint32_t first, uint32_t count,
                                  double *xs, double *ys)
{
    if (line->divide) {
        locate_columns(line, first, count, true, xs, ys);
    } else {
        locate_columns(line, first, count, false, xs, ys);
    }
}

INLINE __m256d is_within(__m256d at, double size)
{
    return _mm256_and_pd(_mm256_cmp_pd(at, _mm256_setzero_pd(), _CMP_GE_OQ),
                         _mm256_cmp_pd(at, _mm256_set1_pd(size), _CMP_LT_OQ));
}

SL_TARGET_AVX2 static void screen(const double *xs, const double *ys, uint32_t count, double width,
                                  double height, uint8_t *inside)
{
    for (uint32_t i = 0; i < count; i += LANES) {
        const __m256d within = _mm256_and_pd(is_within(_mm256_loadu_pd(xs + i), width),
                                             is_within(_mm256_loadu_pd(ys + i), height));
        const uint32_t bits = (uint32_t)_mm256_movemask_pd(within);
        const uint32_t bytes = _pdep_u32(bits, 0x01010101);
        uint32_t before = 0;
        memcpy(&before, inside + i, sizeof(before));
        before &= bytes;
        memcpy(inside + i, &before, sizeof(before));
    }
}

/* ---- the nearest ---- */

SL_TARGET_AVX2 static void sample_nearest_avx2(const sl_warp_source *source, const double *xs,
                                               const double *ys, uint32_t count, uint8_t *out)
{
    const sl_warp_source local = *source;
    const int32_t most = view_bytes(source) - 4;
    uint32_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const __m128i columns = _mm256_cvttpd_epi32(_mm256_loadu_pd(xs + i));
        const __m128i rows = _mm256_cvttpd_epi32(_mm256_loadu_pd(ys + i));
        const __m128i places = places_of(&local, columns, rows);
        int32_t at[LANES];
        if (most < 0 || any_above(places, most)) {
            sl_warp_scalar.sample[SL_NEAREST](source, xs + i, ys + i, LANES, out);
        } else {
            _mm_storeu_si128((__m128i_u *)at, places);
            store_pixels(load_pixels(local.pixels, at), out);
        }
        out += LANES * 3;
    }
    sl_warp_scalar.sample[SL_NEAREST](source, xs + i, ys + i, count - i, out);
}

INLINE __m256i walk_steps(int64_t step)
{
    return _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)step),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* All coordinates are inside: in the view they are below 2^31. */
INLINE uint32_t walk_groups(const sl_warp_source *source, const sl_warp_walk *walk, uint32_t count,
                            uint8_t *out)
{
    const __m256i stride = _mm256_set1_epi32((int32_t)source->stride_bytes);
    const __m256i most = _mm256_set1_epi32(view_bytes(source) - 4);
    const int64_t first_x = walk->x - (int64_t)source->origin_x * 65536;
    const int64_t first_y = walk->y - (int64_t)source->origin_y * 65536;
    __m256i x = _mm256_add_epi32(_mm256_set1_epi32((int32_t)first_x), walk_steps(walk->step_x));
    __m256i y = _mm256_add_epi32(_mm256_set1_epi32((int32_t)first_y), walk_steps(walk->step_y));
    const __m256i step_x = _mm256_set1_epi32((int32_t)(walk->step_x * WALK));
    const __m256i step_y = _mm256_set1_epi32((int32_t)(walk->step_y * WALK));
    const uint8_t *pixels = source->pixels;
    uint32_t i = 0;
    for (; i + WALK <= count; i += WALK) {
        const __m256i column = _mm256_srai_epi32(x, 16);
        __m256i places = _mm256_mullo_epi32(_mm256_srai_epi32(y, 16), stride);
        places = _mm256_add_epi32(places, _mm256_add_epi32(column, _mm256_slli_epi32(column, 1)));
        if (!_mm256_testz_si256(_mm256_cmpgt_epi32(places, most), _mm256_set1_epi32(-1))) {
            break;
        }
        int32_t at[WALK];
        _mm256_storeu_si256((__m256i_u *)at, places);
        store_pixels(load_pixels(pixels, at), out);
        store_pixels(load_pixels(pixels, at + 4), out + 12);
        x = _mm256_add_epi32(x, step_x);
        y = _mm256_add_epi32(y, step_y);
        out += WALK * 3;
    }
    return i;
}

SL_TARGET_AVX2 static void walk_avx2(const sl_warp_source *source, const sl_warp_walk *walk,
                                     uint32_t count, uint8_t *out)
{
    sl_warp_walk rest = *walk;
    uint32_t done = 0;
    while (done < count) {
        if (view_bytes(source) > 0 && source->width < 32768 && source->height < 32768) {
            const uint32_t made = walk_groups(source, &rest, count - done, out);
            rest.x += rest.step_x * made;
            rest.y += rest.step_y * made;
            out += (size_t)made * 3;
            done += made;
        }
        /* A group that reads behind the view, or what is left. */
        const uint32_t few = count - done < WALK ? count - done : WALK;
        sl_warp_scalar.walk(source, &rest, few, out);
        rest.x += rest.step_x * few;
        rest.y += rest.step_y * few;
        out += (size_t)few * 3;
        done += few;
    }
}

/* ---- between pixels ---- */

/*
 * Where a block's pixels are, made before any of them is loaded: each is a long chain of
 * instructions, of which a processor has few in flight at once.
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

/*
 * Points beyond the middles of the outer pixels are moved there: the interpolation gives the
 * outer pixel, which is what it is of that and its copy. The last column is then the one before
 * and a whole step; of the last row the next is itself.
 */
INLINE void aim_bilinear(const sl_warp_source *source, const double *xs, const double *ys,
                         uint32_t count, block_aim *aim)
{
    const __m256d half = _mm256_set1_pd(0.5);
    const __m256d zero = _mm256_setzero_pd();
    const __m256d last_x = _mm256_set1_pd(source->picture_width - 1);
    const __m256d last_y = _mm256_set1_pd(source->picture_height - 1);
    const __m256d last_column = _mm256_set1_pd(source->picture_width - 2);
    const __m128i last_row = _mm_set1_epi32(source->picture_height - 1);
    const __m128i stride = _mm_set1_epi32((int32_t)source->stride_bytes);
    for (uint32_t i = 0; i < count; i += LANES) {
        const uint32_t k = i + LANES <= count ? i : count - LANES;
        __m256d x = _mm256_sub_pd(_mm256_loadu_pd(xs + k), half);
        __m256d y = _mm256_sub_pd(_mm256_loadu_pd(ys + k), half);
        x = _mm256_min_pd(_mm256_max_pd(x, zero), last_x);
        y = _mm256_min_pd(_mm256_max_pd(y, zero), last_y);
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

/* A patch each of pixels k, at `places` of the view, for loads that would go behind it. */
INLINE void copy_pairs(const sl_warp_source *source, const int32_t places[4],
                       uint8_t patches[LANES * 8])
{
    for (int k = 0; k < LANES; k++) {
        memcpy(patches + k * 8, source->pixels + places[k], 6);
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

SL_TARGET_AVX2 static void sample_bilinear_avx2(const sl_warp_source *source, const double *xs,
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

/* Of integers, where the order of additions is free. */
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
    for (int k = 0; k < 4; k++) {
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
            memcpy(patch + k * PATCH + j * 3,
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
    for (int k = 0; k < 4; k++) {
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

SL_TARGET_AVX2 static void sample_bicubic_avx2(const sl_warp_source *source, const double *xs,
                                               const double *ys, uint32_t count, uint8_t *out)
{
    const sl_warp_source local = *source;
    /* Of the last of 4 rows, from a pixel before: 14 bytes. */
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

const sl_warp_kernels sl_warp_avx2 = {
    .locate = locate,
    .screen = screen,
    .sample = {sample_nearest_avx2, sample_bilinear_avx2, sample_bicubic_avx2},
    .affine =
        {[SL_BILINEAR] = sl_warp_affine_bilinear_avx2, [SL_BICUBIC] = sl_warp_affine_bicubic_avx2},
    .walk = walk_avx2,
};

#endif
