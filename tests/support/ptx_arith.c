/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions that do not access memory. Floats follow IEEE 754, rounded to nearest even. Rounding
 * to 16 bits uses arithmetic in double rather than bit manipulation, so that it checks the library
 * by another method. All NaNs become PTX's one NaN.
 */
#include "ptx_parts.h"

#include <math.h>
#include <string.h>

#define NO_NUMBER UINT32_C(0x7FFFFFFF)

static float float_of(uint64_t bits)
{
    const uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

static uint64_t bits_of(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof(word));
    return isnan(value) ? NO_NUMBER : word;
}

static float flushed(const ptx_opcode *code, float value)
{
    return code->ftz && fpclassify(value) == FP_SUBNORMAL ? copysignf(0.0F, value) : value;
}

/* ---- 16-bit numbers ---- */

/* Rounds `value` to `bits` of fraction and least exponent `least`: sign, exponent, fraction. */
static uint64_t narrowed(float value, int bits, int least)
{
    const int bias = 1 - least;
    const uint32_t infinity = (uint32_t)(2 * bias + 1) << bits;
    const uint32_t sign = signbit(value) ? UINT32_C(0x8000) : 0;
    const double size = fabs((double)value);
    uint32_t code = infinity;
    if (isnan(value)) {
        return 0x7FFF;
    }
    if (!isinf(value)) {
        int exponent = size == 0 ? least : ilogb(size);
        exponent = exponent < least ? least : exponent;
        /* Exact in double; nearbyint rounds halves to even. */
        const double units = nearbyint(ldexp(size, bits - exponent));
        /* A carry out of the fraction increments the exponent. */
        code = (uint32_t)units + ((uint32_t)(exponent - least) << bits);
        code = code > infinity ? infinity : code;
    }
    return sign | code;
}

static float widened(uint16_t half)
{
    const int exponent = half >> 10 & 31;
    const float fraction = (float)(half & 1023);
    float size = ldexpf(fraction + 1024, exponent - 25);
    if (exponent == 0) {
        size = ldexpf(fraction, -24);
    } else if (exponent == 31) {
        size = fraction == 0 ? INFINITY : NAN;
    }
    return (half & 0x8000) != 0 ? -size : size;
}

/* ---- integers ---- */

static int64_t signed_of(ptx_type type, uint64_t value)
{
    const uint64_t sign = UINT64_C(1) << (type.bits - 1);
    return (int64_t)(((value & ptx_mask(type.bits)) ^ sign) - sign);
}

/* Extends to the register's width: by the sign, or by zeros. */
static uint64_t extended(ptx_type type, uint64_t value)
{
    return type.kind == 's' ? (uint64_t)signed_of(type, value) : value & ptx_mask(type.bits);
}

static uint64_t product(const ptx_opcode *code, uint64_t a, uint64_t b)
{
    const uint64_t left = extended(code->type, a);
    const uint64_t right = extended(code->type, b);
    const unsigned bits = code->type.bits;
    if (code->part != PTX_HIGH) {
        return left * right & ptx_mask(code->part == PTX_WIDE ? 2 * bits : bits);
    }
    if (bits < 64) {
        return left * right >> bits & ptx_mask(bits);
    }
    __extension__ typedef unsigned __int128 wide;
    uint64_t high = (uint64_t)((wide)a * b >> 64);
    if (code->type.kind == 's') {
        high -= ((int64_t)a < 0 ? b : 0) + ((int64_t)b < 0 ? a : 0);
    }
    return high;
}

static uint64_t shifted(const ptx_opcode *code, const uint64_t *v)
{
    const unsigned bits = code->type.bits;
    const bool out = (v[1] & UINT32_MAX) >= bits;
    const unsigned by = out ? bits - 1 : (unsigned)(v[1] & UINT32_MAX);
    if (code->op == PTX_SHL) {
        return out ? 0 : v[0] << by & ptx_mask(bits);
    }
    if (code->type.kind == 's') {
        const int64_t value = signed_of(code->type, v[0]);
        return (uint64_t)(value < 0 ? ~(~value >> by) : value >> by) & ptx_mask(bits);
    }
    return out ? 0 : (v[0] & ptx_mask(bits)) >> by;
}

static uint64_t inserted(const uint64_t *v)
{
    const unsigned at = (unsigned)(v[2] & 255);
    const unsigned bits = (unsigned)(v[3] & 255);
    const uint64_t mask = at < 32 ? ptx_mask(bits < 32 ? bits : 32) << at & UINT32_MAX : 0;
    return (v[1] & ~mask) | (at < 32 ? v[0] << at & mask : 0);
}

