/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversion_body: what one thread of a conversion kernel does, as C and as CUDA.
 *
 * Purpose: conversion.cu compiles it for the device; tests compile it for the host and run every
 * thread of a launch, so that the arithmetic of places is checked where there is no GPU. Before
 * including it, define
 *   CONVERT_INLINE                static inline, for the device where there is one
 *   CONVERT_FMA(v, scale, bias)   fmaf: one rounding
 *   CONVERT_HALF(x)               bits of x as binary16, to nearest even
 *   CONVERT_BITS(x)               bits of x
 *   CONVERT_ROLLED                before a loop that is not to be unrolled
 *   convert_words2, _words4       structures x, y[, z, w] of uint32_t, aligned to their size
 *
 * A thread makes a group of 4 results, so that the 32 of a warp read and write whole lines: with
 * NHWC 4 neighbouring elements, with NCHW of 4 neighbouring pixels one element in each of the three
 * planes. Where groups do not fill pictures evenly nothing is aligned: there a thread's units (the
 * elements or the pixels) are as far apart as a block has threads, and go one by one.
 */
#ifndef SL_CONVERSION_BODY_H
#define SL_CONVERSION_BODY_H

#include "conversion_kernel.h"

/* One picture: where it begins. */
typedef struct convert_picture {
    const sl_conversion_parameters *p;
    const uint8_t *from;
    void *to;
    uint32_t flags;
} convert_picture;

