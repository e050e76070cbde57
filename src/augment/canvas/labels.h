/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels: moves values stored per pixel of an image (masks, depth) by the image's program.
 *
 * Purpose: two ways.
 *   nearest   a program drawn with a label_fill (recipe.h) runs on the pixels' bytes,
 *             three at a time, by the kernels that pictures have: each pixel is a stored one, or
 *             the fill. The same as a picture drawn with nearest interpolation everywhere, which
 *             is Pillow's; with an exact program, each step's for itself.
 *   bilinear  of floats, one look-up through the trail of the picture's own program: between the
 *             four values about the place, at edges those on the edge. Not antialiased.
 * Threads: pure; memory from the caller's scratch.
 */
#ifndef SL_LABELS_H
#define SL_LABELS_H

#include "program.h"
#include "scratch.h"

typedef struct sl_labels {
    const uint8_t *rows; /* of the picture, from `first_row` on, without gaps */
    /* first of the rows, which cover params->need (nearest), or are all (bilinear) */
    uint32_t first_row;
    uint32_t pixel_bytes; /* of one pixel: all its values */
    const uint8_t *fill;  /* pixel_bytes of the value outside images on a canvas */
} sl_labels;

/* Makes labels by nearest pixels. The program's fills are changed. `fill`: pixel_bytes; `out`: a
 * pixel_bytes for each pixel of the output. NOMEM: 3 bytes for each needed pixel, and each of the
 * output. */
sluice_status sl_labels_nearest(const sl_labels *labels, sl_params *params, const uint8_t *fill,
                                uint8_t *out, sl_scratch *scratch, sluice_error *error);
/*
 * Rows of several images (program.h), as for images (apply.h): a canvas holds the labels of all of
 * them, sl_labels_passes x sl_canvas_bytes. The program's fills are changed.
 */
uint32_t sl_labels_passes(uint32_t pixel_bytes);
void sl_labels_canvas_begin(const sl_labels *labels, const sl_params *params, uint8_t *canvas);
sluice_status sl_labels_canvas_tile(const sl_labels *labels, sl_params *params, uint8_t *canvas,
                                    sl_scratch *scratch, sluice_error *error);
/* Ends the canvas by the program of any of them; `canvas` is overwritten. */
sluice_status sl_labels_canvas_end(const sl_labels *labels, sl_params *params, uint8_t *canvas,
                                   uint8_t *out, sl_scratch *scratch, sluice_error *error);
/* Makes labels by bilinear interpolation. Pixels are `channels` floats. */
void sl_labels_bilinear(const sl_labels *labels, const sl_params *params, uint32_t channels,
                        float fill, float *out);

#endif
