/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mix_rows: pictures that are finished but for their conversion, mixed and converted.
 *
 * Purpose: two rows whose samples are 8-bit, in the layout of the batch, become rows of the batch.
 * Where a row is in shares (w its own, 1 - w the other's, rounded to binary32), an element is
 * fmaf(w, a, (1 - w) * b) of the two results a, b that conversion alone would give (apply.h) in
 * binary32, rounded once more where the dtype is narrower; of u8, of the samples themselves, to
 * nearest even. Inside a box the other's samples take the place of its own before conversion.
 * In place: samples may be at the end of the memory of their own row. Work is done front to back
 * by pieces that are copied first; an element is not smaller than its sample, so that no sample is
 * written over before it has been read.
 * Kernels: scalar reference and AVX2, AVX-512, with the same bits. Vectors only where every result
 * is finite. Threads: pure; no memory but the stack.
 */
#ifndef SL_MIX_ROWS_H
#define SL_MIX_ROWS_H

#include "apply.h"
#include "mixing_row.h"

typedef struct sl_mix_side {
    const uint8_t *samples; /* of the row itself; NULL: it has no picture */
    void *row;              /* where it goes; NULL: nowhere */
    sl_mixing_row how;
} sl_mix_side;

/* Makes both rows, or the one that has a place. Where there are no samples of the other one nothing
 * is mixed. */
void sl_mix_rows(const sl_converter *converter, const sl_mix_side *a, const sl_mix_side *b);

/* What a kernel gets: samples of one plane (NCHW), or of whole pixels (NHWC). */
typedef struct sl_mix_piece {
    const uint8_t *own, *other; /* other NULL: converted only */
    float weight;
    uint32_t plane;
    size_t count;
    void *out;
} sl_mix_piece;

typedef void sl_mix_kernel(const sl_converter *converter, const sl_mix_piece *piece);

/* The reference, and what is left over by the others, from `first` on. */
void sl_mix_scalar_from(const sl_converter *converter, const sl_mix_piece *piece, size_t first);
sl_mix_kernel sl_mix_scalar;
#if defined(__x86_64__)
sl_mix_kernel sl_mix_avx2, sl_mix_avx512;
#elif defined(__aarch64__)
sl_mix_kernel sl_mix_neon;
#endif

#endif
