/* SPDX-License-Identifier: Apache-2.0 */
/* Sixteen pixels at a time, split into even and odd columns. Chroma values are centred on 0
 * after interpolation. */
#include "jpeg_rows_variants.h"

#if defined(__aarch64__)

#    include <arm_neon.h>

enum { SPAN = 16, HALF_SPAN = SPAN / 2 };

typedef struct split {
    int16x8_t even, odd;
} split;

typedef struct chroma {
    split cb, cr;
} chroma;

static inline split split_bytes(const uint8_t *bytes)
{
    uint8x8x2_t both = vld2_u8(bytes);
    return (split){vreinterpretq_s16_u16(vmovl_u8(both.val[0])),
                   vreinterpretq_s16_u16(vmovl_u8(both.val[1]))};
}

static inline int16x8_t centred(int16x8_t values)
{
    return vsubq_s16(values, vdupq_n_s16(SL_ROWS_CENTRE));
}

static inline split centred_bytes(const uint8_t *bytes)
{
    split values = split_bytes(bytes);
    return (split){centred(values.even), centred(values.odd)};
}

static inline uint8x8_t red_of(int16x8_t luma, int16x8_t cr)
{
    int16x8_t more = vqrdmulhq_n_s16(cr, SL_ROWS_RED_FRACTION);
    return vqmovun_s16(vaddq_s16(vaddq_s16(luma, cr), more));
}

static inline uint8x8_t blue_of(int16x8_t luma, int16x8_t cb)
{
    int16x8_t more = vqrdmulhq_n_s16(cb, SL_ROWS_BLUE_FRACTION);
    return vqmovun_s16(vaddq_s16(vaddq_s16(luma, cb), more));
}

/* Uses halves of the constants: they fit into 16 bits, and are exact since both are even. */
static inline uint8x8_t green_of(int16x8_t luma, int16x8_t cb, int16x8_t cr)
{
    enum { BITS = SL_ROWS_BITS - 1, CB = SL_ROWS_GREEN_CB / 2, CR = SL_ROWS_GREEN_CR / 2 };
    int32x4_t low = vmlal_n_s16(vmull_n_s16(vget_low_s16(cb), CB), vget_low_s16(cr), CR);
    int32x4_t high = vmlal_high_n_s16(vmull_high_n_s16(cb, CB), cr, CR);
    int16x8_t more = vrshrn_high_n_s32(vrshrn_n_s32(low, BITS), high, BITS);
    return vqmovun_s16(vaddq_s16(luma, more));
}

static inline uint8x16_t interleave(uint8x8_t even, uint8x8_t odd)
{
    uint8x8x2_t both = vzip_u8(even, odd);
    return vcombine_u8(both.val[0], both.val[1]);
}

static inline void put_pixels(const sl_jpeg_row *row, uint32_t x, chroma colour)
{
    split luma = split_bytes(row->luma + x);
    uint8x16x3_t rgb = {{
        interleave(red_of(luma.even, colour.cr.even), red_of(luma.odd, colour.cr.odd)),
        interleave(green_of(luma.even, colour.cb.even, colour.cr.even),
                   green_of(luma.odd, colour.cb.odd, colour.cr.odd)),
        interleave(blue_of(luma.even, colour.cb.even), blue_of(luma.odd, colour.cb.odd)),
    }};
    vst3q_u8(row->rgb + (size_t)3 * (x - row->begin), rgb);
}

static void make_grey(const sl_jpeg_row *row)
{
    for (uint32_t x = row->begin; x < row->end; x += SPAN) {
        uint8x16_t luma = vld1q_u8(row->luma + x);
        vst3q_u8(row->rgb + (size_t)3 * (x - row->begin), (uint8x16x3_t){{luma, luma, luma}});
    }
}

static void make_444(const sl_jpeg_row *row)
{
    for (uint32_t x = row->begin; x < row->end; x += SPAN) {
        put_pixels(row, x, (chroma){centred_bytes(row->cb + x), centred_bytes(row->cr + x)});
    }
}

/* Returns 3 * near + far. */
static inline int16x8_t weigh(int16x8_t near, int16x8_t far)
{
    return vmlaq_n_s16(far, near, 3);
}

/* Returns (sum + bias) / 2^bits, centred on 0. */
static inline int16x8_t unweigh(int16x8_t sum, int bias, int bits)
{
    int16_t offset = (int16_t)(bias - SL_ROWS_CENTRE * (1 << bits));
    return vshlq_s16(vaddq_s16(sum, vdupq_n_s16(offset)), vdupq_n_s16((int16_t)-bits));
}

static inline split between_rows(const uint8_t *near, const uint8_t *far, int bias)
{
    split here = split_bytes(near);
    split there = split_bytes(far);
    return (split){unweigh(weigh(here.even, there.even), bias, 2),
                   unweigh(weigh(here.odd, there.odd), bias, 2)};
}

