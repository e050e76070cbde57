/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels_loop: the operations of pixels.h in vectors, compiled for AVX2 and for AVX-512.
 *
 * Before including it a variant defines
 *   SL_PIXELS_INLINE, SL_PIXELS_TARGET   static inline, and static, for its instruction set
 *   V(name), LANES               the intrinsic `name` of its width; bytes of a vector
 *   pixels_vector, pixels_floats the types
 *   V_AND, V_OR, V_XOR, V_ZERO   of whole vectors
 *   V_AS_FLOATS, V_AS_BITS       the same bits (pixels_hsv_loop.h)
 * and, inline,
 *   pixels_pick(mask, a, b)      bytes of a where the mask's are 255, of b where they are 0
 *   pixels_equal(a, b), pixels_same(x, y)   255, or -1, where bytes, or floats, are equal
 *   pixels_gather(p, stride)     16 bytes from p, p + stride, ..., each to a part of 128 bits
 *   pixels_scatter(p, stride, v) the same back
 *   pixels_repeat(p)             the same 16 bytes for all parts
 *
 * LANES pixels at a time: their channels are taken apart, each part of 128 bits being 16 pixels,
 * and put together again; all in between stays in its part, so order is kept. Pixels that are left
 * over go through a block on the stack.
 */
#ifndef SL_PIXELS_LOOP_H
#define SL_PIXELS_LOOP_H

#include "blend.h"
#include "pixels.h"

#include <stdalign.h>
#include <string.h>

enum { PIXELS_PART = 48, PIXELS_BLOCK = LANES * 3 };

typedef struct pixels_planes {
    pixels_vector c[3];
} pixels_planes;

/* Arguments of an operation. */
typedef struct pixels_context {
    const uint8_t *tables[3]; /* pixels_prepare */
    const uint8_t *order;
    const sl_hsv_change *hsv;
    float factor;
    uint8_t shift;
} pixels_context;

typedef pixels_planes pixels_operation(pixels_planes planes, const pixels_context *context);

/* Of 16 bytes, those whose place is 2, or 1, modulo 3. */
static const uint8_t pixels_thirds[2][16] = {
    {0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0},
    {0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0}};
/* Where the 16 bytes of a channel are once those of three vectors are mixed into one; and back. */
static const uint8_t pixels_apart[3][16] = {{0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13},
                                            {1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14},
                                            {2, 5, 8, 11, 14, 1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15}};
static const uint8_t pixels_together[3][16] = {
    {0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5},
    {5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10},
    {10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15}};

/* Byte i of a where i modulo 3 is 0, of b where it is 1, of c where it is 2. */
SL_PIXELS_INLINE pixels_vector pixels_mix(pixels_vector a, pixels_vector b, pixels_vector c)
{
    const pixels_vector second = pixels_repeat(pixels_thirds[1]);
    const pixels_vector third = pixels_repeat(pixels_thirds[0]);
    return pixels_pick(third, c, pixels_pick(second, b, a));
}

SL_PIXELS_INLINE pixels_planes pixels_load(const uint8_t *pixels)
{
    const pixels_vector a = pixels_gather(pixels, PIXELS_PART);
    const pixels_vector b = pixels_gather(pixels + 16, PIXELS_PART);
    const pixels_vector c = pixels_gather(pixels + 32, PIXELS_PART);
    return (pixels_planes){{V(shuffle_epi8)(pixels_mix(a, c, b), pixels_repeat(pixels_apart[0])),
                            V(shuffle_epi8)(pixels_mix(b, a, c), pixels_repeat(pixels_apart[1])),
                            V(shuffle_epi8)(pixels_mix(c, b, a), pixels_repeat(pixels_apart[2]))}};
}

SL_PIXELS_INLINE void pixels_store(uint8_t *pixels, pixels_planes planes)
{
    const pixels_vector a = V(shuffle_epi8)(planes.c[0], pixels_repeat(pixels_together[0]));
    const pixels_vector b = V(shuffle_epi8)(planes.c[1], pixels_repeat(pixels_together[1]));
    const pixels_vector c = V(shuffle_epi8)(planes.c[2], pixels_repeat(pixels_together[2]));
    pixels_scatter(pixels, PIXELS_PART, pixels_mix(a, b, c));
    pixels_scatter(pixels + 16, PIXELS_PART, pixels_mix(b, c, a));
    pixels_scatter(pixels + 32, PIXELS_PART, pixels_mix(c, a, b));
}

