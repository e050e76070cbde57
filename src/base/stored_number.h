/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stored_number: one number as files store it, little-endian and unaligned, as the widest of its
 * kind.
 *
 * Purpose: for formats with columns of numbers, each of a size of its own. Threads: pure.
 */
#ifndef SL_STORED_NUMBER_H
#define SL_STORED_NUMBER_H

#include "half.h"
#include "little_endian.h"

#include <stdbool.h>
#include <stddef.h>

/* Reads a float of 2 (binary16), 4 or 8 bytes. */
static inline double sl_stored_float(const uint8_t *from, size_t bytes)
{
    float number;
    double wide;
    if (bytes == 2) {
        return (double)sl_float_from_half(sl_load16(from));
    }
    if (bytes == 4) {
        const uint32_t bits = sl_load32(from);
        memcpy(&number, &bits, sizeof(number));
        return (double)number;
    }
    const uint64_t bits = sl_load64(from);
    memcpy(&wide, &bits, sizeof(wide));
    return wide;
}

/* Reads an integer of 1, 2, 4 or 8 bytes; those above INT64_MAX are negative. */
static inline int64_t sl_stored_integer(const uint8_t *from, size_t bytes, bool is_signed)
{
    switch (bytes) {
    case 1:
        return is_signed ? (int64_t)(int8_t)*from : (int64_t)*from;
    case 2:
        return is_signed ? (int64_t)(int16_t)sl_load16(from) : (int64_t)sl_load16(from);
    case 4:
        return is_signed ? (int64_t)(int32_t)sl_load32(from) : (int64_t)sl_load32(from);
    default:
        return (int64_t)sl_load64(from);
    }
}

#endif
