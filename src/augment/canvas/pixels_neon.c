/* SPDX-License-Identifier: Apache-2.0 */
/* NEON: 16 pixels at once, which its loads separate; the rest of a row, hue and HSV are scalar. */
#include "blend.h"
#include "pixels.h"

#if defined(__aarch64__)

#    include <arm_neon.h>

enum { STEP = 16, STEP_BYTES = 48, QUARTER = 64 };

/* The table in four parts of 64: an index beyond a part keeps the result so far. */
static inline uint8x16_t look_in(uint8x16_t values, const uint8_t table[SL_LUT_SIZE])
{
    uint8x16_t found = vqtbl4q_u8(vld1q_u8_x4(table), values);
    for (size_t part = QUARTER; part < SL_LUT_SIZE; part += QUARTER) {
        values = vsubq_u8(values, vdupq_n_u8(QUARTER));
        found = vqtbx4q_u8(found, vld1q_u8_x4(table + part), values);
    }
    return found;
}

static void pixels_neon_look_up(uint8_t *pixels, size_t count, uint8_t tables[3][SL_LUT_SIZE])
{
    const size_t whole = count / STEP * STEP;
    for (size_t i = 0; i < whole * 3; i += STEP_BYTES) {
        uint8x16x3_t planes = vld3q_u8(pixels + i);
        for (int c = 0; c < 3; c++) {
            planes.val[c] = look_in(planes.val[c], tables[c]);
        }
        vst3q_u8(pixels + i, planes);
    }
    sl_pixels_scalar.look_up(pixels + whole * 3, count - whole, tables);
}

static void pixels_neon_look_up_one(uint8_t *pixels, size_t count, const uint8_t table[SL_LUT_SIZE])
{
    const size_t whole = count / STEP * STEP;
    for (size_t i = 0; i < whole * 3; i += STEP) {
        vst1q_u8(pixels + i, look_in(vld1q_u8(pixels + i), table));
    }
    sl_pixels_scalar.look_up_one(pixels + whole * 3, count - whole, table);
}

/* The grey of 4 pixels; narrowing rounds. */
static inline uint16x4_t grey_of_four(uint16x4_t red, uint16x4_t green, uint16x4_t blue)
{
    const uint32x4_t sum = vmull_n_u16(red, SL_GREY_RED);
    const uint32x4_t more = vmlal_n_u16(sum, green, SL_GREY_GREEN);
    return vrshrn_n_u32(vmlal_n_u16(more, blue, SL_GREY_BLUE), SL_GREY_BITS);
}

static inline uint8x8_t grey_of_eight(uint8x8_t red, uint8x8_t green, uint8x8_t blue)
{
    const uint16x8_t r = vmovl_u8(red);
    const uint16x8_t g = vmovl_u8(green);
    const uint16x8_t b = vmovl_u8(blue);
    return vmovn_u16(
        vcombine_u16(grey_of_four(vget_low_u16(r), vget_low_u16(g), vget_low_u16(b)),
                     grey_of_four(vget_high_u16(r), vget_high_u16(g), vget_high_u16(b))));
}

static inline uint8x16_t grey_of_planes(uint8x16x3_t planes)
{
    return vcombine_u8(grey_of_eight(vget_low_u8(planes.val[0]), vget_low_u8(planes.val[1]),
                                     vget_low_u8(planes.val[2])),
                       grey_of_eight(vget_high_u8(planes.val[0]), vget_high_u8(planes.val[1]),
                                     vget_high_u8(planes.val[2])));
}

static uint64_t pixels_neon_sum_grey(const uint8_t *pixels, size_t count)
{
    const size_t whole = count / STEP * STEP;
    uint64x2_t sums = vdupq_n_u64(0);
    for (size_t i = 0; i < whole * 3; i += STEP_BYTES) {
        const uint8x16_t grey = grey_of_planes(vld3q_u8(pixels + i));
        sums = vpadalq_u32(sums, vpaddlq_u16(vpaddlq_u8(grey)));
    }
    return vgetq_lane_u64(sums, 0) + vgetq_lane_u64(sums, 1) +
           sl_pixels_scalar.sum_grey(pixels + whole * 3, count - whole);
}

