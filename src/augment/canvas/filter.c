/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter: the coefficients of resampling, in fixed point; the arithmetic is in resample.h. Pure;
 * memory from the caller's scratch.
 */
#include "filter.h"

#include "error.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

enum { SERIES = 9 };

static double triangle(double x)
{
    double height = 1.0 - fabs(x);
    return height > 0.0 ? height : 0.0;
}

/* Keys' cubic with a = -0.5. */
static double bicubic(double x)
{
    const double distance = fabs(x);
    const double d = distance < 2.0 ? distance : 2.0;
    const double near = (1.5 * d - 2.5) * d * d + 1;
    const double far = (((d - 5) * d + 8) * d - 4) * -0.5;
    return d < 1.0 ? near : far;
}

/*
 * sinc(x) sinc(x / 3). With a = pi x / 3, sin(3a) = sin(a) (3 - 4 sin(a)^2), so it is
 * q^2 (1 - 4/3 (a q)^2), where q = sin(a) / a: its series, of a^2 <= pi^2, to 4e-9.
 */
static double lanczos(double x)
{
    const double third = 1.04719755119659774615;
    const double distance = fabs(x);
    const double d = distance < 3.0 ? distance : 3.0;
    const double z = third * third * d * d;
    double q = 1.0;
    for (int n = SERIES; n > 0; n--) {
        q = 1.0 - q * z * (1.0 / (2 * n * (2 * n + 1)));
    }
    const double squared = q * q;
    return squared * (1.0 - 4.0 / 3.0 * z * squared);
}

/* The larger the scale factor, the smaller the weights. */
static uint32_t weight_bits(double scale)
{
    uint32_t bits = SL_WEIGHT_BITS;
    while (bits < SL_WEIGHT_BITS_MAX && scale >= (double)(2U << (bits - SL_WEIGHT_BITS))) {
        bits++;
    }
    return bits;
}

/*
 * All outputs of an axis while their weights are computed: an array each, and the k-th tap of all
 * of them at once, which compilers vectorise. heights[k * outputs + i] is before dividing by
 * sums[i].
 */
typedef struct balance {
    uint32_t outputs, capacity; /* capacity: most taps of an output */
    double inverse_support, one;
    double *shifts; /* of the first pixel's middle from the centre */
    double *pixels; /* of the sl_footprint */
    double *heights, *sums;
    double *magnitudes, *peaks; /* sums and largest of absolute heights: not for triangles */
    int32_t *rounded;           /* the running sum so far */
} balance;

static bool balance_open(balance *b, sl_scratch *scratch)
{
    const size_t column = b->outputs * sizeof(double);
    b->shifts = sl_scratch_take(scratch, column);
    b->pixels = sl_scratch_take(scratch, column);
    b->sums = sl_scratch_take(scratch, column);
    b->heights = sl_scratch_take(scratch, column * b->capacity);
    b->magnitudes = sl_scratch_take(scratch, column);
    b->peaks = sl_scratch_take(scratch, column);
    b->rounded = sl_scratch_take(scratch, b->outputs * sizeof(*b->rounded));
    return b->shifts != NULL && b->pixels != NULL && b->sums != NULL && b->heights != NULL &&
           b->magnitudes != NULL && b->peaks != NULL && b->rounded != NULL;
}

static void filter_measure(const balance *b, uint32_t k)
{
    const double *restrict shifts = b->shifts;
    const double *restrict pixels = b->pixels;
    double *restrict heights = b->heights + (size_t)k * b->outputs;
    double *restrict sums = b->sums;
    const double inverse = b->inverse_support;
    const double tap = k;
    for (uint32_t i = 0; i < b->outputs; i++) {
        const double height = triangle((tap + shifts[i]) * inverse);
        heights[i] = tap < pixels[i] ? height : 0.0;
        sums[i] += heights[i];
    }
}

/* Does the same for filters below 0. Inlined with a constant filter. */
static inline void signed_measure(const balance *b, uint32_t k, double (*filter)(double))
{
    const double *restrict shifts = b->shifts;
    const double *restrict pixels = b->pixels;
    double *restrict heights = b->heights + (size_t)k * b->outputs;
    double *restrict sums = b->sums;
    double *restrict magnitudes = b->magnitudes;
    double *restrict peaks = b->peaks;
    const double inverse = b->inverse_support;
    const double tap = k;
    for (uint32_t i = 0; i < b->outputs; i++) {
        const double any = filter((tap + shifts[i]) * inverse);
        const double height = tap < pixels[i] ? any : 0.0;
        const double size = fabs(height);
        heights[i] = height;
        sums[i] += height;
        magnitudes[i] += size;
        peaks[i] = peaks[i] > size ? peaks[i] : size;
    }
}

