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

/* A position in an image. */
typedef struct sample_place {
    size_t y, x, channel;
} sample_place;

static size_t element_at(const sl_conversion *c, const sample_place *at)
{
    return c->layout == SLUICE_NHWC ? (at->y * c->width + at->x) * 3 + at->channel
                                    : (at->channel * c->height + at->y) * c->width + at->x;
}

static uint8_t sample_at(const sl_conversion *c, uint8_t flags, const uint8_t *from,
                         const sample_place *at)
{
    const size_t x = (flags & SL_ROW_MIRROR) != 0 ? c->width - 1 - at->x : at->x;
    return from[(at->y * c->width + x) * 3 + at->channel];
}

static float shares(float weight, float own, float other)
{
    const float rest = 1.0F - weight;
    const float second = rest * other;
    return fmaf(weight, own, second);
}

static bool is_inside(const sl_conversion_mixing *mixing, const sample_place *at)
{
    return at->x >= mixing->left && at->x < mixing->right && at->y >= mixing->top &&
           at->y < mixing->bottom;
}

/* Computes the result at a position of row `row` and stores it in its element. */
static void convert_place_plainly(const sl_conversion *c, const sl_conversion_rows *rows,
                                  uint32_t row, const sample_place *at)
{
    const sl_conversion_mixing none = {.partner = row, .weight = 1};
    const sl_conversion_mixing *mixing = rows->mixing != NULL ? &rows->mixing[row] : &none;
    const size_t each = (size_t)c->width * c->height * 3;
    const uint32_t partner = mixing->partner;
    const bool cuts = mixing->right > mixing->left;
    const uint8_t own = sample_at(c, rows->flags[row], rows->from + row * each, at);
    const uint8_t other = sample_at(c, rows->flags[partner], rows->from + partner * each, at);
    const float scale = c->scale[at->channel];
    const float bias = c->bias[at->channel];
    uint8_t sample = cuts && is_inside(mixing, at) ? other : own;
    float value = fmaf((float)sample, scale, bias);
    if ((rows->flags[row] & SL_ROW_ZERO) != 0) {
        sample = 0;
        value = 0;
    } else if (!cuts && partner != row) {
        sample = (uint8_t)nearbyintf(shares(mixing->weight, own, other)); /* rounds to even */
        value = shares(mixing->weight, value, fmaf((float)other, scale, bias));
    }
    put((uint8_t *)rows->to + row * sl_conversion_row_bytes(c), c->dtype, element_at(c, at), sample,
        value);
}

void convert_rows_plainly(const sl_conversion *c, const sl_conversion_rows *rows)
{
    for (uint32_t row = 0; row < rows->rows; row++) {
        for (size_t i = 0; i < (size_t)c->width * c->height * 3; i++) {
            const sample_place at = {i / 3 / c->width, i / 3 % c->width, i % 3};
            convert_place_plainly(c, rows, row, &at);
        }
    }
}

void convert_plainly(const sl_conversion *c, uint8_t flags, const uint8_t *from, void *to)
{
    convert_rows_plainly(c,
                         &(sl_conversion_rows){.from = from, .flags = &flags, .to = to, .rows = 1});
}
