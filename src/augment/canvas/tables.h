/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables: operations that give each value of a channel another one, as tables of 256 bytes.
 *
 * Purpose: makers of tables, and what joins them: operations in a row become one table, and one
 * that needs a histogram (autocontrast, equalize) takes it from before them, pushed through their
 * table. A mean of grey cannot be had so: grey mixes the channels and is rounded for each pixel.
 * A table is of one channel; makers that do not measure serve all three.
 * Arithmetic: Pillow's. Source: Pillow 9.4, ImageEnhance.py and ImageOps.py, which torchvision
 * calls for pictures of Pillow; solarize_add is timm's. Threads: pure. Memory: the caller's.
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
/* Inverts what is not below the threshold, which need not be whole. */
void sl_lut_solarize(uint8_t table[SL_LUT_SIZE], double threshold);
/* Adds to what is below the threshold, clipped. */
void sl_lut_solarize_add(uint8_t table[SL_LUT_SIZE], int32_t add, int32_t threshold);
void sl_lut_invert(uint8_t table[SL_LUT_SIZE]);
/* Without a cutoff: the smallest value that occurs goes to 0, the largest to 255. */
void sl_lut_autocontrast(uint8_t table[SL_LUT_SIZE], const uint32_t histogram[SL_LUT_SIZE]);
/* What does not occur goes anywhere. Counts add up to less than 2^32. */
void sl_lut_equalize(uint8_t table[SL_LUT_SIZE], const uint32_t histogram[SL_LUT_SIZE]);

/* Of `count` pixels whose greys (L) add up to `sum`, rounded; 0 for none. */
uint8_t sl_mean_grey(uint64_t sum, uint64_t count);

/* `table`, and `then` after it. */
void sl_lut_append(uint8_t table[SL_LUT_SIZE], const uint8_t then[SL_LUT_SIZE]);
/* The histogram of what the table makes of pixels with the histogram `from`. Not in place. */
void sl_lut_push(const uint8_t table[SL_LUT_SIZE], const uint32_t from[SL_LUT_SIZE],
                 uint32_t to[SL_LUT_SIZE]);

#endif