/* Inlined with a constant operation. */
SL_PIXELS_INLINE void pixels_each(uint8_t *pixels, size_t count, pixels_operation *operation,
                                  const pixels_context *context)
{
    const pixels_context local = *context; /* which stores to the pixels cannot change */
    const size_t whole = count / LANES * LANES;
    for (size_t i = 0; i < whole * 3; i += PIXELS_BLOCK) {
        pixels_store(pixels + i, operation(pixels_load(pixels + i), &local));
    }
    if (whole < count) {
        uint8_t block[PIXELS_BLOCK] = {0};
        memcpy(block, pixels + whole * 3, (count - whole) * 3);
        pixels_store(block, operation(pixels_load(block), &local));
        memcpy(pixels + whole * 3, block, (count - whole) * 3);
    }
}

/* Values of 16 bits of the first, and of the last, 8 bytes of each part. */
typedef struct pixels_pair {
    pixels_vector low, high;
} pixels_pair;

SL_PIXELS_INLINE pixels_pair pixels_words(pixels_vector bytes)
{
    return (pixels_pair){V(unpacklo_epi8)(bytes, V_ZERO), V(unpackhi_epi8)(bytes, V_ZERO)};
}

/*
 * A table in 16 rows of 16. A shuffle picks from a row by the lower 4 bits, and gives 0 where bit 7
 * is set, so rows 0 to 7 are for values below 128: those that are not below 16 k have bit 7 clear
 * once 16 k is subtracted, and take row k. Row k is the difference (xor) to the row before, which
 * the values have taken as well. The same for the others, less 128.
 */
static void pixels_prepare(const uint8_t table[SL_LUT_SIZE], uint8_t rows[SL_LUT_SIZE])
{
    memcpy(rows, table, SL_LUT_SIZE);
    for (size_t i = 16; i < SL_LUT_SIZE; i++) {
        rows[i] ^= i / 16 == 8 ? 0 : table[i - 16];
    }
}

SL_PIXELS_INLINE pixels_vector pixels_look_in(pixels_vector values, const uint8_t *rows)
{
    const pixels_vector step = V(set1_epi8)(16);
    pixels_vector lower = values;
    pixels_vector upper = V_XOR(values, V(set1_epi8)((char)-128));
    pixels_vector found = V_ZERO;
    for (size_t row = 0; row < 8; row++) {
        const pixels_vector below = V(shuffle_epi8)(pixels_repeat(rows + row * 16), lower);
        const pixels_vector above = V(shuffle_epi8)(pixels_repeat(rows + row * 16 + 128), upper);
        found = V_XOR(found, V_XOR(below, above));
        lower = V(subs_epi8)(lower, step);
        upper = V(subs_epi8)(upper, step);
    }
    return found;
}

SL_PIXELS_INLINE pixels_planes pixels_look_up_block(pixels_planes planes,
                                                    const pixels_context *context)
{
    for (size_t c = 0; c < 3; c++) {
        planes.c[c] = pixels_look_in(planes.c[c], context->tables[c]);
    }
    return planes;
}

SL_PIXELS_TARGET static void look_up(uint8_t *pixels, size_t count, uint8_t tables[3][SL_LUT_SIZE])
{
    uint8_t rows[3][SL_LUT_SIZE];
    for (size_t c = 0; c < 3; c++) {
        pixels_prepare(tables[c], rows[c]);
    }
    const pixels_context context = {.tables = {rows[0], rows[1], rows[2]}};
    pixels_each(pixels, count, pixels_look_up_block, &context);
}

/* Three vectors at once share the rows. */
SL_PIXELS_INLINE void pixels_look_in_bytes(uint8_t *bytes, const uint8_t *rows)
{
    pixels_vector values[3];
    for (size_t i = 0; i < 3; i++) {
        values[i] = pixels_gather(bytes + i * LANES, 16);
    }
    for (size_t i = 0; i < 3; i++) {
        pixels_scatter(bytes + i * LANES, 16, pixels_look_in(values[i], rows));
    }
}

