/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels_hsv_loop: changes hue, saturation and value (hsv.h) in vectors. Needs pixels_loop.h and
 * its macros. Works on floats of LANES / 4 pixels; every operation is the scalar one's.
 */
#ifndef SL_PIXELS_HSV_LOOP_H
#define SL_PIXELS_HSV_LOOP_H

#include "hsv.h"
#include "pixels_loop.h"

/* The values of LANES / 4 changed pixels' channels; the sextant decides their order. */
typedef struct pixels_hsv_made {
    pixels_vector most, least, between, sextant;
} pixels_hsv_made;

SL_PIXELS_INLINE pixels_floats pixels_whole(pixels_floats x)
{
    return V(cvtepi32_ps)(V(cvttps_epi32)(x));
}

/* Returns an entry of OpenCV's tables over SL_HSV_UNIT: adding 3072, whose last bit is 2^-12,
 * rounds. For 0 it is infinite; the number made from it is later multiplied by 0. */
SL_PIXELS_INLINE pixels_floats pixels_hsv_divided(float by, pixels_floats x)
{
    const pixels_floats unit = V(set1_ps)(3072.0F);
    return V(sub_ps)(V(add_ps)(V(div_ps)(V(set1_ps)(by), x), unit), unit);
}

/* Returns H, changed; adding 32 keeps it positive when it is truncated. */
SL_PIXELS_INLINE pixels_vector pixels_hsv_hue(pixels_vector sixths, pixels_floats chroma,
                                              uint8_t shift)
{
    const pixels_vector turn = V(set1_epi32)(SL_HSV_TURN);
    const pixels_floats each = pixels_hsv_divided(SL_HSV_TURN / 6.0F, chroma);
    const pixels_vector hue =
        V(cvttps_epi32)(V(fmadd_ps)(V(cvtepi32_ps)(sixths), each, V(set1_ps)(32.5F)));
    const pixels_vector moved = V(add_epi32)(hue, V(set1_epi32)(shift - 32));
    const pixels_vector above = V(min_epu32)(moved, V(add_epi32)(moved, turn));
    return V(min_epu32)(above, V(sub_epi32)(above, turn));
}

/* `grade`: the distance to the end of an even sextant, or from the start of an odd one; both are at
 * sextant | 1. */
SL_PIXELS_INLINE void pixels_hsv_back(pixels_vector hue, pixels_floats saturation,
                                      pixels_floats value, pixels_hsv_made *made)
{
    const pixels_floats one = V(set1_ps)(1.0F);
    const pixels_floats least = V(set1_ps)(SL_HSV_LEAST);
    const pixels_floats most = V(set1_ps)(255.0F);
    const pixels_floats sixths = V(mul_ps)(V(cvtepi32_ps)(hue), V(set1_ps)(SL_HSV_SIXTH));
    made->sextant = V(cvttps_epi32)(sixths);
    const pixels_floats odd = V(cvtepi32_ps)(V_OR(made->sextant, V(set1_epi32)(1)));
    const pixels_floats grade =
        V_AS_FLOATS(V_AND(V_AS_BITS(V(sub_ps)(sixths, odd)), V(set1_epi32)(0x7fffffff)));
    const pixels_floats s = V(mul_ps)(saturation, least);
    const pixels_floats v = V(mul_ps)(value, least);
    made->least = V(cvttps_epi32)(V(mul_ps)(V(mul_ps)(v, V(sub_ps)(one, s)), most));
    made->between = V(cvttps_epi32)(V(mul_ps)(V(mul_ps)(v, V(fnmadd_ps)(s, grade, one)), most));
}

/* On 32-bit values. made.most may be above 255: packing clips it. */
SL_PIXELS_INLINE pixels_hsv_made pixels_hsv_change(pixels_vector sixths, pixels_vector chroma,
                                                   pixels_vector most, const sl_hsv_change *change)
{
    const pixels_floats all = V(set1_ps)(255.0F);
    const pixels_floats wide = V(cvtepi32_ps)(chroma);
    const pixels_floats value = V(cvtepi32_ps)(most);
    const pixels_floats saturation =
        pixels_whole(V(fmadd_ps)(wide, pixels_hsv_divided(255.0F, value), V(set1_ps)(0.5F)));
    const pixels_floats scaled =
        pixels_whole(V(mul_ps)(saturation, V(set1_ps)(change->saturation)));
    pixels_hsv_made made;
    made.most = V(cvttps_epi32)(V(mul_ps)(value, V(set1_ps)(change->value)));
    pixels_hsv_back(pixels_hsv_hue(sixths, wide, change->hue), V(min_ps)(scaled, all),
                    V(min_ps)(V(cvtepi32_ps)(made.most), all), &made);
    return made;
}

