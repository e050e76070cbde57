/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2, bilinear, along one axis: shears of a row or of columns, which leave the other coordinate
 * in the middle of pixels. Then one of the two interpolations changes nothing, and one load takes 4
 * adjacent pixels. The rest is the reference's arithmetic in doubles, so values near an integer,
 * frequent with a shear by a simple fraction, truncate alike.
 */
#include "warp_kernels.h"

#if defined(__x86_64__)

#    include "warp_x86.h"

#    include <math.h>

enum { LANES = 4, LOAD = 16 };

/* Bytes 4 k to 4 k + 3 as doubles, and 2^52: the last two bytes are its. */
INLINE __m256d shear_pick(__m256i bytes, int k)
{
    const char b = (char)(4 * k);
    const __m256i which = _mm256_setr_epi8(b, -1, -1, -1, -1, -1, 14, 15, (char)(b + 1), -1, -1, -1,
                                           -1, -1, 14, 15, (char)(b + 2), -1, -1, -1, -1, -1, 14,
                                           15, (char)(b + 3), -1, -1, -1, -1, -1, 14, 15);
    return _mm256_castsi256_pd(_mm256_shuffle_epi8(bytes, which));
}

INLINE __m256i shear_load(const uint8_t *bytes)
{
    const __m256i magic = _mm256_set1_epi64x(0x4330000000000000);
    const __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i_u *)bytes));
    return _mm256_blend_epi16(both, magic, 0x80);
}

INLINE __m128i shear_blend(__m256i from, __m256i to, int k, __m256d at)
{
    const __m256d a = shear_pick(from, k);
    const __m256d difference = _mm256_sub_pd(shear_pick(to, k), a);
    const __m256d value = _mm256_sub_pd(a, _mm256_set1_pd(0x1p52));
    return _mm256_cvttpd_epi32(_mm256_add_pd(value, _mm256_mul_pd(difference, at)));
}

/* 4 pixels of 3 bytes, from those at `from` to those at `to`. */
INLINE void shear_four(const uint8_t *from, const uint8_t *to, __m256d at, uint8_t *out)
{
    const __m256i a = shear_load(from);
    const __m256i b = shear_load(to);
    const __m128i first = shear_blend(a, b, 0, _mm256_permute4x64_pd(at, 0x40));  /* 0 0 0 1 */
    const __m128i middle = shear_blend(a, b, 1, _mm256_permute4x64_pd(at, 0xA5)); /* 1 1 2 2 */
    const __m128i last = shear_blend(a, b, 2, _mm256_permute4x64_pd(at, 0xFE));   /* 2 3 3 3 */
    const __m128i bytes =
        _mm_packus_epi16(_mm_packs_epi32(first, middle), _mm_packs_epi32(last, last));
    const int32_t end = _mm_extract_epi32(bytes, 2);
    _mm_storel_epi64((__m128i_u *)out, bytes);
    memcpy(out + 8, &end, sizeof(end));
}

/* Coordinates of 4 columns. */
INLINE __m256d shear_points(const sl_warp_line *line, int axis, uint32_t column)
{
    const __m256d middles = _mm256_setr_pd(0.5, 1.5, 2.5, 3.5);
    const __m256d at = _mm256_add_pd(_mm256_set1_pd((double)column), middles);
    const __m256d turned = _mm256_mul_pd(at, _mm256_set1_pd(line->factor[axis]));
    return _mm256_add_pd(_mm256_add_pd(turned, _mm256_set1_pd(line->row[axis])),
                         _mm256_set1_pd(line->offset[axis]));
}

/* Makes `count` pixels by the reference. */
INLINE void shear_few(const sl_warp_source *source, const sl_warp_line *line, uint32_t column,
                      uint32_t count, uint8_t *out)
{
    double xs[LANES];
    double ys[LANES];
    _mm256_storeu_pd(xs, shear_points(line, 0, column));
    _mm256_storeu_pd(ys, shear_points(line, 1, column));
    sl_warp_scalar.sample[SL_BILINEAR](source, xs, ys, count, out);
}

INLINE bool all_equal(__m256d a, __m256d b)
{
    return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_EQ_OQ)) == 0xF;
}

