/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_kernels: decodes JPEGs with our kernels (jpeg_idct, jpeg_rows) from the coefficients that
 * libjpeg reads, and with libjpeg alone. Aborts on failure. Threads: pure.
 */
#ifndef SL_JPEG_KERNELS_H
#define SL_JPEG_KERNELS_H

#include "jpeg_make.h"
#include "simd.h"

typedef struct rgb_picture {
    uint32_t width, height;
    uint8_t *pixels; /* RGB without padding between rows; the caller frees it */
} rgb_picture;

/* Decodes grey or YCbCr images with chroma factors of 1, scaled down by `denominator`: 1, 2, 4 or
 * 8. */
rgb_picture jpeg_kernels_decode(const jpeg_file *file, uint32_t denominator, sl_simd simd);
/* Decodes with the accurate transform and fancy upsampling, any image that libjpeg converts to
 * RGB. */
rgb_picture jpeg_library_decode(const jpeg_file *file, uint32_t denominator);

/* True if this processor has the level `simd`. */
bool jpeg_kernels_has_level(int simd);
/* Asserts that all levels match libjpeg at every scale. */
void jpeg_kernels_compare(const jpeg_file *file);

#endif
