/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversion_body: the work of one thread of a conversion kernel, as C and as CUDA.
 *
 * Purpose: conversion.cu compiles it for the device; tests compile it for the host and run every
 * thread of a launch, so that the index arithmetic is checked without a GPU. Before including it,
 * define
 *   CONVERT_INLINE                static inline, for the device if there is one
 *   CONVERT_FMA(v, scale, bias)   fmaf: one rounding
 *   CONVERT_HALF(x)               bits of x as binary16, to nearest even
 *   CONVERT_BFLOAT(x)             bits of x, which is a number, as bfloat16, to nearest even:
 *                                 convert_bfloat, or an instruction
 *   CONVERT_BITS(x)               bits of x
 *   CONVERT_PERMUTE(a, b, s)      four of the bytes 0-3 of a and 4-7 of b: the digits of s, the
 *                                 lowest first
 *   CONVERT_LOAD(at)              *at, loaded now and not only when the value is needed
 *   CONVERT_APART                 keeps two calls that differ in a constant from being merged into
 *                                 one with a variable, which would put arrays into slow memory
 *   CONVERT_ROLLED, _UNROLLED     before a loop that is never, or fully, unrolled
 *   convert_words2, _words4       structures x, y[, z, w] of uint32_t, aligned to their size
 *
 * A thread makes a group of units of an image: with NHWC, neighbouring elements; with NCHW, one
 * element of neighbouring pixels in each of the three planes. If possible, a group is 16 bytes of
 * results, so that few threads keep much memory busy; otherwise 4 units. If groups of 4 do not fill
 * images evenly, nothing is aligned: then a thread's units are one block of threads apart, and are
 * made one by one. The launch decides (conversion_kernel.h).
 */
#ifndef SL_CONVERSION_BODY_H
#define SL_CONVERSION_BODY_H

#include "conversion_kernel.h"

/* One image, and its address. */
typedef struct convert_picture {
    const sl_conversion_parameters *p;
    const uint8_t *from;
    uint8_t *to;
    uint32_t flags;
} convert_picture;

/* The factors that convert a sample. */
typedef struct convert_factors {
    float scale[3], bias[3];
} convert_factors;

enum { CONVERT_WORDS = 4 /* of the widest group, in one plane */ };

/* NOLINTBEGIN(bugprone-macro-parentheses): the name of a variable */
/* A loop of `count` turns that is always unrolled, even if the compiler does not know `count` when
 * it decides: arrays with a variable index would be in slow memory. */
#define CONVERT_UP_TO(i, most, count)       \
    CONVERT_UNROLLED                        \
    for (uint32_t i = 0; i < (most); (i)++) \
        if (i < (count))
/* NOLINTEND(bugprone-macro-parentheses) */

/* ---- values ---- */

/* Uses constant indices only: a variable one would put the parameters into slow memory. */
CONVERT_INLINE float convert_pick(const float of[3], uint32_t channel)
{
    return channel == 0 ? of[0] : channel == 1 ? of[1] : of[2];
}

/* Returns the factors of channels [first, first + 3), modulo 3. */
CONVERT_INLINE convert_factors convert_factors_from(const sl_conversion_parameters *p,
                                                    uint32_t first)
{
    const uint32_t second = first == 2 ? 0 : first + 1;
    const uint32_t third = second == 2 ? 0 : second + 1;
    const convert_factors factors = {{convert_pick(p->scale, first), convert_pick(p->scale, second),
                                      convert_pick(p->scale, third)},
                                     {convert_pick(p->bias, first), convert_pick(p->bias, second),
                                      convert_pick(p->bias, third)}};
    return factors;
}

/* Returns the bits of a number, in binary32, rounded to bfloat16. A carry out of the fraction goes
 * into the exponent, up to infinity. */
