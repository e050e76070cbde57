/* SPDX-License-Identifier: Apache-2.0 */
#include "convolve.h"

#include "resample.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- weights ---- */

static double bicubic_weight(double x)
{
    x = fabs(x);
    if (x < 1.0) {
        return (1.5 * x - 2.5) * x * x + 1;
    }
    return x < 2.0 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0.0;
}

static double sinc(double x)
{
    const double pi = 3.14159265358979323846;
    return x == 0.0 ? 1.0 : sin(x * pi) / (x * pi);
}

static double lanczos_weight(double x)
{
    return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

static bool weights_take(sl_weights *w, const sl_axis *axis, sl_scratch *scratch)
{
    *w = (sl_weights){.outputs = axis->outputs};
    for (uint32_t i = 0; i < axis->outputs; i++) {
        const sl_footprint print = sl_filter_footprint(axis, i);
        const uint32_t count = (uint32_t)(print.end - print.begin);
        w->taps = count > w->taps ? count : w->taps;
    }
    const size_t all = (size_t)w->outputs * w->taps;
    w->starts = sl_scratch_take(scratch, w->outputs * sizeof(*w->starts));
    w->counts = sl_scratch_take(scratch, w->outputs * sizeof(*w->counts));
    w->weights = sl_scratch_take(scratch, all * sizeof(*w->weights));
    if (w->starts == NULL || w->counts == NULL || w->weights == NULL) {
        return false;
    }
    memset(w->weights, 0, all * sizeof(*w->weights));
    return true;
}

/* How much of a pixel is in the box. */
static double share_of(const sl_axis *axis, int32_t pixel)
{
    const double before = pixel == axis->limit_start ? axis->outside_start : 0;
    const double behind = pixel + 1 == axis->limit_end ? axis->outside_end : 0;
    return 1 - before - behind;
}

static void weigh_output(const sl_axis *axis, sl_footprint print, double *doubles, int32_t *weights)
{
    const double scale = axis->box_size / axis->virtual_size;
    const double inverse = 1.0 / (scale > 1.0 ? scale : 1.0);
    const bool lanczos = sl_axis_interpolation(axis) == SL_LANCZOS;
    const int32_t count = print.end - print.begin;
    double sum = 0.0;
    for (int32_t k = 0; k < count; k++) {
        const double x = (k + print.begin - print.center + 0.5) * inverse;
        const double height = lanczos ? lanczos_weight(x) : bicubic_weight(x);
        doubles[k] = height * share_of(axis, axis->limit_start + print.begin + k);
        sum += doubles[k];
    }
    for (int32_t k = 0; k < count; k++) {
        const double weight =
            (sum != 0.0 ? doubles[k] / sum : doubles[k]) * (double)(1 << SL_CONVOLVE_BITS);
        weights[k] = (int32_t)(weight < 0 ? weight - 0.5 : weight + 0.5);
        assert(weights[k] < 1 << 23 && weights[k] >= -(1 << 23));
    }
}

/* `origin`: the pixel from which on starts count. */
static bool weights_make(sl_weights *w, const sl_axis *axis, int32_t origin, bool flip,
                         sl_scratch *scratch)
{
    if (!weights_take(w, axis, scratch)) {
        return false;
    }
    const size_t mark = sl_scratch_mark(scratch);
    double *doubles = sl_scratch_take(scratch, (w->taps + 1) * sizeof(*doubles));
    for (uint32_t i = 0; doubles != NULL && i < w->outputs; i++) {
        const sl_footprint print = sl_filter_footprint(axis, i);
        const uint32_t at = flip ? w->outputs - 1 - i : i;
        const bool seen = print.end > print.begin;
        w->starts[at] = seen ? axis->limit_start + print.begin - origin : 0;
        w->counts[at] = (uint32_t)(print.end - print.begin);
        weigh_output(axis, print, doubles, w->weights + (size_t)at * w->taps);
    }
    sl_scratch_release(scratch, mark);
    return doubles != NULL;
}

/* ---- passes ---- */

static const sl_convolve_kernels *convolve_kernels_for(sl_simd simd)
{
#if defined(__x86_64__)
    if (simd >= SL_SIMD_AVX2) {
        return &sl_convolve_avx2;
    }
#endif
    (void)simd;
    return &sl_convolve_scalar;
}

static bool convolver_take_rows(sl_convolver *c, sl_scratch *scratch)
{
    const uint32_t slots = c->down.taps > 0 ? c->down.taps : 1;
    c->row_bytes = (size_t)c->across.outputs * 3;
    c->kept = sl_scratch_take(scratch, c->row_bytes * slots);
    c->held = sl_scratch_take(scratch, slots * sizeof(*c->held));
    c->rows = sl_scratch_take(scratch, slots * sizeof(*c->rows));
    c->pixels = sl_scratch_take(scratch, c->row_bytes);
    if (c->kept == NULL || c->held == NULL || c->rows == NULL || c->pixels == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < slots; i++) {
        c->held[i] = -1;
    }
    return true;
}

bool sl_convolver_open(sl_convolver *convolver, sl_simd simd, const sl_image *view,
                       const sl_mapping *mapping, sl_scratch *scratch)
{
    sl_axis axes[2];
    int32_t begin[2];
    int32_t end[2];
    sl_mapping_axes(mapping, view->denominator, &axes[0], &axes[1]);
    for (int i = 0; i < 2; i++) {
        sl_filter_span(&axes[i], &begin[i], &end[i]);
    }
    *convolver = (sl_convolver){.kernels = convolve_kernels_for(simd),
                                .first = view->pixels,
                                .stride_bytes = view->stride_bytes,
                                .columns = (uint32_t)(end[0] - begin[0])};
    if (begin[0] < end[0] && begin[1] < end[1]) {
        const size_t x = (size_t)(begin[0] - (int32_t)view->origin_x);
        const size_t y = (size_t)(begin[1] - (int32_t)view->origin_y);
        assert(x + (size_t)(end[0] - begin[0]) <= view->width);
        assert(y + (size_t)(end[1] - begin[1]) <= view->height);
        convolver->first += y * view->stride_bytes + x * 3;
    }
    return weights_make(&convolver->across, &axes[0], begin[0], mapping->flip_x, scratch) &&
           weights_make(&convolver->down, &axes[1], begin[1], mapping->flip_y, scratch) &&
           convolver_take_rows(convolver, scratch) &&
           (convolver->kernels->prepare == NULL || convolver->kernels->prepare(convolver, scratch));
}

/* A row after the first pass. */
static const uint8_t *kept_row(const sl_convolver *c, int32_t row)
{
    const uint32_t slot = (uint32_t)row % c->down.taps;
    uint8_t *pixels = c->kept + c->row_bytes * slot;
    if (c->held[slot] != row) {
        c->kernels->across(c, c->first + (size_t)row * c->stride_bytes, pixels);
        c->held[slot] = row;
    }
    return pixels;
}

const uint8_t *sl_convolver_row(const sl_convolver *convolver, uint32_t row)
{
    const sl_weights *down = &convolver->down;
    const uint32_t count = down->counts[row];
    if (count == 0 || convolver->columns == 0) {
        memset(convolver->pixels, 0, convolver->row_bytes);
        return convolver->pixels;
    }
    for (uint32_t k = 0; k < count; k++) {
        convolver->rows[k] = kept_row(convolver, down->starts[row] + (int32_t)k);
    }
    convolver->kernels->down(convolver->rows, down->weights + (size_t)row * down->taps, count,
                             convolver->row_bytes, convolver->pixels);
    return convolver->pixels;
}
