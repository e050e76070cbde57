/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_rows_vector: rows of RGB in vectors of any width, to be included once by a variant that has
 * defined
 *   VECTOR, OP(name) (the intrinsic), TARGET,
 *   SPAN                      pixels at a time: the bytes of a VECTOR
 *   LOAD(bytes)               SPAN bytes
 *   WIDEN(bytes)              SPAN / 2 bytes, to 16 bits each
 *   SPREAD(sixteen)           128 bits, to all quarters
 *   AND(a, b), SELECT(mask, yes, no), bitwise
 *   AFTER(before, current)    16-bit values moved up by one; the last of `before` comes in
 *   AHEAD(current, next)      and down by one; the first of `next` comes in
 *   REPLACE(value, by, index) one 16-bit value
 *   STORE(rgb, thirds, bytes) [a0 b0 ..], [a1 b1 ..], [a2 b2 ..] (128 bits each, `thirds`) to
 *                             a0 a1 a2 b0 b1 b2 ..: the first `bytes`, and less than SPAN more
 *
 * Pixels are handled in two vectors of 16-bit values: those of even and those of odd columns.
 * Chroma values are about 0 from where they are interpolated.
 */
#ifndef SL_JPEG_ROWS_VECTOR_H
#define SL_JPEG_ROWS_VECTOR_H

#include "jpeg_rows_variants.h"

#include <stdbool.h>

enum { HALF_SPAN = SPAN / 2 };

typedef struct split {
    VECTOR even, odd;
} split;

typedef struct chroma {
    split cb, cr;
} chroma;

TARGET static inline split split_bytes(VECTOR bytes)
{
    return (split){AND(bytes, OP(set1_epi16)(UINT8_MAX)), OP(srli_epi16)(bytes, 8)};
}

TARGET static inline VECTOR centred(VECTOR values)
{
    return OP(sub_epi16)(values, OP(set1_epi16)(SL_ROWS_CENTRE));
}

/* Returns factor * value, rounded, for factor = 1 + fraction / 2^15: exact for values of -128 ..
 * 127. */
TARGET static inline VECTOR scaled(VECTOR values, short fraction)
{
    return OP(add_epi16)(OP(mulhrs_epi16)(values, OP(set1_epi16)(fraction)), values);
}

/* Uses halves of the constants: they fit into 16 bits, and are exact since both are even. */
TARGET static inline VECTOR green_of(VECTOR cb, VECTOR cr)
{
    enum { BITS = SL_ROWS_BITS - 1 };
    uint32_t both = (uint32_t)(uint16_t)(SL_ROWS_GREEN_CB / 2) | (uint32_t)(SL_ROWS_GREEN_CR / 2)
                                                                     << 16;
    VECTOR constants = OP(set1_epi32)((int)both);
    VECTOR half = OP(set1_epi32)(SL_ROWS_HALF / 2);
    VECTOR low = OP(madd_epi16)(OP(unpacklo_epi16)(cb, cr), constants);
    VECTOR high = OP(madd_epi16)(OP(unpackhi_epi16)(cb, cr), constants);
    return OP(packs_epi32)(OP(srai_epi32)(OP(add_epi32)(low, half), BITS),
                           OP(srai_epi32)(OP(add_epi32)(high, half), BITS));
}

/* Moves bytes in the order [even columns, odd columns] of each 128 bits to where `order` puts
 * them. */
TARGET static inline VECTOR arrange(split values, const uint8_t order[16])
{
    VECTOR bytes = OP(packus_epi16)(values.even, values.odd);
    return OP(shuffle_epi8)(bytes, SPREAD(_mm_loadu_si128((const __m128i *)(const void *)order)));
}

/* Positions of the 16 bytes of a colour within the 48 of 16 pixels, modulo 16: all different.
 * Indexes into 8 even columns, then 8 odd ones. */
static const uint8_t red_order[16] = {0, 13, 3, 8, 6, 11, 1, 14, 4, 9, 7, 12, 2, 15, 5, 10};
static const uint8_t green_order[16] = {10, 0, 13, 3, 8, 6, 11, 1, 14, 4, 9, 7, 12, 2, 15, 5};
static const uint8_t blue_order[16] = {5, 10, 0, 13, 3, 8, 6, 11, 1, 14, 4, 9, 7, 12, 2, 15};

