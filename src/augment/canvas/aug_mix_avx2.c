/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2: 32 values at once. */
#include "aug_mix.h"

#if defined(__x86_64__)

#    include <immintrin.h>

#    define INLINE SL_TARGET_AVX2 static inline __attribute__((always_inline))

enum { MIX_PARTS = 4, MIX_LANES = 8, MIX_STEP = MIX_PARTS * MIX_LANES };

INLINE __m256 mix_load(const uint8_t *bytes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i_u *)bytes)));
}

INLINE __m256 mix_avx2_blend(__m256 from, __m256 to, __m256 share)
{
    return _mm256_round_ps(_mm256_add_ps(from, _mm256_mul_ps(share, _mm256_sub_ps(to, from))),
                           _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

INLINE __m256 mix_avx2_cut(__m256 sum)
{
    sum = _mm256_min_ps(_mm256_max_ps(sum, _mm256_setzero_ps()), _mm256_set1_ps(255.0F));
    return _mm256_round_ps(sum, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

/* Inlined with a constant rule. */
INLINE void mix_step(const sl_aug_mixing *m, sl_mix_rule rule, const uint8_t *in,
                     const uint8_t *const *chains, size_t place, uint8_t *out)
{
    __m256 start[MIX_PARTS];
    __m256 mixed[MIX_PARTS];
    for (size_t i = 0; i < MIX_PARTS; i++) {
        start[i] = mix_load(in + place + i * MIX_LANES);
        mixed[i] = rule == SL_MIX_SUM ? _mm256_mul_ps(_mm256_set1_ps(m->original), start[i])
                   : rule == SL_MIX_SUM_AND_BLEND ? _mm256_setzero_ps()
                                                  : start[i];
    }
    for (uint32_t k = 0; k < m->width; k++) {
        const __m256 weight = _mm256_set1_ps(m->weights[k]);
        const uint8_t *chain = chains[k] + place;
        for (size_t i = 0; i < MIX_PARTS; i++) {
            const __m256 value = mix_load(chain + i * MIX_LANES);
            mixed[i] = rule == SL_MIX_BLENDS
                           ? mix_avx2_blend(mixed[i], value, weight)
                           : _mm256_add_ps(mixed[i], _mm256_mul_ps(weight, value));
        }
    }
    __m256i whole[MIX_PARTS];
    for (size_t i = 0; i < MIX_PARTS; i++) {
        __m256 result = rule == SL_MIX_BLENDS ? mixed[i] : mix_avx2_cut(mixed[i]);
        if (rule == SL_MIX_SUM_AND_BLEND) {
            result = mix_avx2_blend(start[i], result, _mm256_set1_ps(m->blend));
        }
        whole[i] = _mm256_cvttps_epi32(result);
    }
    const __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(whole[0], whole[1]),
                                              _mm256_packs_epi32(whole[2], whole[3]));
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256((__m256i_u *)(out + place), _mm256_permutevar8x32_epi32(bytes, in_order));
}

INLINE void mix_all(const sl_aug_mixing *mixing, sl_mix_rule rule, const uint8_t *in,
                    const uint8_t *const *chains, size_t bytes, uint8_t *out)
{
    const sl_aug_mixing local = *mixing; /* which stores to `out` cannot modify */
    size_t i = 0;
    for (; i + MIX_STEP <= bytes; i += MIX_STEP) {
        mix_step(&local, rule, in, chains, i, out);
    }
    if (i < bytes) { /* the last step overlaps the one before */
        mix_step(&local, rule, in, chains, bytes - MIX_STEP, out);
    }
}

SL_TARGET_AVX2 void sl_aug_mix_avx2(const sl_aug_mixing *mixing, const uint8_t *in,
                                    const uint8_t *const *chains, size_t bytes, uint8_t *out)
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
