/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resample: antialiased filters, 8-bit, separable, fixed point.
 *
 * Purpose: the pixels of a box's window from a view of the picture, a row at a time. The filter
 * never reads outside mapping->source: a crop is resized as if it were a picture of its own. Where
 * the window reaches outside the virtual raster, the output is black. With a view scaled down by d
 * (DCT scaling) the source box is taken in the scaled picture: edges divided by d, as reals. A
 * pixel that is on an edge counts as far as it is inside.
 *
 * Bicubic and Lanczos are convolve.h's, the nearest pixel is nearest.h's; the rest of this is about
 * the triangle filter, which "bilinear" names.
 *
 * Arithmetic, the same on every machine and in every kernel:
 * - Weights are int16 with `bits` bits of fraction, 14 and one more for each doubling of the scale
 *   factor, up to 19. Those of one output are differences of rounded running sums, so they sum to
 *   exactly 1: white stays white.
 * - Vertical pass first, over only the rows and columns that are needed: int32 sums of u8 x int16,
 *   rounded to int16 with f = min(7, 23 - bits of the horizontal weights) bits of fraction.
 * - Horizontal pass: int32 sums of int16 x int16, rounded to u8. No sum passes 255 * 2^23 plus a
 *   half, so nothing overflows and nothing needs clipping.
 *
 * Results differ from Pillow's by at most 1 while both scale factors are below 256. With v the
 * exact value: summing by parts, rounding n weights costs at most (n - 1) / 2 * 255 / 2^bits <=
 * 0.04 a pass (0.13 at a factor of 256), the rounding in between 2^-(f + 1) <= 0.04, the last one
 * 0.5: ours is within 0.8 of v, usually 0.57. Pillow rounds to 8 bits after both passes, with
 * 22-bit weights: within 1.04. So they are less than 2 apart, and both are integers.
 *
 * Threads: pure; memory from the caller's scratch.
 */
#ifndef SL_RESAMPLE_H
#define SL_RESAMPLE_H

#include "convolve.h"
#include "filter.h"
#include "mapping.h"
#include "nearest.h"
#include "resample_kernels.h"
#include "scratch.h"
#include "simd.h"
#include "view.h"

/* A sample being resampled: valid as long as its scratch memory. */
typedef struct sl_resampler {
    const sl_resample_kernels *kernels;
    sl_filter down;               /* starts count from the first row of the view */
    sl_horizontal across;         /* starts count from the first needed column */
    const uint8_t *column;        /* of the view: the first needed one, in its row 0 */
    size_t stride_bytes, samples; /* samples: 3 for each needed column */
    uint32_t down_shift;
    int16_t *taps;    /* of one row of the vertical pass */
    int16_t *between; /* one row after it */
    uint8_t *pixels;  /* one finished row */
    bool flip_y;      /* rows are taken from the last one backwards */
    /* Used instead if the interpolation is not bilinear: one of these. */
    sl_interpolation interpolation;
    sl_convolver convolver;
    sl_nearest nearest;
} sl_resampler;

/* Opens a resampler. `mapping` is a box; `view` covers its sl_mapping_need. NOMEM if the scratch is
 * too small; the caller releases it. */
sluice_status sl_resampler_open(sl_resampler *resampler, sl_simd simd, const sl_image *view,
                                const sl_mapping *mapping, sl_scratch *scratch,
                                sluice_error *error);
/* Returns row `row` of the output, RGB, flipped as in the mapping. Valid until the next call. */
const uint8_t *sl_resampler_row(const sl_resampler *resampler, uint32_t row);

/* Makes all rows, mapping->height x mapping->width x 3 bytes at `out`. The scratch is restored. */
sluice_status sl_resample(sl_simd simd, const sl_image *view, const sl_mapping *mapping,
                          uint8_t *out, sl_scratch *scratch, sluice_error *error);

#endif