/* Of 16 bits: the sixths' first with their turns, and their second; the chroma; V. */
typedef struct pixels_hsv_words {
    pixels_vector first, second, chroma, most;
} pixels_hsv_words;

SL_PIXELS_INLINE pixels_hsv_made pixels_hsv_half(const pixels_hsv_words *w,
                                                 const sl_hsv_change *change)
{
    const pixels_vector minus = V(set1_epi32)((int)0xffff0001U); /* 1, -1 */
    const pixels_hsv_made low = pixels_hsv_change(
        V(madd_epi16)(V(unpacklo_epi16)(w->first, w->second), minus),
        V(unpacklo_epi16)(w->chroma, V_ZERO), V(unpacklo_epi16)(w->most, V_ZERO), change);
    const pixels_hsv_made high = pixels_hsv_change(
        V(madd_epi16)(V(unpackhi_epi16)(w->first, w->second), minus),
        V(unpackhi_epi16)(w->chroma, V_ZERO), V(unpackhi_epi16)(w->most, V_ZERO), change);
    return (pixels_hsv_made){
        V(packs_epi32)(low.most, high.most), V(packs_epi32)(low.least, high.least),
        V(packs_epi32)(low.between, high.between), V(packs_epi32)(low.sextant, high.sextant)};
}

/* OpenCV's sixths: on both sides of red, without a turn. */
SL_PIXELS_INLINE pixels_hsv_made pixels_hsv_bytes(pixels_planes planes, const sl_hsv_change *change)
{
    const pixels_vector most = V(max_epu8)(planes.c[0], V(max_epu8)(planes.c[1], planes.c[2]));
    const pixels_vector least = V(min_epu8)(planes.c[0], V(min_epu8)(planes.c[1], planes.c[2]));
    const pixels_vector others =
        pixels_pick(pixels_equal(planes.c[1], most), V(set1_epi8)(2), V(set1_epi8)(4));
    pixels_sixths from = pixels_find_sixths(planes, most);
    from.turns = pixels_pick(pixels_equal(planes.c[0], most), V_ZERO, others);
    const pixels_pair first = pixels_words(from.first);
    const pixels_pair second = pixels_words(from.second);
    const pixels_pair turns = pixels_words(from.turns);
    const pixels_pair chroma = pixels_words(V(sub_epi8)(most, least));
    const pixels_pair mosts = pixels_words(most);
    const pixels_hsv_words low = {V(add_epi16)(first.low, V(mullo_epi16)(turns.low, chroma.low)),
                                  second.low, chroma.low, mosts.low};
    const pixels_hsv_words high = {
        V(add_epi16)(first.high, V(mullo_epi16)(turns.high, chroma.high)), second.high, chroma.high,
        mosts.high};
    const pixels_hsv_made a = pixels_hsv_half(&low, change);
    const pixels_hsv_made b = pixels_hsv_half(&high, change);
    return (pixels_hsv_made){V(packus_epi16)(a.most, b.most), V(packus_epi16)(a.least, b.least),
                             V(packus_epi16)(a.between, b.between),
                             V(packus_epi16)(a.sextant, b.sextant)};
}

SL_PIXELS_INLINE pixels_planes pixels_hsv_block(pixels_planes planes, const pixels_context *context)
{
    const pixels_hsv_made made = pixels_hsv_bytes(planes, context->hsv);
    for (size_t c = 0; c < 3; c++) {
        const pixels_vector is_most =
            V(shuffle_epi8)(pixels_repeat(pixels_is_most[c]), made.sextant);
        const pixels_vector is_third =
            V(shuffle_epi8)(pixels_repeat(pixels_is_between[c]), made.sextant);
        planes.c[c] =
            pixels_pick(is_most, made.most, pixels_pick(is_third, made.between, made.least));
    }
    return planes;
}

SL_PIXELS_TARGET static void hsv(uint8_t *pixels, size_t count, const sl_hsv_change *change)
{
    const sl_hsv_change local = *change;
    const pixels_context context = {.hsv = &local};
    pixels_each(pixels, count, pixels_hsv_block, &context);
}

#endif
