/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resample: antialiased triangle filter, 8-bit, separable, fixed point.
 *
 * Purpose: the pixels of params' window from a view of the picture. The arithmetic is Pillow's
 * (Resample.c: coefficients normalised, then rounded to 22 bits of fraction; horizontal pass first,
 * rounded to 8 bits; then vertical), so results differ from Pillow's by at most 1.
 * The filter never reads outside params->source: a crop is resized as if it were a picture of its
 * own. Where the window reaches outside the virtual raster, the output is black.
 * Seam: sl_resample picks the implementation; the scalar one is the reference that any other must
 * equal bit for bit.
 * Threads: pure; memory from `scratch`. With a view scaled down by d (DCT scaling) the source box
 * is taken in the scaled picture: edges divided by d, as reals.
 */
#ifndef SL_RESAMPLE_H
#define SL_RESAMPLE_H

#include "recipe.h"
#include "scratch.h"
#include "view.h"

/*
 * Writes params->height rows of params->width x 3 bytes at `out`, `out_stride` bytes apart, flipped
 * when params->flip. `view` covers params->need. NOMEM when the scratch is too small; what it takes
 * there is released again.
 */
sluice_status sl_resample(const sl_image *view, const sl_params *params, uint8_t *out,
                          size_t out_stride, sl_scratch *scratch, sluice_error *error);

#define SL_FILTER_BITS 22 /* of fraction in a weight */

/*
 * One axis: box [box_start, box_start + box_size) (reals) over pixels [limit_start, limit_end) is
 * resampled to `virtual_size` outputs, of which [first, first + outputs) are made.
 */
typedef struct sl_axis {
    double box_start, box_size;
    int32_t limit_start, limit_end;
    uint32_t virtual_size;
    int32_t first;
    uint32_t outputs;
} sl_axis;

/*
 * Coefficients of one axis: output i is the sum over k < counts[i] of
 * weights[i*taps + k] * input[starts[i] + k], >> SL_FILTER_BITS after rounding. Weights beyond
 * counts[i] are 0, and starts[i] + taps stays inside the pixels that some output touches, so a loop
 * may as well run to `taps`. Outputs outside the virtual raster have no counts: they are black.
 */
typedef struct sl_filter {
    uint32_t outputs, taps;
    int32_t *starts; /* index into the picture's row or column; never falls as i rises */
    uint32_t *counts;
    int32_t *weights;
} sl_filter;

/* Pillow's precompute_coeffs with the triangle filter. NOMEM. */
sluice_status sl_filter_make(sl_filter *filter, const sl_axis *axis, sl_scratch *scratch,
                             sluice_error *error);

/*
 * The pixels [*begin, *end) that the axis' outputs touch. Empty when all of them are outside the
 * virtual raster.
 */
void sl_filter_span(const sl_axis *axis, int32_t *begin, int32_t *end);

/* The horizontal and the vertical axis of a sample, in a picture scaled down by `denominator`. */
void sl_params_axes(const sl_params *params, uint32_t denominator, sl_axis *horizontal,
                    sl_axis *vertical);

#endif