static void make_440(const sl_jpeg_row *row)
{
    int bias = row->lower ? 2 : 1;
    for (uint32_t x = row->begin; x < row->end; x += SPAN) {
        put_pixels(row, x,
                   (chroma){between_rows(row->cb + x, row->cb_far + x, bias),
                            between_rows(row->cr + x, row->cr_far + x, bias)});
    }
}

/* From here on a vector of chroma samples covers the even and the odd pixels of SPAN. */

static inline int16x8_t load_columns(const uint8_t *bytes)
{
    return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(bytes)));
}

/* A plane, walked from left to right: sums of rows at the columns around the current ones. */
typedef struct walk {
    const uint8_t *near, *far;
    int16x8_t before, current;
} walk;

/* Interpolates `rows`: 2, or 1 if `far` is not used. */
static inline int16x8_t column_sums(const walk *plane, uint32_t column, int rows)
{
    int16x8_t near = load_columns(plane->near + column);
    return rows == 1 ? near : weigh(near, load_columns(plane->far + column));
}

static inline walk walk_begin(const uint8_t *near, const uint8_t *far, uint32_t column, int rows)
{
    walk plane = {.near = near, .far = far};
    uint32_t before = column == 0 ? 0 : column - 1;
    int sum = rows == 1 ? near[before] : 3 * near[before] + far[before];
    plane.before = vdupq_n_s16((int16_t)sum);
    plane.current = column_sums(&plane, column, rows);
    return plane;
}

/* Returns the columns at `column`, then advances. Column `width` - 1 has no neighbour after it. */
static inline split walk_on(walk *plane, uint32_t column, uint32_t width, int rows)
{
    static const uint16_t lanes[HALF_SPAN] = {0, 1, 2, 3, 4, 5, 6, 7};
    int16x8_t current = plane->current;
    int16x8_t next = column_sums(plane, column + HALF_SPAN, rows);
    int16x8_t left = vextq_s16(plane->before, current, HALF_SPAN - 1);
    int16x8_t right = vextq_s16(current, next, 1);
    if (width - column <= HALF_SPAN) {
        uint16x8_t last = vdupq_n_u16((uint16_t)(width - column - 1));
        right = vbslq_s16(vceqq_u16(vld1q_u16(lanes), last), current, right);
    }
    plane->before = current;
    plane->current = next;
    return (split){unweigh(weigh(current, left), rows == 1 ? 1 : 8, 2 * rows),
                   unweigh(weigh(current, right), rows == 1 ? 2 : 7, 2 * rows)};
}

/* Vectors begin at even pixels. Returns the first remaining pixel. */
static inline uint32_t put_odd_begin(const sl_jpeg_row *row, sl_jpeg_row_maker scalar)
{
    if (row->begin % 2 == 0 || row->begin == row->end) {
        return row->begin;
    }
    sl_jpeg_row first = *row;
    first.end = row->begin + 1;
    scalar(&first);
    return first.end;
}

static inline void make_halved(const sl_jpeg_row *row, sl_jpeg_row_maker scalar, int rows)
{
    uint32_t x = put_odd_begin(row, scalar);
    if (x == row->end) {
        return;
    }
    walk cb = walk_begin(row->cb, row->cb_far, x / 2, rows);
    walk cr = walk_begin(row->cr, row->cr_far, x / 2, rows);
    for (; x < row->end; x += SPAN) {
        split cb_values = walk_on(&cb, x / 2, row->chroma_width, rows);
        split cr_values = walk_on(&cr, x / 2, row->chroma_width, rows);
        put_pixels(row, x, (chroma){cb_values, cr_values});
    }
}

static void make_422(const sl_jpeg_row *row)
{
    make_halved(row, sl_jpeg_row_422_scalar, 1);
}

static void make_420(const sl_jpeg_row *row)
{
    make_halved(row, sl_jpeg_row_420_scalar, 2);
}

static void make_422_plain(const sl_jpeg_row *row)
{
    for (uint32_t x = put_odd_begin(row, sl_jpeg_row_422_plain_scalar); x < row->end; x += SPAN) {
        int16x8_t cb = centred(load_columns(row->cb + x / 2));
        int16x8_t cr = centred(load_columns(row->cr + x / 2));
        put_pixels(row, x, (chroma){{cb, cb}, {cr, cr}});
    }
}

const sl_jpeg_row_maker sl_jpeg_rows_neon[SL_JPEG_SAMPLING_COUNT] = {
    [SL_JPEG_GREY] = make_grey, [SL_JPEG_444] = make_444, [SL_JPEG_422] = make_422,
    [SL_JPEG_440] = make_440,   [SL_JPEG_420] = make_420, [SL_JPEG_422_PLAIN] = make_422_plain,
};

#endif
