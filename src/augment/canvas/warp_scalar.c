/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: warp.h's arithmetic, a pixel at a time. */
#include "warp_kernels.h"

#include <math.h>
#include <string.h>

static void warp_scalar_locate(const sl_warp_line *line, uint32_t first, uint32_t count, double *xs,
                               double *ys)
{
    const sl_warp_line l = *line;
    for (uint32_t i = 0; i < count; i++) {
        const double at = first + i + 0.5;
        const double x = (l.factor[0] * at + l.row[0]) + l.offset[0];
        const double y = (l.factor[1] * at + l.row[1]) + l.offset[1];
        const double w = l.divide ? (l.factor[2] * at + l.row[2]) + l.offset[2] : 1.0;
        xs[i] = l.divide ? x / w : x;
        ys[i] = l.divide ? y / w : y;
    }
}

/* Written so that NaN is outside. */
static void warp_scalar_screen(const double *xs, const double *ys, uint32_t count, double width,
                               double height, uint8_t *inside)
{
    for (uint32_t i = 0; i < count; i++) {
        const bool within = xs[i] >= 0 && xs[i] < width && ys[i] >= 0 && ys[i] < height;
        inside[i] = within ? inside[i] : 0;
    }
}

static const uint8_t *source_row(const sl_warp_source *source, int32_t y)
{
    y = y < 0 ? 0 : y < source->picture_height ? y : source->picture_height - 1;
    return source->pixels + (size_t)(y - source->origin_y) * source->stride_bytes;
}

static size_t source_place(const sl_warp_source *source, int32_t x)
{
    x = x < 0 ? 0 : x < source->picture_width ? x : source->picture_width - 1;
    return (size_t)(x - source->origin_x) * 3;
}

static void sample_nearest(const sl_warp_source *source, const double *xs, const double *ys,
                           uint32_t count, uint8_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        memcpy(out, source_row(source, (int32_t)ys[i]) + source_place(source, (int32_t)xs[i]), 3);
        out += 3;
    }
}

static void sample_bilinear(const sl_warp_source *source, const double *xs, const double *ys,
                            uint32_t count, uint8_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const double x = xs[i] - 0.5;
        const double y = ys[i] - 0.5;
        const int32_t column = (int32_t)floor(x);
        const int32_t row = (int32_t)floor(y);
        const double right = x - column;
        const double down = y - row;
        const uint8_t *rows[2] = {source_row(source, row), source_row(source, row + 1)};
        const size_t places[2] = {source_place(source, column), source_place(source, column + 1)};
        for (size_t c = 0; c < 3; c++) {
            double values[2];
            for (size_t k = 0; k < 2; k++) {
                const double left = rows[k][places[0] + c];
                values[k] = left + (rows[k][places[1] + c] - left) * right;
            }
            *out++ = (uint8_t)(values[0] + (values[1] - values[0]) * down);
        }
    }
}

/* The order of the additions matters for values that are not integers. */
static double cubic(const double v[4], double at)
{
    const double linear = v[2] - v[0];
    const double square = 2 * (v[0] - v[1]) + v[2] - v[3];
    const double cube = v[1] - v[0] - v[2] + v[3];
    return v[1] + at * (linear + at * (square + at * cube));
}

static void sample_bicubic(const sl_warp_source *source, const double *xs, const double *ys,
                           uint32_t count, uint8_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const double x = xs[i] - 0.5;
        const double y = ys[i] - 0.5;
        const int32_t column = (int32_t)floor(x);
        const int32_t row = (int32_t)floor(y);
        const uint8_t *rows[4];
        size_t places[4];
        for (int32_t k = 0; k < 4; k++) {
            rows[k] = source_row(source, row - 1 + k);
            places[k] = source_place(source, column - 1 + k);
        }
        for (size_t c = 0; c < 3; c++) {
            double values[4];
            for (size_t k = 0; k < 4; k++) {
                const uint8_t *taps = rows[k] + c;
                values[k] = cubic((const double[4]){taps[places[0]], taps[places[1]],
                                                    taps[places[2]], taps[places[3]]},
                                  x - column);
            }
            const double value = cubic(values, y - row);
            *out++ = (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : value);
        }
    }
}

static void warp_scalar_walk(const sl_warp_source *source, const sl_warp_walk *walk, uint32_t count,
                             uint8_t *out)
{
    sl_warp_walk at = *walk;
    at.x -= (int64_t)source->origin_x * 65536;
    at.y -= (int64_t)source->origin_y * 65536;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *row = source->pixels + (size_t)(at.y >> 16) * source->stride_bytes;
        memcpy(out, row + (size_t)(at.x >> 16) * 3, 3);
        at.x += at.step_x;
        at.y += at.step_y;
        out += 3;
    }
}

const sl_warp_kernels sl_warp_scalar = {
    .locate = warp_scalar_locate,
    .screen = warp_scalar_screen,
    .sample = {sample_nearest, sample_bilinear, sample_bicubic},
    .walk = warp_scalar_walk,
};

const sl_warp_kernels *sl_warp_kernels_for(sl_simd simd)
{
#if defined(__x86_64__)
    if (simd >= SL_SIMD_AVX2) {
        return &sl_warp_avx2;
    }
#elif defined(__aarch64__)
    if (simd == SL_SIMD_NEON) {
        return &sl_warp_neon;
    }
#endif
    (void)simd;
    return &sl_warp_scalar;
}