/* Interleaves and stores the first `count` of SPAN pixels. */
TARGET static inline void put_rgb(uint8_t *rgb, split red, split green, split blue, uint32_t count)
{
    VECTOR r = arrange(red, red_order);
    VECTOR g = arrange(green, green_order);
    VECTOR b = arrange(blue, blue_order);
    /* bytes 0, 3, .. 15 of 16; 1, 4, .. 13; 2, 5, .. 14 */
    VECTOR at0 = SPREAD(_mm_setr_epi8(-1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1));
    VECTOR at1 = SPREAD(_mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0));
    VECTOR thirds[3] = {SELECT(at0, r, SELECT(at1, g, b)), SELECT(at0, g, SELECT(at1, b, r)),
                        SELECT(at0, b, SELECT(at1, r, g))};
    STORE(rgb, thirds, 3 * count);
}

TARGET static inline void put_pixels(const sl_jpeg_row *row, uint32_t x, chroma colour)
{
    split luma = split_bytes(LOAD(row->luma + x));
    split red = {OP(add_epi16)(luma.even, scaled(colour.cr.even, SL_ROWS_RED_FRACTION)),
                 OP(add_epi16)(luma.odd, scaled(colour.cr.odd, SL_ROWS_RED_FRACTION))};
    split green = {OP(add_epi16)(luma.even, green_of(colour.cb.even, colour.cr.even)),
                   OP(add_epi16)(luma.odd, green_of(colour.cb.odd, colour.cr.odd))};
    split blue = {OP(add_epi16)(luma.even, scaled(colour.cb.even, SL_ROWS_BLUE_FRACTION)),
                  OP(add_epi16)(luma.odd, scaled(colour.cb.odd, SL_ROWS_BLUE_FRACTION))};
    uint32_t left = row->end - x;
    put_rgb(row->rgb + (size_t)3 * (x - row->begin), red, green, blue, left < SPAN ? left : SPAN);
}

TARGET static void make_grey(const sl_jpeg_row *row)
{
    for (uint32_t x = row->begin; x < row->end; x += SPAN) {
        split luma = split_bytes(LOAD(row->luma + x));
        uint32_t left = row->end - x;
        put_rgb(row->rgb + (size_t)3 * (x - row->begin), luma, luma, luma,
                left < SPAN ? left : SPAN);
    }
}

TARGET static inline split centred_bytes(const uint8_t *bytes)
{
    split values = split_bytes(LOAD(bytes));
    return (split){centred(values.even), centred(values.odd)};
}

TARGET static void make_444(const sl_jpeg_row *row)
{
    for (uint32_t x = row->begin; x < row->end; x += SPAN) {
        put_pixels(row, x, (chroma){centred_bytes(row->cb + x), centred_bytes(row->cr + x)});
    }
}

/* Returns 3 * near + far. */
TARGET static inline VECTOR weigh(VECTOR near, VECTOR far)
{
    return OP(add_epi16)(OP(mullo_epi16)(near, OP(set1_epi16)(3)), far);
}

/* Returns (sum + bias) / 2^bits, centred on 0. `bits` is 2 or 4. */
TARGET static inline VECTOR unweigh(VECTOR sum, int bias, int bits)
{
    short offset = (short)(bias - SL_ROWS_CENTRE * (1 << bits));
    VECTOR biased = OP(add_epi16)(sum, OP(set1_epi16)(offset));
    return bits == 2 ? OP(srai_epi16)(biased, 2) : OP(srai_epi16)(biased, 4);
}

TARGET static inline split between_rows(const uint8_t *near, const uint8_t *far, int bias)
{
    split here = split_bytes(LOAD(near));
    split there = split_bytes(LOAD(far));
    return (split){unweigh(weigh(here.even, there.even), bias, 2),
                   unweigh(weigh(here.odd, there.odd), bias, 2)};
}

