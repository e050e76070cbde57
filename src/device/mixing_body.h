/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixing_body: the work of one thread of a conversion kernel that mixes rows, as C and as CUDA; it
 * uses the groups and loads of conversion_body.h. In addition to the macros listed there, define
 * before including it CONVERT_MULTIPLY(a, b), CONVERT_ADD(a, b)   one rounding, never fused with
 * another operation CONVERT_FLOAT(bits)                         the number
 *
 * A separate kernel, so that batches without mixing pay nothing for it. A thread loads the same
 * group of two images. Inside a box, the partner's samples replace the row's own, and are converted
 * like them; otherwise results are mixed by weights (augment/canvas/mix_rows.h). A row without
 * mixing is handled as a box without pixels, with itself as the partner: the second load comes from
 * the cache.
 */
#ifndef SL_MIXING_BODY_H
#define SL_MIXING_BODY_H

#include "conversion_body.h"

typedef struct mix_pair {
    convert_picture own, other;
    float weight, rest;
    bool cuts; /* by the box; otherwise by weight */
    uint32_t left, top, right, bottom;
} mix_pair;

/* The position of a sample. */
typedef struct mix_place {
    uint32_t x, y, channel;
} mix_place;

CONVERT_INLINE mix_place mix_place_of(const mix_pair *pair, uint32_t pixel, uint32_t channel)
{
    const uint32_t width = pair->own.p->width;
    const mix_place place = {pixel % width, pixel / width, channel};
    return place;
}

CONVERT_INLINE bool mix_is_inside(const mix_pair *pair, const mix_place *place)
{
    return place->x >= pair->left && place->x < pair->right && place->y >= pair->top &&
           place->y < pair->bottom;
}

CONVERT_INLINE void mix_next_pixel(const mix_pair *pair, mix_place *place)
{
    place->x++;
    if (place->x == pair->own.p->width) {
        place->x = 0;
        place->y++;
    }
}

/* Returns one result, in the low bits. A mixed byte is also at most 255, and its unit is the last
 * bit of a number of at least 2^23. */
CONVERT_INLINE uint32_t mix_value(const mix_pair *pair, int dtype, const uint32_t samples[2],
                                  float scale, float bias)
{
    float own = (float)samples[0];
    float other = (float)samples[1];
    if (dtype != SLUICE_U8) {
        own = CONVERT_FMA(own, scale, bias);
        other = CONVERT_FMA(other, scale, bias);
    }
    const float value = CONVERT_FMA(pair->weight, own, CONVERT_MULTIPLY(pair->rest, other));
    if (dtype == SLUICE_U8) {
        return CONVERT_BITS(CONVERT_ADD(value, 8388608.0F)) & 255U;
    }
    if (dtype == SLUICE_F16) {
        return CONVERT_HALF(value);
    }
    return dtype == SLUICE_F32 ? CONVERT_BITS(value) : CONVERT_BFLOAT(value);
}

/* Replaces byte k of words by the byte of `from`. */
CONVERT_INLINE void mix_take(uint32_t *words, const uint32_t *from, uint32_t k, bool takes)
{
    const uint32_t mask = 255U << (8 * (k % 4));
    if (takes) {
        words[k / 4] = (words[k / 4] & ~mask) | (from[k / 4] & mask);
    }
}

CONVERT_INLINE uint32_t mix_byte(const uint32_t *words, uint32_t k)
{
    return (words[k / 4] >> (8 * (k % 4))) & 255U;
}

/* ---- groups ---- */

CONVERT_INLINE void mix_load_nhwc(const convert_picture *picture, uint32_t first, uint32_t *words,
                                  uint32_t count)
{
    convert_load(words, count, picture->from + first);
    if (picture->flags & SL_ROW_MIRROR) {
        convert_mirror_nhwc(picture, first, words, count);
    }
}

CONVERT_INLINE void mix_cut_nhwc(const mix_pair *pair, uint32_t first, uint32_t *own,
                                 const uint32_t *other, uint32_t count)
{
    mix_place place = mix_place_of(pair, first / 3, first % 3);
    CONVERT_UP_TO(k, 4 * CONVERT_WORDS, 4 * count)
    {
        mix_take(own, other, k, mix_is_inside(pair, &place));
        place.channel = place.channel == 2 ? 0 : place.channel + 1;
        if (place.channel == 0) {
            mix_next_pixel(pair, &place);
        }
    }
}

