/* SPDX-License-Identifier: Apache-2.0 */
#include "mapping.h"

#include "filter_span.h"

/*
 * Pixels of the scaled image per pixel of the raster, as Pillow's reducing_gap of 2. A triangle
 * filter passes sinc^2 of the frequency times its reach: at the scaled image's Nyquist frequency,
 * above which DCT scaling leaves nothing, 0.41 at a ratio of 1, 0.09 at 1.5, 0 at 2.
 */
enum { LEAST_RATIO = 2 };

/* Returns one side of the box, in an image scaled down by d. */
static sl_axis axis_of(uint32_t start, uint32_t size, uint32_t d)
{
    const uint32_t first = start / d;
    const uint32_t end = (start + size + d - 1) / d;
    return (sl_axis){.box_start = (double)start / d,
                     .box_size = (double)size / d,
                     .limit_start = (int32_t)first,
                     .limit_end = (int32_t)end,
                     .outside_start = (double)(start - first * d) / d,
                     .outside_end = (double)(end * d - (start + size)) / d};
}

void sl_mapping_axes(const sl_mapping *mapping, uint32_t denominator, sl_axis *horizontal,
                     sl_axis *vertical)
{
    const sl_rect *source = &mapping->source;
    *horizontal = axis_of(source->x, source->width, denominator);
    horizontal->virtual_size = mapping->virtual_width;
    horizontal->first = mapping->window_x;
    horizontal->outputs = mapping->width;
    horizontal->beyond_bilinear = mapping->beyond_bilinear;
    *vertical = axis_of(source->y, source->height, denominator);
    vertical->virtual_size = mapping->virtual_height;
    vertical->first = mapping->window_y;
    vertical->outputs = mapping->height;
    vertical->beyond_bilinear = mapping->beyond_bilinear;
}

sl_rect sl_mapping_need(const sl_mapping *mapping)
{
    const sl_rect *source = &mapping->source;
    int32_t begin[2];
    int32_t end[2];
    sl_axis axes[2];
    sl_mapping_axes(mapping, 1, &axes[0], &axes[1]);
    sl_filter_span(&axes[0], &begin[0], &end[0]);
    sl_filter_span(&axes[1], &begin[1], &end[1]);
    /* An all-black output needs no pixel: any one will do. */
    for (int i = 0; i < 2; i++) {
        if (begin[i] == end[i]) {
            begin[i] = (int32_t)(i == 0 ? source->x : source->y);
            end[i] = begin[i] + 1;
        }
    }
    return (sl_rect){(uint32_t)begin[0], (uint32_t)begin[1], (uint32_t)(end[0] - begin[0]),
                     (uint32_t)(end[1] - begin[1])};
}

/* Returns whether `source` divided by `times` has enough pixels for the raster. */
static bool mapping_is_large(uint32_t source, uint32_t raster, uint32_t times)
{
    return source >= (uint64_t)raster * LEAST_RATIO * times;
}

static bool may_divide(const sl_mapping *mapping, uint32_t times)
{
    return sl_mapping_interpolation(mapping) != SL_NEAREST &&
           mapping_is_large(mapping->source.width, mapping->virtual_width, times) &&
           mapping_is_large(mapping->source.height, mapping->virtual_height, times);
}

void sl_mapping_least(const sl_mapping *mapping, const sl_rect *need, uint32_t *width,
                      uint32_t *height)
{
    uint32_t times = 8;
    while (times > 1 && !may_divide(mapping, times)) {
        times /= 2;
    }
    *width = times > 1 ? need->width / times : 0;
    *height = times > 1 ? need->height / times : 0;
}
