/* SPDX-License-Identifier: Apache-2.0 */
#include "convolve.h"

#include <assert.h>
#include <string.h>

enum { BETWEEN_BITS = 7, SECOND_BITS = 22, PILLOW_BITS = 22 };

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

/* Returns the largest error of rounded weights. */
static double rounding_error(uint32_t taps, uint32_t bits)
{
    return taps * (255 / 2.0) / (double)(1U << bits);
}

/* Returns whether the bound of convolve.h is certain to hold. */
static bool is_close(const sl_filter *across, const sl_filter *down, uint32_t fraction)
{
    const double pillow = rounding_error(across->taps, PILLOW_BITS);
    const double first =
        0.5 + pillow + rounding_error(across->taps, across->bits) + 0.5 / (double)(1U << fraction);
    return down->gain < 2 && across->gain < 2 &&
           down->gain * first + rounding_error(down->taps, down->bits) +
                   rounding_error(down->taps, PILLOW_BITS) <
               1;
}

static bool convolver_take_rows(sl_convolver *c, sl_scratch *scratch)
{
    const size_t copy = (size_t)c->columns * 3 + (size_t)c->across.pairs * 6 + SL_CONVOLVE_BEHIND;
    c->slots = c->down.taps / 2 + 1;
    c->pair_samples = (size_t)c->across.padded * 6 + SL_ROW_SLACK;
    c->kept = sl_scratch_take(scratch, c->pair_samples * c->slots * sizeof(*c->kept));
    c->held = sl_scratch_take(scratch, c->slots * sizeof(*c->held));
    c->pairs = sl_scratch_take(scratch, c->slots * sizeof(*c->pairs));
    c->pixels = sl_scratch_take(scratch, (size_t)c->across.padded * 3 + SL_ROW_SLACK);
    if (c->kept == NULL || c->held == NULL || c->pairs == NULL || c->pixels == NULL) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        c->copies[i] = sl_scratch_take(scratch, copy);
        if (c->copies[i] == NULL) {
            return false;
        }
        memset(c->copies[i], 0, copy);
    }
    for (uint32_t i = 0; i < c->slots; i++) {
        c->held[i] = -1;
    }
    return true;
}

static void find_view(sl_convolver *c, const sl_image *view, const int32_t begin[2],
                      const int32_t end[2])
{
    c->first = view->pixels;
    c->end =
        view->pixels + (size_t)(view->height - 1) * view->stride_bytes + (size_t)view->width * 3;
    c->stride_bytes = view->stride_bytes;
    c->columns = (uint32_t)(end[0] - begin[0]);
    c->rows = (uint32_t)(end[1] - begin[1]);
    if (c->columns > 0 && c->rows > 0) {
        const size_t x = (size_t)(begin[0] - (int32_t)view->origin_x);
        const size_t y = (size_t)(begin[1] - (int32_t)view->origin_y);
        assert(x + c->columns <= view->width);
        assert(y + c->rows <= view->height);
        c->first += y * view->stride_bytes + x * 3;
    }
}

static bool open_passes(sl_convolver *c, const sl_filter *across, sl_scratch *scratch)
{
    if (!sl_horizontal_make(&c->across, across, c->flip_x, scratch) ||
        !convolver_take_rows(c, scratch)) {
        return false;
    }
    c->across.shift = across->bits - c->fraction;
    c->down_shift = c->down.bits + c->fraction;
    return c->kernels->prepare == NULL || c->kernels->prepare(&c->across, scratch);
}

