/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stencil_kernels: the inner loops of blur.h and sharpness.h, per instruction set.
 *
 * Purpose: the work of those two on one row, or on a strip of lines. stencil_scalar.c is the
 * reference; every variant gives the same bits. Nothing outside the named arrays is read or
 * written. Threads: pure; the tables are constant.
 */
#ifndef SL_STENCIL_KERNELS_H
#define SL_STENCIL_KERNELS_H

#include "simd.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A symmetric kernel of 2 * reach + 1 taps: weights[j] for both at distance j, then zeros, two at
 * least. weights[0] plus twice the others is 2^bits.
 */
typedef struct sl_stencil_taps {
    const int16_t *weights;
    uint32_t reach, bits;
} sl_stencil_taps;

enum {
    SL_STENCIL_FRACTION = 7, /* bits kept between the passes */
    SL_STENCIL_CENTRE = 128, /* subtracted from samples between the passes */
    SL_STENCIL_LANES = 32,   /* of a strip */
    SL_STENCIL_BOX_MAX = 63  /* reach of a box: larger ones do not fit in 16 bits */
};

/*
 * Extended box blur along the lines of a strip: element i of all lines is SL_STENCIL_LANES bytes at
 * in + i * in_stride. Beyond its ends a line repeats its last element. `in` and `out` do not
 * overlap. Sums are (sum over 2 * reach + 1) * weight + (the two beyond) * far_weight, of 2^24,
 * modulo 2^32.
 */
typedef struct sl_stencil_box {
    const uint8_t *in;
    uint8_t *out;
    size_t in_stride, out_stride;
    uint32_t count, reach;
    uint32_t weight, far_weight;
} sl_stencil_box;

/* Inputs of a row: the row above, itself, the row below. */
typedef struct sl_stencil_rows {
    const uint8_t *above, *middle, *below;
} sl_stencil_rows;

typedef struct sl_stencil_kernels {
    /*
     * Down: out[x] = the taps over rows[0 .. 2 * reach], the middle one being rows[reach], less
     * SL_STENCIL_CENTRE, with SL_STENCIL_FRACTION bits.
     */
    void (*down)(const sl_stencil_taps *taps, const uint8_t *const *rows, size_t samples,
                 int16_t *out);
    /* Across: the taps over in[x - 3 * reach .. x + 3 * reach], of `down`'s results, to samples. */
    void (*across)(const sl_stencil_taps *taps, const int16_t *in, size_t samples, uint8_t *out);
    void (*box)(const sl_stencil_box *pass);
    /* Bytes [0, count) of 32 rows to byte r of lines b: lines[b * 32 + r] = rows[r][b]. */
    void (*to_lines)(const uint8_t *const rows[SL_STENCIL_LANES], size_t count, uint8_t *lines);
    /* The inverse of to_lines, to the first `used` rows. */
    void (*from_lines)(const uint8_t *lines, size_t count, uint8_t *row, size_t stride,
                       uint32_t used);
    /*
     * A row of sharpness.h without its first and last pixel: `samples` samples from sample 3 of the
     * rows and of `out` on. `sums`: space for samples + 6.
     */
    void (*sharpen)(const sl_stencil_rows *rows, size_t samples, float factor, int16_t *sums,
                    uint8_t *out);
} sl_stencil_kernels;

/* Returns the best table that is at most `simd`. */
const sl_stencil_kernels *sl_stencil_kernels_for(sl_simd simd);

extern const sl_stencil_kernels sl_stencil_scalar;
#if defined(__x86_64__)
extern const sl_stencil_kernels sl_stencil_avx2;
extern const sl_stencil_kernels sl_stencil_avx512;
#elif defined(__aarch64__)
extern const sl_stencil_kernels sl_stencil_neon;
#endif

#endif
