/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include <assert.h>
#include <string.h>

/* Pillow adds places up. Of longer rasters, of which a window may be far from the beginning, they
 * are products: the time must not go by what is claimed of a picture. */
enum { ADDED_UP_MAX = 1 << 16 };

/* Calls are for outputs in order: the next one of the raster, -1 outside of it. */
typedef struct progress {
    const sl_axis *axis;
    double scale, at; /* of the raster's output `next` */
    uint32_t next;
} progress;

static progress progress_on(const sl_axis *axis)
{
    const double scale = axis->box_size / axis->virtual_size;
    return (progress){
        .axis = axis, .scale = scale, .at = (axis->box_start - axis->limit_start) + scale * 0.5};
}

/* The pixel that output `output` takes, as a column, or row, of the picture. */
static int32_t nearest_pixel(progress *p, uint32_t output)
{
    const sl_axis *axis = p->axis;
    const int64_t position = (int64_t)axis->first + output;
    if (position < 0 || position >= axis->virtual_size) {
        return -1;
    }
    if (axis->virtual_size > ADDED_UP_MAX) {
        p->at = (axis->box_start - axis->limit_start) + p->scale * ((double)position + 0.5);
    }
    for (; axis->virtual_size <= ADDED_UP_MAX && p->next < position; p->next++) {
        p->at += p->scale;
    }
    const int32_t pixel = axis->limit_start + (int32_t)p->at;
    return pixel < axis->limit_end ? pixel : axis->limit_end - 1;
}

void sl_nearest_span(const sl_axis *axis, int32_t *begin, int32_t *end)
{
    progress p = progress_on(axis);
    const int64_t first = axis->first < 0 ? -(int64_t)axis->first : 0;
    const int64_t within = (int64_t)axis->virtual_size - 1 - axis->first;
    const int64_t last = within < (int64_t)axis->outputs ? within : (int64_t)axis->outputs - 1;
    *begin = *end = axis->limit_start;
    if (first <= last) { /* places move one way */
        *begin = nearest_pixel(&p, (uint32_t)first);
        *end = nearest_pixel(&p, (uint32_t)last) + 1;
    }
}

/* Of all outputs of an axis, from `origin` on. */
static int32_t *list_pixels(const sl_axis *axis, uint32_t origin, bool flip, sl_scratch *scratch)
{
    int32_t *pixels = sl_scratch_take(scratch, axis->outputs * sizeof(*pixels));
    progress p = progress_on(axis);
    for (uint32_t i = 0; pixels != NULL && i < axis->outputs; i++) {
        const int32_t pixel = nearest_pixel(&p, i);
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
