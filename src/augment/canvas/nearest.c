/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include "filter_span.h"

#include <assert.h>
#include <string.h>

/* Lists the pixels of all outputs of an axis, from `origin` on. */
static int32_t *list_pixels(const sl_axis *axis, uint32_t origin, bool flip, sl_scratch *scratch)
{
    int32_t *pixels = sl_scratch_take(scratch, axis->outputs * sizeof(*pixels));
    sl_nearest_progress p = sl_nearest_progress_on(axis);
    for (uint32_t i = 0; pixels != NULL && i < axis->outputs; i++) {
        const int32_t pixel = sl_nearest_pixel(&p, i);
        pixels[flip ? axis->outputs - 1 - i : i] = pixel < 0 ? -1 : pixel - (int32_t)origin;
    }
    return pixels;
}

bool sl_nearest_open(sl_nearest *nearest, const sl_image *view, const sl_mapping *mapping,
                     sl_scratch *scratch)
{
    sl_axis across;
    sl_axis down;
    sl_mapping_axes(mapping, view->denominator, &across, &down);
    *nearest = (sl_nearest){.view = view, .width = mapping->width};
    nearest->columns = list_pixels(&across, view->origin_x, mapping->flip_x, scratch);
    nearest->rows = list_pixels(&down, view->origin_y, mapping->flip_y, scratch);
    nearest->pixels = sl_scratch_take(scratch, (size_t)mapping->width * 3);
    return nearest->columns != NULL && nearest->rows != NULL && nearest->pixels != NULL;
}

const uint8_t *sl_nearest_row(const sl_nearest *nearest, uint32_t row)
{
    const int32_t y = nearest->rows[row];
    if (y < 0) {
        memset(nearest->pixels, 0, (size_t)nearest->width * 3);
        return nearest->pixels;
    }
    const uint8_t *from = nearest->view->pixels + (size_t)y * nearest->view->stride_bytes;
    const int32_t *columns = nearest->columns;
    uint8_t *out = nearest->pixels;
    static const uint8_t black[3];
    for (uint32_t i = 0; i < nearest->width; i++) {
        memcpy(out, columns[i] < 0 ? black : from + (size_t)columns[i] * 3, 3);
        out += 3;
    }
    return nearest->pixels;
}
