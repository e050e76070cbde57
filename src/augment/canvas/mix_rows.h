/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mix_rows: mixes and converts images that are finished except for their conversion.
 *
 * Purpose: two rows whose samples are 8-bit, in the layout of the batch, become rows of the batch.
 * For a weighted row (w its own, 1 - w the other's, rounded to binary32), an element is fmaf(w, a,
 * (1 - w) * b) of the two results a, b that conversion alone would give (apply.h) in binary32,
 * rounded again for narrower dtypes; for u8, of the samples themselves, to nearest even. Inside a
 * box the other's samples replace its own before conversion. In place: samples may be at the end of
 * the memory of their own row. Work is done front to back by pieces that are copied first; an
 * element is not smaller than its sample, so that no sample is overwritten before it has been read.
 * Kernels: scalar reference and AVX2, AVX-512, with the same bits. Vectors only if every result is
 * finite. Threads: pure; no memory except the stack.
 */
#ifndef SL_MIX_ROWS_H
#define SL_MIX_ROWS_H

#include "apply.h"
#include "mixing_row.h"

typedef struct sl_mix_side {
    const uint8_t *samples; /* of the row itself; NULL: it has no image */
    void *row;              /* destination; NULL: none */
    sl_mixing_row how;
} sl_mix_side;

/* Makes both rows, or the one with a destination. Without samples of the other one nothing is
 * mixed. */
void sl_mix_rows(const sl_converter *converter, const sl_mix_side *a, const sl_mix_side *b);

/* Input of a kernel: samples of one plane (NCHW), or of whole pixels (NHWC). */
typedef struct sl_mix_piece {
    const uint8_t *own, *other; /* other NULL: converted only */
    float weight;
    uint32_t plane;
    size_t count;
    void *out;
} sl_mix_piece;

typedef void sl_mix_kernel(const sl_converter *converter, const sl_mix_piece *piece);

/* Runs the reference, from `first` on, for the rest of the others. */
void sl_mix_scalar_from(const sl_converter *converter, const sl_mix_piece *piece, size_t first);
sl_mix_kernel sl_mix_scalar;
#if defined(__x86_64__)
sl_mix_kernel sl_mix_avx2, sl_mix_avx512;
#elif defined(__aarch64__)
sl_mix_kernel sl_mix_neon;
#endif

#endif
