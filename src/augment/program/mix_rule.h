/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mix_rule: how AugMix and timm's mixes blend an image with the results of their chains. Policies
 * choose the rule (policy.h), aug_mix.h applies it. Threads: none.
 */
#ifndef SL_MIX_RULE_H
#define SL_MIX_RULE_H

enum { SL_POLICY_WIDTH_MAX = 8 }; /* chains of a mix */

/* Formula of x, the image, and y[i], the result of chain i; all binary32. */
typedef enum sl_mix_rule {
    /* torchvision: s = original x; s = s + weight[i] y[i], i rising; truncated to 8 bits.
     * Each chain works on 8 bits, by torchvision's kernels for tensors, not Pillow's. */
    SL_MIX_SUM,
    /* timm: s = 0; s = s + weight[i] y[i], i rising; clipped to 0..255 and truncated to 8 bits;
     * then Pillow's Image.blend(x, s, 1 - original), which truncates, too */
    SL_MIX_SUM_AND_BLEND,
    /* timm, "b1": s = x; s = Image.blend(s, y[i], weight[i]), i rising, 8 bits each time */
    SL_MIX_BLENDS,
} sl_mix_rule;

#endif
