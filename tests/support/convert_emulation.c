/* SPDX-License-Identifier: Apache-2.0 */
#include "convert_emulation.h"

#include "apply.h"

#include <math.h>
#include <string.h>

typedef struct convert_words2 {
    _Alignas(8) uint32_t x;
    uint32_t y;
} convert_words2;

typedef struct convert_words4 {
    _Alignas(16) uint32_t x;
    uint32_t y, z, w;
} convert_words4;

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t digits)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t chosen = 0;
    for (unsigned i = 0; i < 4; i++) {
        chosen |= (uint32_t)(bytes >> (8 * (digits >> (4 * i) & 7)) & 255) << (8 * i);
    }
    return chosen;
}

#define CONVERT_INLINE              static inline
#define CONVERT_FMA(v, scale, bias) fmaf(v, scale, bias)
#define CONVERT_MULTIPLY(a, b)      ((a) * (b))
#define CONVERT_ADD(a, b)           ((a) + (b))
#define CONVERT_FLOAT(bits)         float_of(bits)
#define CONVERT_HALF(x)             sl_half_from_float(x)
#define CONVERT_BFLOAT(x)           convert_bfloat(bits_of(x))
#define CONVERT_BITS(x)             bits_of(x)
#define CONVERT_PERMUTE(a, b, s)    permute(a, b, s)
#define CONVERT_LOAD(at)            (*(at))
#define CONVERT_APART
#define CONVERT_ROLLED
#define CONVERT_UNROLLED
#include "mixing_body.h"

void convert_emulate_block(const sl_conversion_launch *launch, uint32_t kernel, uint32_t x,
                           uint32_t row)
{
    const int dtype = (int)(kernel % SL_CONVERSION_MIXING / 2);
    const int layout = kernel % 2 == 1 ? SLUICE_NCHW : SLUICE_NHWC;
    for (uint32_t thread = 0; thread < launch->block[0]; thread++) {
        const uint32_t number = x * launch->block[0] + thread;
        if (kernel >= SL_CONVERSION_MIXING) {
            mix_row(&launch->parameters, dtype, layout, row, number);
        } else {
            convert_row(&launch->parameters, dtype, layout, row, number);
        }
    }
}

void convert_emulate(const sl_conversion_launch *launch, uint32_t kernel)
{
    /* blocks past the last row do nothing */
    const uint32_t blocks = launch->grid[1] * launch->grid[2];
    for (uint32_t row = 0; row < blocks && row < launch->parameters.rows; row++) {
        for (uint32_t x = 0; x < launch->grid[0]; x++) {
            convert_emulate_block(launch, kernel, x, row);
        }
    }
}

void convert_emulate_rows(const sl_conversion *conversion, const sl_conversion_rows *rows)
{
    sl_conversion_launch launch;
    sl_conversion_launch_make(&launch, conversion, rows);
    convert_emulate(&launch, sl_conversion_kernel_for(conversion, rows));
}

/* ---- plain loops ---- */

static void put(void *to, sluice_dtype dtype, size_t at, uint8_t sample, float value)
{
    const uint32_t bits = bits_of(value);
    const uint16_t narrow =
        dtype == SLUICE_F16 ? sl_half_from_float(value) : sl_bfloat16_from_float(value);
    switch (dtype) {
    case SLUICE_U8:
        ((uint8_t *)to)[at] = sample;
        break;
    case SLUICE_F32:
        memcpy((uint8_t *)to + 4 * at, &bits, 4);
        break;
    default:
        memcpy((uint8_t *)to + 2 * at, &narrow, 2);
        break;
    }
}

void convert_plainly(const sl_conversion *c, uint8_t flags, const uint8_t *from, void *to)
{
    for (uint32_t y = 0; y < c->height; y++) {
        for (uint32_t x = 0; x < c->width; x++) {
            for (uint32_t channel = 0; channel < 3; channel++) {
                const uint32_t source = flags & SL_ROW_MIRROR ? c->width - 1 - x : x;
                const uint8_t sample = from[((size_t)y * c->width + source) * 3 + channel];
                const size_t at = c->layout == SLUICE_NHWC
                                      ? ((size_t)y * c->width + x) * 3 + channel
                                      : ((size_t)channel * c->height + y) * c->width + x;
                const float value = fmaf((float)sample, c->scale[channel], c->bias[channel]);
                put(to, c->dtype, at, sample, value);
            }
        }
    }
    if (flags & SL_ROW_ZERO) {
        memset(to, 0, sl_conversion_row_bytes(c));
    }
}
