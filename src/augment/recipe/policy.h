/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy: which operations a sample gets, and how strong: torchvision's RandAugment,
 * TrivialAugmentWide, AutoAugment and AugMix. timm's are in policy_timm.h; nothing is shared
 * between the two but the names of operations and the paper's list of sub-policies.
 *
 * Purpose: a policy is a plain value. Drawing makes a list of choices of it, or for AugMix chains
 * of choices with weights; how they are applied is known elsewhere. A choice's value is final: the
 * sign is drawn, levels are translated. Source: torchvision 0.14, transforms/autoaugment.py, whose
 * tables are of binary32 (torch.linspace) and are so here, by the formula of torch 2 (start + i
 * step up to the middle, end - i step beyond it). Those of torch 1.13 are a vector's, off by a last
 * bit or two, as its processor has it. transforms.v2 differs in one thing: its solarize threshold
 * is 255 times a binary32 from 1 to 0, which moves it by less than 1e-4. Random numbers: of the
 * stream given, in the order of the choices; a few for each. Threads: pure. Memory: the caller's.
 */
#ifndef SL_POLICY_H
#define SL_POLICY_H

#include "mix_rule.h"
#include "philox.h"

#include <stdbool.h>
#include <stdint.h>

/* Meaning of `value` for each. Coordinates are pixels from the upper left corner, y downwards. */
typedef enum sl_policy_op {
    SL_OP_IDENTITY,
    SL_OP_SHEAR_X,     /* tangent: the output at (x, y) shows the input at (x + value y, y) */
    SL_OP_SHEAR_Y,     /* (x, y + value x). Both about the corner (0, 0), not the centre */
    SL_OP_TRANSLATE_X, /* pixels to the right; whole in torchvision's policies, not in timm's */
    SL_OP_TRANSLATE_Y, /* pixels down */
    SL_OP_ROTATE,      /* degrees counterclockwise about the centre */
    SL_OP_BRIGHTNESS,  /* factor of Pillow's ImageEnhance, 1: no change; this and the next three */
    SL_OP_COLOR,       /* saturation; 0: grey */
    SL_OP_CONTRAST,
    SL_OP_SHARPNESS,
    SL_OP_POSTERIZE,     /* bits kept, 0 to 8 */
    SL_OP_SOLARIZE,      /* values >= value are inverted; 0 to 256, whole in timm's policies */
    SL_OP_SOLARIZE_ADD,  /* whole, 0 to 128: added to values below 128, up to 255 */
    SL_OP_AUTO_CONTRAST, /* this and the next two have no value */
    SL_OP_EQUALIZE,
    SL_OP_INVERT,
    SL_OP_GAUSSIAN_BLUR, /* radius of Pillow's ImageFilter.GaussianBlur, pixels; only in timm's */
    SL_OPS
} sl_policy_op;

/* Pillow's three for affine mappings, the only ones that these policies take. */
typedef enum sl_policy_interpolation {
    SL_POLICY_NEAREST,
    SL_POLICY_BILINEAR,
    SL_POLICY_BICUBIC,
    SL_POLICY_RANDOM /* bilinear or bicubic, drawn for each operation; only in timm's configs */
} sl_policy_interpolation;

enum {
    SL_POLICY_CHOICES_MAX = 16, /* of one draw */
    SL_POLICY_DEPTH_MAX = 8,    /* choices of a chain */
    SL_POLICY_DEPTH_DRAWN = 3,  /* at most, if drawn */
    SL_POLICY_PARTS = 2,        /* of a sub-policy */
    SL_POLICY_BINS_MAX = 1000,
};

/* Concentrations of AugMix: least and greatest. */
#define SL_POLICY_ALPHA_MIN 1e-3
#define SL_POLICY_ALPHA_MAX 1e3

/* Interpolation and fill (of red, green, blue) are set for all, and matter for shear, translation
 * and rotation (sl_policy_op_moves). */
typedef struct sl_policy_choice {
    sl_policy_op op;
    uint8_t interpolation; /* an sl_policy_interpolation, never RANDOM */
    uint8_t fill[3];
    double value; /* 0 if it has none */
} sl_policy_choice;

typedef struct sl_policy_chain {
    float weight; /* by the mix's rule */
    uint32_t count;
    sl_policy_choice choices[SL_POLICY_DEPTH_MAX];
} sl_policy_chain;

typedef struct sl_policy_mix {
    sl_mix_rule rule;
    float original; /* weight of the image itself; not used by SL_MIX_BLENDS */
    float blend;    /* 1 - original; SL_MIX_SUM_AND_BLEND's argument */
    uint32_t width;
    sl_policy_chain chains[SL_POLICY_WIDTH_MAX];
} sl_policy_mix;

/* Takes interpolation and fill. */
bool sl_policy_op_moves(sl_policy_op op);

/* ---- torchvision ---- */

/* num_ops operations, with replacement, of 14; all at one magnitude, the sign drawn. */
typedef struct sl_rand_augment {
    uint32_t num_ops, magnitude, num_magnitude_bins;
    uint8_t interpolation, fill[3];
} sl_rand_augment;

/* One of 14 operations at a bin drawn uniformly, over a wider range. */
typedef struct sl_trivial_augment {
    uint32_t num_magnitude_bins;
    uint8_t interpolation, fill[3];
} sl_trivial_augment;

typedef enum sl_auto_policy {
    SL_AUTO_IMAGENET,
    SL_AUTO_CIFAR10,
    SL_AUTO_SVHN,
    SL_AUTO_POLICIES
} sl_auto_policy;

/* One of 25 pairs, each part with its probability and magnitude (of 10), the sign drawn. */
typedef struct sl_auto_augment {
    uint32_t policy; /* an sl_auto_policy */
    uint8_t interpolation, fill[3];
} sl_auto_augment;

/*
 * (m, 1 - m) ~ Dirichlet(alpha, alpha); shares ~ Dirichlet(alpha, ...) of mixture_width; original =
 * m, weight[i] = share[i] (1 - m), in binary32. Each chain: chain_depth operations, or 1 to 3 by
 * chance, uniform with replacement of 9 (all_ops: 13), each at one of the first `severity` of 10
 * magnitudes.
 */
typedef struct sl_aug_mix {
    uint32_t severity, mixture_width;
    int32_t chain_depth; /* -1 or 0: drawn */
    double alpha;
    bool all_ops; /* with brightness, colour, contrast and sharpness */
    uint8_t interpolation, fill[3];
} sl_aug_mix;

/*
 * Draw from configs whose numbers are in the ranges of their step (steps.c), for an image of width
 * x height at the policy's place in the recipe. Return the number of choices, at most
 * SL_POLICY_CHOICES_MAX, for which there is space.
 */
uint32_t sl_rand_augment_draw(const sl_rand_augment *config, uint32_t width, uint32_t height,
                              sl_random *random, sl_policy_choice *choices);
uint32_t sl_trivial_augment_draw(const sl_trivial_augment *config, uint32_t width, uint32_t height,
                                 sl_random *random, sl_policy_choice *choices);
uint32_t sl_auto_augment_draw(const sl_auto_augment *config, uint32_t width, uint32_t height,
                              sl_random *random, sl_policy_choice *choices);
void sl_aug_mix_draw(const sl_aug_mix *config, uint32_t width, uint32_t height, sl_random *random,
                     sl_policy_mix *mix);

#endif