CONVERT_INLINE uint32_t convert_bfloat(uint32_t bits)
{
    return (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
}

/* Returns one result, in the low bits. It is finite (conversion.h). */
CONVERT_INLINE uint32_t convert_value(int dtype, uint32_t sample, float scale, float bias)
{
    if (dtype == SLUICE_U8) {
        return sample;
    }
    const float value = CONVERT_FMA((float)sample, scale, bias);
    if (dtype == SLUICE_F16) {
        return CONVERT_HALF(value);
    }
    return dtype == SLUICE_F32 ? CONVERT_BITS(value) : CONVERT_BFLOAT(value);
}

CONVERT_INLINE uint32_t convert_bytes(int dtype)
{
    return dtype == SLUICE_F32 ? 4 : dtype == SLUICE_U8 ? 1 : 2;
}

/* ---- words ---- */

/* Loads 1, 2 or 4 words, aligned to their size. */
CONVERT_INLINE void convert_load(uint32_t *words, uint32_t count, const uint8_t *from)
{
    const void *at = from;
    if (count == 1) {
        words[0] = CONVERT_LOAD((const uint32_t *)at);
    } else if (count == 2) {
        const convert_words2 w = CONVERT_LOAD((const convert_words2 *)at);
        words[0] = w.x;
        words[1] = w.y;
    } else {
        const convert_words4 w = CONVERT_LOAD((const convert_words4 *)at);
        words[0] = w.x;
        words[1] = w.y;
        words[2] = w.z;
        words[3] = w.w;
    }
}

CONVERT_INLINE void convert_store(uint8_t *to, const uint32_t *words, uint32_t count)
{
    void *at = to;
    if (count == 1) {
        *(uint32_t *)at = words[0];
    } else if (count == 2) {
        const convert_words2 w = {words[0], words[1]};
        *(convert_words2 *)at = w;
    } else {
        const convert_words4 w = {words[0], words[1], words[2], words[3]};
        *(convert_words4 *)at = w;
    }
}

CONVERT_INLINE void convert_store_one(void *to, int dtype, size_t element, uint32_t result)
{
    if (dtype == SLUICE_U8) {
        ((uint8_t *)to)[element] = (uint8_t)result;
    } else if (dtype == SLUICE_F32) {
        ((uint32_t *)to)[element] = result;
    } else {
        ((uint16_t *)to)[element] = (uint16_t)result;
    }
}

/* Puts result number k into its place in words of results. */
CONVERT_INLINE void convert_put(uint32_t *words, int dtype, uint32_t k, uint32_t result)
{
    const uint32_t each = 4 / convert_bytes(dtype);
    words[k / each] = k % each == 0 ? result : words[k / each] | result << (32 / each * (k % each));
}

/*
 * Reverses a word of a line pixel by pixel. The result begins with channel `phase`. Its source is
 * in the three words `low`, `middle` and `high`; the middle one ends where the reversed word would
 * begin if bytes, not pixels, were reversed. Phase 0 needs no `high`, phase 2 no `low`.
 */
CONVERT_INLINE uint32_t convert_turn(uint32_t phase, uint32_t low, uint32_t middle, uint32_t high)
{
    const uint32_t first = phase == 0 ? 0x2765 : phase == 1 ? 0x4307 : 0x6540;
    const uint32_t second = phase == 0 ? 0x3210 : phase == 1 ? 0x3240 : 0x3215;
    return CONVERT_PERMUTE(CONVERT_PERMUTE(low, middle, first), high, second);
}

/* ---- single samples ---- */

/* A position in an image, to continue from: a division for each element would cost more than the
 * rest. */
typedef struct convert_place {
    uint32_t pixel, channel;
    uint32_t x; /* of the pixel, if the image is mirrored */
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

/* Returns the sample at this position, and advances. */
CONVERT_INLINE uint32_t convert_next(const convert_picture *picture, convert_place *place)
{
    const uint32_t width = picture->p->width;
    const uint32_t source = picture->flags & SL_ROW_MIRROR
                                ? place->pixel - 2 * place->x + width - 1 /* modulo 2^32 */
                                : place->pixel;
    const uint8_t sample = picture->from[3 * (size_t)source + place->channel];
    place->channel = place->channel == 2 ? 0 : place->channel + 1;
    if (place->channel == 0) {
        place->pixel++;
        place->x = place->x + 1 == width ? 0 : place->x + 1;
    }
    return sample;
}

/* Gathers `count` words, 1 or 3, from there on. */
CONVERT_INLINE void convert_gather(const convert_picture *picture, convert_place place,
                                   uint32_t *words, uint32_t count)
{
    CONVERT_UP_TO(k, 12, 4 * count)
    {
        convert_put(words, SLUICE_U8, k, convert_next(picture, &place));
    }
}

/* ---- groups of mirrored images: their width is the same for all threads ---- */

/* Makes words [word, word + count) of the mirrored image, all in one line, whose width is a
 * multiple of 4. */
CONVERT_INLINE void convert_turn_elements(const convert_picture *picture, uint32_t word,
                                          uint32_t *turned, uint32_t count)
{
    const uint32_t line_words = picture->p->width / 4 * 3;
    const uint32_t begin = word % line_words;
    const uint32_t end = line_words - begin; /* where the source words are */
    const uint32_t *line = (const uint32_t *)(const void *)picture->from + (word - begin);
    uint32_t words[CONVERT_WORDS + 2];
    uint32_t phase = begin % 3;
    /* The outermost two do not exist at the ends of a line, and are not needed. */
    words[0] = CONVERT_LOAD(line + (begin == 0 ? end - 1 : end));
    CONVERT_UP_TO(i, CONVERT_WORDS, count)
    {
        words[i + 1] = CONVERT_LOAD(line + (end - i - 1));
    }
    words[count + 1] = CONVERT_LOAD(line + (end == count ? 0 : end - count - 1));
    CONVERT_UP_TO(i, CONVERT_WORDS, count)
    {
        turned[i] = convert_turn(phase, words[i + 2], words[i + 1], words[i]);
        phase = phase == 2 ? 0 : phase + 1;
    }
}

CONVERT_INLINE void convert_mirror_nhwc(const convert_picture *picture, uint32_t first,
                                        uint32_t *words, uint32_t count)
{
    const uint32_t width = picture->p->width;
    if (width % (4 * count) == 0) {
        convert_turn_elements(picture, first / 4, words, count);
    } else if (count > 1) { /* a multiple of 4, by the launch */
        CONVERT_UP_TO(i, CONVERT_WORDS, count)
        {
            convert_turn_elements(picture, first / 4 + i, words + i, 1);
        }
    } else {
        convert_gather(picture, convert_place_of(picture, first / 3, first % 3), words, 1);
    }
}

/* Makes 4 x `count` pixels from `first` of the mirrored image, all in one line. */
CONVERT_INLINE void convert_turn_pixels(const convert_picture *picture, uint32_t first,
                                        uint32_t *turned, uint32_t count)
{
    const uint32_t width = picture->p->width;
    const uint32_t source = first - 2 * (first % width) + width - 4 * count; /* modulo 2^32 */
    const uint8_t *from = picture->from + 3 * (size_t)source;
    uint32_t words[3 * CONVERT_WORDS];
    CONVERT_UP_TO(i, 3, 3)
    {
        convert_load(words + (size_t)i * count, count, from + 4 * (size_t)i * count);
    }
    CONVERT_UP_TO(i, CONVERT_WORDS, count)
    {
        const uint32_t *w = words + 3 * (size_t)(count - 1 - i);
        uint32_t *t = turned + 3 * (size_t)i;
        t[0] = convert_turn(0, w[1], w[2], 0);
        t[1] = convert_turn(1, w[0], w[1], w[2]);
        t[2] = convert_turn(2, 0, w[0], w[1]);
    }
}

CONVERT_INLINE void convert_mirror_nchw(const convert_picture *picture, uint32_t first,
                                        uint32_t *words, uint32_t count)
{
    const uint32_t width = picture->p->width;
    if (width % (4 * count) == 0) {
        convert_turn_pixels(picture, first, words, count);
    } else if (count > 1) { /* a multiple of 4, by the launch */
        CONVERT_UP_TO(i, CONVERT_WORDS, count)
        {
            convert_turn_pixels(picture, first + 4 * i, words + 3 * (size_t)i, 1);
        }
    } else {
        convert_gather(picture, convert_place_of(picture, first, 0), words, 3);
    }
}

/* ---- groups ---- */

/* Makes the results of 4 x `count` elements from `first`. */
CONVERT_INLINE void convert_elements(const sl_conversion_parameters *p, int dtype, uint32_t first,
                                     const uint32_t *words, uint32_t count, uint32_t *made)
{
    const convert_factors factors = convert_factors_from(p, first % 3);
    CONVERT_UP_TO(k, 4 * CONVERT_WORDS, 4 * count)
    {
        if (dtype != SLUICE_U8) {
            const uint32_t sample = (words[k / 4] >> (8 * (k % 4))) & 255U;
            convert_put(made, dtype, k,
                        convert_value(dtype, sample, factors.scale[k % 3], factors.bias[k % 3]));
        } else if (k % 4 == 0) {
            made[k / 4] = words[k / 4];
        }
    }
}

/* Makes elements [first, first + 4 x count) of an evenly filled image. The source is loaded
 * before the flags are known: a mirrored image is then read twice, but from the cache, and other
 * images do not wait for their flags first. */
CONVERT_INLINE void convert_even_nhwc(const convert_picture *picture, int dtype, uint32_t first,
                                      uint32_t count)
{
    const uint32_t results = count * convert_bytes(dtype); /* words of results */
    uint8_t *to = picture->to + (size_t)first * convert_bytes(dtype);
    uint32_t words[CONVERT_WORDS];
    uint32_t made[CONVERT_WORDS] = {0, 0, 0, 0};
    convert_load(words, count, picture->from + first);
    if (picture->flags & SL_ROW_MIRROR) {
        convert_mirror_nhwc(picture, first, words, count);
    }
    if ((picture->flags & SL_ROW_ZERO) == 0) { /* not earlier: that would delay the load */
        convert_elements(picture->p, dtype, first, words, count, made);
    }
    convert_store(to, made, results);
}

/* Returns the samples of one channel, from 4 pixels in 3 words. */
CONVERT_INLINE uint32_t convert_samples_of(uint32_t channel, const uint32_t *words)
{
    const uint32_t first = channel == 0 ? 0x0630 : channel == 1 ? 0x0741 : 0x0052;
    const uint32_t second = channel == 0 ? 0x5210 : channel == 1 ? 0x6210 : 0x7410;
    return CONVERT_PERMUTE(CONVERT_PERMUTE(words[0], words[1], first), words[2], second);
}

/* Makes the results of one channel, for 4 x `count` pixels. */
CONVERT_INLINE void convert_plane(const sl_conversion_parameters *p, int dtype, uint32_t channel,
                                  const uint32_t *words, uint32_t count, uint32_t *made)
{
    CONVERT_UP_TO(k, 4 * CONVERT_WORDS, 4 * count)
    {
        const uint32_t byte = 3 * k + channel;
        if (dtype != SLUICE_U8) {
            const uint32_t sample = (words[byte / 4] >> (8 * (byte % 4))) & 255U;
            convert_put(made, dtype, k,
                        convert_value(dtype, sample, p->scale[channel], p->bias[channel]));
        } else if (k % 4 == 0) {
            made[k / 4] = convert_samples_of(channel, words + 3 * (size_t)(k / 4));
        }
    }
}

/* Makes pixels [first, first + 4 x count) of an evenly filled image, as above. */
CONVERT_INLINE void convert_even_nchw(const convert_picture *picture, int dtype, uint32_t first,
                                      uint32_t count)
{
    const uint32_t bytes = convert_bytes(dtype);
    const size_t plane_bytes = (size_t)picture->p->width * picture->p->height * bytes;
    uint8_t *to = picture->to + (size_t)first * bytes;
    uint32_t words[3 * CONVERT_WORDS];
    CONVERT_UP_TO(i, 3, 3)
    {
        convert_load(words + (size_t)i * count, count,
                     picture->from + 3 * (size_t)first + 4 * (size_t)i * count);
    }
    if (picture->flags & SL_ROW_MIRROR) {
        convert_mirror_nchw(picture, first, words, count);
    }
    CONVERT_UP_TO(c, 3, 3)
    {
        uint32_t made[CONVERT_WORDS] = {0, 0, 0, 0};
        if ((picture->flags & SL_ROW_ZERO) == 0) {
            convert_plane(picture->p, dtype, c, words, count, made);
        }
        convert_store(to + c * plane_bytes, made, count * bytes);
    }
}

/* Makes the units of an image that is not filled evenly. */
CONVERT_INLINE void convert_odd(const convert_picture *picture, int dtype, int layout,
                                uint32_t units, uint32_t thread)
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
        convert_place place = layout == SLUICE_NHWC ? convert_place_of(picture, unit / 3, unit % 3)
                                                    : convert_place_of(picture, unit, 0);
        const convert_factors factors = convert_factors_from(picture->p, place.channel);
        CONVERT_UP_TO(c, 3, channels)
        {
            const uint32_t result = convert_value(dtype, convert_next(picture, &place),
                                                  factors.scale[c], factors.bias[c]);
            convert_store_one(picture->to, dtype, c * (size_t)units + unit,
                              picture->flags & SL_ROW_ZERO ? 0 : result);
        }
    }
}

