/* SPDX-License-Identifier: Apache-2.0 */
/* NEON: widening multiply-adds, 16 samples at once down, a pixel at once across. */
#include "resample_kernels.h"

#if defined(__aarch64__)

#    include <arm_neon.h>

enum { STEP = 16 };

/* Four sums of 4 samples. */
static inline void add_taps(int32x4_t sums[4], const uint8_t *in, int16_t weight)
{
    const uint8x16_t bytes = vld1q_u8(in);
    const int16x8_t low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)));
    const int16x8_t high = vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(bytes)));
    sums[0] = vmlal_n_s16(sums[0], vget_low_s16(low), weight);
    sums[1] = vmlal_n_s16(sums[1], vget_high_s16(low), weight);
    sums[2] = vmlal_n_s16(sums[2], vget_low_s16(high), weight);
    sums[3] = vmlal_n_s16(sums[3], vget_high_s16(high), weight);
}

static inline void vertical_step(const sl_vertical *pass, const uint8_t *in, int16_t *out)
{
    const int32x4_t half = vdupq_n_s32((int32_t)(1U << (pass->shift - 1)));
    const int32x4_t right = vdupq_n_s32(-(int32_t)pass->shift);
    int32x4_t sums[4] = {half, half, half, half};
    for (uint32_t k = 0; k < pass->taps; k++) {
        add_taps(sums, in, pass->weights[k]);
        in += pass->stride_bytes;
    }
    for (int i = 0; i < 4; i++) {
        vst1_s16(out + (ptrdiff_t)i * 4, vmovn_s32(vshlq_s32(sums[i], right)));
    }
}

static void vertical(const sl_vertical *pass, int16_t *out)
{
    if (pass->samples < STEP) {
        sl_resample_scalar.vertical(pass, out);
        return;
    }
    for (size_t x = 0; x + STEP <= pass->samples; x += STEP) {
        vertical_step(pass, pass->in + x, out + x);
    }
    if (pass->samples % STEP != 0) { /* the last step overlaps the one before */
        const size_t last = pass->samples - STEP;
        vertical_step(pass, pass->in + last, out + last);
    }
}

/* Four bytes a pixel are written, the fourth under the next pixel. */
static void horizontal(const sl_horizontal *pass, const int16_t *in, uint8_t *out)
{
    const int32x4_t half = vdupq_n_s32((int32_t)(1U << (pass->shift - 1)));
    const int32x4_t right = vdupq_n_s32(-(int32_t)pass->shift);
    for (uint32_t i = 0; i < pass->outputs; i++) {
        const int16_t *pixel = in + (ptrdiff_t)pass->starts[i] * 3;
        const int16_t *pair = pass->weights + (size_t)i * 2;
        int32x4_t sum = half;
        for (uint32_t j = 0; j < pass->pairs; j++) {
            sum = vmlal_n_s16(sum, vld1_s16(pixel), pair[0]);
            sum = vmlal_n_s16(sum, vld1_s16(pixel + 3), pair[1]);
            pixel += 6;
            pair += (size_t)pass->padded * 2;
        }
        const uint16x4_t words = vreinterpret_u16_s16(vmovn_s32(vshlq_s32(sum, right)));
        const uint8x8_t bytes = vmovn_u16(vcombine_u16(words, words));
        vst1_lane_u32((uint32_t *)(void *)out, vreinterpret_u32_u8(bytes), 0);
        out += 3;
    }
}

static void mirror(const uint8_t *in, uint8_t *out, size_t pixels)
{
    for (; pixels >= 8; pixels -= 8) {
        uint8x8x3_t eight = vld3_u8(in + (pixels - 8) * 3);
        for (int c = 0; c < 3; c++) {
            eight.val[c] = vrev64_u8(eight.val[c]);
        }
        vst3_u8(out, eight);
        out += 24;
    }
    sl_resample_scalar.mirror(in, out, pixels);
}

const sl_resample_kernels sl_resample_neon = {.vertical = vertical,
                                              .horizontal = horizontal,
                                              .mirror = mirror};

#endif
