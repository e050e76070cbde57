/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blend: Pillow's grey and Pillow's blend of two values, which several operations share.
 *
 * Arithmetic: binary32, each operation rounded (the build has no contraction), cut towards zero.
 * Source: Pillow 9.4, libImaging/Convert.c (L) and Blend.c. Threads: pure.
 */
#ifndef SL_BLEND_H
#define SL_BLEND_H

#include <stdint.h>

/* Weights of the conversion to mode L: ITU-R 601-2, 16 bits of fraction. They sum to 1. */
enum { SL_GREY_RED = 19595, SL_GREY_GREEN = 38470, SL_GREY_BLUE = 7471, SL_GREY_BITS = 16 };

static inline uint32_t sl_grey(const uint8_t *pixel)
{
    const uint32_t half = 1U << (SL_GREY_BITS - 1);
    return (pixel[0] * (uint32_t)SL_GREY_RED + pixel[1] * (uint32_t)SL_GREY_GREEN +
            pixel[2] * (uint32_t)SL_GREY_BLUE + half) >>
           SL_GREY_BITS;
}

/*
 * Blends from `base` (factor 0) to `value` (factor 1) and beyond, clipped. Both are 0..255, the
 * factor is finite. Between 0 and 1 no result is outside 0..255, so clipping changes nothing there.
 */
static inline uint8_t sl_blend(int32_t base, int32_t value, float factor)
{
    const float mixed = (float)base + factor * (float)(value - base);
    if (mixed <= 0.0F) {
        return 0;
    }
    return mixed >= 255.0F ? 255 : (uint8_t)mixed;
}

#endif
