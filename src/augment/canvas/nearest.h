/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest: resizing by taking the nearest pixel, as Pillow does.
 *
 * Purpose: resample.h for SL_NEAREST. Coordinates are Pillow's: the first output's middle in the
 * source, and running sums of the scale, in doubles; cut to integers.
 * Threads: pure; memory from the caller's scratch.
 */
#ifndef SL_NEAREST_H
#define SL_NEAREST_H

#include "mapping.h"
#include "scratch.h"
#include "view.h"

typedef struct sl_nearest {
    const sl_image *view;
    uint32_t width;
    int32_t *columns, *rows; /* in the view, for each output, flipped; below 0: black */
    uint8_t *pixels;         /* one finished row */
} sl_nearest;

/* Opens it. `view` covers its sl_mapping_need and outlives this. False if the scratch is too
 * small. */
bool sl_nearest_open(sl_nearest *nearest, const sl_image *view, const sl_mapping *mapping,
                     sl_scratch *scratch);
/* Returns row `row` of the output. Valid until the next call. */
const uint8_t *sl_nearest_row(const sl_nearest *nearest, uint32_t row);

#endif
