/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_span: the pixels of an axis that its outputs use: the footprints of filters (filter.h) and
 * the nearest pixels (nearest.h).
 *
 * A program must know what to decode before there are pixels, so this uses none. Threads: pure.
 */
#ifndef SL_FILTER_SPAN_H
#define SL_FILTER_SPAN_H

#include "mapping.h"

/* Constants of all outputs of an axis. */
typedef struct sl_spacing {
    double scale, support, inverse_support, origin, limit;
} sl_spacing;

/* Position of an output on its axis, in pixels from limit_start. */
typedef struct sl_footprint {
    double center;
    int32_t begin, end; /* pixels touched; empty outside the virtual raster */
} sl_footprint;

/* Returns how far a filter reaches, in pixels of the larger raster. */
static inline double sl_filter_reach(sl_interpolation interpolation)
{
    static const double reaches[] = {
        [SL_NEAREST] = 0, [SL_BILINEAR] = 1, [SL_BICUBIC] = 2, [SL_LANCZOS] = 3};
    return reaches[interpolation];
}

/*
 * Positions count from limit_start, not from the image's edge, so that a crop gives the same
 * doubles that Pillow computes for an image of its own.
 */
static inline sl_spacing sl_spacing_of(const sl_axis *axis)
{
    const double scale = axis->box_size / axis->virtual_size;
    const double stretch = scale > 1.0 ? scale : 1.0;
    return (sl_spacing){.scale = scale,
                        .support = stretch * sl_filter_reach(sl_axis_interpolation(axis)),
                        .inverse_support = 1.0 / stretch,
                        .origin = axis->box_start - axis->limit_start,
                        .limit = axis->limit_end - axis->limit_start};
}

static inline sl_footprint sl_footprint_of(const sl_axis *axis, const sl_spacing *space,
                                           uint32_t output)
{
    int64_t position = (int64_t)axis->first + output;
    if (position < 0 || position >= axis->virtual_size) {
        return (sl_footprint){0};
    }
    double center = space->origin + ((double)position + 0.5) * space->scale;
    double begin = center - space->support + 0.5;
    double end = center + space->support + 0.5;
    return (sl_footprint){.center = center,
                          .begin = begin > 0.0 ? (int32_t)begin : 0,
                          .end = (int32_t)(end < space->limit ? end : space->limit)};
}

/* Pillow adds steps up. For longer rasters, whose window may be far from the beginning, positions
 * are products: the time must not depend on an image's claimed size. */
enum { SL_ADDED_UP_MAX = 1 << 16 };

/* State of calls for consecutive outputs: the next one of the raster, -1 outside it. */
typedef struct sl_nearest_progress {
    const sl_axis *axis;
    double scale, at; /* of the raster's output `next` */
    uint32_t next;
} sl_nearest_progress;

static inline sl_nearest_progress sl_nearest_progress_on(const sl_axis *axis)
{
    const double scale = axis->box_size / axis->virtual_size;
    return (sl_nearest_progress){
        .axis = axis, .scale = scale, .at = (axis->box_start - axis->limit_start) + scale * 0.5};
}

/* Returns the pixel that output `output` takes, as a column, or row, of the image. */
static inline int32_t sl_nearest_pixel(sl_nearest_progress *p, uint32_t output)
{
    const sl_axis *axis = p->axis;
    const int64_t position = (int64_t)axis->first + output;
    if (position < 0 || position >= axis->virtual_size) {
        return -1;
    }
    if (axis->virtual_size > SL_ADDED_UP_MAX) {
        p->at = (axis->box_start - axis->limit_start) + p->scale * ((double)position + 0.5);
    }
    for (; axis->virtual_size <= SL_ADDED_UP_MAX && p->next < position; p->next++) {
        p->at += p->scale;
    }
    const int32_t pixel = axis->limit_start + (int32_t)p->at;
    return pixel < axis->limit_end ? pixel : axis->limit_end - 1;
}

/* Finds the pixels [begin, end) that all outputs together touch; only for the nearest ones. */
void sl_filter_span(const sl_axis *axis, int32_t *begin, int32_t *end);
void sl_nearest_span(const sl_axis *axis, int32_t *begin, int32_t *end);

#endif
