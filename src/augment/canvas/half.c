/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding of binary32 to 16-bit formats, in integers: the same on every machine. */
#include "apply.h"

#include <string.h>

static uint32_t half_bits_of(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* value >> shift, rounded to nearest, ties to even; 1 <= shift <= 31. */
static uint32_t shift_round_even(uint32_t value, uint32_t shift)
{
    uint32_t kept = value >> shift;
    uint32_t rest = value & ((UINT32_C(1) << shift) - 1);
    uint32_t half = UINT32_C(1) << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1) != 0));
}

uint16_t sl_half_from_float(float value)
{
    uint32_t bits = half_bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t magnitude = bits & 0x7FFFFFFF;
    uint32_t exponent = magnitude >> 23;
    if (magnitude > 0x7F800000) { /* not a number: quiet, payload cut */
        return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
    }
    if (exponent >= 127 + 16) {
        return (uint16_t)(sign | 0x7C00);
    }
    if (exponent >=
        127 - 14) { /* a carry out of the mantissa raises the exponent, up to infinity */
        return (uint16_t)(sign | shift_round_even(magnitude - ((127U - 15U) << 23), 13));
    }
    if (exponent < 127 - 25) {
        return (uint16_t)sign;
    }
    uint32_t mantissa = (magnitude & 0x7FFFFF) | 0x800000;
    return (uint16_t)(sign | shift_round_even(mantissa, 127 - 14 - exponent + 13));
}

uint16_t sl_bfloat16_from_float(float value)
{
    uint32_t bits = half_bits_of(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) {
        return (uint16_t)(bits >> 16 | 0x40);
    }
    return (uint16_t)shift_round_even(bits, 16);
}
