/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_fdct: blocks of samples to quantized coefficients, equal to libjpeg-turbo's accurate integer
 * transform (JDCT_ISLOW, see jpeg_idct.h) and its quantization.
 *
 * Arithmetic: the transform leaves coefficients times 8. They are divided by 8 times the quantizer,
 * rounded to the nearest, halves away from 0. With n = (|coefficient| + 4 * quantizer) / 8, below
 * 2^13, that is n / quantizer: (2 * n * reciprocal) / 2^(16 + b), for 2^b <= quantizer < 2^(b + 1)
 * and reciprocal = 2^(15 + b) / quantizer, rounded up. The reciprocal is too large by less than
 * 2^(b + 1) / quantizer / 2^(15 + b) parts, which would only matter for n of 2^14 and more.
 * Threads: pure. Variants equal the scalar reference bit for bit.
 */
#ifndef SL_JPEG_FDCT_H
#define SL_JPEG_FDCT_H

#include "jpeg_idct.h"
#include "simd.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

/* A table of quantizers, 1..255 each, in natural order, and the values for dividing by them. */
typedef struct sl_jpeg_divisors {
    alignas(64) uint16_t quantizers[SL_JPEG_BLOCK];
    alignas(64) uint16_t halves[SL_JPEG_BLOCK]; /* 4 * quantizer */
    alignas(64) uint16_t reciprocals[SL_JPEG_BLOCK];
    alignas(64) uint16_t scales[SL_JPEG_BLOCK]; /* 2^(15 - b) */
} sl_jpeg_divisors;

/* Fills in the rest from the quantizers. */
void sl_jpeg_divisors_prepare(sl_jpeg_divisors *divisors);

/* Transforms `count` adjacent blocks: 8 rows of samples, `stride` bytes apart, to SL_JPEG_BLOCK
 * coefficients each, 64-byte aligned, in natural order. */
typedef void (*sl_jpeg_fdct)(const uint8_t *samples, size_t stride, size_t count,
                             const sl_jpeg_divisors *divisors, int16_t *coefficients);

sl_jpeg_fdct sl_jpeg_fdct_for(sl_simd simd);

void sl_jpeg_fdct_scalar(const uint8_t *samples, size_t stride, size_t count,
                         const sl_jpeg_divisors *divisors, int16_t *coefficients);
#if defined(__x86_64__)
void sl_jpeg_fdct_avx2(const uint8_t *samples, size_t stride, size_t count,
                       const sl_jpeg_divisors *divisors, int16_t *coefficients);
#endif

/* Fraction bits of the constants, and those that values keep between the passes. */
enum { SL_FDCT_CONST_BITS = 13, SL_FDCT_PASS1_BITS = 2 };

/*
 * What an input adds to an output, times 2^13, after sums and differences of inputs i and 7 - i:
 * even outputs use t12 and t13, odd ones the differences d0..d3 (of inputs i and 7 - i). Outputs 7
 * and 3 share a term of d3 + d1 and d2 + d0; so do outputs 5 and 1.
 */
enum {
    SL_FDCT_OUT2_T13 = 10703,
    SL_FDCT_OUT2_T12 = 4433,
    SL_FDCT_OUT6_T13 = 4433,
    SL_FDCT_OUT6_T12 = -10704,
    SL_FDCT_ODD73_D31 = -6436,
    SL_FDCT_ODD73_D20 = 9633,
    SL_FDCT_ODD51_D31 = 9633,
    SL_FDCT_ODD51_D20 = 6437,
    SL_FDCT_OUT7_D3 = -4927,
    SL_FDCT_OUT7_D0 = -7373,
    SL_FDCT_OUT1_D3 = -7373,
    SL_FDCT_OUT1_D0 = 4926,
    SL_FDCT_OUT5_D2 = -4176,
    SL_FDCT_OUT5_D1 = -20995,
    SL_FDCT_OUT3_D2 = -20995,
    SL_FDCT_OUT3_D1 = 4177
};

#endif