SL_PIXELS_TARGET static void look_up_one(uint8_t *pixels, size_t count,
                                         const uint8_t table[SL_LUT_SIZE])
{
    uint8_t rows[SL_LUT_SIZE];
    pixels_prepare(table, rows);
    const size_t whole = count / LANES * PIXELS_BLOCK;
    for (size_t i = 0; i < whole; i += PIXELS_BLOCK) {
        pixels_look_in_bytes(pixels + i, rows);
    }
    for (size_t i = whole; i < count * 3; i++) {
        pixels[i] = table[pixels[i]];
    }
}

/*
 * Grey of the pixels whose red and green are pairs of 16 bits: green's weight is 1 - 27066 / 2^16,
 * since it does not fit, so green is added at the end; half of 2^16 comes with blue.
 */
SL_PIXELS_INLINE pixels_vector pixels_grey_words(pixels_vector red, pixels_vector green,
                                                 pixels_vector blue)
{
    const pixels_vector two = V(set1_epi16)(2);
    const pixels_vector weights =
        V(set1_epi32)((int)(((uint32_t)SL_GREY_GREEN << 16) | SL_GREY_RED));
    const pixels_vector others = V(set1_epi32)((16384 << 16) | SL_GREY_BLUE);
    const pixels_vector low = V(add_epi32)(V(madd_epi16)(V(unpacklo_epi16)(red, green), weights),
                                           V(madd_epi16)(V(unpacklo_epi16)(blue, two), others));
    const pixels_vector high = V(add_epi32)(V(madd_epi16)(V(unpackhi_epi16)(red, green), weights),
                                            V(madd_epi16)(V(unpackhi_epi16)(blue, two), others));
    return V(add_epi16)(
        green, V(packs_epi32)(V(srai_epi32)(low, SL_GREY_BITS), V(srai_epi32)(high, SL_GREY_BITS)));
}

SL_PIXELS_INLINE pixels_pair pixels_grey(pixels_planes planes)
{
    const pixels_pair red = pixels_words(planes.c[0]);
    const pixels_pair green = pixels_words(planes.c[1]);
    const pixels_pair blue = pixels_words(planes.c[2]);
    return (pixels_pair){pixels_grey_words(red.low, green.low, blue.low),
                         pixels_grey_words(red.high, green.high, blue.high)};
}

SL_PIXELS_INLINE pixels_planes pixels_grey_block(pixels_planes planes,
                                                 const pixels_context *context)
{
    (void)context;
    const pixels_pair grey = pixels_grey(planes);
    const pixels_vector bytes = V(packus_epi16)(grey.low, grey.high);
    return (pixels_planes){{bytes, bytes, bytes}};
}

SL_PIXELS_TARGET static void grey(uint8_t *pixels, size_t count)
{
    const pixels_context context = {0};
    pixels_each(pixels, count, pixels_grey_block, &context);
}

SL_PIXELS_TARGET static uint64_t sum_grey(const uint8_t *pixels, size_t count)
{
    const size_t whole = count / LANES * LANES;
    pixels_vector sums = V_ZERO;
    for (size_t i = 0; i < whole * 3; i += PIXELS_BLOCK) {
        const pixels_pair greys = pixels_grey(pixels_load(pixels + i));
        const pixels_vector bytes = V(packus_epi16)(greys.low, greys.high);
        sums = V(add_epi64)(sums, V(sad_epu8)(bytes, V_ZERO));
    }
    uint64_t parts[LANES / 8];
    pixels_scatter((uint8_t *)parts, 16, sums);
    uint64_t sum = sl_pixels_scalar.sum_grey(pixels + whole * 3, count - whole);
    for (size_t i = 0; i < LANES / 8; i++) {
        sum += parts[i];
    }
    return sum;
}

/* Not clipped, but as 16 bits: packing clips. `grey_values`: the floats of the same greys. */
SL_PIXELS_INLINE pixels_vector pixels_blend(pixels_vector values_and_greys,
                                            pixels_floats grey_values, pixels_floats factor)
{
    const pixels_vector minus = V(set1_epi32)((int)0xffff0001U); /* 1, -1 */
    const pixels_floats difference = V(cvtepi32_ps)(V(madd_epi16)(values_and_greys, minus));
    return V(cvttps_epi32)(V(add_ps)(grey_values, V(mul_ps)(factor, difference)));
}

SL_PIXELS_INLINE pixels_vector pixels_blend_words(pixels_vector values, pixels_vector greys,
                                                  pixels_floats factor)
{
    const pixels_floats low = V(cvtepi32_ps)(V(unpacklo_epi16)(greys, V_ZERO));
    const pixels_floats high = V(cvtepi32_ps)(V(unpackhi_epi16)(greys, V_ZERO));
    return V(packs_epi32)(pixels_blend(V(unpacklo_epi16)(values, greys), low, factor),
                          pixels_blend(V(unpackhi_epi16)(values, greys), high, factor));
}

