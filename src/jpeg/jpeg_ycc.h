/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_ycc: converts rows of RGB to luma and chroma, and halves chroma in both directions, equal to
 * libjpeg-turbo's conversion (jccolor.c: ITU-R BT.601, 16 bits of fraction) and its downsampling
 * (jcsample.c, h2v2: the mean of four samples; halves round down and up alternately).
 * Threads: pure. Variants equal the scalar reference bit for bit.
 */
#ifndef SL_JPEG_YCC_H
#define SL_JPEG_YCC_H

#include "simd.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes after the named samples that may be written, and read. */
enum { SL_YCC_SLACK = 32 };

typedef struct sl_ycc_row {
    uint8_t *luma, *cb, *cr;
} sl_ycc_row;

typedef struct sl_jpeg_ycc {
    void (*convert)(const uint8_t *rgb, size_t pixels, const sl_ycc_row *row);
    /* Makes `count` samples from twice as many of both rows. */
    void (*halve)(const uint8_t *upper, const uint8_t *lower, size_t count, uint8_t *out);
} sl_jpeg_ycc;

const sl_jpeg_ycc *sl_jpeg_ycc_for(sl_simd simd);

/* Parts of 2^16. */
enum {
    SL_YCC_LUMA_RED = 19595,
    SL_YCC_LUMA_GREEN = 38470,
    SL_YCC_LUMA_BLUE = 7471,
    SL_YCC_CB_RED = -11059,
    SL_YCC_CB_GREEN = -21709,
    SL_YCC_CR_GREEN = -27439,
    SL_YCC_CR_BLUE = -5329,
    SL_YCC_HALF = 32768,                          /* also of Cb's blue and Cr's red */
    SL_YCC_CENTRE = (128 << 16) + SL_YCC_HALF - 1 /* of chroma */
};

extern const sl_jpeg_ycc sl_jpeg_ycc_scalar;
#if defined(__x86_64__)
extern const sl_jpeg_ycc sl_jpeg_ycc_avx2;
#endif

#endif
