/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_idct: blocks of coefficients to samples, equal to libjpeg-turbo's accurate integer transform
 * (JDCT_ISLOW: Loeffler, Ligtenberg and Moschytz, "Practical fast 1-D DCT algorithms with 11
 * multiplications", ICASSP 1989) and to its reduced sizes 4, 2 and 1.
 *
 * Threads: pure. Variants equal the scalar reference bit for bit for any coefficients;
 * jpeg_idct_variants.h describes the result for coefficients that no encoder writes.
 */
#ifndef SL_JPEG_IDCT_H
#define SL_JPEG_IDCT_H

#include "simd.h"

#include <stddef.h>
#include <stdint.h>

#define SL_JPEG_BLOCK 64 /* coefficients, in natural (not zigzag) order */

/* Adjacent blocks of one component. */
typedef struct sl_jpeg_blocks {
    const int16_t *coefficients; /* of block i at i * pitch; 64-byte aligned */
    size_t pitch;                /* coefficients from one block to the next, a multiple of 32 */
    size_t count;
    const uint16_t *quantizers; /* SL_JPEG_BLOCK, natural order, 64-byte aligned */
    uint8_t *samples;           /* block i goes to columns i * size .. of `size` rows */
    size_t stride;              /* bytes from one row of samples to the next */
} sl_jpeg_blocks;

/* Makes `size` x `size` samples of each block. Writes nothing else. */
typedef void (*sl_jpeg_idct)(const sl_jpeg_blocks *blocks);

/* Returns the kernel for `size` 8, 4, 2 or 1. */
sl_jpeg_idct sl_jpeg_idct_for(sl_simd simd, unsigned size);

#endif