CONVERT_INLINE void convert_even(const convert_picture *picture, int dtype, int layout,
                                 uint32_t first, uint32_t count)
{
    if (layout == SLUICE_NHWC) {
        convert_even_nhwc(picture, dtype, first, count);
    } else {
        convert_even_nchw(picture, dtype, first, count);
    }
}

/* Runs thread `thread` of the threads for image `row`; threads past its end do nothing. */
CONVERT_INLINE void convert_row(const sl_conversion_parameters *p, int dtype, int layout,
                                uint32_t row, uint32_t thread)
{
    const uint32_t wide = SL_CONVERSION_BYTES / convert_bytes(dtype);
    const uint32_t plane = p->width * p->height;
    const uint32_t units = layout == SLUICE_NHWC ? 3 * plane : plane;
    const size_t elements = 3 * (size_t)plane * row;
    /* NOLINTBEGIN(performance-no-int-to-ptr): device addresses are numbers on the host */
    const convert_picture picture = {p, (const uint8_t *)(uintptr_t)p->from + elements,
                                     (uint8_t *)(uintptr_t)p->to + elements * convert_bytes(dtype),
                                     CONVERT_LOAD((const uint8_t *)(uintptr_t)p->flags + row)};
    /* NOLINTEND(performance-no-int-to-ptr) */
    /* Avoids a division, which would be 19 instructions in every thread. It does not overflow:
     * units are below 2^31, followed by at most 255 threads of the last block, with 16 units
     * each. */
    const uint32_t first = thread * p->group;
    if (p->group == 1) {
        convert_odd(&picture, dtype, layout, units, thread);
    } else if (first >= units) {
        return;
        /* one branch if they are the same */
    } else if (wide == SL_CONVERSION_GROUP || p->group == wide) {
        convert_even(&picture, dtype, layout, first, wide / 4);
        CONVERT_APART;
    } else {
        convert_even(&picture, dtype, layout, first, 1);
    }
}

#endif
