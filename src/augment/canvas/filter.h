/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter: the coefficients of one axis of a resampling.
 *
 * Purpose: Pillow's precompute_coeffs with other rounding. Heights of the filter are doubles,
 * divided by their sum and rounded to int16 with `bits` bits of fraction. It is the running sums
 * that are rounded, so that weights sum to exactly 1. Summing by parts, n of them are wrong by at
 * most (n - 1) / 2 * 255 / 2^bits for samples from 0 to 255.
 * - Triangles: 14 bits and one more for each doubling of the scale factor, up to 19.
 * - Filters below 0 (bicubic, Lanczos): as many as the largest weight has room for, up to 18.
 * Threads: pure; memory from the caller's scratch.
 */
#ifndef SL_FILTER_H
#define SL_FILTER_H

#include "filter_span.h"
#include "mapping.h"
#include "scratch.h"

enum { SL_WEIGHT_BITS = 14, SL_WEIGHT_BITS_MAX = 19, SL_SIGNED_WEIGHT_BITS_MAX = 18 };

/*
 * Coefficients of one axis: output i is the sum over k < counts[i] of
 * weights[k * outputs + i] * input[starts[i] + k], >> bits after rounding. Weights from counts[i]
 * to `taps` are 0. Outputs outside the virtual raster have no counts: they are black.
 */
typedef struct sl_filter {
    uint32_t outputs, taps, bits; /* taps: the largest count */
    int32_t *starts; /* index into the picture's row or column; never falls as i rises */
    uint32_t *counts;
    int16_t *weights;
    float *real; /* of sl_filter_make_real, instead of `weights` */
    double gain; /* the largest sum of absolute weights of an output, before rounding */
} sl_filter;

/* Makes a filter. NOMEM. Not for the nearest pixel. If the gain is 2 or more, weights are not
 * made. */
sluice_status sl_filter_make(sl_filter *filter, const sl_axis *axis, sl_scratch *scratch,
                             sluice_error *error);
/* Makes weights in binary32. */
sluice_status sl_filter_make_real(sl_filter *filter, const sl_axis *axis, sl_scratch *scratch,
                                  sluice_error *error);

/* Moves the filter from places in the image to places after `origin`. */
void sl_filter_move(sl_filter *filter, int32_t origin);

#endif
