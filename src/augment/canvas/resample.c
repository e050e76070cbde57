/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares the two passes of a sample and runs them a row at a time: the vertical pass makes the
 * one row that the horizontal pass then reads, so the working set is small for any image.
 */
#include "resample.h"

#include "crop.h"
#include "error.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { FRACTION_BITS = 7, SUM_BITS = 23 };

static sluice_status resample_no_memory(sluice_error *error, const sl_mapping *mapping)
{
    (void)sl_error_set(error, SLUICE_NOMEM, "augment",
                       "no scratch memory to resample to %u x %u pixels", mapping->width,
                       mapping->height);
    return SLUICE_NOMEM;
}

/* Takes the buffers of a row, for `columns` pixels between the passes. */
static bool resample_take_rows(sl_resampler *resampler, uint32_t columns, sl_scratch *scratch)
{
    const sl_horizontal *across = &resampler->across;
    const size_t samples = (size_t)columns * 3;
    const size_t slack = (size_t)across->pairs * 6 + SL_ROW_SLACK;
    const size_t bytes = (size_t)across->padded * 3 + SL_ROW_SLACK;
    resampler->between = sl_scratch_take(scratch, (samples + slack) * sizeof(int16_t));
    resampler->pixels = sl_scratch_take(scratch, bytes);
    resampler->taps = sl_scratch_take(scratch, (resampler->down.taps + 1) * sizeof(int16_t));
    if (resampler->between == NULL || resampler->pixels == NULL || resampler->taps == NULL) {
        return false;
    }
    memset(resampler->between + samples, 0, slack * sizeof(int16_t));
    return true;
}

static bool open_other(sl_resampler *resampler, sl_simd simd, const sl_image *view,
                       const sl_mapping *mapping, sl_scratch *scratch)
{
    *resampler = (sl_resampler){.interpolation = sl_mapping_interpolation(mapping)};
    return resampler->interpolation == SL_NEAREST
               ? sl_nearest_open(&resampler->nearest, view, mapping, scratch)
               : sl_convolver_open(&resampler->convolver, simd, view, mapping, scratch) ==
                     SLUICE_OK;
}

sluice_status sl_resampler_open(sl_resampler *resampler, sl_simd simd, const sl_image *view,
                                const sl_mapping *mapping, sl_scratch *scratch, sluice_error *error)
{
    assert(view->channels == 3);
    sl_axis axes[2];
    sl_filter filters[2];
    int32_t begin = 0;
    int32_t end = 0;
    sl_mapping_axes(mapping, view->denominator, &axes[0], &axes[1]);
    if (sl_mapping_interpolation(mapping) != SL_BILINEAR) {
        return open_other(resampler, simd, view, mapping, scratch)
                   ? SLUICE_OK
                   : resample_no_memory(error, mapping);
    }
    for (int i = 0; i < 2; i++) {
        sluice_status status = sl_filter_make(&filters[i], &axes[i], scratch, error);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    *resampler = (sl_resampler){.kernels = sl_resample_kernels_for(simd),
                                .down = filters[1],
                                .stride_bytes = view->stride_bytes,
                                .flip_y = mapping->flip_y,
                                .interpolation = SL_BILINEAR};
    sl_filter_span(&axes[1], &begin, &end);
    assert(begin == end ||
           (begin >= (int32_t)view->origin_y && end <= (int32_t)(view->origin_y + view->height)));
    sl_filter_move(&resampler->down, (int32_t)view->origin_y);
    sl_filter_span(&axes[0], &begin, &end);
    assert(begin == end ||
           (begin >= (int32_t)view->origin_x && end <= (int32_t)(view->origin_x + view->width)));
    sl_filter_move(&filters[0], begin);
    /* If no column is needed, no pixel is read. */
    resampler->column =
        begin == end ? view->pixels : view->pixels + (size_t)(begin - (int32_t)view->origin_x) * 3;
    resampler->samples = (size_t)(end - begin) * 3;
    if (!sl_horizontal_make(&resampler->across, &filters[0], mapping->flip_x, scratch) ||
        !resample_take_rows(resampler, (uint32_t)(end - begin), scratch) ||
        (resampler->kernels->prepare != NULL &&
         !resampler->kernels->prepare(&resampler->across, scratch))) {
        return resample_no_memory(error, mapping);
    }
    const uint32_t capacity = SUM_BITS - filters[0].bits;
    const uint32_t fraction = capacity < FRACTION_BITS ? capacity : FRACTION_BITS;
    resampler->down_shift = resampler->down.bits - fraction;
    resampler->across.shift = filters[0].bits + fraction;
    return SLUICE_OK;
}

const uint8_t *sl_resampler_row(const sl_resampler *resampler, uint32_t row)
{
    if (resampler->interpolation != SL_BILINEAR) {
        return resampler->interpolation == SL_NEAREST
                   ? sl_nearest_row(&resampler->nearest, row)
                   : sl_convolver_row(&resampler->convolver, row);
    }
    const sl_filter *down = &resampler->down;
    row = resampler->flip_y ? down->outputs - 1 - row : row;
    const uint32_t taps = down->counts[row];
    if (taps == 0) {
        memset(resampler->pixels, 0, (size_t)resampler->across.outputs * 3);
        return resampler->pixels;
    }
    const ptrdiff_t start = (ptrdiff_t)down->starts[row] * (ptrdiff_t)resampler->stride_bytes;
    for (uint32_t k = 0; k < taps; k++) {
        resampler->taps[k] = down->weights[(size_t)k * down->outputs + row];
    }
    resampler->taps[taps] = 0;
    const sl_vertical pass = {.in = resampler->column + start,
                              .stride_bytes = resampler->stride_bytes,
                              .weights = resampler->taps,
                              .taps = taps,
                              .shift = resampler->down_shift,
                              .samples = resampler->samples};
    resampler->kernels->vertical(&pass, resampler->between);
    resampler->kernels->horizontal(&resampler->across, resampler->between, resampler->pixels);
    return resampler->pixels;
}

sluice_status sl_resample(sl_simd simd, const sl_image *view, const sl_mapping *mapping,
                          uint8_t *out, sl_scratch *scratch, sluice_error *error)
{
    const size_t mark = sl_scratch_mark(scratch);
    const size_t bytes = (size_t)mapping->width * 3;
    sl_crop crop;
    if (sl_crop_open(&crop, simd, view, mapping)) {
        for (uint32_t row = 0; row < mapping->height; row++) {
            sl_crop_row(&crop, row, out + row * bytes);
        }
        return SLUICE_OK;
    }
    sl_resampler resampler;
    const sluice_status status = sl_resampler_open(&resampler, simd, view, mapping, scratch, error);
    for (uint32_t row = 0; status == SLUICE_OK && row < mapping->height; row++) {
        memcpy(out + row * bytes, sl_resampler_row(&resampler, row), bytes);
    }
    sl_scratch_release(scratch, mark);
    return status;
}
