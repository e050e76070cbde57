/* SPDX-License-Identifier: Apache-2.0 */
/* The coefficients of resampling. */
#include "error.h"
#include "resample.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Where one output lies on its axis, in pixels from limit_start. */
typedef struct footprint {
    double center, inverse_scale;
    int32_t begin, end; /* pixels touched; empty outside the virtual raster */
} footprint;

static double filter_scale(const sl_axis *axis)
{
    double scale = axis->box_size / axis->virtual_size;
    return scale > 1.0 ? scale : 1.0;
}

/*
 * Positions count from limit_start, not from the picture's edge, so that a crop gives the very
 * doubles that Pillow computes for a picture of its own.
 */
static footprint footprint_of(const sl_axis *axis, uint32_t output)
{
    int64_t position = (int64_t)axis->first + output;
    if (position < 0 || position >= axis->virtual_size) {
        return (footprint){0};
    }
    double scale = axis->box_size / axis->virtual_size;
    double support = filter_scale(axis);
    double center = (axis->box_start - axis->limit_start) + ((double)position + 0.5) * scale;
    double limit = axis->limit_end - axis->limit_start;
    double begin = center - support + 0.5;
    double end = center + support + 0.5;
    return (footprint){.center = center,
                       .inverse_scale = 1.0 / support,
                       .begin = begin > 0.0 ? (int32_t)begin : 0,
                       .end = (int32_t)(end < limit ? end : limit)};
}

void sl_filter_span(const sl_axis *axis, int32_t *begin, int32_t *end)
{
    *begin = axis->limit_start;
    *end = axis->limit_start;
    /* Only outputs inside the raster touch pixels, and footprints move one way. */
    int64_t first = axis->first < 0 ? -(int64_t)axis->first : 0;
    int64_t last = (int64_t)axis->virtual_size - 1 - axis->first;
    if (last >= (int64_t)axis->outputs) {
        last = (int64_t)axis->outputs - 1;
    }
    if (first <= last) {
        *begin = axis->limit_start + footprint_of(axis, (uint32_t)first).begin;
        *end = axis->limit_start + footprint_of(axis, (uint32_t)last).end;
    }
}

static double triangle(double x)
{
    double height = 1.0 - fabs(x);
    return height > 0.0 ? height : 0.0;
}

/* Weights of the pixels of a footprint; returns how many there are up to the last that counts. */
static uint32_t weigh(const footprint *print, int32_t *weights)
{
    double sum = 0.0;
    for (int32_t x = print->begin; x < print->end; x++) {
        sum += triangle((x - print->center + 0.5) * print->inverse_scale);
    }
    uint32_t count = 0;
    for (int32_t x = print->begin; x < print->end; x++) {
        double weight = triangle((x - print->center + 0.5) * print->inverse_scale) / sum;
        int32_t fixed = (int32_t)(0.5 + weight * (1 << SL_FILTER_BITS));
        weights[x - print->begin] = fixed;
        if (fixed != 0) {
            count = (uint32_t)(x - print->begin) + 1;
        }
    }
    return count;
}

/* Moves rows of weights so that no start + taps passes the end of what the axis touches. */
static void keep_inside(sl_filter *filter, int32_t end, uint32_t stride)
{
    for (uint32_t i = 0; i < filter->outputs; i++) {
        int32_t *weights = filter->weights + (size_t)i * stride;
        int32_t start = filter->starts[i];
        int32_t over = start + (int32_t)filter->taps - end;
        uint32_t shift = over > 0 ? (uint32_t)over : 0;
        uint32_t count = filter->counts[i];
        int32_t *row = filter->weights + (size_t)i * filter->taps;
        memmove(row + shift, weights, count * sizeof(*row));
        memset(row, 0, shift * sizeof(*row));
        memset(row + shift + count, 0, (filter->taps - shift - count) * sizeof(*row));
        filter->starts[i] = start - (int32_t)shift;
        filter->counts[i] = count > 0 ? count + shift : 0;
    }
}

sluice_status sl_filter_make(sl_filter *filter, const sl_axis *axis, sl_scratch *scratch,
                             sluice_error *error)
{
    assert(axis->box_size > 0 && axis->virtual_size > 0 && axis->outputs > 0);
    uint32_t stride = (uint32_t)ceil(filter_scale(axis)) * 2 + 1;
    filter->outputs = axis->outputs;
    filter->starts = sl_scratch_take(scratch, axis->outputs * sizeof(*filter->starts));
    filter->counts = sl_scratch_take(scratch, axis->outputs * sizeof(*filter->counts));
    filter->weights =
        sl_scratch_take(scratch, (size_t)axis->outputs * stride * sizeof(*filter->weights));
    if (filter->starts == NULL || filter->counts == NULL || filter->weights == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, "augment",
                            "no scratch memory for the weights of %u pixels", axis->outputs);
    }
    int32_t begin = 0;
    int32_t end = 0;
    sl_filter_span(axis, &begin, &end);
    filter->taps = 0;
    for (uint32_t i = 0; i < axis->outputs; i++) {
        footprint print = footprint_of(axis, i);
        uint32_t count = weigh(&print, filter->weights + (size_t)i * stride);
        filter->counts[i] = count;
        if (count > 0) {
            begin = axis->limit_start + print.begin;
        }
        filter->starts[i] = begin;
        filter->taps = count > filter->taps ? count : filter->taps;
    }
    keep_inside(filter, end, stride);
    return SLUICE_OK;
}
