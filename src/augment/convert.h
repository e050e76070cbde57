/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert: finished pixels to the dtype and layout of the batch, a row at a time.
 *
 * Purpose: row `y` of RGB bytes to its places in a picture of converter->height rows. The scalar
 * kernel looks results up in converter->table; the others compute the same bits with one fused
 * multiply-add, and are used only when every result is a finite number. Reads exactly the row,
 * writes exactly its elements.
 * Threads: pure.
 */
#ifndef SL_CONVERT_H
#define SL_CONVERT_H

#include "apply.h"
#include "dtype.h"

typedef void sl_convert_row(const sl_converter *converter, const uint8_t *pixels, uint32_t y,
                            void *picture);

/* The best kernel for the converter's dtype, layout and simd. */
sl_convert_row *sl_convert_row_for(const sl_converter *converter);

/* Pixels [first, converter->width) of the row: what a vector kernel leaves over. */
void sl_convert_rest(const sl_converter *converter, const uint8_t *pixels, uint32_t y,
                     uint32_t first, void *picture);

/* Where channel `c` of pixel (0, y) lies, in elements, and how far apart pixels are. */
static inline size_t sl_convert_place(const sl_converter *converter, uint32_t y, size_t c)
{
    const size_t row = (size_t)y * converter->width;
    return converter->layout == SLUICE_NHWC
               ? row * 3 + c
               : (size_t)converter->height * converter->width * c + row;
}

#if defined(__x86_64__)
sl_convert_row sl_convert_row_avx2;
sl_convert_row sl_convert_row_avx512;
#elif defined(__aarch64__)
sl_convert_row sl_convert_row_neon;
#endif

#endif
