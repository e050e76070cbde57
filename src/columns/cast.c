/* SPDX-License-Identifier: Apache-2.0 */
#include "cast.h"

#include "apply.h"
#include "dtype.h"
#include "half.h"

#include <math.h>
#include <string.h>

/* Dtypes that C has no type for are converted through binary32, this many at a time. */
enum { CHUNK = 256 };

#define COPY(bytes)                                                       \
    static bool copy_##bytes(void *to, const uint8_t *from, size_t count) \
    {                                                                     \
        memcpy(to, from, count *(bytes));                                 \
        return true;                                                      \
    }

COPY(1)
COPY(2)
COPY(4)
COPY(8)

/* Plain loops, which compilers vectorise. */
// NOLINTBEGIN(bugprone-macro-parentheses): types
#define LOOP(name, from_type, to_type, fits)                                \
    static bool name(void *to_, const uint8_t *restrict from, size_t count) \
    {                                                                       \
        to_type *restrict to = to_;                                         \
        bool good = true;                                                   \
        for (size_t i = 0; i < count; i++) {                                \
            from_type value;                                                \
            memcpy(&value, from + i * sizeof(value), sizeof(value));        \
            good &= (fits);                                                 \
            to[i] = (to_type)value;                                         \
        }                                                                   \
        return good;                                                        \
    }

