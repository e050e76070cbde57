/* SPDX-License-Identifier: Apache-2.0 */
/* NEON: 16 values at once. */
#include "aug_mix.h"

#if defined(__aarch64__)

#    include <arm_neon.h>

#    define INLINE static inline __attribute__((always_inline))

enum { MIX_PARTS = 4, MIX_STEP = MIX_PARTS * 4 };

INLINE void mix_load(const uint8_t *bytes, float32x4_t values[MIX_PARTS])
{
    const uint8x16_t all = vld1q_u8(bytes);
    const uint16x8_t low = vmovl_u8(vget_low_u8(all));
    const uint16x8_t high = vmovl_high_u8(all);
    values[0] = vcvtq_f32_u32(vmovl_u16(vget_low_u16(low)));
    values[1] = vcvtq_f32_u32(vmovl_high_u16(low));
    values[2] = vcvtq_f32_u32(vmovl_u16(vget_low_u16(high)));
    values[3] = vcvtq_f32_u32(vmovl_high_u16(high));
}

/* Values from 0 to 255, cut towards zero. */
INLINE void mix_store(const float32x4_t values[MIX_PARTS], uint8_t *bytes)
{
    uint16x4_t words[MIX_PARTS];
    for (size_t i = 0; i < MIX_PARTS; i++) {
        words[i] = vmovn_u32(vcvtq_u32_f32(values[i]));
    }
    vst1q_u8(bytes, vcombine_u8(vmovn_u16(vcombine_u16(words[0], words[1])),
                                vmovn_u16(vcombine_u16(words[2], words[3]))));
}

INLINE float32x4_t mix_neon_blend(float32x4_t from, float32x4_t to, float share)
{
    return vrndq_f32(vaddq_f32(from, vmulq_n_f32(vsubq_f32(to, from), share)));
}

INLINE float32x4_t mix_neon_cut(float32x4_t sum)
{
    return vrndq_f32(vminq_f32(vmaxq_f32(sum, vdupq_n_f32(0)), vdupq_n_f32(255)));
}

/* Inlined with a constant rule. */
INLINE void mix_step(const sl_aug_mixing *m, sl_mix_rule rule, const uint8_t *in,
                     const uint8_t *const *chains, size_t place, uint8_t *out)
{
    float32x4_t start[MIX_PARTS];
    float32x4_t mixed[MIX_PARTS];
    float32x4_t values[MIX_PARTS];
    mix_load(in + place, start);
    for (size_t i = 0; i < MIX_PARTS; i++) {
        mixed[i] = rule == SL_MIX_SUM             ? vmulq_n_f32(start[i], m->original)
                   : rule == SL_MIX_SUM_AND_BLEND ? vdupq_n_f32(0)
                                                  : start[i];
    }
    for (uint32_t k = 0; k < m->width; k++) {
        mix_load(chains[k] + place, values);
        for (size_t i = 0; i < MIX_PARTS; i++) {
            mixed[i] = rule == SL_MIX_BLENDS
                           ? mix_neon_blend(mixed[i], values[i], m->weights[k])
                           : vaddq_f32(mixed[i], vmulq_n_f32(values[i], m->weights[k]));
        }
    }
    for (size_t i = 0; i < MIX_PARTS && rule != SL_MIX_BLENDS; i++) {
        mixed[i] = mix_neon_cut(mixed[i]);
        if (rule == SL_MIX_SUM_AND_BLEND) {
            mixed[i] = mix_neon_blend(start[i], mixed[i], m->blend);
        }
    }
    mix_store(mixed, out + place);
}

INLINE void mix_all(const sl_aug_mixing *mixing, sl_mix_rule rule, const uint8_t *in,
                    const uint8_t *const *chains, size_t bytes, uint8_t *out)
{
    const sl_aug_mixing local = *mixing; /* which stores to `out` cannot change */
    size_t i = 0;
    for (; i + MIX_STEP <= bytes; i += MIX_STEP) {
        mix_step(&local, rule, in, chains, i, out);
    }
    if (i < bytes) { /* the last step overlaps the one before */
        mix_step(&local, rule, in, chains, bytes - MIX_STEP, out);
    }
}

void sl_aug_mix_neon(const sl_aug_mixing *mixing, const uint8_t *in, const uint8_t *const *chains,
                     size_t bytes, uint8_t *out)
{
    if (bytes < MIX_STEP) {
        sl_aug_mix_scalar(mixing, in, chains, bytes, out);
        return;
    }
    switch (mixing->rule) {
    case SL_MIX_SUM:
        mix_all(mixing, SL_MIX_SUM, in, chains, bytes, out);
        break;
    case SL_MIX_SUM_AND_BLEND:
        mix_all(mixing, SL_MIX_SUM_AND_BLEND, in, chains, bytes, out);
        break;
    default:
        mix_all(mixing, SL_MIX_BLENDS, in, chains, bytes, out);
        break;
    }
}

#endif
