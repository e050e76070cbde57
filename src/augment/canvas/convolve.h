/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convolve: resizing by filters with negative weights (bicubic, Lanczos), within 1 of Pillow.
 *
 * Purpose: resample.h for such filters. They overshoot 0 and 255 beside edges, and Pillow clips the
 * result after each pass: without that, pixels next to black and white would differ from Pillow's
 * by far more than 1. So the passes are in Pillow's order, rows first, and values between them are
 * clipped, too, but not rounded to integers.
 *
 * Arithmetic, the same on every machine and in every kernel:
 * - Weights are filter.h's int16.
 * - Rows: int32 sums of u8 x int16, rounded to f = min(7, 22 - bits of the weights down) bits of
 *   fraction, clipped to 0..255.
 * - Columns: int32 sums of int16 x int16, rounded to integers, clipped to 0..255. With a gain g
 *   (the largest sum of absolute weights) below 2 no sum passes 1.5 * 255 * 2^22.
 *
 * Why it is within 1 of Pillow: let e and d be the most that rounded weights cost across and down
 * (filter.h), and p what Pillow's of 22 bits cost. A sum of the first pass is within e of the exact
 * one, and within e + 2^-(f + 1) once rounded; Pillow's, an integer, within p + 0.5. Clipping
 * brings no two values farther apart, so values between the passes differ by at most 0.5 + p + e +
 * 2^-(f + 1). The second pass multiplies that by g, and adds d and p. Two reals less than 1 apart
 * are rounded to integers at most 1 apart, clipped or not; so it is enough that
 *     g (0.5 + p + e + 2^-(f + 1)) + d + p < 1.
 * sl_convolver_open computes this for the given sample, with e and d of one tap more than there
 * are, which covers the error of filter.c's series. g is at most 1.25 for bicubic and 1.56 for
 * Lanczos; up to a factor of 32 the sum is at most 0.77 and 0.96. If it is 1 or more, both passes
 * are in binary32 instead (convolve_real.c), whose weights and sums cost nothing that matters here:
 * g * 0.5 < 1.
 *
 * Rows of the first pass are made two at a time, when the second wants them, and kept while it may
 * want them again: in order, forwards or backwards, each is made once.
 * Threads: pure; memory from the caller's scratch.
 */
#ifndef SL_CONVOLVE_H
#define SL_CONVOLVE_H

#include "filter.h"
#include "mapping.h"
#include "resample_kernels.h"
#include "scratch.h"
#include "simd.h"
#include "view.h"

/* Two rows of the first pass, interleaved. */
typedef struct sl_row_pair {
    const int16_t *samples;
    int32_t weights; /* of the second pass: the upper row's in the lower half */
} sl_row_pair;

/* Per instruction set; convolve_scalar.c is the reference, others give the same bits. Kernels may
 * read and write SL_ROW_SLACK samples past the end of rows, except `upper` and `lower`. */
typedef struct sl_convolve_kernels {
    /* Like sl_resample_kernels. */
    bool (*prepare)(sl_horizontal *pass, sl_scratch *scratch);
    /* Filters two rows of needed columns to two rows of outputs, from 0 to `most`. 6 * pairs +
     * SL_CONVOLVE_BEHIND bytes must follow the input rows. */
    void (*across)(const sl_horizontal *pass, const uint8_t *upper, const uint8_t *lower,
                   int16_t most, int16_t *out);
    /* Sums over `count` pairs, rounded, >> shift, of `samples` samples. */
    void (*down)(const sl_row_pair *pairs, uint32_t count, uint32_t shift, size_t samples,
                 uint8_t *out);
} sl_convolve_kernels;

enum { SL_CONVOLVE_BEHIND = 32 };

typedef struct sl_convolver {
    const sl_convolve_kernels *kernels;
    sl_filter down; /* starts count from the first needed row */
    sl_horizontal across;
    uint32_t fraction, down_shift;
    const uint8_t *first; /* of the view: the first needed pixel of the first needed row */
    const uint8_t *end;   /* of the view's memory */
    size_t stride_bytes;
    uint32_t columns, rows; /* number of needed ones */
    uint8_t *copies[2];     /* of rows that end with the view's memory */
    int16_t *kept;          /* `slots` pairs of rows; `held`: their numbers, below 0 for none */
    int32_t *held;
    size_t pair_samples;
    uint32_t slots;
    sl_row_pair *pairs; /* of one output */
    uint8_t *pixels;    /* one finished row */
    bool flip_x, flip_y;
    /* Used instead if weights of int16 are not precise enough. */
    bool is_real;
    sl_filter real_across;
    float *real_kept, *real_sums;
} sl_convolver;

/* Opens a convolver. `view` covers its sl_mapping_need. NOMEM if the scratch is too small. */
sluice_status sl_convolver_open(sl_convolver *convolver, sl_simd simd, const sl_image *view,
                                const sl_mapping *mapping, sl_scratch *scratch);
/* Returns row `row` of the output. Valid until the next call. */
const uint8_t *sl_convolver_row(const sl_convolver *convolver, uint32_t row);

/* Opens the same in binary32; the rest of the convolver is open already. */
sluice_status sl_convolver_open_real(sl_convolver *convolver, const sl_axis axes[2],
                                     const int32_t begin[2], sl_scratch *scratch);
const uint8_t *sl_convolver_row_real(const sl_convolver *convolver, uint32_t row);

extern const sl_convolve_kernels sl_convolve_scalar;
#if defined(__x86_64__)
extern const sl_convolve_kernels sl_convolve_avx2;
#endif

#endif
