/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables: operations that map each value of a channel to another one, as tables of 256 bytes.
 *
 * Purpose: makers of tables, and their composition: consecutive operations become one table, and
 * one that needs a histogram (autocontrast, equalize) takes the one before them, pushed through
 * their table. That is impossible for a mean of grey, which mixes the channels and is rounded for
 * each pixel. A table is of one channel; makers that do not measure serve all three. Arithmetic:
 * Pillow's. Source: Pillow 9.4, ImageEnhance.py and ImageOps.py, which torchvision calls for images
 * of Pillow; solarize_add is timm's. Threads: pure. Memory: the caller's.
 */
#ifndef SL_TABLES_H
#define SL_TABLES_H

#include <stdint.h>

enum { SL_LUT_SIZE = 256 };

void sl_lut_identity(uint8_t table[SL_LUT_SIZE]);
/* ImageEnhance.Brightness; the factor is finite. */
void sl_lut_brightness(uint8_t table[SL_LUT_SIZE], float factor);
/* ImageEnhance.Contrast, about sl_mean_grey; the factor is finite. */
void sl_lut_contrast(uint8_t table[SL_LUT_SIZE], uint8_t mean, float factor);
/* Keeps the upper `bits`, 0 to 8. */
void sl_lut_posterize(uint8_t table[SL_LUT_SIZE], uint32_t bits);
/* Inverts values from the threshold on, which need not be whole. */
void sl_lut_solarize(uint8_t table[SL_LUT_SIZE], double threshold);
/* Adds to values below the threshold, clipped. */
void sl_lut_solarize_add(uint8_t table[SL_LUT_SIZE], int32_t add, int32_t threshold);
void sl_lut_invert(uint8_t table[SL_LUT_SIZE]);
/* Without a cutoff: the smallest value that occurs goes to 0, the largest to 255. */
void sl_lut_autocontrast(uint8_t table[SL_LUT_SIZE], const uint32_t histogram[SL_LUT_SIZE]);
/* Values that do not occur get any result. Counts add up to less than 2^32. */
void sl_lut_equalize(uint8_t table[SL_LUT_SIZE], const uint32_t histogram[SL_LUT_SIZE]);

/* Returns the mean of `count` pixels whose greys (L) add up to `sum`, rounded; 0 for none. */
uint8_t sl_mean_grey(uint64_t sum, uint64_t count);

/* Makes `table` apply `then` after itself. */
void sl_lut_append(uint8_t table[SL_LUT_SIZE], const uint8_t then[SL_LUT_SIZE]);
/* Computes the histogram after the table, from the one before it. Not in place. */
void sl_lut_push(const uint8_t table[SL_LUT_SIZE], const uint32_t from[SL_LUT_SIZE],
                 uint32_t to[SL_LUT_SIZE]);

#endif
