/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping: the pixels of an image that an output shows; input of the decoder and the resampler.
 *
 * Purpose: a box, kept in whole numbers so that nothing is rounded: `source` is resampled to a
 * virtual raster of virtual_width x virtual_height; the output shows the raster's window at
 * (window_x, window_y), flipped. Coordinates are continuous: pixel (i, j) covers [i, i + 1) x [j, j
 * + 1), its centre is (i + 0.5, j + 0.5). Window coordinates are signed: with padding the window
 * reaches outside the raster, and shows black there. Rotations and shears are warps of a box's
 * output (program.h).
 *
 * Threads: pure.
 */
#ifndef SL_MAPPING_H
#define SL_MAPPING_H

#include "interpolation.h"
#include "view.h"

#include <stdbool.h>

typedef struct sl_mapping {
    sl_rect source;         /* the part of the image that may be read: filters stop at its edges */
    uint32_t width, height; /* of the output */
    uint32_t virtual_width, virtual_height;
    int32_t window_x, window_y;
    bool flip_x, flip_y; /* left to right, top to bottom */
    /* An sl_interpolation less SL_BILINEAR, the default of a zeroed mapping. */
    int8_t beyond_bilinear;
} sl_mapping;

/*
 * One axis of a box: [box_start, box_start + box_size) (reals) over pixels [limit_start, limit_end)
 * is resampled to `virtual_size` outputs; only [first, first + outputs) are computed.
 */
typedef struct sl_axis {
    double box_start, box_size;
    int32_t limit_start, limit_end;
    double outside_start, outside_end; /* of the first and the last pixel: not the box's, [0, 1) */
    uint32_t virtual_size;
    int32_t first;
    uint32_t outputs;
    int8_t beyond_bilinear;
} sl_axis;

/* Returns the interpolation of a box. */
static inline sl_interpolation sl_mapping_interpolation(const sl_mapping *mapping)
{
    return (sl_interpolation)(mapping->beyond_bilinear + (int)SL_BILINEAR);
}

static inline void sl_mapping_interpolate(sl_mapping *mapping, sl_interpolation interpolation)
{
    mapping->beyond_bilinear = (int8_t)((int)interpolation - (int)SL_BILINEAR);
}

static inline bool sl_mapping_is_unresized(const sl_mapping *mapping)
{
    return mapping->virtual_width == mapping->source.width &&
           mapping->virtual_height == mapping->source.height;
}

static inline sl_interpolation sl_axis_interpolation(const sl_axis *axis)
{
    return (sl_interpolation)(axis->beyond_bilinear + (int)SL_BILINEAR);
}

/* Returns the two axes of a box, in an image scaled down by `denominator`, without flips. */
void sl_mapping_axes(const sl_mapping *mapping, uint32_t denominator, sl_axis *horizontal,
                     sl_axis *vertical);

/* Returns the part of `source` that the output shows, filter support included: the part to decode.
 * At least one pixel, since decoders need a rectangle. */
sl_rect sl_mapping_need(const sl_mapping *mapping);

/*
 * Returns how small `need` may be decoded: the image has at least 2 d pixels for each of the
 * virtual raster in every direction, d being 2, 4 or 8, exactly if `need` is at least d times
 * larger than this. 0 x 0 if there is no such d, and for the nearest pixel, which smaller images
 * lack.
 */
void sl_mapping_least(const sl_mapping *mapping, const sl_rect *need, uint32_t *width,
                      uint32_t *height);

#endif