/* One result, in the low bits. It is finite (conversion.h). */
CONVERT_INLINE uint32_t convert_value(const sl_conversion_parameters *p, int dtype, uint32_t sample,
                                      uint32_t channel)
{
    if (dtype == SLUICE_U8) {
        return sample;
    }
    /* not an index: that would put the parameters into slow memory */
    const float scale = channel == 0 ? p->scale[0] : channel == 1 ? p->scale[1] : p->scale[2];
    const float bias = channel == 0 ? p->bias[0] : channel == 1 ? p->bias[1] : p->bias[2];
    const float value = CONVERT_FMA((float)sample, scale, bias);
    if (dtype == SLUICE_F16) {
        return CONVERT_HALF(value);
    }
    const uint32_t bits = CONVERT_BITS(value);
    return dtype == SLUICE_F32 ? bits : (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
}

CONVERT_INLINE void convert_store(void *to, int dtype, size_t element, uint32_t result)
{
    if (dtype == SLUICE_U8) {
        ((uint8_t *)to)[element] = (uint8_t)result;
    } else if (dtype == SLUICE_F32) {
        ((uint32_t *)to)[element] = result;
    } else {
        ((uint16_t *)to)[element] = (uint16_t)result;
    }
}

/* `element` is a multiple of 4. */
CONVERT_INLINE void convert_store_group(void *to, int dtype, size_t element, const uint32_t r[4])
{
    const size_t group = element / SL_CONVERSION_GROUP;
    if (dtype == SLUICE_U8) {
        ((uint32_t *)to)[group] = r[0] | r[1] << 8 | r[2] << 16 | r[3] << 24;
    } else if (dtype == SLUICE_F32) {
        const convert_words4 words = {r[0], r[1], r[2], r[3]};
        ((convert_words4 *)to)[group] = words;
    } else {
        const convert_words2 words = {r[0] | r[1] << 16, r[2] | r[3] << 16};
        ((convert_words2 *)to)[group] = words;
    }
}

/* A place in a picture, to go on from: a division for each element would cost more than the rest.
 */
typedef struct convert_place {
    uint32_t pixel, channel;
    uint32_t x; /* of the pixel, where the picture is mirrored */
} convert_place;

CONVERT_INLINE convert_place convert_place_of(const convert_picture *picture, uint32_t pixel,
                                              uint32_t channel)
{
    convert_place place = {pixel, channel, 0};
    if (picture->flags & SL_ROW_MIRROR) {
        place.x = pixel % picture->p->width;
    }
    return place;
}

/* The result that belongs there; goes on to the next place. */
CONVERT_INLINE uint32_t convert_next(const convert_picture *picture, int dtype,
                                     convert_place *place)
{
    const uint32_t width = picture->p->width;
    const uint32_t source = picture->flags & SL_ROW_MIRROR
                                ? place->pixel - 2 * place->x + width - 1 /* modulo 2^32 */
                                : place->pixel;
    const uint8_t sample = picture->from[3 * (size_t)source + place->channel];
    const uint32_t result = convert_value(picture->p, dtype, sample, place->channel);
    place->channel = place->channel == 2 ? 0 : place->channel + 1;
    if (place->channel == 0) {
        place->pixel++;
        place->x = place->x + 1 == width ? 0 : place->x + 1;
    }
    return picture->flags & SL_ROW_ZERO ? 0 : result;
}

/* Elements [first, first + 4) of an evenly filled picture. */
CONVERT_INLINE void convert_even_nhwc(const convert_picture *picture, int dtype, uint32_t first)
{
    uint32_t results[SL_CONVERSION_GROUP];
    if (picture->flags == 0) {
        const uint32_t *words = (const uint32_t *)(const void *)picture->from;
        const uint32_t samples = words[first / SL_CONVERSION_GROUP];
        uint32_t channel = first % 3;
        for (uint32_t k = 0; k < SL_CONVERSION_GROUP; k++) {
            results[k] = convert_value(picture->p, dtype, (samples >> (8 * k)) & 255U, channel);
            channel = channel == 2 ? 0 : channel + 1;
        }
    } else {
        convert_place place = convert_place_of(picture, first / 3, first % 3);
        for (uint32_t k = 0; k < SL_CONVERSION_GROUP; k++) {
            results[k] = convert_next(picture, dtype, &place);
        }
    }
    convert_store_group(picture->to, dtype, first, results);
}

/* Pixels [first, first + 4) of an evenly filled picture. */
CONVERT_INLINE void convert_even_nchw(const convert_picture *picture, int dtype, uint32_t first)
{
    uint32_t results[3][SL_CONVERSION_GROUP];
    const uint32_t plane = picture->p->width * picture->p->height;
    if (picture->flags == 0) {
        const uint32_t *words = (const uint32_t *)(const void *)(picture->from + 3 * (size_t)first);
        const uint32_t samples[3] = {words[0], words[1], words[2]};
        for (uint32_t i = 0; i < 3 * SL_CONVERSION_GROUP; i++) {
            const uint32_t sample = (samples[i / 4] >> (8 * (i % 4))) & 255U;
            results[i % 3][i / 3] = convert_value(picture->p, dtype, sample, i % 3);
        }
    } else {
        convert_place place = convert_place_of(picture, first, 0);
        for (uint32_t i = 0; i < 3 * SL_CONVERSION_GROUP; i++) {
            results[i % 3][i / 3] = convert_next(picture, dtype, &place);
        }
    }
    for (uint32_t c = 0; c < 3; c++) {
        convert_store_group(picture->to, dtype, c * (size_t)plane + first, results[c]);
    }
}

/* Units of a picture that is not filled evenly. */
CONVERT_INLINE void convert_odd(const convert_picture *picture, int dtype, int layout,
                                uint32_t units, uint32_t group)
{
    const uint32_t channels = layout == SLUICE_NHWC ? 1 : 3; /* of a unit */
    const uint32_t first =
        group / SL_CONVERSION_THREADS * SL_CONVERSION_THREADS * SL_CONVERSION_GROUP +
        group % SL_CONVERSION_THREADS;
    CONVERT_ROLLED
    for (uint32_t k = 0; k < SL_CONVERSION_GROUP; k++) {
        const uint32_t unit = first + k * SL_CONVERSION_THREADS;
        if (unit >= units) {
            return;
        }
        convert_place place = layout == SLUICE_NHWC ? convert_place_of(picture, unit / 3, unit % 3)
                                                    : convert_place_of(picture, unit, 0);
        for (uint32_t c = 0; c < channels; c++) {
            const uint32_t result = convert_next(picture, dtype, &place);
            convert_store(picture->to, dtype, c * (size_t)units + unit, result);
        }
    }
}

/* Group `group` of picture `row`; groups past the end of a picture do nothing. */
CONVERT_INLINE void convert_group(const sl_conversion_parameters *p, int dtype, int layout,
                                  uint32_t row, uint32_t group)
{
    const uint32_t plane = p->width * p->height;
    const uint32_t units = layout == SLUICE_NHWC ? 3 * plane : plane;
    const size_t bytes = dtype == SLUICE_F32 ? 4 : dtype == SLUICE_U8 ? 1 : 2;
    const size_t elements = 3 * (size_t)plane * row;
    /* NOLINTBEGIN(performance-no-int-to-ptr): device addresses are numbers on the host */
    const convert_picture picture = {p, (const uint8_t *)(uintptr_t)p->from + elements,
                                     (uint8_t *)(uintptr_t)p->to + elements * bytes,
                                     ((const uint8_t *)(uintptr_t)p->flags)[row]};
    /* NOLINTEND(performance-no-int-to-ptr) */
    if (units % SL_CONVERSION_GROUP != 0) {
        convert_odd(&picture, dtype, layout, units, group);
    } else if (group >= units / SL_CONVERSION_GROUP) {
        return;
    } else if (layout == SLUICE_NHWC) {
        convert_even_nhwc(&picture, dtype, group * SL_CONVERSION_GROUP);
    } else {
        convert_even_nchw(&picture, dtype, group * SL_CONVERSION_GROUP);
    }
}

#endif
