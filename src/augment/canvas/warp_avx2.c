/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2: coordinates of 4 pixels at once in doubles; 8 of the nearest in fixed point. The other
 * files of this name interpolate. Groups whose 4-byte loads would pass the view's end go to the
 * reference.
 */
#include "warp_kernels.h"

#if defined(__x86_64__)

#    include "warp_x86.h"

enum { LANES = 4, WALK = 8 };

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
        out += (size_t)LANES * 3;
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
        out += (size_t)WALK * 3;
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
        /* A group that would read past the view's end, or the last few pixels. */
        const uint32_t few = count - done < WALK ? count - done : WALK;
        sl_warp_scalar.walk(source, &rest, few, out);
        rest.x += rest.step_x * few;
        rest.y += rest.step_y * few;
        out += (size_t)few * 3;
        done += few;
    }
}

const sl_warp_kernels sl_warp_avx2 = {
    .locate = locate,
    .screen = screen,
    .sample = {sample_nearest_avx2, sl_warp_bilinear_avx2, sl_warp_bicubic_avx2},
    .affine =
        {[SL_BILINEAR] = sl_warp_affine_bilinear_avx2, [SL_BICUBIC] = sl_warp_affine_bicubic_avx2},
    .walk = walk_avx2,
};

#endif
