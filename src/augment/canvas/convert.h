/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert: converts a run of finished pixels to the dtype and layout of the batch.
 *
 * Purpose: writes `count` RGB pixels to pixels [first, first + count) of an image, counted row
 * after row. The scalar kernel looks results up in converter->table; the others compute the same
 * bits with one fused multiply-add, and are used only when every result is a finite number. Reads
 * and writes nothing else.
 * Threads: pure.
 */
#ifndef SL_CONVERT_H
#define SL_CONVERT_H

#include "apply.h"
#include "dtype.h"

typedef void sl_convert(const sl_converter *converter, const uint8_t *pixels, size_t first,
                        size_t count, void *picture);

/* The best kernel for the converter's dtype, layout and simd. */
sl_convert *sl_convert_for(const sl_converter *converter);

/* The reference; also converts the pixels that fill no vector of another kernel. */
sl_convert sl_convert_scalar;

/* Returns the offset of channel `c` of pixel `first`, in elements. */
static inline size_t sl_convert_place(const sl_converter *converter, size_t first, size_t c)
{
    return converter->layout == SLUICE_NHWC
               ? first * 3 + c
               : (size_t)converter->height * converter->width * c + first;
}

#if defined(__x86_64__)
sl_convert sl_convert_avx2;
sl_convert sl_convert_avx512;
#elif defined(__aarch64__)
sl_convert sl_convert_neon;
#endif

#endif