static void pixels_neon_grey(uint8_t *pixels, size_t count)
{
    const size_t whole = count / STEP * STEP;
    for (size_t i = 0; i < whole * 3; i += STEP_BYTES) {
        const uint8x16_t grey = grey_of_planes(vld3q_u8(pixels + i));
        const uint8x16x3_t planes = {{grey, grey, grey}};
        vst3q_u8(pixels + i, planes);
    }
    sl_pixels_scalar.grey(pixels + whole * 3, count - whole);
}

/* Conversion to integers truncates; it and each narrowing saturate. */
static inline int16x4_t blend_four(int16x4_t grey, int16x4_t value, float factor)
{
    const float32x4_t difference = vcvtq_f32_s32(vsubl_s16(value, grey));
    const float32x4_t base = vcvtq_f32_s32(vmovl_s16(grey));
    return vqmovn_s32(vcvtq_s32_f32(vaddq_f32(base, vmulq_n_f32(difference, factor))));
}

static inline uint8x8_t blend_eight(uint8x8_t grey, uint8x8_t value, float factor)
{
    const int16x8_t greys = vreinterpretq_s16_u16(vmovl_u8(grey));
    const int16x8_t values = vreinterpretq_s16_u16(vmovl_u8(value));
    return vqmovun_s16(
        vcombine_s16(blend_four(vget_low_s16(greys), vget_low_s16(values), factor),
                     blend_four(vget_high_s16(greys), vget_high_s16(values), factor)));
}

static void pixels_neon_blend_grey(uint8_t *pixels, size_t count, float factor)
{
    const size_t whole = count / STEP * STEP;
    for (size_t i = 0; i < whole * 3; i += STEP_BYTES) {
        uint8x16x3_t planes = vld3q_u8(pixels + i);
        const uint8x16_t grey = grey_of_planes(planes);
        for (int c = 0; c < 3; c++) {
            const uint8x16_t value = planes.val[c];
            planes.val[c] =
                vcombine_u8(blend_eight(vget_low_u8(grey), vget_low_u8(value), factor),
                            blend_eight(vget_high_u8(grey), vget_high_u8(value), factor));
        }
        vst3q_u8(pixels + i, planes);
    }
    sl_pixels_scalar.blend_grey(pixels + whole * 3, count - whole, factor);
}

static void pixels_neon_hue(uint8_t *pixels, size_t count, uint8_t shift)
{
    sl_pixels_scalar.hue(pixels, count, shift);
}

static void pixels_neon_hsv(uint8_t *pixels, size_t count, const sl_hsv_change *change)
{
    sl_pixels_scalar.hsv(pixels, count, change);
}

static void pixels_neon_permute(uint8_t *pixels, size_t count, const uint8_t order[3])
{
    const size_t whole = count / STEP * STEP;
    for (size_t i = 0; i < whole * 3; i += STEP_BYTES) {
        const uint8x16x3_t planes = vld3q_u8(pixels + i);
        const uint8x16x3_t ordered = {
            {planes.val[order[0]], planes.val[order[1]], planes.val[order[2]]}};
        vst3q_u8(pixels + i, ordered);
    }
    sl_pixels_scalar.permute(pixels + whole * 3, count - whole, order);
}

const sl_pixel_kernels sl_pixels_neon = {.look_up = pixels_neon_look_up,
                                         .look_up_one = pixels_neon_look_up_one,
                                         .histogram = sl_pixels_histogram,
                                         .sum_grey = pixels_neon_sum_grey,
                                         .grey = pixels_neon_grey,
                                         .blend_grey = pixels_neon_blend_grey,
                                         .hue = pixels_neon_hue,
                                         .hsv = pixels_neon_hsv,
                                         .permute = pixels_neon_permute};

#endif
