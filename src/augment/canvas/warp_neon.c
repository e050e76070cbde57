/* SPDX-License-Identifier: Apache-2.0 */
/* NEON: two pixels at once, in binary64 like the reference. Bytes come one by one: NEON gathers
 * none. */
#include "warp_kernels.h"

#if defined(__aarch64__)

#    include <arm_neon.h>

#    define INLINE static inline __attribute__((always_inline))

INLINE float64x2_t locate_two(const sl_warp_line *line, size_t axis, float64x2_t at)
{
    const float64x2_t inner =
        vaddq_f64(vmulq_n_f64(at, line->factor[axis]), vdupq_n_f64(line->row[axis]));
    return vaddq_f64(inner, vdupq_n_f64(line->offset[axis]));
}

static void warp_neon_locate(const sl_warp_line *line, uint32_t first, uint32_t count, double *xs,
                             double *ys)
{
    const sl_warp_line local = *line; /* which stores cannot change */
    uint32_t i = 0;
    for (; i + 2 <= count; i += 2) {
        const double left = (double)(first + i) + 0.5;
        const float64x2_t at = vcombine_f64(vdup_n_f64(left), vdup_n_f64(left + 1));
        float64x2_t x = locate_two(&local, 0, at);
        float64x2_t y = locate_two(&local, 1, at);
        if (local.divide) {
            const float64x2_t w = locate_two(&local, 2, at);
            x = vdivq_f64(x, w);
            y = vdivq_f64(y, w);
        }
        vst1q_f64(xs + i, x);
        vst1q_f64(ys + i, y);
    }
    if (i < count) {
        sl_warp_scalar.locate(&local, first + i, 1, xs + i, ys + i);
    }
}

INLINE uint64x2_t is_within(float64x2_t at, double size)
{
    return vandq_u64(vcgezq_f64(at), vcltq_f64(at, vdupq_n_f64(size)));
}

static void warp_neon_screen(const double *xs, const double *ys, uint32_t count, double width,
                             double height, uint8_t *inside)
{
    uint32_t i = 0;
    for (; i + 2 <= count; i += 2) {
        const uint64x2_t within =
            vandq_u64(is_within(vld1q_f64(xs + i), width), is_within(vld1q_f64(ys + i), height));
        inside[i] &= (uint8_t)vgetq_lane_u64(within, 0);
        inside[i + 1] &= (uint8_t)vgetq_lane_u64(within, 1);
    }
    if (i < count) {
        sl_warp_scalar.screen(xs + i, ys + i, 1, width, height, inside + i);
    }
}

enum { TAPS_MOST = 4 };

/* Where the taps of two pixels are: bytes from the view's first, by row and by column. */
typedef struct warp_taps {
    size_t rows[2][TAPS_MOST], columns[2][TAPS_MOST];
    float64x2_t right, down; /* how far the pixels are beyond the taps before them */
} warp_taps;

INLINE int32_t hold(int32_t at, int32_t size)
{
    return at < 0 ? 0 : at < size ? at : size - 1;
}

/* `before`: taps on the left of the one that the pixel is right of. */
INLINE warp_taps find_taps(const sl_warp_source *source, const double *xs, const double *ys,
                           int32_t taps, int32_t before)
{
    const float64x2_t half = vdupq_n_f64(0.5);
    const float64x2_t x = vsubq_f64(vld1q_f64(xs), half);
    const float64x2_t y = vsubq_f64(vld1q_f64(ys), half);
    const float64x2_t column = vrndmq_f64(x);
    const float64x2_t row = vrndmq_f64(y);
    warp_taps found = {.right = vsubq_f64(x, column), .down = vsubq_f64(y, row)};
    int64_t places[2][2];
    vst1q_s64(places[0], vcvtq_s64_f64(column));
    vst1q_s64(places[1], vcvtq_s64_f64(row));
    for (size_t p = 0; p < 2; p++) {
        for (int32_t k = 0; k < taps; k++) {
            const int32_t at_x = hold((int32_t)places[0][p] - before + k, source->picture_width);
            const int32_t at_y = hold((int32_t)places[1][p] - before + k, source->picture_height);
            found.columns[p][k] = (size_t)(at_x - source->origin_x) * 3;
            found.rows[p][k] = (size_t)(at_y - source->origin_y) * source->stride_bytes;
        }
    }
    return found;
}

