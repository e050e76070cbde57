/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels: operations on pixels in place where neighbours do not matter, per instruction set.
 *
 * Purpose: the loops behind look-up tables (tables.h), grey, saturation, hue, HSV and the
 * order of channels. pixels_scalar.c is the reference; every variant gives the same bits. `pixels`
 * are `count` RGB pixels of 3 bytes, interleaved, from any address, of any number: strips of a
 * canvas as well as all of it. No byte outside is read or written. Threads: pure; the tables of
 * functions are constant. Memory: none but the stack.
 */
#ifndef SL_PIXELS_H
#define SL_PIXELS_H

#include "hsv.h"
#include "simd.h"
#include "tables.h"

#include <stddef.h>
#include <stdint.h>

typedef struct sl_pixel_kernels {
    /* A table for each channel, or the same for all of them. */
    void (*look_up)(uint8_t *pixels, size_t count, uint8_t tables[3][SL_LUT_SIZE]);
    void (*look_up_one)(uint8_t *pixels, size_t count, const uint8_t table[SL_LUT_SIZE]);
    /* Adds to the histograms of the channels. */
    void (*histogram)(const uint8_t *pixels, size_t count, uint32_t histograms[3][SL_LUT_SIZE]);
    /* The sum of sl_grey; its mean is sl_mean_grey. */
    uint64_t (*sum_grey)(const uint8_t *pixels, size_t count);
    /* All channels become sl_grey (mode L, and back to RGB). */
    void (*grey)(uint8_t *pixels, size_t count);
    /* ImageEnhance.Color: sl_blend from grey, 0, to the pixel, 1, and beyond; finite. */
    void (*blend_grey)(uint8_t *pixels, size_t count, float factor);
    /* Pillow's HSV with `shift` added to H, modulo 256: torchvision's adjust_hue (sl_hue_shift). */
    void (*hue)(uint8_t *pixels, size_t count, uint8_t shift);
    /* OpenCV's HSV of 8 bits, changed (hsv.h): the YOLO family's RandomHSV. */
    void (*hsv)(uint8_t *pixels, size_t count, const sl_hsv_change *change);
    /* Channel c becomes what channel order[c] was. */
    void (*permute)(uint8_t *pixels, size_t count, const uint8_t order[3]);
} sl_pixel_kernels;

/* Returns the best table that is at most `simd`. */
const sl_pixel_kernels *sl_pixel_kernels_for(sl_simd simd);

/* adjust_hue's uint8(factor * 255): cut towards zero, modulo 256. */
static inline uint8_t sl_hue_shift(double factor)
{
    return (uint8_t)(int32_t)(factor * 255.0);
}

/*
 * Hue in whole numbers. Pillow goes through floats; what comes of them is, with M the largest
 * channel, C = M - the smallest and N / C the hue in sixths of a turn (N >= 0, whole):
 *   H = floor(85 N / (2 C)), S = floor(255 C / M), V = M; 1 less for H where it was whole and is
 *   in this set: there Pillow's floats come out just below it;
 * and back, with I = floor(2 H / 85), F = 2 H - 85 I, G = F where I is odd and 85 - F where not:
 *   the channels are V, V (255 - S) / 255 and V (21675 - S G) / 21675 (21675 = 255 * 85), rounded
 *   (halves do not occur), in an order that I gives.
 * augment_pixels_test compares all 2^24 colours with Pillow's arithmetic.
 * Bit n % 8 of byte n / 8 is of H = n.
 */
extern const uint8_t sl_hue_below[32];

/* Counts for the histogram of every variant: no vector instruction counts faster. */
void sl_pixels_histogram(const uint8_t *pixels, size_t count, uint32_t histograms[3][SL_LUT_SIZE]);

extern const sl_pixel_kernels sl_pixels_scalar;
#if defined(__x86_64__)
extern const sl_pixel_kernels sl_pixels_avx2;
extern const sl_pixel_kernels sl_pixels_avx512;
#elif defined(__aarch64__)
extern const sl_pixel_kernels sl_pixels_neon;
#endif

#endif
