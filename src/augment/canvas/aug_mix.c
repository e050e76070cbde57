/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: a value at a time. */
#include "aug_mix.h"

/* Blends two values like Pillow by a fraction in [0, 1]. */
static float mix_blend(float from, float to, float share)
{
    return (float)(uint8_t)(from + share * (to - from));
}

static float mix_cut(float sum)
{
    return sum <= 0 ? 0.0F : sum >= 255 ? 255.0F : (float)(uint8_t)sum;
}

static float mix_sample(const sl_aug_mixing *m, float in, const uint8_t *const *chains,
                        size_t place)
{
    if (m->rule == SL_MIX_BLENDS) {
        float mixed = in;
        for (uint32_t k = 0; k < m->width; k++) {
            mixed = mix_blend(mixed, (float)chains[k][place], m->weights[k]);
        }
        return mixed;
    }
    float sum = m->rule == SL_MIX_SUM ? m->original * in : 0.0F;
    for (uint32_t k = 0; k < m->width; k++) {
        sum += m->weights[k] * (float)chains[k][place];
    }
    sum = mix_cut(sum);
    return m->rule == SL_MIX_SUM ? sum : mix_blend(in, sum, m->blend);
}

void sl_aug_mix_scalar(const sl_aug_mixing *mixing, const uint8_t *in, const uint8_t *const *chains,
                       size_t bytes, uint8_t *out)
{
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (uint8_t)mix_sample(mixing, (float)in[i], chains, i);
    }
}

sl_mix_function *sl_mix_for(sl_simd simd)
{
#if defined(__x86_64__)
    if (simd >= SL_SIMD_AVX2) {
        return sl_aug_mix_avx2;
    }
#elif defined(__aarch64__)
    if (simd == SL_SIMD_NEON) {
        return sl_aug_mix_neon;
    }
#endif
    (void)simd;
    return sl_aug_mix_scalar;
}