/* Channel c of the taps in row k and column j. */
INLINE float64x2_t take_two(const sl_warp_source *source, const warp_taps *taps, int32_t k,
                            int32_t j, size_t c)
{
    const double left = source->pixels[taps->rows[0][k] + taps->columns[0][j] + c];
    const double right = source->pixels[taps->rows[1][k] + taps->columns[1][j] + c];
    return vcombine_f64(vdup_n_f64(left), vdup_n_f64(right));
}

/* Values from 0 to 255, cut towards zero. */
INLINE void store_two(float64x2_t values, uint8_t *out)
{
    const uint64x2_t whole = vcvtq_u64_f64(values);
    out[0] = (uint8_t)vgetq_lane_u64(whole, 0);
    out[3] = (uint8_t)vgetq_lane_u64(whole, 1);
}

INLINE float64x2_t warp_neon_linear(float64x2_t from, float64x2_t to, float64x2_t at)
{
    return vaddq_f64(from, vmulq_f64(vsubq_f64(to, from), at));
}

static void warp_neon_bilinear(const sl_warp_source *source, const double *xs, const double *ys,
                               uint32_t count, uint8_t *out)
{
    const sl_warp_source local = *source; /* which stores to `out` cannot change */
    uint32_t i = 0;
    for (; i + 2 <= count; i += 2, out += 6) {
        const warp_taps taps = find_taps(&local, xs + i, ys + i, 2, 0);
        for (size_t c = 0; c < 3; c++) {
            const float64x2_t upper = warp_neon_linear(
                take_two(&local, &taps, 0, 0, c), take_two(&local, &taps, 0, 1, c), taps.right);
            const float64x2_t lower = warp_neon_linear(
                take_two(&local, &taps, 1, 0, c), take_two(&local, &taps, 1, 1, c), taps.right);
            store_two(warp_neon_linear(upper, lower, taps.down), out + c);
        }
    }
    if (i < count) {
        sl_warp_scalar.sample[SL_BILINEAR](&local, xs + i, ys + i, 1, out);
    }
}

/* The order of the additions is the reference's. */
INLINE float64x2_t warp_neon_cubic(const float64x2_t v[4], float64x2_t at)
{
    const float64x2_t first = vsubq_f64(v[2], v[0]);
    const float64x2_t twice = vmulq_n_f64(vsubq_f64(v[0], v[1]), 2);
    const float64x2_t second = vsubq_f64(vaddq_f64(twice, v[2]), v[3]);
    const float64x2_t third = vaddq_f64(vsubq_f64(vsubq_f64(v[1], v[0]), v[2]), v[3]);
    const float64x2_t inner = vaddq_f64(second, vmulq_f64(at, third));
    return vaddq_f64(v[1], vmulq_f64(at, vaddq_f64(first, vmulq_f64(at, inner))));
}

static void warp_neon_bicubic(const sl_warp_source *source, const double *xs, const double *ys,
                              uint32_t count, uint8_t *out)
{
    const sl_warp_source local = *source; /* which stores to `out` cannot change */
    uint32_t i = 0;
    for (; i + 2 <= count; i += 2, out += 6) {
        const warp_taps taps = find_taps(&local, xs + i, ys + i, 4, 1);
        for (size_t c = 0; c < 3; c++) {
            float64x2_t values[4];
            for (int32_t k = 0; k < 4; k++) {
                const float64x2_t row[4] = {
                    take_two(&local, &taps, k, 0, c), take_two(&local, &taps, k, 1, c),
                    take_two(&local, &taps, k, 2, c), take_two(&local, &taps, k, 3, c)};
                values[k] = warp_neon_cubic(row, taps.right);
            }
            const float64x2_t value = warp_neon_cubic(values, taps.down);
            store_two(vminq_f64(vmaxq_f64(value, vdupq_n_f64(0)), vdupq_n_f64(255)), out + c);
        }
    }
    if (i < count) {
        sl_warp_scalar.sample[SL_BICUBIC](&local, xs + i, ys + i, 1, out);
    }
}

static void warp_neon_nearest(const sl_warp_source *source, const double *xs, const double *ys,
                              uint32_t count, uint8_t *out)
{
    sl_warp_scalar.sample[SL_NEAREST](source, xs, ys, count, out);
}

static void warp_neon_walk(const sl_warp_source *source, const sl_warp_walk *walk, uint32_t count,
                           uint8_t *out)
{
    sl_warp_scalar.walk(source, walk, count, out);
}

const sl_warp_kernels sl_warp_neon = {
    .locate = warp_neon_locate,
    .screen = warp_neon_screen,
    .sample = {warp_neon_nearest, warp_neon_bilinear, warp_neon_bicubic},
    .walk = warp_neon_walk,
};

#endif