static void scale_height(const balance *b, uint32_t output, uint32_t tap, double share)
{
    double *height = &b->heights[(size_t)tap * b->outputs + output];
    b->sums[output] -= *height * (1 - share);
    b->magnitudes[output] -= fabs(*height) * (1 - share);
    *height *= share;
}

/* Weighs a pixel on the box's edge by its part inside. */
static void trim_edges(const balance *b, const sl_axis *axis, const int32_t *starts)
{
    for (uint32_t i = 0; i < b->outputs; i++) {
        const uint32_t pixels = (uint32_t)b->pixels[i];
        if (pixels > 0 && starts[i] == axis->limit_start) {
            scale_height(b, i, 0, 1 - axis->outside_start);
        }
        if (pixels > 0 && starts[i] + (int32_t)pixels == axis->limit_end) {
            scale_height(b, i, pixels - 1, 1 - axis->outside_end);
        }
    }
}

/* Rounds the running sum, not each weight, so that errors do not add up. */
static void round_weights(const balance *b, uint32_t k, sl_filter *filter)
{
    const double *restrict units = b->sums;
    double *restrict running = b->shifts;
    const double *restrict heights = b->heights + (size_t)k * b->outputs;
    int32_t *restrict rounded = b->rounded;
    uint32_t *restrict counts = filter->counts;
    int16_t *restrict weights = filter->weights + (size_t)k * b->outputs;
    for (uint32_t i = 0; i < b->outputs; i++) {
        running[i] += heights[i];
        const int32_t after = (int32_t)(running[i] * units[i] + 0.5);
        const int32_t weight = after - rounded[i];
        assert(weight >= 0 && weight <= INT16_MAX);
        weights[i] = (int16_t)weight;
        counts[i] = weight != 0 ? k + 1 : counts[i];
        rounded[i] = after;
    }
}

/* Rounds running sums that may be below 0; `whole` makes them positive meanwhile. */
static void round_signed_weights(const balance *b, uint32_t k, sl_filter *filter)
{
    const double whole = 1 << 20;
    const double *restrict units = b->sums;
    double *restrict running = b->shifts;
    const double *restrict heights = b->heights + (size_t)k * b->outputs;
    int32_t *restrict rounded = b->rounded;
    uint32_t *restrict counts = filter->counts;
    int16_t *restrict weights = filter->weights + (size_t)k * b->outputs;
    for (uint32_t i = 0; i < b->outputs; i++) {
        running[i] += heights[i];
        const int32_t after = (int32_t)(running[i] * units[i] + whole + 0.5) - (1 << 20);
        const int32_t weight = after - rounded[i];
        weights[i] = (int16_t)weight;
        counts[i] = weight != 0 ? k + 1 : counts[i];
        rounded[i] = after;
    }
}

static void filter_measure_all(const balance *b, sl_interpolation interpolation)
{
    for (uint32_t i = 0; i < b->outputs; i++) {
        b->sums[i] = 0.0;
        b->magnitudes[i] = 0.0;
        b->peaks[i] = 0.0;
    }
    for (uint32_t k = 0; k < b->capacity; k++) {
        switch (interpolation) {
        case SL_BICUBIC:
            signed_measure(b, k, bicubic);
            break;
        case SL_LANCZOS:
            signed_measure(b, k, lanczos);
            break;
        default:
            filter_measure(b, k);
            break;
        }
    }
}

static void filter_weigh(const balance *b, const sl_axis *axis, sl_filter *filter)
{
    filter_measure_all(b, sl_axis_interpolation(axis));
    if (axis->outside_start > 0 || axis->outside_end > 0) {
        trim_edges(b, axis, filter->starts);
    }
    for (uint32_t i = 0; i < b->outputs; i++) {
        b->sums[i] = b->one / (b->sums[i] > 0.0 ? b->sums[i] : 1.0);
        b->shifts[i] = 0.0;
        b->rounded[i] = 0;
        filter->counts[i] = 0;
    }
}

/* Finds how far weights of sum 1 can carry a value, and the bits with which the largest is an
 * int16. */
static void weigh_signed(const balance *b, sl_filter *filter)
{
    double peak = 0.0;
    filter->gain = 1.0;
    for (uint32_t i = 0; i < b->outputs; i++) {
        const double gain = b->magnitudes[i] * b->sums[i];
        const double most = b->peaks[i] * b->sums[i];
        filter->gain = gain > filter->gain ? gain : filter->gain;
        peak = most > peak ? most : peak;
    }
    filter->bits = SL_SIGNED_WEIGHT_BITS_MAX;
    while (filter->bits > 0 && peak * (double)(1U << filter->bits) > INT16_MAX - 1) {
        filter->bits--;
    }
    for (uint32_t i = 0; i < b->outputs; i++) {
        b->sums[i] *= (double)(1U << filter->bits);
    }
}

