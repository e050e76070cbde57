/* SPDX-License-Identifier: Apache-2.0 */
/*
 * erase: fills pixels with a colour or with noise (random erasing, cutout).
 *
 * Purpose: noise is a pure function of a key and of a pixel's number: filling row by row, or in
 * parts, gives what filling at once gives. Pixels are RGB of 8 bits, interleaved. torchvision and
 * timm define erasing on normalised values: N(0, 1) after the normalisation. In 8 bits that is
 * noise with 255 times the normalisation's mean and deviation, clipped to 0..255.
 * Arithmetic: whole numbers only, the same on every machine. The normal variate is one of 1024
 * that are equally likely: the means of a normal distribution's 1024 parts of equal weight, scaled
 * to a deviation of 1 and rounded to 2^-12 (the largest is 3.37; kurtosis 2.99). A value is
 * mean + deviation * variate, the mean with 20 bits of fraction and the deviation with 8, rounded.
 * Pixel i takes word i % 4 of block i / 4 of Philox, 10 bits a channel from the lowest, red first:
 * 9 of size and one of sign. Threads: pure. Memory: the caller's.
 */
#ifndef SL_ERASE_H
#define SL_ERASE_H

#include "view.h"

/* By channel, in 8-bit units; mean and deviation are 0 to 255. */
typedef struct sl_noise {
    uint64_t key;
    float mean[3], stddev[3];
} sl_noise;

/* Fills `count` pixels in a row. */
void sl_fill_colour(uint8_t *pixels, size_t count, const uint8_t colour[3]);
/* Fills `count` pixels with noise, numbered from `first` on. */
void sl_fill_noise(uint8_t *pixels, size_t count, const sl_noise *noise, uint64_t first);

#endif
