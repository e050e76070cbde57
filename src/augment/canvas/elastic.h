/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elastic: moves each pixel by a smooth random field (torchvision's ElasticTransform).
 *
 * Purpose: the field of an axis is uniform noise of -1 to 1, blurred by a gaussian kernel of
 * int(8 sigma + 1) taps, one more if that is even, and scaled. An output pixel at (x, y) is the
 * input at (x + dx, y + dy), by nearest or bilinear interpolation. The scale is torchvision's: its
 * grid runs from -1 to 1, and it divides alpha_x by the height and alpha_y by the width, so that
 * dx = noise * alpha_x / height * width / 2 pixels, and dy = noise * alpha_y / width * height / 2.
 * The blur mirrors the noise at the canvas's edges, again and again where the kernel is wider than
 * the canvas, which torchvision refuses.
 * Outside: a pixel that interpolation finds outside has no weight. With m the weight of those
 * inside and v their weighted sum, bilinear gives (v - fill) * m + fill, as torchvision does;
 * nearest gives the pixel or the fill.
 *
 * Arithmetic: binary32, one loop for every machine, in this order. Noise at (x, y) of an axis is
 * word x % 4 of the Philox block of (key, x / 4 and y, axis), 24 bits. Sums begin in the middle and
 * go outwards, a pair of taps at a time, across and then down.
 * Threads: pure. Memory: from the caller's scratch, which is left as it was: a row of noise and one
 * for each tap, of both axes.
 */
#ifndef SL_ELASTIC_H
#define SL_ELASTIC_H

#include "scratch.h"
#include "view.h"

#include <stdbool.h>

/* Limits of an elastic transform. */
#define SL_ELASTIC_SIGMA_MAX 100.0
#define SL_ELASTIC_ALPHA_MAX 100000.0

typedef struct sl_elastic {
    double alpha[2]; /* across, down: 0 to SL_ELASTIC_ALPHA_MAX */
    double sigma[2]; /* in pixels; both 0: no blur; else both above 0, to SL_ELASTIC_SIGMA_MAX */
    uint64_t key;    /* of the noise */
    bool nearest;    /* false: bilinear */
    uint8_t fill[3];
} sl_elastic;

/* The field of one axis, made row by row. */
typedef struct sl_elastic_axis {
    uint64_t key;
    uint32_t axis, width, height, reach; /* reach: taps on each side */
    float scale;
    float *across, *down; /* reach + 1 weights, from the middle one on */
    float *noise;         /* a row, with its mirrored ends */
    float *rows;          /* blurred across: 2 * reach + 1 rows */
    int64_t *held;        /* number of each kept row; -1: none */
} sl_elastic_axis;

/* Opens the field of axis 0 (dx) or 1 (dy) of a canvas. False: no scratch memory. */
bool sl_elastic_axis_open(sl_elastic_axis *field, const sl_elastic *elastic, uint32_t axis,
                          uint32_t width, uint32_t height, sl_scratch *scratch);
/* Writes row `y` of the field, `width` displacements in pixels. Rows in order are made once. */
void sl_elastic_axis_row(sl_elastic_axis *field, uint32_t y, float *out);

/* Moves the pixels of canvas `in` to as large a canvas at `out`, which does not overlap it.
 * NOMEM. */
sluice_status sl_elastic_apply(const sl_image *in, const sl_elastic *elastic, uint8_t *out,
                               sl_scratch *scratch, sluice_error *error);

#endif