SL_PIXELS_INLINE pixels_planes pixels_blend_grey_block(pixels_planes planes,
                                                       const pixels_context *context)
{
    const pixels_floats factor = V(set1_ps)(context->factor);
    const pixels_pair greys = pixels_grey(planes);
    for (size_t c = 0; c < 3; c++) {
        const pixels_pair values = pixels_words(planes.c[c]);
        planes.c[c] = V(packus_epi16)(pixels_blend_words(values.low, greys.low, factor),
                                      pixels_blend_words(values.high, greys.high, factor));
    }
    return planes;
}

/* Beyond 65536 each difference but 0 is clipped, as it is with 65536, which 32 bits can hold. */
SL_PIXELS_TARGET static void blend_grey(uint8_t *pixels, size_t count, float factor)
{
    const float most = 65536.0F;
    const float cut = factor < -most ? -most : factor;
    const pixels_context context = {.factor = cut > most ? most : cut};
    pixels_each(pixels, count, pixels_blend_grey_block, &context);
}

/*
 * floor(85 sixths / (2 chroma)) of 16 bits each as bytes, and where it was whole: a quotient of
 * floats that is whole is exact, and one that is not is farther from whole numbers than it errs.
 */
SL_PIXELS_INLINE void pixels_divide_words(pixels_vector sixths, pixels_vector chroma,
                                          pixels_vector *quotient, pixels_vector *whole)
{
    const pixels_floats scale = V(set1_ps)(42.5F);
    const pixels_floats low =
        V(div_ps)(V(mul_ps)(V(cvtepi32_ps)(V(unpacklo_epi16)(sixths, V_ZERO)), scale),
                  V(cvtepi32_ps)(V(unpacklo_epi16)(chroma, V_ZERO)));
    const pixels_floats high =
        V(div_ps)(V(mul_ps)(V(cvtepi32_ps)(V(unpackhi_epi16)(sixths, V_ZERO)), scale),
                  V(cvtepi32_ps)(V(unpackhi_epi16)(chroma, V_ZERO)));
    const pixels_vector first = V(cvttps_epi32)(low);
    const pixels_vector second = V(cvttps_epi32)(high);
    *quotient = V(packs_epi32)(first, second);
    *whole = V(packs_epi32)(pixels_same(low, V(cvtepi32_ps)(first)),
                            pixels_same(high, V(cvtepi32_ps)(second)));
}

/* -1 where sl_hue_below has the bit of `hue`, else 0. */
SL_PIXELS_INLINE pixels_vector pixels_hue_below(pixels_vector hue)
{
    static const uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128};
    const pixels_vector row =
        V_AND(V(srli_epi16)(hue, 3), V(set1_epi8)(31)); /* a shuffle uses 4 bits of it */
    const pixels_vector lower = V(shuffle_epi8)(pixels_repeat(sl_hue_below), row);
    const pixels_vector upper = V(shuffle_epi8)(pixels_repeat(sl_hue_below + 16), row);
    const pixels_vector bit = V(shuffle_epi8)(pixels_repeat(bits), V_AND(hue, V(set1_epi8)(7)));
    const pixels_vector is_lower =
        pixels_equal(V(max_epu8)(row, V(set1_epi8)(15)), V(set1_epi8)(15));
    return pixels_equal(V_AND(pixels_pick(is_lower, lower, upper), bit), bit);
}

/* The hue, as sixths of a turn times the chroma: `first` - `second` + `turns` chroma. */
typedef struct pixels_sixths {
    pixels_vector first, second, turns;
} pixels_sixths;

SL_PIXELS_INLINE pixels_sixths pixels_find_sixths(pixels_planes p, pixels_vector most)
{
    const pixels_vector red = pixels_equal(p.c[0], most);
    const pixels_vector green = pixels_equal(p.c[1], most);
    const pixels_vector rising = pixels_equal(V(max_epu8)(p.c[1], p.c[2]), p.c[1]);
    const pixels_vector of_red = pixels_pick(rising, V_ZERO, V(set1_epi8)(6));
    const pixels_vector of_others = pixels_pick(green, V(set1_epi8)(2), V(set1_epi8)(4));
    return (pixels_sixths){pixels_pick(red, p.c[1], pixels_pick(green, p.c[2], p.c[0])),
                           pixels_pick(red, p.c[2], pixels_pick(green, p.c[0], p.c[1])),
                           pixels_pick(red, of_red, of_others)};
}

