/* SPDX-License-Identifier: Apache-2.0 */
/* NEON: 16 samples at once. */
#include "mix_rows.h"

#include "dtype.h"

#if defined(__aarch64__)

#    include <arm_neon.h>

#    define SL_MIX_INLINE static inline __attribute__((always_inline))

/* Of SL_CONVERT_STEP elements. */
typedef struct mix_factors {
    const float *scales, *biases;
    float weight;
} mix_factors;

/* Samples 4 * i .. 4 * i + 3. */
SL_MIX_INLINE float32x4_t mix_neon_take(uint8x16_t samples, size_t i)
{
    const uint16x8_t eight =
        i < 2 ? vmovl_u8(vget_low_u8(samples)) : vmovl_u8(vget_high_u8(samples));
    return vcvtq_f32_u32(vmovl_u16(i % 2 == 0 ? vget_low_u16(eight) : vget_high_u16(eight)));
}

SL_MIX_INLINE uint16x4_t mix_neon_round_bfloat16(float32x4_t values)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(values);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    return vshrn_n_u32(vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7FFF))), 16);
}

/* 4 elements of floats; `out` points to the first. */
SL_MIX_INLINE void mix_neon_store(float32x4_t values, sluice_dtype dtype, void *out)
{
    if (dtype == SLUICE_F32) {
        vst1q_f32(out, values);
    } else if (dtype == SLUICE_F16) {
        vst1_u16(out, vreinterpret_u16_f16(vcvt_f16_f32(values)));
    } else {
        vst1_u16(out, mix_neon_round_bfloat16(values));
    }
}

SL_MIX_INLINE void mix_samples(const uint8_t *own, const uint8_t *other, const mix_factors *factors,
                               sluice_dtype dtype, uint8_t *out)
{
    const float32x4_t weight = vdupq_n_f32(factors->weight);
    const float32x4_t rest = vdupq_n_f32(1.0F - factors->weight);
    const uint8x16_t own_samples = vld1q_u8(own);
    const uint8x16_t others = other != NULL ? vld1q_u8(other) : own_samples;
    uint16x4_t words[4];
    if (dtype == SLUICE_U8 && other == NULL) {
        vst1q_u8(out, own_samples);
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        const float32x4_t scale = vld1q_f32(factors->scales + 4 * i);
        const float32x4_t bias = vld1q_f32(factors->biases + 4 * i);
        float32x4_t value = mix_neon_take(own_samples, i);
        float32x4_t partner = mix_neon_take(others, i);
        if (dtype != SLUICE_U8) {
            value = vfmaq_f32(bias, value, scale);
            partner = vfmaq_f32(bias, partner, scale);
        }
        if (other != NULL) {
            value = vfmaq_f32(vmulq_f32(rest, partner), weight, value);
        }
        if (dtype == SLUICE_U8) {
            words[i] = vmovn_u32(vcvtnq_u32_f32(value));
        } else {
            mix_neon_store(value, dtype, out + 4 * i * sl_dtype_bytes(dtype));
        }
    }
    if (dtype == SLUICE_U8) {
        vst1q_u8(out, vcombine_u8(vmovn_u16(vcombine_u16(words[0], words[1])),
                                  vmovn_u16(vcombine_u16(words[2], words[3]))));
    }
}

#    include "mix_rows_loop.h"

void sl_mix_neon(const sl_converter *converter, const sl_mix_piece *piece)
{
    mix_any(converter, piece);
}

#endif
