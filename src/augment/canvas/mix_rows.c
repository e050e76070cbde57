/* SPDX-License-Identifier: Apache-2.0 */
/* mix_rows: rows by pieces that stay in the nearest cache, each copied, patched, then converted.
 * Pure. */
#include "mix_rows.h"

#include "dtype.h"

#include <assert.h>
#include <string.h>

/* Samples: whole vectors of whole pixels. */
enum { PIECE = 48 * 32 };

static sl_mix_kernel *mix_kernel_for(const sl_converter *converter)
{
#if defined(__x86_64__)
    if (converter->finite && converter->tools.simd == SL_SIMD_AVX512) {
        return sl_mix_avx512;
    }
    if (converter->finite && converter->tools.simd == SL_SIMD_AVX2) {
        return sl_mix_avx2;
    }
#elif defined(__aarch64__)
    if (converter->finite && converter->tools.simd == SL_SIMD_NEON) {
        return sl_mix_neon;
    }
#else
    (void)converter;
#endif
    return sl_mix_scalar;
}

/* Samples [first, first + count) of a plane. */
typedef struct mix_range {
    size_t first, count;
    size_t line;  /* samples of a line */
    size_t pixel; /* samples of a pixel */
} mix_range;

/* The box's part of the range from `from`. */
static void patch(uint8_t *samples, const uint8_t *from, const mix_range *range,
                  const sl_mixing_row *how)
{
    const size_t end = range->first + range->count;
    size_t y = range->first / range->line;
    y = y > how->top ? y : how->top;
    for (; y < how->bottom && y * range->line < end; y++) {
        size_t left = y * range->line + how->left * range->pixel;
        size_t right = y * range->line + how->right * range->pixel;
        left = left > range->first ? left : range->first;
        right = right < end ? right : end;
        if (left < right) {
            memcpy(samples + (left - range->first), from + (left - range->first), right - left);
        }
    }
}

typedef struct mix_work {
    const sl_converter *converter;
    sl_mix_kernel *kernel;
    size_t plane_bytes; /* of results */
    size_t bytes;       /* of one */
} mix_work;

static void make_side(const mix_work *work, const sl_mix_side *side, const mix_range *range,
                      uint32_t plane, const uint8_t *own, const uint8_t *other)
{
    uint8_t patched[PIECE];
    const bool mixes = other != NULL && side->how.weight < 1;
    const bool cut = other != NULL && sl_mixing_has_box(&side->how);
    sl_mix_piece piece = {.own = own,
                          .other = mixes && !cut ? other : NULL,
                          .weight = side->how.weight,
                          .plane = plane,
                          .count = range->count,
                          .out = (uint8_t *)side->row + plane * work->plane_bytes +
                                 range->first * work->bytes};
    if (side->row == NULL) {
        return;
    }
    if (cut) {
        memcpy(patched, own, range->count);
        patch(patched, other, range, &side->how);
        piece.own = patched;
    }
    work->kernel(work->converter, &piece);
}

static void mix_plane(const mix_work *work, const sl_mix_side *a, const sl_mix_side *b,
                      uint32_t plane, size_t samples)
{
    uint8_t copies[2][PIECE];
    const bool planes = work->converter->layout == SLUICE_NCHW;
    mix_range range = {.pixel = planes ? 1 : 3};
    range.line = work->converter->width * range.pixel;
    for (; range.first < samples; range.first += range.count) {
        const size_t at = plane * samples + range.first;
        range.count = samples - range.first < PIECE ? samples - range.first : PIECE;
        if (a->samples != NULL) {
            memcpy(copies[0], a->samples + at, range.count);
        }
        if (b->samples != NULL) {
            memcpy(copies[1], b->samples + at, range.count);
        }
        if (a->samples != NULL) {
            make_side(work, a, &range, plane, copies[0], b->samples != NULL ? copies[1] : NULL);
        }
        if (b->samples != NULL) {
            make_side(work, b, &range, plane, copies[1], a->samples != NULL ? copies[0] : NULL);
        }
    }
}

void sl_mix_rows(const sl_converter *converter, const sl_mix_side *a, const sl_mix_side *b)
{
    const size_t pixels = (size_t)converter->width * converter->height;
    const bool planes = converter->layout == SLUICE_NCHW;
    const size_t samples = planes ? pixels : 3 * pixels;
    const size_t bytes = sl_dtype_bytes(converter->dtype);
    const mix_work work = {.converter = converter,
                           .kernel = mix_kernel_for(converter),
                           .plane_bytes = samples * bytes,
                           .bytes = bytes};
    for (uint32_t plane = 0; plane < (planes ? 3 : 1); plane++) {
        mix_plane(&work, a, b, plane, samples);
    }
}
