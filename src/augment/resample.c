/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scalar resampler: for each output row, the input rows that it needs and that were not yet
 * made go through the horizontal pass into a ring of rows, and the vertical pass sums the ring. So
 * the working set is a few output rows, whatever the size of the picture.
 */
#include "resample.h"

#include "error.h"

#include <assert.h>
#include <string.h>

enum { HALF = 1 << (SL_FILTER_BITS - 1), BLOCK = 256 };

/* Weights are rounded one by one: many of them may sum to a little more than 1. */
static inline uint8_t to_pixel(int32_t sum)
{
    int32_t value = sum >> SL_FILTER_BITS;
    return (uint8_t)(value > 255 ? 255 : value);
}

/* Inlined with a constant `taps`, the inner loop unrolls. */
static inline void horizontal(const sl_filter *filter, uint32_t taps, const uint8_t *in,
                              uint8_t *out, ptrdiff_t step)
{
    const int32_t *weights = filter->weights;
    for (uint32_t i = 0; i < filter->outputs; i++) {
        const uint8_t *pixel = in + (ptrdiff_t)filter->starts[i] * 3;
        int32_t red = HALF;
        int32_t green = HALF;
        int32_t blue = HALF;
        for (uint32_t k = 0; k < taps; k++) {
            int32_t weight = weights[k];
            red += pixel[0] * weight;
            green += pixel[1] * weight;
            blue += pixel[2] * weight;
            pixel += 3;
        }
        out[0] = to_pixel(red);
        out[1] = to_pixel(green);
        out[2] = to_pixel(blue);
        out += step;
        weights += taps;
    }
}

static void horizontal_row(const sl_filter *filter, const uint8_t *in, uint8_t *out, bool flip)
{
    ptrdiff_t step = flip ? -3 : 3;
    uint8_t *first = flip ? out + (size_t)(filter->outputs - 1) * 3 : out;
    switch (filter->taps) {
    case 1:
        horizontal(filter, 1, in, first, step);
        break;
    case 2:
        horizontal(filter, 2, in, first, step);
        break;
    case 3:
        horizontal(filter, 3, in, first, step);
        break;
    case 4:
        horizontal(filter, 4, in, first, step);
        break;
    case 5:
        horizontal(filter, 5, in, first, step);
        break;
    case 6:
        horizontal(filter, 6, in, first, step);
        break;
    default:
        horizontal(filter, filter->taps, in, first, step);
        break;
    }
}

/* Inlined with a constant `taps`, this vectorises over x. */
static inline void vertical(const uint8_t *const *rows, const int32_t *weights, uint32_t taps,
                            uint8_t *restrict out, size_t bytes)
{
    for (size_t x = 0; x < bytes; x++) {
        int32_t sum = HALF;
        for (uint32_t k = 0; k < taps; k++) {
            sum += rows[k][x] * weights[k];
        }
        out[x] = to_pixel(sum);
    }
}

static void vertical_many(const uint8_t *const *rows, const int32_t *weights, uint32_t taps,
                          uint8_t *restrict out, size_t bytes)
{
    int32_t sums[BLOCK];
    for (size_t start = 0; start < bytes; start += BLOCK) {
        size_t count = bytes - start < BLOCK ? bytes - start : BLOCK;
        for (size_t x = 0; x < count; x++) {
            sums[x] = HALF;
        }
        for (uint32_t k = 0; k < taps; k++) {
            const uint8_t *row = rows[k] + start;
            for (size_t x = 0; x < count; x++) {
                sums[x] += row[x] * weights[k];
            }
        }
        for (size_t x = 0; x < count; x++) {
            out[start + x] = to_pixel(sums[x]);
        }
    }
}

static void vertical_row(const uint8_t *const *rows, const int32_t *weights, uint32_t taps,
                         uint8_t *out, size_t bytes)
{
    switch (taps) {
    case 0:
        memset(out, 0, bytes);
        break;
    case 1:
        vertical(rows, weights, 1, out, bytes);
        break;
    case 2:
        vertical(rows, weights, 2, out, bytes);
        break;
    case 3:
        vertical(rows, weights, 3, out, bytes);
        break;
    case 4:
        vertical(rows, weights, 4, out, bytes);
        break;
    default:
        vertical_many(rows, weights, taps, out, bytes);
        break;
    }
}