// NOLINTNEXTLINE(readability-function-size): inlined, as the other bodies are
CONVERT_INLINE void mix_elements(const mix_pair *pair, int dtype, uint32_t first,
                                 const uint32_t *own, const uint32_t *other, uint32_t count,
                                 uint32_t *made)
{
    const convert_factors factors = convert_factors_from(pair->own.p, first % 3);
    CONVERT_UP_TO(k, 4 * CONVERT_WORDS, 4 * count)
    {
        const uint32_t samples[2] = {mix_byte(own, k), mix_byte(other, k)};
        convert_put(made, dtype, k,
                    mix_value(pair, dtype, samples, factors.scale[k % 3], factors.bias[k % 3]));
    }
}

CONVERT_INLINE void mix_even_nhwc(const mix_pair *pair, int dtype, uint32_t first, uint32_t count)
{
    uint32_t own[CONVERT_WORDS];
    uint32_t other[CONVERT_WORDS];
    uint32_t made[CONVERT_WORDS] = {0, 0, 0, 0};
    mix_load_nhwc(&pair->own, first, own, count);
    mix_load_nhwc(&pair->other, first, other, count);
    if (pair->own.flags & SL_ROW_ZERO) {
        /* all zero */
    } else if (pair->cuts) {
        mix_cut_nhwc(pair, first, own, other, count);
        convert_elements(pair->own.p, dtype, first, own, count, made);
    } else {
        mix_elements(pair, dtype, first, own, other, count, made);
    }
    convert_store(pair->own.to + (size_t)first * convert_bytes(dtype), made,
                  count * convert_bytes(dtype));
}

CONVERT_INLINE void mix_load_nchw(const convert_picture *picture, uint32_t first, uint32_t *words,
                                  uint32_t count)
{
    CONVERT_UP_TO(i, 3, 3)
    {
        convert_load(words + (size_t)i * count, count,
                     picture->from + 3 * (size_t)first + 4 * (size_t)i * count);
    }
    if (picture->flags & SL_ROW_MIRROR) {
        convert_mirror_nchw(picture, first, words, count);
    }
}

CONVERT_INLINE void mix_cut_nchw(const mix_pair *pair, uint32_t first, uint32_t *own,
                                 const uint32_t *other, uint32_t count)
{
    mix_place place = mix_place_of(pair, first, 0);
    CONVERT_UP_TO(k, 4 * CONVERT_WORDS, 4 * count)
    {
        const bool takes = mix_is_inside(pair, &place);
        mix_take(own, other, 3 * k, takes);
        mix_take(own, other, 3 * k + 1, takes);
        mix_take(own, other, 3 * k + 2, takes);
        mix_next_pixel(pair, &place);
    }
}

// NOLINTNEXTLINE(readability-function-size): inlined, as the other bodies are
CONVERT_INLINE void mix_plane(const mix_pair *pair, int dtype, uint32_t channel,
                              const uint32_t *own, const uint32_t *other, uint32_t count,
                              uint32_t *made)
{
    const sl_conversion_parameters *p = pair->own.p;
    CONVERT_UP_TO(k, 4 * CONVERT_WORDS, 4 * count)
    {
        const uint32_t byte = 3 * k + channel;
        const uint32_t samples[2] = {mix_byte(own, byte), mix_byte(other, byte)};
        convert_put(made, dtype, k,
                    mix_value(pair, dtype, samples, p->scale[channel], p->bias[channel]));
    }
}

CONVERT_INLINE void mix_even_nchw(const mix_pair *pair, int dtype, uint32_t first, uint32_t count)
{
    const sl_conversion_parameters *p = pair->own.p;
    const uint32_t bytes = convert_bytes(dtype);
    const size_t plane_bytes = (size_t)p->width * p->height * bytes;
    uint8_t *to = pair->own.to + (size_t)first * bytes;
    uint32_t own[3 * CONVERT_WORDS];
    uint32_t other[3 * CONVERT_WORDS];
    mix_load_nchw(&pair->own, first, own, count);
    mix_load_nchw(&pair->other, first, other, count);
    if (pair->cuts) {
        mix_cut_nchw(pair, first, own, other, count);
    }
    CONVERT_UP_TO(c, 3, 3)
    {
        uint32_t made[CONVERT_WORDS] = {0, 0, 0, 0};
        if (pair->own.flags & SL_ROW_ZERO) {
            /* all zero */
        } else if (pair->cuts) {
            convert_plane(p, dtype, c, own, count, made);
        } else {
            mix_plane(pair, dtype, c, own, other, count, made);
        }
        convert_store(to + c * plane_bytes, made, count * bytes);
    }
}

/* ---- single samples ---- */

