/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crop: a window of an image in its own size. Pixels are not weighed: each is copied, or black.
 *
 * Purpose: equals augment/canvas/resample.h if the virtual raster is the source itself, without its
 * filters. Threads: pure.
 */
#ifndef SL_CROP_H
#define SL_CROP_H

#include "mapping.h"
#include "simd.h"
#include "view.h"

#include <stdbool.h>

typedef struct sl_crop {
    const uint8_t *pixels;  /* of the view: the first of row `top` that is shown */
    ptrdiff_t stride_bytes; /* to the next row of the output: below 0 if it is flipped */
    uint32_t width;
    /* Rows [top, bottom) and columns [left, right) of the output show pixels, the rest is black. */
    uint32_t top, bottom, left, right;
    void (*copy)(const uint8_t *in, uint8_t *out, size_t pixels);
} sl_crop;

/* Opens a crop. `mapping` is a box; `view` covers its sl_mapping_need. False if the sample must be
 * resampled. */
bool sl_crop_open(sl_crop *crop, sl_simd simd, const sl_image *view, const sl_mapping *mapping);
/* Writes row `row` of the output, 3 * width bytes, flipped as in the mapping. */
void sl_crop_row(const sl_crop *crop, uint32_t row, uint8_t *out);

#endif
