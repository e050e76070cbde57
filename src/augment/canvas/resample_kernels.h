/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resample_kernels: the inner loops of resampling, per instruction set.
 *
 * Purpose: the two passes of resample.h over one row. resample_scalar.c is the reference; every
 * variant gives the same bits. Horizontal passes may read SL_ROW_SLACK samples behind the row of
 * the vertical pass and write as many bytes behind the finished one; what they read there has no
 * weight. Vertical passes read exactly the input.
 * Threads: pure; the tables are constant.
 */
#ifndef SL_RESAMPLE_KERNELS_H
#define SL_RESAMPLE_KERNELS_H

#include "filter.h"
#include "scratch.h"
#include "simd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SL_LANES: outputs of the horizontal pass are padded to a multiple, without weight. */
enum { SL_LANES = 16, SL_ROW_SLACK = 128 };

/* One row of the vertical pass: out[x] = sum of taps, rounded, >> shift. */
typedef struct sl_vertical {
    const uint8_t *in;
    size_t stride_bytes;
    const int16_t *weights; /* of each tap; one more, 0, where their number is odd */
    uint32_t taps, shift;
    size_t samples; /* 3 a pixel */
} sl_vertical;

/*
 * The horizontal pass, the same for each row. Taps go in pairs: pair j of output i starts at pixel
 * starts[i] + 2j and has weights[(j * padded + i) * 2] and the one after it.
 */
typedef struct sl_horizontal {
    uint32_t outputs, padded, pairs, shift;
    int32_t *starts;
    int16_t *weights;
    /* What kernels prepare for themselves: the weights again, and (AVX-512) where samples are. */
    int32_t *spread, *bases, *picks;
    bool near;
} sl_horizontal;

/* Arranges a filter's starts and weights for a horizontal pass; flipped by going backwards. False:
 * not enough scratch. */
bool sl_horizontal_make(sl_horizontal *across, const sl_filter *filter, bool flip,
                        sl_scratch *scratch);

typedef struct sl_resample_kernels {
    void (*vertical)(const sl_vertical *pass, int16_t *out);
    void (*horizontal)(const sl_horizontal *pass, const int16_t *in, uint8_t *out);
    /* Copies pixels in reverse order, exactly. */
    void (*mirror)(const uint8_t *in, uint8_t *out, size_t pixels);
    /* Fills in the horizontal pass's other members. False: not enough scratch. May be NULL. */
    bool (*prepare)(sl_horizontal *pass, sl_scratch *scratch);
} sl_resample_kernels;

/* Returns the best table that is at most `simd`. */
const sl_resample_kernels *sl_resample_kernels_for(sl_simd simd);

extern const sl_resample_kernels sl_resample_scalar;
#if defined(__x86_64__)
extern const sl_resample_kernels sl_resample_avx2;
extern const sl_resample_kernels sl_resample_avx512;
#elif defined(__aarch64__)
extern const sl_resample_kernels sl_resample_neon;
#endif

#endif
