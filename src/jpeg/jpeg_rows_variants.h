/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_rows_variants: the parts shared by the scalar reference of the rows and its variants.
 *
 * Upsampling: between a chroma sample and its neighbour, the nearer one counts 3/4. Without a
 * neighbour, the sample itself is used. Ties are rounded up and down in turns: `bias`.
 * Threads: pure.
 */
#ifndef SL_JPEG_ROWS_VARIANTS_H
#define SL_JPEG_ROWS_VARIANTS_H

#include "jpeg_rows.h"

/* Parts of 2^16: 1.402, 1.772, 0.34414 and 0.71414 of ITU-R BT.601. */
enum {
    SL_ROWS_RED_CR = 91881,
    SL_ROWS_BLUE_CB = 116130,
    SL_ROWS_GREEN_CB = -22554,
    SL_ROWS_GREEN_CR = -46802,
    SL_ROWS_HALF = 32768,
    SL_ROWS_BITS = 16,
    SL_ROWS_CENTRE = 128,
    /* in units of 2^-15, red and blue minus 1; same rounded result for all 256 samples */
    SL_ROWS_RED_FRACTION = 13173,
    SL_ROWS_BLUE_FRACTION = 25297
};

void sl_jpeg_row_grey_scalar(const sl_jpeg_row *row);
void sl_jpeg_row_444_scalar(const sl_jpeg_row *row);
void sl_jpeg_row_422_scalar(const sl_jpeg_row *row);
void sl_jpeg_row_422_plain_scalar(const sl_jpeg_row *row);
void sl_jpeg_row_440_scalar(const sl_jpeg_row *row);
void sl_jpeg_row_420_scalar(const sl_jpeg_row *row);

#if defined(__x86_64__)
extern const sl_jpeg_row_maker sl_jpeg_rows_avx2[SL_JPEG_SAMPLING_COUNT];
extern const sl_jpeg_row_maker sl_jpeg_rows_avx512[SL_JPEG_SAMPLING_COUNT];
#elif defined(__aarch64__)
extern const sl_jpeg_row_maker sl_jpeg_rows_neon[SL_JPEG_SAMPLING_COUNT];
#endif

#endif