/* From places in the picture to places in the view, which has `size` pixels on this axis. */
static void move_origin(sl_filter *filter, uint32_t origin, uint32_t size)
{
    (void)size; /* looked at by the assertion only */
    for (uint32_t i = 0; i < filter->outputs; i++) {
        filter->starts[i] -= (int32_t)origin;
        assert(filter->counts[i] == 0 ||
               (filter->starts[i] >= 0 && (uint32_t)filter->starts[i] + filter->counts[i] <= size));
    }
}

/* Rows [made - size, made) of the view, resampled horizontally. */
typedef struct row_ring {
    uint8_t *rows;
    const uint8_t **window; /* room for the rows that one output row sums */
    size_t stride;
    int32_t size, made;
} row_ring;

static int ring_open(row_ring *ring, const sl_filter *vertical, size_t row_bytes,
                     sl_scratch *scratch)
{
    ring->size = (int32_t)vertical->taps;
    ring->stride = row_bytes;
    ring->made = 0;
    ring->rows = sl_scratch_take(scratch, (size_t)vertical->taps * row_bytes);
    ring->window = sl_scratch_take(scratch, vertical->taps * sizeof(*ring->window));
    return ring->rows != NULL && ring->window != NULL ? 0 : -1;
}

static uint8_t *ring_row(const row_ring *ring, int32_t row)
{
    return ring->rows + (size_t)(row % ring->size) * ring->stride;
}

/* Both passes, with both filters made. */
static void run(const sl_image *view, const sl_filter filters[2], row_ring *ring, bool flip,
                uint8_t *out, size_t out_stride)
{
    const sl_filter *across = &filters[0];
    const sl_filter *down = &filters[1];
    size_t row_bytes = (size_t)across->outputs * 3;
    for (uint32_t y = 0; y < down->outputs; y++) {
        int32_t start = down->starts[y];
        int32_t count = (int32_t)down->counts[y];
        for (int32_t k = 0; k < count; k++) {
            int32_t row = start + k;
            if (row >= ring->made) {
                const uint8_t *in = view->pixels + (size_t)row * view->stride_bytes;
                horizontal_row(across, in, ring_row(ring, row), flip);
                ring->made = row + 1;
            }
            ring->window[k] = ring_row(ring, row);
        }
        vertical_row(ring->window, down->weights + (size_t)y * down->taps, (uint32_t)count,
                     out + y * out_stride, row_bytes);
    }
}

static sluice_status resample(const sl_image *view, const sl_params *params, uint8_t *out,
                              size_t out_stride, sl_scratch *scratch, sluice_error *error)
{
    sl_axis axes[2];
    sl_filter filters[2];
    sl_params_axes(params, view->denominator, &axes[0], &axes[1]);
    const uint32_t origins[2] = {view->origin_x, view->origin_y};
    const uint32_t sizes[2] = {view->width, view->height};
    for (int i = 0; i < 2; i++) {
        sluice_status status = sl_filter_make(&filters[i], &axes[i], scratch, error);
        if (status != SLUICE_OK) {
            return status;
        }
        move_origin(&filters[i], origins[i], sizes[i]);
    }
    row_ring ring = {0};
    if (ring_open(&ring, &filters[1], (size_t)params->width * 3, scratch) != 0) {
        return sl_error_set(error, SLUICE_NOMEM, "augment",
                            "no scratch memory for %u rows of %u pixels", filters[1].taps,
                            params->width);
    }
    run(view, filters, &ring, params->flip, out, out_stride);
    return SLUICE_OK;
}

sluice_status sl_resample(const sl_image *view, const sl_params *params, uint8_t *out,
                          size_t out_stride, sl_scratch *scratch, sluice_error *error)
{
    assert(view->channels == 3);
    size_t mark = sl_scratch_mark(scratch);
    sluice_status status = resample(view, params, out, out_stride, scratch, error);
    sl_scratch_release(scratch, mark);
    return status;
}