/* H of pixels.h; of those without chroma, which is given as 1 at least, 0. */
SL_PIXELS_INLINE pixels_vector pixels_hue_bytes(pixels_planes planes, pixels_vector most,
                                                pixels_vector chroma)
{
    const pixels_sixths from = pixels_find_sixths(planes, most);
    const pixels_pair first = pixels_words(from.first);
    const pixels_pair second = pixels_words(from.second);
    const pixels_pair turns = pixels_words(from.turns);
    const pixels_pair wide = pixels_words(chroma);
    pixels_pair hue;
    pixels_pair whole;
    pixels_divide_words(
        V(add_epi16)(V(sub_epi16)(first.low, second.low), V(mullo_epi16)(turns.low, wide.low)),
        wide.low, &hue.low, &whole.low);
    pixels_divide_words(
        V(add_epi16)(V(sub_epi16)(first.high, second.high), V(mullo_epi16)(turns.high, wide.high)),
        wide.high, &hue.high, &whole.high);
    const pixels_vector bytes = V(packus_epi16)(hue.low, hue.high);
    const pixels_vector less =
        V_AND(V(packs_epi16)(whole.low, whole.high), pixels_hue_below(bytes));
    return V(add_epi8)(bytes, less);
}

/* floor(255 chroma / most), 16 bits each; most is 1 at least. */
SL_PIXELS_INLINE pixels_vector pixels_saturation_words(pixels_vector chroma, pixels_vector most)
{
    const pixels_floats scale = V(set1_ps)(255.0F);
    const pixels_floats low =
        V(div_ps)(V(mul_ps)(V(cvtepi32_ps)(V(unpacklo_epi16)(chroma, V_ZERO)), scale),
                  V(cvtepi32_ps)(V(unpacklo_epi16)(most, V_ZERO)));
    const pixels_floats high =
        V(div_ps)(V(mul_ps)(V(cvtepi32_ps)(V(unpackhi_epi16)(chroma, V_ZERO)), scale),
                  V(cvtepi32_ps)(V(unpackhi_epi16)(most, V_ZERO)));
    return V(packs_epi32)(V(cvttps_epi32)(low), V(cvttps_epi32)(high));
}

/* most (255 - saturation) / 255, rounded: a division of 16 bits by 255. */
SL_PIXELS_INLINE pixels_vector pixels_least_words(pixels_vector most, pixels_vector saturation)
{
    const pixels_vector product =
        V(mullo_epi16)(most, V(sub_epi16)(V(set1_epi16)(255), saturation));
    const pixels_vector sum = V(add_epi16)(product, V(set1_epi16)(128));
    return V(srli_epi16)(V(add_epi16)(sum, V(srli_epi16)(sum, 8)), 8);
}

/* most (21675 - share) / 21675, rounded; share is saturation times grade. */
SL_PIXELS_INLINE pixels_vector pixels_between_part(pixels_vector most, pixels_vector share)
{
    const pixels_floats value = V(cvtepi32_ps)(most);
    const pixels_floats product = V(mul_ps)(V(cvtepi32_ps)(share), value);
    const pixels_floats part = V(mul_ps)(product, V(set1_ps)(1.0F / 21675.0F));
    return V(cvttps_epi32)(V(sub_ps)(V(add_ps)(value, V(set1_ps)(0.5F)), part));
}

SL_PIXELS_INLINE pixels_vector pixels_between_words(pixels_vector most, pixels_vector saturation,
                                                    pixels_vector grade)
{
    const pixels_vector share = V(mullo_epi16)(saturation, grade);
    return V(packs_epi32)(
        pixels_between_part(V(unpacklo_epi16)(most, V_ZERO), V(unpacklo_epi16)(share, V_ZERO)),
        pixels_between_part(V(unpackhi_epi16)(most, V_ZERO), V(unpackhi_epi16)(share, V_ZERO)));
}