sluice_status sl_convolver_open(sl_convolver *convolver, sl_simd simd, const sl_image *view,
                                const sl_mapping *mapping, sl_scratch *scratch)
{
    sl_axis axes[2];
    sl_filter across;
    int32_t begin[2];
    int32_t end[2];
    *convolver = (sl_convolver){.kernels = convolve_kernels_for(simd),
                                .flip_x = mapping->flip_x,
                                .flip_y = mapping->flip_y};
    sl_mapping_axes(mapping, view->denominator, &axes[0], &axes[1]);
    for (int i = 0; i < 2; i++) {
        sl_filter_span(&axes[i], &begin[i], &end[i]);
    }
    find_view(convolver, view, begin, end);
    const size_t mark = sl_scratch_mark(scratch);
    if (sl_filter_make(&across, &axes[0], scratch, NULL) != SLUICE_OK ||
        sl_filter_make(&convolver->down, &axes[1], scratch, NULL) != SLUICE_OK) {
        return SLUICE_NOMEM;
    }
    const uint32_t room = SECOND_BITS - convolver->down.bits;
    convolver->fraction = room < BETWEEN_BITS ? room : BETWEEN_BITS;
    if (!is_close(&across, &convolver->down, convolver->fraction)) {
        sl_scratch_release(scratch, mark);
        return sl_convolver_open_real(convolver, axes, begin, scratch);
    }
    sl_filter_move(&across, begin[0]);
    sl_filter_move(&convolver->down, begin[1]);
    return open_passes(convolver, &across, scratch) ? SLUICE_OK : SLUICE_NOMEM;
}

/* Returns a row with enough readable bytes behind it. */
static const uint8_t *padded_row(const sl_convolver *c, uint32_t row, uint8_t *copy)
{
    const uint8_t *in = c->first + (size_t)(row < c->rows ? row : c->rows - 1) * c->stride_bytes;
    const size_t bytes = (size_t)c->columns * 3;
    const size_t behind = (size_t)c->across.pairs * 6 + SL_CONVOLVE_BEHIND;
    if ((size_t)(c->end - in) >= bytes + behind) {
        return in;
    }
    memcpy(copy, in, bytes);
    return copy;
}

/* Returns rows 2 pair and 2 pair + 1 after the first pass. */
static const int16_t *kept_pair(const sl_convolver *c, uint32_t pair)
{
    const uint32_t slot = pair % c->slots;
    int16_t *samples = c->kept + c->pair_samples * slot;
    if (c->held[slot] != (int32_t)pair) {
        const uint8_t *upper = padded_row(c, pair * 2, c->copies[0]);
        const uint8_t *lower = padded_row(c, pair * 2 + 1, c->copies[1]);
        c->kernels->across(&c->across, upper, lower, (int16_t)(255 << c->fraction), samples);
        c->held[slot] = (int32_t)pair;
    }
    return samples;
}

/* Collects the pairs of rows for output `row`. Returns their number. */
static uint32_t collect_pairs(const sl_convolver *c, uint32_t row)
{
    const sl_filter *down = &c->down;
    const uint32_t start = (uint32_t)down->starts[row];
    const uint32_t skipped = start % 2;
    const uint32_t end = skipped + down->counts[row];
    const int16_t *weights = down->weights + row;
    for (uint32_t k = 0; k < end; k += 2) {
        // NOLINTBEGIN(bugprone-narrowing-conversions): both are of 16 bits
        const int16_t upper =
            k >= skipped ? (int16_t)weights[(size_t)(k - skipped) * down->outputs] : 0;
        const int16_t lower =
            k + 1 < end ? (int16_t)weights[(size_t)(k + 1 - skipped) * down->outputs] : 0;
        // NOLINTEND(bugprone-narrowing-conversions)
        c->pairs[k / 2] = (sl_row_pair){
            .samples = kept_pair(c, (start + k) / 2),
            .weights = (int32_t)((uint32_t)(uint16_t)upper | (uint32_t)(uint16_t)lower << 16)};
    }
    return (end + 1) / 2;
}

const uint8_t *sl_convolver_row(const sl_convolver *convolver, uint32_t row)
{
    if (convolver->is_real) {
        return sl_convolver_row_real(convolver, row);
    }
    const sl_filter *down = &convolver->down;
    const size_t samples = (size_t)convolver->across.outputs * 3;
    row = convolver->flip_y ? down->outputs - 1 - row : row;
    if (down->counts[row] == 0 || convolver->columns == 0) {
        memset(convolver->pixels, 0, samples);
        return convolver->pixels;
    }
    const uint32_t count = collect_pairs(convolver, row);
    convolver->kernels->down(convolver->pairs, count, convolver->down_shift, samples,
                             convolver->pixels);
    return convolver->pixels;
}
