/* SPDX-License-Identifier: Apache-2.0 */
/* NEON: 16 pixels at once. */
#include "convert.h"

#if defined(__aarch64__)

#    include <arm_neon.h>

#    define SL_CONVERT_INLINE static inline __attribute__((always_inline))

SL_CONVERT_INLINE uint16x4_t round_bfloat16(float32x4_t values)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(values);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    return vshrn_n_u32(vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7FFF))), 16);
}

SL_CONVERT_INLINE uint8x16_t take_channel(const uint8_t *pixels, size_t c)
{
    return vld3q_u8(pixels).val[c];
}

SL_CONVERT_INLINE uint8x16_t take_bytes(const uint8_t *pixels, size_t c)
{
    return vld1q_u8(pixels + c * 16);
}

/* 4 elements; `out` points to the first. */
SL_CONVERT_INLINE void store(float32x4_t values, sluice_dtype dtype, void *out)
{
    if (dtype == SLUICE_F32) {
        vst1q_f32(out, values);
    } else if (dtype == SLUICE_F16) {
        vst1_u16(out, vreinterpret_u16_f16(vcvt_f16_f32(values)));
    } else {
        vst1_u16(out, round_bfloat16(values));
    }
}

SL_CONVERT_INLINE void convert_samples(uint8x16_t samples, const float *scales, const float *biases,
                                       sluice_dtype dtype, uint8_t *out)
{
    if (dtype == SLUICE_U8) {
        vst1q_u8(out, samples);
        return;
    }
    const ptrdiff_t bytes = dtype == SLUICE_F32 ? 4 : 2;
    const uint16x8_t words[2] = {vmovl_u8(vget_low_u8(samples)), vmovl_u8(vget_high_u8(samples))};
    for (ptrdiff_t i = 0; i < 4; i++) {
        const uint16x8_t eight = words[i / 2];
        const uint32x4_t four = vmovl_u16(i % 2 == 0 ? vget_low_u16(eight) : vget_high_u16(eight));
        const float32x4_t values =
            vfmaq_f32(vld1q_f32(biases + i * 4), vcvtq_f32_u32(four), vld1q_f32(scales + i * 4));
        store(values, dtype, out + i * 4 * bytes);
    }
}

#    include "convert_loop.h"

void sl_convert_neon(const sl_converter *converter, const uint8_t *pixels, size_t first,
                     size_t count, void *picture)
{
    convert(converter, pixels, first, count, picture);
}

#endif