static uint64_t permuted(const uint64_t *v)
{
    const uint64_t bytes = v[1] << 32 | (v[0] & UINT32_MAX);
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned digit = (unsigned)(v[2] >> (4 * i) & 15);
        uint64_t byte = bytes >> (8 * (digit & 7)) & 255;
        if ((digit & 8) != 0) {
            byte = (byte & 128) != 0 ? 255 : 0;
        }
        result |= byte << (8 * i);
    }
    return result;
}

static uint64_t compared(const ptx_opcode *code, uint64_t a, uint64_t b)
{
    /* Flipping the sign bit keeps the order of signed numbers. */
    const uint64_t turn = code->type.kind == 's' ? UINT64_C(1) << 63 : 0;
    const uint64_t left = extended(code->type, a) ^ turn;
    const uint64_t right = extended(code->type, b) ^ turn;
    switch (code->compare) {
    case PTX_EQ:
        return left == right;
    case PTX_NE:
        return left != right;
    case PTX_LT:
        return left < right;
    case PTX_LE:
        return left <= right;
    case PTX_GT:
        return left > right;
    default:
        return left >= right;
    }
}

static uint64_t converted(const ptx_opcode *code, uint64_t value)
{
    if (code->from.kind == 'f' && code->from.bits == 16) {
        return bits_of(widened((uint16_t)value));
    }
    if (code->from.kind == 'f') {
        const float from = flushed(code, float_of(value));
        return code->type.kind == 'h' ? narrowed(from, 7, -126) : narrowed(from, 10, -14);
    }
    const uint64_t from = extended(code->from, value);
    if (code->type.kind != 'f') {
        return from & ptx_mask(code->type.bits);
    }
    return bits_of(code->from.kind == 's' ? (float)(int64_t)from : (float)from);
}

/* ---- all instructions ---- */

static float float_result(const ptx_opcode *code, const uint64_t *v)
{
    const float a = flushed(code, float_of(v[0]));
    const float b = code->op == PTX_NEG ? 0 : flushed(code, float_of(v[1]));
    switch (code->op) {
    case PTX_ADD:
        return a + b;
    case PTX_SUB:
        return a - b;
    case PTX_MUL:
        return a * b;
    case PTX_DIV:
        return a / b;
    case PTX_FMA:
        return fmaf(a, b, flushed(code, float_of(v[2])));
    default:
        return -a;
    }
}

static uint64_t integer_result(const ptx_opcode *code, const uint64_t *v)
{
    switch (code->op) {
    case PTX_ADD:
        return v[0] + v[1];
    case PTX_SUB:
        return v[0] - v[1];
    case PTX_MUL:
        return product(code, v[0], v[1]);
    case PTX_MAD:
        return product(code, v[0], v[1]) + v[2];
    case PTX_DIV:
        return v[0] / v[1];
    case PTX_REM:
        return v[0] % v[1];
    case PTX_NEG:
        return 0 - v[0];
    case PTX_AND:
        return v[0] & v[1];
    case PTX_OR:
        return v[0] | v[1];
    case PTX_XOR:
        return v[0] ^ v[1];
    default:
        return ~v[0];
    }
}

static bool is_float_arithmetic(const ptx_opcode *code)
{
    return code->type.kind == 'f' &&
           (code->op == PTX_ADD || code->op == PTX_SUB || code->op == PTX_MUL ||
            code->op == PTX_DIV || code->op == PTX_FMA || code->op == PTX_NEG);
}

static uint64_t moved(const ptx_instruction *n, const uint64_t *v)
{
    const unsigned half = n->code.type.bits / 2;
    return n->count == 3 ? (v[0] & ptx_mask(half)) | v[1] << half : v[0];
}

const char *ptx_compute(const ptx_instruction *n, const uint64_t *v, uint64_t *result)
{
    const ptx_opcode *code = &n->code;
    if (is_float_arithmetic(code)) {
        *result = bits_of(flushed(code, float_result(code, v)));
        return NULL;
    }
    if ((code->op == PTX_DIV || code->op == PTX_REM) && v[1] == 0) {
        return "division by 0";
    }
    switch (code->op) {
    case PTX_MOV:
        *result = moved(n, v);
        break;
    case PTX_CVTA:
        *result = v[0];
        break;
    case PTX_CVT:
        *result = converted(code, v[0]);
        break;
    case PTX_SETP:
        *result = compared(code, v[0], v[1]);
        break;
    case PTX_SELP:
        *result = v[2] != 0 ? v[0] : v[1];
        break;
    case PTX_SHL:
    case PTX_SHR:
        *result = shifted(code, v);
        break;
    case PTX_BFI:
        *result = inserted(v);
        break;
    case PTX_PRMT:
        *result = permuted(v);
        break;
    default:
        *result = integer_result(code, v);
        break;
    }
    return NULL;
}

uint64_t ptx_sum(ptx_type type, uint64_t a, uint64_t b)
{
    if (type.kind == 'f') {
        return bits_of(float_of(a) + float_of(b));
    }
    return (a + b) & ptx_mask(type.bits);
}
