/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_timm: the policies that timm names by a string: "rand-m9-mstd0.5-inc1", "augmix-m5-w4-d2",
 * "original-mstd0.5", "v0r", "3a". Their levels, probabilities and ranges are not torchvision's.
 *
 * Purpose: the string becomes a plain value, or an error that quotes the part that is wrong.
 * A string is a policy and sections, with a dash before each:
 *   rand     m 0-100 level of 10 (10) | n 1-16 operations (2) | p 0-1 probability of each (0.5)
 *            mstd 0-1e6 deviation of the level; above 100: uniform from 0 to m (0)
 *            mmax 1-100 what the level is clipped at (10) | inc 1 what grows with the level
 *            t weights, 3a or 3aw: the set of operations | w 0 the weights of timm before 0.8
 *   augmix   m (3), w 1-8 chains (3), d 0-8 operations of a chain, 0: 1 to 3 by chance (0),
 *            a 0.001-1000 (1), b 1 blended, mstd (without: uniform from 0 to m)
 *   original, originalr, v0, v0r, 3a   mstd (0)
 * timm passes over sections that it cannot read ("rand-m", "rand-foo", "mstdinf"), takes the first
 * or the last of two, and has "inc0" and "b0" mean 1: all these are refused here.
 * Drawn as timm does: n operations, with replacement where the set has no weights, else without.
 * Each is done with probability p. Its level is m, uniform or normal, clipped to 0 .. mmax; half of
 * the signed ones are negated. The "3a" set of policies is DeiT III's 3-Augment without its jitter:
 * one of grey (Color at 0), Solarize at 128 and GaussianBlur of 0.1 to 2.
 * Source: timm/data/auto_augment.py, transforms_factory.py (timm 1.0); "w0": that before e3b2f5be.
 * Levels become values in binary64, in timm's order of operations. Every policy translates relative
 * to the side; timm's translate_const is of none of them.
 * Threads: pure.
 */
#ifndef SL_POLICY_TIMM_H
#define SL_POLICY_TIMM_H

#include "policy.h"

#include <sluice/common.h>

enum { SL_TIMM_TEXT_MAX = 200 };

typedef enum sl_timm_kind {
    SL_TIMM_RAND,
    SL_TIMM_AUTO,
    SL_TIMM_AUG_MIX, /* drawn by sl_timm_mix_draw, the others by sl_timm_draw */
    SL_TIMM_KINDS
} sl_timm_kind;

/* RAND: the set to draw from; AUTO: the sub-policies. */
typedef enum sl_timm_set {
    SL_TIMM_ALL, /* 15 operations */
    SL_TIMM_INCREASING,
    SL_TIMM_3A,
    /* with weights: without replacement */
    SL_TIMM_WEIGHTS,
    SL_TIMM_3A_WEIGHTS,
    SL_TIMM_OLD_WEIGHTS,
    SL_TIMM_OLD_WEIGHTS_INCREASING,
    SL_TIMM_SETS,
    SL_TIMM_ORIGINAL = SL_TIMM_SETS,
    SL_TIMM_ORIGINAL_R,
    SL_TIMM_V0,
    SL_TIMM_V0_R,
    SL_TIMM_3_AUGMENT,
    SL_TIMM_SETS_END
} sl_timm_set;

typedef struct sl_timm_policy {
    sl_timm_kind kind;
    sl_timm_set set;    /* not of AUG_MIX */
    uint32_t num_ops;   /* of RAND; at most the number of operations with a weight */
    uint32_t magnitude; /* 0 to 100; not of AUTO, whose parts have their own */
    uint32_t magnitude_max;
    double deviation;   /* of the level; INFINITY: uniform */
    double probability; /* of each operation of RAND */
    uint32_t width, depth;
    double alpha;
    bool blended;
    /* Values that the string lacks. Set by the parser as timm's create_transform does for
     * ImageNet's mean; the caller may change them. */
    double translation;             /* of the side at level 10: 0.45, AUG_MIX 0.3 */
    uint8_t interpolation, fill[3]; /* RANDOM; (124, 116, 104), the mean rounded */
} sl_timm_policy;

/* Parses a string. INVALID, quoting the wrong part; `policy` is undefined then. */
sluice_status sl_timm_parse(sl_timm_policy *policy, const char *text, sluice_error *error);
/* Returns the reason a value made, or changed, by hand is invalid; NULL: it is valid, and may be
 * drawn from. */
const char *sl_timm_refusal(const sl_timm_policy *policy);

/* Draws like sl_rand_augment_draw. */
uint32_t sl_timm_draw(const sl_timm_policy *policy, uint32_t width, uint32_t height,
                      sl_random *random, sl_policy_choice *choices);
void sl_timm_mix_draw(const sl_timm_policy *policy, uint32_t width, uint32_t height,
                      sl_random *random, sl_policy_mix *mix);

#endif