CONVERT_INLINE uint32_t mix_one(const mix_pair *pair, int dtype, const uint32_t samples[2],
                                bool inside, float scale, float bias)
{
    if (pair->own.flags & SL_ROW_ZERO) {
        return 0;
    }
    return pair->cuts ? convert_value(dtype, samples[inside ? 1 : 0], scale, bias)
                      : mix_value(pair, dtype, samples, scale, bias);
}

/* Makes the units of an image that is not filled evenly. */
CONVERT_INLINE void mix_odd(const mix_pair *pair, int dtype, int layout, uint32_t units,
                            uint32_t thread)
{
    const uint32_t channels = layout == SLUICE_NHWC ? 1 : 3; /* per unit */
    const uint32_t first =
        thread / SL_CONVERSION_THREADS * SL_CONVERSION_THREADS * SL_CONVERSION_GROUP +
        thread % SL_CONVERSION_THREADS;
    CONVERT_ROLLED
    for (uint32_t k = 0; k < SL_CONVERSION_GROUP; k++) {
        const uint32_t unit = first + k * SL_CONVERSION_THREADS;
        if (unit >= units) {
            return;
        }
        const uint32_t pixel = layout == SLUICE_NHWC ? unit / 3 : unit;
        const uint32_t channel = layout == SLUICE_NHWC ? unit % 3 : 0;
        const mix_place at = mix_place_of(pair, pixel, channel);
        const bool inside = mix_is_inside(pair, &at);
        convert_place own = convert_place_of(&pair->own, pixel, channel);
        convert_place other = convert_place_of(&pair->other, pixel, channel);
        const convert_factors factors = convert_factors_from(pair->own.p, channel);
        CONVERT_UP_TO(c, 3, channels)
        {
            uint32_t samples[2];
            samples[0] = convert_next(&pair->own, &own);
            samples[1] = convert_next(&pair->other, &other);
            convert_store_one(
                pair->own.to, dtype, c * (size_t)units + unit,
                mix_one(pair, dtype, samples, inside, factors.scale[c], factors.bias[c]));
        }
    }
}

CONVERT_INLINE void mix_even(const mix_pair *pair, int dtype, int layout, uint32_t first,
                             uint32_t count)
{
    if (layout == SLUICE_NHWC) {
        mix_even_nhwc(pair, dtype, first, count);
    } else {
        mix_even_nchw(pair, dtype, first, count);
    }
}

CONVERT_INLINE convert_picture mix_picture(const sl_conversion_parameters *p, int dtype,
                                           uint32_t row)
{
    const size_t elements = 3 * (size_t)(p->width * p->height) * row;
    /* NOLINTBEGIN(performance-no-int-to-ptr): device addresses are numbers on the host */
    const convert_picture picture = {p, (const uint8_t *)(uintptr_t)p->from + elements,
                                     (uint8_t *)(uintptr_t)p->to + elements * convert_bytes(dtype),
                                     CONVERT_LOAD((const uint8_t *)(uintptr_t)p->flags + row)};
    /* NOLINTEND(performance-no-int-to-ptr) */
    return picture;
}

/* Reads a row's sl_conversion_mixing, as four words. */
CONVERT_INLINE mix_pair mix_pair_of(const sl_conversion_parameters *p, int dtype, uint32_t row)
{
    uint32_t words[4];
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): as above */
    convert_load(words, 4, (const uint8_t *)(uintptr_t)p->mixing + 16 * (size_t)row);
    const float weight = CONVERT_FLOAT(words[1]);
    const mix_pair pair = {mix_picture(p, dtype, row),
                           mix_picture(p, dtype, words[0]),
                           weight,
                           CONVERT_ADD(1.0F, -weight),
                           words[0] == row || (words[3] & 65535U) > (words[2] & 65535U),
                           words[2] & 65535U,
                           words[2] >> 16,
                           words[3] & 65535U,
                           words[3] >> 16};
    return pair;
}

/* Works like convert_row. */
CONVERT_INLINE void mix_row(const sl_conversion_parameters *p, int dtype, int layout, uint32_t row,
                            uint32_t thread)
{
    const uint32_t wide = SL_CONVERSION_BYTES / convert_bytes(dtype);
    const uint32_t plane = p->width * p->height;
    const uint32_t units = layout == SLUICE_NHWC ? 3 * plane : plane;
    const mix_pair pair = mix_pair_of(p, dtype, row);
    const uint32_t first = thread * p->group;
    if (p->group == 1) {
        mix_odd(&pair, dtype, layout, units, thread);
    } else if (first >= units) {
        return;
    } else if (wide == SL_CONVERSION_GROUP || p->group == wide) {
        mix_even(&pair, dtype, layout, first, wide / 4);
        CONVERT_APART;
    } else {
        mix_even(&pair, dtype, layout, first, 1);
    }
}

#endif
