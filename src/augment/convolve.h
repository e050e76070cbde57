/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convolve: resizing by filters with negative weights (bicubic, Lanczos), as Pillow does, bit for
 * bit.
 *
 * Purpose: resample.h for such filters. With them the result passes 0 and 255 beside edges, and
 * Pillow cuts it there after each pass: a pass that kept what is beyond would differ from Pillow by
 * far more than 1 next to black and white. So the passes are Pillow's, in its order, and exact:
 * - Weights are doubles divided by their sum, rounded to 22 bits of fraction.
 * - Rows first: int32 sums, rounded to integers and cut to 0..255. Then the same along columns.
 * The sums fit: weights of an output sum to 1, their absolute values to less than 2.
 * Kernels take a weight as 256 times a high part and a low one of 8 bits, both int16: the sum of
 * products is then the same.
 *
 * Rows of the first pass are made when the second wants them, and kept while it may want them
 * again: in order, forwards or backwards, each is made once.
 * Threads: pure; memory from the caller's scratch.
 */
#ifndef SL_CONVOLVE_H
#define SL_CONVOLVE_H

#include "mapping.h"
#include "scratch.h"
#include "simd.h"
#include "view.h"

enum { SL_CONVOLVE_BITS = 22 };

/* Of one axis: output i is the sum over k < counts[i] of weights[i * taps + k] * input[starts[i] +
 * k]; from counts[i] on they are 0. Outputs without a count are black. */
typedef struct sl_weights {
    uint32_t outputs, taps;
    int32_t *starts; /* from the first pixel that is needed */
    uint32_t *counts;
    int32_t *weights;
} sl_weights;

typedef struct sl_convolver sl_convolver;

/* Per instruction set; convolve_scalar.c is the reference, others give the same bits. */
typedef struct sl_convolve_kernels {
    /* What `across` wants besides. False: not enough scratch. May be NULL. */
    bool (*prepare)(sl_convolver *convolver, sl_scratch *scratch);
    /* A row of needed columns to one of outputs. */
    void (*across)(const sl_convolver *convolver, const uint8_t *in, uint8_t *out);
    /* `taps` rows of `bytes` to one, of which they are no part. */
    void (*down)(const uint8_t *const *rows, const int32_t *weights, uint32_t taps, size_t bytes,
                 uint8_t *out);
} sl_convolve_kernels;

struct sl_convolver {
    const sl_convolve_kernels *kernels;
    sl_weights across, down;
    const uint8_t *first; /* of the view: the first needed pixel of the first needed row */
    size_t stride_bytes;
    uint32_t columns; /* needed ones */
    uint8_t *kept;    /* down.taps rows after the first pass; `held`: which, below 0 for none */
    int32_t *held;
    size_t row_bytes;
    const uint8_t **rows;      /* of one output */
    uint8_t *pixels;           /* one finished row */
    int16_t *spread, *samples; /* what kernels prepare */
};

/* `view` covers its sl_mapping_need. False when the scratch is too small. */
bool sl_convolver_open(sl_convolver *convolver, sl_simd simd, const sl_image *view,
                       const sl_mapping *mapping, sl_scratch *scratch);
/* Row `row` of the output. Valid until the next call. */
const uint8_t *sl_convolver_row(const sl_convolver *convolver, uint32_t row);

extern const sl_convolve_kernels sl_convolve_scalar;
#if defined(__x86_64__)
extern const sl_convolve_kernels sl_convolve_avx2;
#endif

#endif
