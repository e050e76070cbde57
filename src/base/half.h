/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half: binary16 as numbers.
 *
 * Purpose: for readers and conversions. Bits in, bits out: the same on every machine. Threads:
 * pure.
 */
#ifndef SL_HALF_H
#define SL_HALF_H

#include <stdint.h>
#include <string.h>

/* Binary16 is exact in binary32. */
static inline float sl_float_from_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1F;
    uint32_t mantissa = half & 0x3FF;
    uint32_t bits = sign | mantissa << 13;
    float value;
    if (exponent == 0x1F) {
        bits |= 0x7F800000;
    } else if (exponent != 0) {
        bits |= (exponent + 127 - 15) << 23;
    } else if (mantissa != 0) { /* subnormal there, normal here */
        for (exponent = 127 - 14; (mantissa & 0x400) == 0; exponent--) {
            mantissa <<= 1;
        }
        bits = sign | exponent << 23 | (mantissa & 0x3FF) << 13;
    }
    memcpy(&value, &bits, sizeof(value));
    return value;
}

#endif
