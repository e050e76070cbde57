/* SPDX-License-Identifier: Apache-2.0 */
#include "filter_span.h"

void sl_nearest_span(const sl_axis *axis, int32_t *begin, int32_t *end)
{
    sl_nearest_progress p = sl_nearest_progress_on(axis);
    const int64_t first = axis->first < 0 ? -(int64_t)axis->first : 0;
    const int64_t within = (int64_t)axis->virtual_size - 1 - axis->first;
    const int64_t last = within < (int64_t)axis->outputs ? within : (int64_t)axis->outputs - 1;
    *begin = *end = axis->limit_start;
    if (first <= last) { /* positions are monotonic */
        *begin = sl_nearest_pixel(&p, (uint32_t)first);
        *end = sl_nearest_pixel(&p, (uint32_t)last) + 1;
    }
}

void sl_filter_span(const sl_axis *axis, int32_t *begin, int32_t *end)
{
    *begin = axis->limit_start;
    *end = axis->limit_start;
    if (sl_axis_interpolation(axis) == SL_NEAREST) {
        sl_nearest_span(axis, begin, end);
        return;
    }
    /* Only outputs inside the raster touch pixels, and footprints are monotonic. */
    int64_t first = axis->first < 0 ? -(int64_t)axis->first : 0;
    int64_t last = (int64_t)axis->virtual_size - 1 - axis->first;
    if (last >= (int64_t)axis->outputs) {
        last = (int64_t)axis->outputs - 1;
    }
    if (first <= last) {
        const sl_spacing space = sl_spacing_of(axis);
        *begin = axis->limit_start + sl_footprint_of(axis, &space, (uint32_t)first).begin;
        *end = axis->limit_start + sl_footprint_of(axis, &space, (uint32_t)last).end;
    }
}