TARGET static void make_440(const sl_jpeg_row *row)
{
    int bias = row->lower ? 2 : 1;
    for (uint32_t x = row->begin; x < row->end; x += SPAN) {
        put_pixels(row, x,
                   (chroma){between_rows(row->cb + x, row->cb_far + x, bias),
                            between_rows(row->cr + x, row->cr_far + x, bias)});
    }
}

/* From here on a vector of chroma samples covers the even and the odd pixels of SPAN. */

/* A plane, walked from left to right: sums of rows at the columns around the current ones. */
typedef struct walk {
    const uint8_t *near, *far;
    VECTOR before, current;
} walk;

/* Interpolates `rows`: 2, or 1 if `far` is not used. */
TARGET static inline VECTOR column_sums(const walk *plane, uint32_t column, int rows)
{
    VECTOR near = WIDEN(plane->near + column);
    return rows == 1 ? near : weigh(near, WIDEN(plane->far + column));
}

TARGET static inline walk walk_begin(const uint8_t *near, const uint8_t *far, uint32_t column,
                                     int rows)
{
    walk plane = {.near = near, .far = far};
    uint32_t before = column == 0 ? 0 : column - 1;
    int sum = rows == 1 ? near[before] : 3 * near[before] + far[before];
    plane.before = OP(set1_epi16)((short)sum);
    plane.current = column_sums(&plane, column, rows);
    return plane;
}

/* Returns the columns at `column`, then advances. Column `width` - 1 has no neighbour after it;
 * columns after this vector are read if there is `more`. */
TARGET static inline split walk_on(walk *plane, uint32_t column, uint32_t width, int rows,
                                   bool more)
{
    VECTOR current = plane->current;
    VECTOR next = more ? column_sums(plane, column + HALF_SPAN, rows) : current;
    VECTOR left = AFTER(plane->before, current);
    VECTOR right = AHEAD(current, next);
    if (width - column <= HALF_SPAN) {
        right = REPLACE(right, current, width - column - 1);
    }
    plane->before = current;
    plane->current = next;
    return (split){unweigh(weigh(current, left), rows == 1 ? 1 : 8, 2 * rows),
                   unweigh(weigh(current, right), rows == 1 ? 2 : 7, 2 * rows)};
}

/* Vectors begin at even pixels. Returns the first remaining pixel. */
TARGET static inline uint32_t put_odd_begin(const sl_jpeg_row *row, sl_jpeg_row_maker scalar)
{
    if (row->begin % 2 == 0 || row->begin == row->end) {
        return row->begin;
    }
    sl_jpeg_row first = *row;
    first.end = row->begin + 1;
    scalar(&first);
    return first.end;
}

TARGET static inline void make_halved(const sl_jpeg_row *row, sl_jpeg_row_maker scalar, int rows)
{
    uint32_t x = put_odd_begin(row, scalar);
    if (x == row->end) {
        return;
    }
    walk cb = walk_begin(row->cb, row->cb_far, x / 2, rows);
    walk cr = walk_begin(row->cr, row->cr_far, x / 2, rows);
    for (; x < row->end; x += SPAN) {
        const bool more = row->end - x > SPAN - 2;
        split cb_values = walk_on(&cb, x / 2, row->chroma_width, rows, more);
        split cr_values = walk_on(&cr, x / 2, row->chroma_width, rows, more);
        put_pixels(row, x, (chroma){cb_values, cr_values});
    }
}

TARGET static void make_422(const sl_jpeg_row *row)
{
    make_halved(row, sl_jpeg_row_422_scalar, 1);
}

TARGET static void make_420(const sl_jpeg_row *row)
{
    make_halved(row, sl_jpeg_row_420_scalar, 2);
}

TARGET static void make_422_plain(const sl_jpeg_row *row)
{
    for (uint32_t x = put_odd_begin(row, sl_jpeg_row_422_plain_scalar); x < row->end; x += SPAN) {
        VECTOR cb = centred(WIDEN(row->cb + x / 2));
        VECTOR cr = centred(WIDEN(row->cr + x / 2));
        put_pixels(row, x, (chroma){{cb, cb}, {cr, cr}});
    }
}

#endif
