/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aug_mix: the last step of AugMix: blends the image and the results of its chains.
 *
 * Purpose: one pass over all of them, so that sums stay in registers. Arithmetic: mix_rule.h, in
 * binary32, each operation rounded (the build has no contraction), the same bits at every level.
 * Threads: pure.
 */
#ifndef SL_AUG_MIX_H
#define SL_AUG_MIX_H

#include "mix_rule.h"
#include "simd.h"

#include <stddef.h>
#include <stdint.h>

typedef struct sl_aug_mixing {
    sl_mix_rule rule;
    float original, blend; /* blend: from 0 to 1 */
    uint32_t width;
    float weights[SL_POLICY_WIDTH_MAX];
} sl_aug_mixing;

/* Blends `bytes` of the image and of each chain's result into `out`, which overlaps none of
 * them. */
typedef void sl_mix_function(const sl_aug_mixing *mixing, const uint8_t *in,
                             const uint8_t *const *chains, size_t bytes, uint8_t *out);

sl_mix_function *sl_mix_for(sl_simd simd);

sl_mix_function sl_aug_mix_scalar;
#if defined(__x86_64__)
sl_mix_function sl_aug_mix_avx2;
#elif defined(__aarch64__)
sl_mix_function sl_aug_mix_neon;
#endif

#endif
