/* SPDX-License-Identifier: Apache-2.0 */
/* Every cast, against the compiler's own conversions of one element at a time. */
#include "cast.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { COUNT = 700, DTYPES = SLUICE_BOOL + 1 }; /* more than a chunk, but not a multiple of one */

/* Returns element `i` as in C; half formats by their definition. */
static long double value_of(sluice_dtype dtype, const uint8_t *bytes, size_t i)
{
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
        float f32;
        double f64;
    } v;
    memcpy(&v, bytes + i * sluice_dtype_bytes(dtype), sluice_dtype_bytes(dtype));
    switch (dtype) {
    case SLUICE_U8:
    case SLUICE_BOOL:
        return v.u8;
    case SLUICE_I8:
        return v.i8;
    case SLUICE_U16:
        return v.u16;
    case SLUICE_I16:
        return v.i16;
    case SLUICE_U32:
        return v.u32;
    case SLUICE_I32:
        return v.i32;
    case SLUICE_U64:
        return v.u64;
    case SLUICE_I64:
        return v.i64;
    case SLUICE_F32:
        return v.f32;
    case SLUICE_F64:
        return v.f64;
    case SLUICE_BF16:
        v.u32 = (uint32_t)v.u16 << 16;
        return v.f32;
    case SLUICE_F16:
        break;
    }
    const int exponent = v.u16 >> 10 & 0x1F;
    const long double mantissa = v.u16 & 0x3FF;
    const long double sign = v.u16 >> 15 != 0 ? -1 : 1;
    if (exponent == 0x1F) {
        return mantissa != 0 ? (long double)NAN : sign * (long double)INFINITY;
    }
    return sign * (exponent == 0 ? ldexpl(mantissa, -24) : ldexpl(1024 + mantissa, exponent - 25));
}

static bool is_floating(sluice_dtype dtype)
{
    return dtype == SLUICE_F16 || dtype == SLUICE_BF16 || dtype == SLUICE_F32 ||
           dtype == SLUICE_F64;
}

/* Returns the spacing of the dtype's numbers around `value`. */
static long double unit_at(sluice_dtype dtype, long double value)
{
    int bits = 24;
    int least = -149;
    if (dtype == SLUICE_F16) {
        bits = 11;
        least = -24;
    } else if (dtype == SLUICE_BF16) {
        bits = 8;
        least = -133;
    } else if (dtype == SLUICE_F64) {
        bits = 53;
        least = -1074;
    }
    int exponent = 0;
    (void)frexpl(value, &exponent);
    exponent -= bits;
    return ldexpl(1, exponent < least ? least : exponent);
}

static void check_floating(sluice_dtype from, sluice_dtype to, long double was, long double is)
{
    if (isnan(was)) {
        assert_true(isnan(is));
    } else if (isinf(is)) {
        assert_true(isinf(was) || fabsl(was) >= 65504 - 16);
        assert_true((was > 0) == (is > 0));
    } else {
        /* wide integers and f64 are rounded twice on the way to the narrow ones */
        const bool twice = sluice_dtype_bytes(from) >= 4 && sluice_dtype_bytes(to) == 2;
        assert_true(fabsl(was - is) <= unit_at(to, was) * (twice ? 0.5001L : 0.5L));
    }
}

/* Pseudo-random bits; the first few are the extremes. */
static void fill(uint8_t *bytes, sluice_dtype dtype)
{
    const size_t size = COUNT * sluice_dtype_bytes(dtype);
    uint64_t x = 88172645463325252ULL + (uint64_t)dtype;
    for (size_t i = 0; i < size; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bytes[i] = dtype == SLUICE_BOOL ? x >> 40 & 1 : (uint8_t)(x >> 32);
    }
    memset(bytes, 0, sluice_dtype_bytes(dtype));
    memset(bytes + sluice_dtype_bytes(dtype), dtype == SLUICE_BOOL ? 1 : 0xFF,
           sluice_dtype_bytes(dtype));
}

static void check_pair(sluice_dtype from, sluice_dtype to, sl_cast cast)
{
    static uint8_t source[COUNT * 8 + 1];
    static uint64_t made[COUNT];
    uint8_t *bytes = source + 1; /* the source need not be aligned */
    fill(bytes, from);
    bool fits = true;
    const bool good = cast(made, bytes, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const long double was = value_of(from, bytes, i);
        const long double is = value_of(to, (const uint8_t *)made, i);
        if (is_floating(to)) {
            check_floating(from, to, was, is);
            continue;
        }
        const long double high = to == SLUICE_I32 ? INT32_MAX : (long double)INT64_MAX;
        const long double low = to == SLUICE_I32 ? INT32_MIN : (long double)INT64_MIN;
        if (was <= high && was >= low) {
            assert_true(was == is);
        } else {
            fits = false;
        }
    }
    assert_int_equal(good, fits);
}

