/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert_loop: the run that the variants of convert.h share, compiled for each of them.
 *
 * Before including it a variant defines SL_CONVERT_INLINE (static inline for its instruction set)
 * and take_channel(pixels, c)   the samples of channel c of SL_CONVERT_STEP pixels, or
 *   take_bytes(pixels, c)     the c-th SL_CONVERT_STEP bytes of them, and
 *   convert_samples(samples, scales, biases, dtype, out)   that many results.
 */
#ifndef SL_CONVERT_LOOP_H
#define SL_CONVERT_LOOP_H

#include "convert.h"

/* Inlined with a constant dtype. */
SL_CONVERT_INLINE void convert_pixels(const sl_converter *converter, const uint8_t *pixels,
                                      size_t first, size_t count, sluice_dtype dtype,
                                      uint8_t *picture)
{
    const bool planes = converter->layout == SLUICE_NCHW;
    const size_t bytes = sl_dtype_bytes(dtype);
    uint8_t *out[3];
    for (size_t c = 0; c < 3; c++) {
        const size_t place = planes ? sl_convert_place(converter, first, c)
                                    : sl_convert_place(converter, first, 0) + c * SL_CONVERT_STEP;
        out[c] = picture + place * bytes;
    }
    const size_t whole = count / SL_CONVERT_STEP * SL_CONVERT_STEP;
    for (size_t i = 0; i < whole; i += SL_CONVERT_STEP) {
        for (size_t c = 0; c < 3; c++) {
            const size_t lane = c * SL_CONVERT_STEP;
            const float *scales = converter->scales + lane;
            const float *biases = converter->biases + lane;
            if (planes) {
                convert_samples(take_channel(pixels, c), scales, biases, dtype, out[c]);
            } else {
                convert_samples(take_bytes(pixels, c), scales, biases, dtype, out[c]);
            }
            out[c] += bytes * SL_CONVERT_STEP * (planes ? 1 : 3);
        }
        pixels += (size_t)SL_CONVERT_STEP * 3;
    }
    if (whole < count) {
        sl_convert_scalar(converter, pixels, first + whole, count - whole, picture);
    }
}

SL_CONVERT_INLINE void convert(const sl_converter *converter, const uint8_t *pixels, size_t first,
                               size_t count, void *picture)
{
    switch (converter->dtype) {
    case SLUICE_F32:
        convert_pixels(converter, pixels, first, count, SLUICE_F32, picture);
        break;
    case SLUICE_F16:
        convert_pixels(converter, pixels, first, count, SLUICE_F16, picture);
        break;
    case SLUICE_BF16:
        convert_pixels(converter, pixels, first, count, SLUICE_BF16, picture);
        break;
    default:
        convert_pixels(converter, pixels, first, count, SLUICE_U8, picture);
        break;
    }
}

#endif