/* `y`: a row of the picture. */
INLINE uint32_t shear_row(const sl_warp_source *source, const sl_warp_line *line, int32_t y,
                          uint32_t first, uint32_t count, uint8_t *out)
{
    const __m256d half = _mm256_set1_pd(0.5);
    const int64_t row =
        (int64_t)(y - source->origin_y) * (int64_t)source->stride_bytes - source->origin_x * 3LL;
    const int64_t most = view_bytes(source) - 3 - LOAD;
    const double start = floor(first + 0.5 + line->row[0] + line->offset[0] - 0.5);
    __m256d expected = _mm256_add_pd(_mm256_set1_pd(start), _mm256_setr_pd(0, 1, 2, 3));
    int64_t column = (int64_t)start;
    uint32_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const __m256d x = _mm256_sub_pd(shear_points(line, 0, first + i), half);
        const int64_t place = row + column * 3;
        if (all_equal(_mm256_floor_pd(x), expected) && column >= 0 &&
            column + LANES < source->picture_width && place <= most) {
            const uint8_t *pixels = source->pixels + place;
            shear_four(pixels, pixels + 3, _mm256_sub_pd(x, expected), out);
        } else {
            shear_few(source, line, first + i, LANES, out);
        }
        expected = _mm256_add_pd(expected, _mm256_set1_pd(LANES));
        column += LANES;
        out += (size_t)LANES * 3;
    }
    return i;
}

/* The rows of 4 pixels one after the other differ. `x`: the first one's, of the view. */
INLINE void shear_apart(const sl_warp_source *source, const int32_t rows[LANES], int32_t x,
                        __m256d at, uint8_t *out)
{
    uint8_t from[LOAD] = {0};
    uint8_t to[LOAD] = {0};
    for (int i = 0; i < LANES; i++) {
        const int32_t last = source->picture_height - 1;
        const int32_t above = rows[i] < 0 ? 0 : rows[i];
        const int32_t below = rows[i] + 1 > last ? last : rows[i] + 1;
        const size_t place = (size_t)(x + i) * 3;
        memcpy(from + (size_t)i * 3,
               source->pixels + (size_t)(above - source->origin_y) * source->stride_bytes + place,
               3);
        memcpy(to + (size_t)i * 3,
               source->pixels + (size_t)(below - source->origin_y) * source->stride_bytes + place,
               3);
    }
    shear_four(from, to, at, out);
}

/* `x`: the first pixel's column in the view. */
INLINE uint32_t shear_columns(const sl_warp_source *source, const sl_warp_line *line, int32_t x,
                              uint32_t first, uint32_t count, uint8_t *out)
{
    const int64_t most = view_bytes(source) - LOAD - (int64_t)source->stride_bytes;
    __m256d expected = _mm256_set1_pd(-1); /* the row of all 4 */
    int64_t row = -1;
    uint32_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const __m256d y = _mm256_sub_pd(shear_points(line, 1, first + i), _mm256_set1_pd(0.5));
        const __m256d whole = _mm256_floor_pd(y);
        if (!all_equal(whole, expected)) {
            const double above = _mm256_cvtsd_f64(whole);
            expected = _mm256_set1_pd(above);
            row = (int64_t)(above - source->origin_y) * (int64_t)source->stride_bytes;
        }
        const __m256d at = _mm256_sub_pd(y, whole);
        const int64_t place = row + (x + (int64_t)i) * 3;
        if (all_equal(whole, expected) && row >= 0 && place <= most) {
            const uint8_t *pixels = source->pixels + place;
            shear_four(pixels, pixels + source->stride_bytes, at, out);
        } else {
            int32_t rows[LANES];
            _mm_storeu_si128((__m128i_u *)rows, _mm256_cvttpd_epi32(whole));
            shear_apart(source, rows, x + (int32_t)i, at, out);
        }
        out += (size_t)LANES * 3;
    }
    return i;
}

INLINE bool is_whole(double at)
{
    return at == floor(at);
}

SL_TARGET_AVX2 bool sl_warp_shear_avx2(const sl_warp_source *source, const sl_warp_line *line,
                                       uint32_t first, uint32_t count, uint8_t *out)
{
    const sl_warp_source local = *source; /* which stores to `out` cannot change */
    const sl_warp_line here = *line;
    const double y = here.row[1] + here.offset[1] - 0.5;
    const bool rows = here.factor[1] == 0 && is_whole(y);
    const bool columns = here.row[0] == 0 && is_whole(here.offset[0]);
    if (here.factor[0] != 1 || !(rows || columns)) {
        return false;
    }
    const uint32_t made =
        rows ? shear_row(&local, &here, (int32_t)y, first, count, out)
             : shear_columns(&local, &here,
                             (int32_t)here.offset[0] + (int32_t)first - local.origin_x, first,
                             count, out);
    shear_few(&local, &here, first + made, count - made, out + (size_t)made * 3);
    return true;
}

#endif