TEST(every_pair)
{
    int pairs = 0;
    for (int from = 0; from < DTYPES; from++) {
        for (int to = 0; to < DTYPES; to++) {
            const sl_cast cast = sl_cast_find((sluice_dtype)from, (sluice_dtype)to);
            const bool to_integer = to == SLUICE_I32 || to == SLUICE_I64;
            const bool wanted =
                is_floating((sluice_dtype)to) || (to_integer && !is_floating((sluice_dtype)from));
            if (from == to) {
                assert_non_null(cast);
                continue;
            }
            assert_int_equal(cast != NULL, wanted);
            if (cast != NULL) {
                check_pair((sluice_dtype)from, (sluice_dtype)to, cast);
                pairs++;
            }
        }
    }
    assert_int_equal(pairs, 4 * 3 + 9 * 4 + 9 * 2 - 2);
    assert_null(sl_cast_find((sluice_dtype)DTYPES, SLUICE_F32));
    assert_null(sl_cast_find(SLUICE_F32, (sluice_dtype)-1));
}

TEST(a_dtype_to_itself)
{
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        static uint8_t source[COUNT * 8];
        static uint64_t made[COUNT];
        fill(source, (sluice_dtype)dtype);
        assert_true(sl_cast_find((sluice_dtype)dtype, (sluice_dtype)dtype)(made, source, COUNT));
        assert_memory_equal(made, source, COUNT * sluice_dtype_bytes((sluice_dtype)dtype));
    }
}

/* Values other than 0 and 1, at any position, are rejected by all dtypes. */
TEST(bools_that_are_none)
{
    static uint8_t source[COUNT];
    static uint64_t made[COUNT];
    const sluice_dtype to[] = {SLUICE_BOOL, SLUICE_I32, SLUICE_I64, SLUICE_F32,
                               SLUICE_F64,  SLUICE_F16, SLUICE_BF16};
    for (size_t k = 0; k < sizeof(to) / sizeof(to[0]); k++) {
        const sl_cast cast = sl_cast_find(SLUICE_BOOL, to[k]);
        fill(source, SLUICE_BOOL);
        assert_true(cast(made, source, COUNT));
        for (size_t i = 0; i < COUNT; i += 13) {
            const uint8_t was = source[i];
            source[i] = i % 2 == 0 ? 2 : 255;
            assert_false(cast(made, source, COUNT));
            source[i] = was;
        }
    }
}

/* Converts all halves to binary32, which holds each exactly, and back. */
TEST(every_half)
{
    static uint16_t halves[65536];
    static uint16_t again[65536];
    static float singles[65536];
    for (uint32_t i = 0; i < 65536; i++) {
        halves[i] = (uint16_t)i;
    }
    const sluice_dtype dtypes[] = {SLUICE_F16, SLUICE_BF16};
    for (size_t k = 0; k < 2; k++) {
        assert_true(sl_cast_find(dtypes[k], SLUICE_F32)(singles, (const uint8_t *)halves, 65536));
        assert_true(sl_cast_find(SLUICE_F32, dtypes[k])(again, (const uint8_t *)singles, 65536));
        for (uint32_t i = 0; i < 65536; i++) {
            const long double was = value_of(dtypes[k], (const uint8_t *)halves, i);
            assert_true(isnan(was) ? isnan(singles[i]) : was == (long double)singles[i]);
            assert_true(isnan(was) || again[i] == i);
        }
    }
}

/* Rounded only once, although the conversion goes through binary32. */
TEST(doubles_are_rounded_once)
{
    static const struct {
        double value;
        uint16_t half;
    } known[] = {{1.0004882812509095, 0x3c01},
                 {2049.0000000001, 0x6801},
                 {1.0014648437490905, 0x3c01},
                 {65519.999999999898, 0x7bff},
                 {65520, 0x7c00},
                 {-1.0004882812509095, 0xbc01},
                 {1e300, 0x7c00},
                 {-1e300, 0xfc00},
                 {5.9604644775390625e-8, 1},
                 {2.98023223876953125e-8, 0},
                 {2.9802322387695316e-8, 1},
                 {1e-320, 0},
                 {0, 0},
                 {1, 0x3c00}};
    const sl_cast cast = sl_cast_find(SLUICE_F64, SLUICE_F16);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        uint8_t bytes[sizeof(double)];
        uint16_t half = 0;
        memcpy(bytes, &known[i].value, sizeof(bytes));
        assert_true(cast(&half, bytes, 1));
        assert_int_equal(half, known[i].half);
    }
}