static void round_all(const balance *b, bool signs, sl_filter *filter)
{
    for (uint32_t k = 0; k < b->capacity; k++) {
        if (signs) {
            round_signed_weights(b, k, filter);
        } else {
            round_weights(b, k, filter);
        }
    }
}

/* Finds the starts. Outputs without pixels keep the start of the one before. */
static void find_starts(const balance *b, const sl_axis *axis, const sl_spacing *space,
                        sl_filter *filter)
{
    int32_t begin = 0;
    int32_t end = 0;
    sl_filter_span(axis, &begin, &end);
    for (uint32_t i = 0; i < axis->outputs; i++) {
        const sl_footprint print = sl_footprint_of(axis, space, i);
        begin = print.end > print.begin ? axis->limit_start + print.begin : begin;
        filter->starts[i] = begin;
        b->shifts[i] = print.begin + 0.5 - print.center;
        b->pixels[i] = print.end - print.begin;
    }
}

/* Keeps the weights unrounded. */
static void keep_real(const balance *b, sl_filter *filter)
{
    for (uint32_t k = 0; k < b->capacity; k++) {
        const size_t row = (size_t)k * b->outputs;
        for (uint32_t i = 0; i < b->outputs; i++) {
            filter->real[row + i] = (float)(b->heights[row + i] * b->sums[i]);
        }
    }
    for (uint32_t i = 0; i < b->outputs; i++) {
        filter->counts[i] = (uint32_t)b->pixels[i];
    }
}

static bool filter_take(sl_filter *filter, uint32_t capacity, bool real, sl_scratch *scratch)
{
    const size_t weights = (size_t)filter->outputs * capacity;
    filter->starts = sl_scratch_take(scratch, filter->outputs * sizeof(*filter->starts));
    filter->counts = sl_scratch_take(scratch, filter->outputs * sizeof(*filter->counts));
    if (real) {
        filter->real = sl_scratch_take(scratch, weights * sizeof(*filter->real));
    } else {
        filter->weights = sl_scratch_take(scratch, weights * sizeof(*filter->weights));
    }
    return filter->starts != NULL && filter->counts != NULL &&
           (real ? filter->real != NULL : filter->weights != NULL);
}

static sluice_status filter_make(sl_filter *filter, const sl_axis *axis, bool real,
                                 sl_scratch *scratch, sluice_error *error)
{
    assert(axis->box_size > 0 && axis->virtual_size > 0 && axis->outputs > 0);
    const sl_spacing space = sl_spacing_of(axis);
    const uint32_t capacity = (uint32_t)(space.support * 2.0) + 1;
    const bool signs = sl_axis_interpolation(axis) != SL_BILINEAR;
    *filter = (sl_filter){.outputs = axis->outputs, .bits = weight_bits(space.scale), .gain = 1.0};
    const bool whole = filter_take(filter, capacity, real, scratch);
    const size_t mark = sl_scratch_mark(scratch);
    balance b = {.outputs = axis->outputs,
                 .capacity = capacity,
                 .inverse_support = space.inverse_support,
                 .one = signs ? 1.0 : (double)(1U << filter->bits)};
    if (!whole || !balance_open(&b, scratch)) {
        return sl_error_set(error, SLUICE_NOMEM, "augment",
                            "no scratch memory for the weights of %u pixels", axis->outputs);
    }
    find_starts(&b, axis, &space, filter);
    filter_weigh(&b, axis, filter);
    if (real) {
        keep_real(&b, filter);
    } else {
        if (signs) {
            weigh_signed(&b, filter);
        }
        if (filter->gain < 2) {
            round_all(&b, signs, filter);
        }
    }
    for (uint32_t i = 0; i < axis->outputs; i++) {
        filter->taps = filter->counts[i] > filter->taps ? filter->counts[i] : filter->taps;
    }
    sl_scratch_release(scratch, mark);
    return SLUICE_OK;
}

sluice_status sl_filter_make(sl_filter *filter, const sl_axis *axis, sl_scratch *scratch,
                             sluice_error *error)
{
    return filter_make(filter, axis, false, scratch, error);
}

sluice_status sl_filter_make_real(sl_filter *filter, const sl_axis *axis, sl_scratch *scratch,
                                  sluice_error *error)
{
    return filter_make(filter, axis, true, scratch, error);
}