/* I and G of pixels.h. 1543 is 2^17 / 85, rounded up: exact for 8 bits. */
SL_PIXELS_INLINE void pixels_sextants(pixels_vector hue, pixels_vector *sextant,
                                      pixels_vector *grade)
{
    const pixels_vector one = V(set1_epi16)(1);
    const pixels_vector all = V(set1_epi16)(85);
    *sextant = V(mulhi_epu16)(hue, V(set1_epi16)(1543));
    const pixels_vector part = V(sub_epi16)(V(add_epi16)(hue, hue), V(mullo_epi16)(*sextant, all));
    /* -1 where the sextant is even */
    const pixels_vector even = V(sub_epi16)(V_AND(*sextant, one), one);
    *grade = pixels_pick(even, V(sub_epi16)(all, part), part);
}

/* By sextant: 255 where a channel is V, and where it is the third of the values. */
static const uint8_t pixels_is_most[3][16] = {{255, 0, 0, 0, 0, 255, 255},
                                              {0, 255, 255, 0, 0, 0, 0},
                                              {0, 0, 0, 255, 255, 0, 0}};
static const uint8_t pixels_is_between[3][16] = {{0, 255, 0, 0, 255, 0, 0},
                                                 {255, 0, 0, 255, 0, 0, 255},
                                                 {0, 0, 255, 0, 0, 255, 0}};

/* From H, C and V of pixels.h to the second and the third of the values, and I. */
SL_PIXELS_INLINE void pixels_from_hue(pixels_pair hue, pixels_vector chroma, pixels_vector most,
                                      pixels_planes *values)
{
    const pixels_pair mosts = pixels_words(most);
    const pixels_pair chromas = pixels_words(chroma);
    const pixels_pair divisors = pixels_words(V(max_epu8)(most, V(set1_epi8)(1)));
    const pixels_vector low = pixels_saturation_words(chromas.low, divisors.low);
    const pixels_vector high = pixels_saturation_words(chromas.high, divisors.high);
    pixels_pair sextants;
    pixels_pair grades;
    pixels_sextants(hue.low, &sextants.low, &grades.low);
    pixels_sextants(hue.high, &sextants.high, &grades.high);
    values->c[0] =
        V(packus_epi16)(pixels_least_words(mosts.low, low), pixels_least_words(mosts.high, high));
    values->c[1] = V(packus_epi16)(pixels_between_words(mosts.low, low, grades.low),
                                   pixels_between_words(mosts.high, high, grades.high));
    values->c[2] = V(packus_epi16)(sextants.low, sextants.high);
}

SL_PIXELS_INLINE pixels_planes pixels_hue_block(pixels_planes planes, const pixels_context *context)
{
    const pixels_vector most = V(max_epu8)(planes.c[0], V(max_epu8)(planes.c[1], planes.c[2]));
    const pixels_vector least = V(min_epu8)(planes.c[0], V(min_epu8)(planes.c[1], planes.c[2]));
    const pixels_vector chroma = V(sub_epi8)(most, least);
    const pixels_vector divisor = V(max_epu8)(chroma, V(set1_epi8)(1));
    const pixels_vector hue =
        V(add_epi8)(pixels_hue_bytes(planes, most, divisor), V(set1_epi8)((char)context->shift));
    pixels_planes values;
    pixels_from_hue(pixels_words(hue), chroma, most, &values);
    for (size_t c = 0; c < 3; c++) {
        const pixels_vector is_most =
            V(shuffle_epi8)(pixels_repeat(pixels_is_most[c]), values.c[2]);
        const pixels_vector is_third =
            V(shuffle_epi8)(pixels_repeat(pixels_is_between[c]), values.c[2]);
        planes.c[c] = pixels_pick(is_most, most, pixels_pick(is_third, values.c[1], values.c[0]));
    }
    return planes;
}

SL_PIXELS_TARGET static void hue(uint8_t *pixels, size_t count, uint8_t shift)
{
    const pixels_context context = {.shift = shift};
    pixels_each(pixels, count, pixels_hue_block, &context);
}

SL_PIXELS_INLINE pixels_planes pixels_permute_block(pixels_planes planes,
                                                    const pixels_context *context)
{
    return (pixels_planes){
        {planes.c[context->order[0]], planes.c[context->order[1]], planes.c[context->order[2]]}};
}

SL_PIXELS_TARGET static void permute(uint8_t *pixels, size_t count, const uint8_t order[3])
{
    const pixels_context context = {.order = order};
    pixels_each(pixels, count, pixels_permute_block, &context);
}

#endif