#define LOOPS(name, type, fits_i32, fits_i64)    \
    LOOP(name##_to_i32, type, int32_t, fits_i32) \
    LOOP(name##_to_i64, type, int64_t, fits_i64) \
    LOOP(name##_to_f32, type, float, true)       \
    LOOP(name##_to_f64, type, double, true)

LOOPS(u8, uint8_t, true, true)
LOOPS(i8, int8_t, true, true)
LOOPS(u16, uint16_t, true, true)
LOOPS(i16, int16_t, true, true)
LOOPS(u32, uint32_t, value <= INT32_MAX, true)
LOOPS(i32, int32_t, true, true)
LOOPS(u64, uint64_t, value <= INT32_MAX, value <= INT64_MAX)
LOOPS(i64, int64_t, value >= INT32_MIN && value <= INT32_MAX, true)
/* Only 0 and 1 are valid: reading another value as a bool is undefined in C. */
#define IS_BOOL (value <= 1)
LOOP(bool_to_bool, uint8_t, uint8_t, IS_BOOL)
LOOP(bool_to_i32, uint8_t, int32_t, IS_BOOL)
LOOP(bool_to_i64, uint8_t, int64_t, IS_BOOL)
LOOP(bool_to_f32, uint8_t, float, IS_BOOL)
LOOP(bool_to_f64, uint8_t, double, IS_BOOL)
LOOP(f32_to_f64, float, double, true)
LOOP(f64_to_f32, double, float, true)

/* Rounds towards zero, and to odd if inexact: rounding the result to a format of at least two bits
 * less gives the same as rounding once (Boldo and Melquiond, 2008). */
static float odd_from_double(double value)
{
    float near = (float)value;
    if ((double)near == value || isnan(value)) {
        return near;
    }
    uint32_t bits;
    memcpy(&bits, &near, sizeof(bits));
    if (fabs((double)near) > fabs(value)) {
        bits--;
    }
    bits |= 1;
    memcpy(&near, &bits, sizeof(near));
    return near;
}

static bool f64_to_odd(void *to, const uint8_t *from, size_t count)
{
    float *made = to;
    for (size_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, from + i * sizeof(value), sizeof(value));
        made[i] = odd_from_double(value);
    }
    return true;
}

static bool f16_to_f32(void *to_, const uint8_t *from, size_t count)
{
    float *to = to_;
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, from + i * sizeof(half), sizeof(half));
        to[i] = sl_float_from_half(half);
    }
    return true;
}

static bool bf16_to_f32(void *to_, const uint8_t *from, size_t count)
{
    float *to = to_;
    for (size_t i = 0; i < count; i++) {
        uint16_t upper;
        memcpy(&upper, from + i * sizeof(upper), sizeof(upper));
        const uint32_t bits = (uint32_t)upper << 16;
        memcpy(&to[i], &bits, sizeof(bits));
    }
    return true;
}

/* Converts through binary32. Integers that it cannot represent are rounded twice, by less than a
 * unit of the narrow dtype. */
#define BY_FLOAT(name, from_bytes, to_float, to_type, narrow)            \
    static bool name(void *to_, const uint8_t *from, size_t count)       \
    {                                                                    \
        to_type *to = to_;                                               \
        bool good = true;                                                \
        float chunk[CHUNK];                                              \
        for (size_t at = 0; at < count; at += CHUNK) {                   \
            const size_t some = count - at < CHUNK ? count - at : CHUNK; \
            good &= to_float(chunk, from + at * (from_bytes), some);     \
            for (size_t i = 0; i < some; i++) {                          \
                to[at + i] = narrow(chunk[i]);                           \
            }                                                            \
        }                                                                \
        return good;                                                     \
    }

// NOLINTEND(bugprone-macro-parentheses)

#define NARROW(name, bytes, to_float)                                      \
    BY_FLOAT(name##_to_f16, bytes, to_float, uint16_t, sl_half_from_float) \
    BY_FLOAT(name##_to_bf16, bytes, to_float, uint16_t, sl_bfloat16_from_float)

NARROW(u8, 1, u8_to_f32)
NARROW(bool, 1, bool_to_f32)
NARROW(i8, 1, i8_to_f32)
NARROW(u16, 2, u16_to_f32)
NARROW(i16, 2, i16_to_f32)
NARROW(u32, 4, u32_to_f32)
NARROW(i32, 4, i32_to_f32)
NARROW(u64, 8, u64_to_f32)
NARROW(i64, 8, i64_to_f32)
NARROW(f32, 4, copy_4)
NARROW(f64, 8, f64_to_odd)
BY_FLOAT(f16_to_bf16, 2, f16_to_f32, uint16_t, sl_bfloat16_from_float)
BY_FLOAT(f16_to_f64, 2, f16_to_f32, double, (double))
BY_FLOAT(bf16_to_f16, 2, bf16_to_f32, uint16_t, sl_half_from_float)
BY_FLOAT(bf16_to_f64, 2, bf16_to_f32, double, (double))

#define INTEGERS(name)                                                                             \
    {                                                                                              \
        [SLUICE_I32] = name##_to_i32, [SLUICE_I64] = name##_to_i64, [SLUICE_F32] = name##_to_f32,  \
        [SLUICE_F64] = name##_to_f64, [SLUICE_F16] = name##_to_f16, [SLUICE_BF16] = name##_to_bf16 \
    }

enum { DTYPES = SLUICE_BOOL + 1 };

static const sl_cast casts[DTYPES][DTYPES] = {
    [SLUICE_U8] = INTEGERS(u8),
    [SLUICE_BOOL] = INTEGERS(bool),
    [SLUICE_I8] = INTEGERS(i8),
    [SLUICE_U16] = INTEGERS(u16),
    [SLUICE_I16] = INTEGERS(i16),
    [SLUICE_U32] = INTEGERS(u32),
    [SLUICE_I32] = INTEGERS(i32),
    [SLUICE_U64] = INTEGERS(u64),
    [SLUICE_I64] = INTEGERS(i64),
    [SLUICE_F32] =
        {[SLUICE_F64] = f32_to_f64, [SLUICE_F16] = f32_to_f16, [SLUICE_BF16] = f32_to_bf16},
    [SLUICE_F64] =
        {[SLUICE_F32] = f64_to_f32, [SLUICE_F16] = f64_to_f16, [SLUICE_BF16] = f64_to_bf16},
    [SLUICE_F16] =
        {[SLUICE_F32] = f16_to_f32, [SLUICE_F64] = f16_to_f64, [SLUICE_BF16] = f16_to_bf16},
    [SLUICE_BF16] =
        {[SLUICE_F32] = bf16_to_f32, [SLUICE_F64] = bf16_to_f64, [SLUICE_F16] = bf16_to_f16},
};

sl_cast sl_cast_find(sluice_dtype from, sluice_dtype to)
{
    static const sl_cast copies[] = {[1] = copy_1, [2] = copy_2, [4] = copy_4, [8] = copy_8};
    if ((unsigned)from >= DTYPES || (unsigned)to >= DTYPES) {
        return NULL;
    }
    if (from == to) {
        return from == SLUICE_BOOL ? bool_to_bool : copies[sl_dtype_bytes(from)];
    }
    return casts[from][to];
}
