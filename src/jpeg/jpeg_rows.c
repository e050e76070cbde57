/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_rows.h"
#include "jpeg_rows_variants.h"

#include <assert.h>

static uint8_t jpeg_rows_clamp(int32_t value)
{
    return (uint8_t)(value > UINT8_MAX ? UINT8_MAX : value < 0 ? 0 : value);
}

static void put_pixel(uint8_t *rgb, int32_t luma, int32_t cb_sample, int32_t cr_sample)
{
    int32_t cb = cb_sample - SL_ROWS_CENTRE;
    int32_t cr = cr_sample - SL_ROWS_CENTRE;
    int32_t red = (SL_ROWS_RED_CR * cr + SL_ROWS_HALF) >> SL_ROWS_BITS;
    int32_t green = (SL_ROWS_GREEN_CB * cb + SL_ROWS_GREEN_CR * cr + SL_ROWS_HALF) >> SL_ROWS_BITS;
    int32_t blue = (SL_ROWS_BLUE_CB * cb + SL_ROWS_HALF) >> SL_ROWS_BITS;
    rgb[0] = jpeg_rows_clamp(luma + red);
    rgb[1] = jpeg_rows_clamp(luma + green);
    rgb[2] = jpeg_rows_clamp(luma + blue);
}

void sl_jpeg_row_grey_scalar(const sl_jpeg_row *row)
{
    uint8_t *rgb = row->rgb;
    for (uint32_t x = row->begin; x < row->end; x++, rgb += 3) {
        rgb[0] = rgb[1] = rgb[2] = row->luma[x];
    }
}

void sl_jpeg_row_444_scalar(const sl_jpeg_row *row)
{
    uint8_t *rgb = row->rgb;
    for (uint32_t x = row->begin; x < row->end; x++, rgb += 3) {
        put_pixel(rgb, row->luma[x], row->cb[x], row->cr[x]);
    }
}

void sl_jpeg_row_422_plain_scalar(const sl_jpeg_row *row)
{
    uint8_t *rgb = row->rgb;
    for (uint32_t x = row->begin; x < row->end; x++, rgb += 3) {
        put_pixel(rgb, row->luma[x], row->cb[x / 2], row->cr[x / 2]);
    }
}

/* Returns the chroma column on the other side of pixel x: the one before for even x, or the one
 * after. */
static uint32_t neighbour(const sl_jpeg_row *row, uint32_t x)
{
    uint32_t column = x / 2;
    if (x % 2 == 0) {
        return column == 0 ? 0 : column - 1;
    }
    return column + 1 < row->chroma_width ? column + 1 : column;
}

void sl_jpeg_row_422_scalar(const sl_jpeg_row *row)
{
    uint8_t *rgb = row->rgb;
    for (uint32_t x = row->begin; x < row->end; x++, rgb += 3) {
        uint32_t near = x / 2;
        uint32_t far = neighbour(row, x);
        int32_t bias = x % 2 == 0 ? 1 : 2;
        put_pixel(rgb, row->luma[x], (3 * row->cb[near] + row->cb[far] + bias) >> 2,
                  (3 * row->cr[near] + row->cr[far] + bias) >> 2);
    }
}

void sl_jpeg_row_440_scalar(const sl_jpeg_row *row)
{
    int32_t bias = row->lower ? 2 : 1;
    uint8_t *rgb = row->rgb;
    for (uint32_t x = row->begin; x < row->end; x++, rgb += 3) {
        put_pixel(rgb, row->luma[x], (3 * row->cb[x] + row->cb_far[x] + bias) >> 2,
                  (3 * row->cr[x] + row->cr_far[x] + bias) >> 2);
    }
}

void sl_jpeg_row_420_scalar(const sl_jpeg_row *row)
{
    uint8_t *rgb = row->rgb;
    for (uint32_t x = row->begin; x < row->end; x++, rgb += 3) {
        uint32_t near = x / 2;
        uint32_t far = neighbour(row, x);
        int32_t bias = x % 2 == 0 ? 8 : 7;
        int32_t cb_near = 3 * row->cb[near] + row->cb_far[near];
        int32_t cb_far = 3 * row->cb[far] + row->cb_far[far];
        int32_t cr_near = 3 * row->cr[near] + row->cr_far[near];
        int32_t cr_far = 3 * row->cr[far] + row->cr_far[far];
        put_pixel(rgb, row->luma[x], (3 * cb_near + cb_far + bias) >> 4,
                  (3 * cr_near + cr_far + bias) >> 4);
    }
}

static const sl_jpeg_row_maker scalar_makers[SL_JPEG_SAMPLING_COUNT] = {
    [SL_JPEG_GREY] = sl_jpeg_row_grey_scalar, [SL_JPEG_444] = sl_jpeg_row_444_scalar,
    [SL_JPEG_422] = sl_jpeg_row_422_scalar,   [SL_JPEG_440] = sl_jpeg_row_440_scalar,
    [SL_JPEG_420] = sl_jpeg_row_420_scalar,   [SL_JPEG_422_PLAIN] = sl_jpeg_row_422_plain_scalar,
};

sl_jpeg_row_maker sl_jpeg_row_for(sl_simd simd, sl_jpeg_sampling sampling)
{
    assert(simd < SL_SIMD_COUNT && sampling < SL_JPEG_SAMPLING_COUNT);
    switch (simd) {
#if defined(__x86_64__)
    case SL_SIMD_AVX2:
        return sl_jpeg_rows_avx2[sampling];
    case SL_SIMD_AVX512:
        return sl_jpeg_rows_avx512[sampling];
#elif defined(__aarch64__)
    case SL_SIMD_NEON:
        return sl_jpeg_rows_neon[sampling];
#endif
    default:
        return scalar_makers[sampling];
    }
}
