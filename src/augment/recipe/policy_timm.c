/* SPDX-License-Identifier: Apache-2.0 */
#include "policy_timm.h"

#include "policy_tables.h"
#include "variates.h"

#include <assert.h>
#include <math.h>

/* timm's _LEVEL_DENOM */
#define LEVELS 10.0

/* Which of timm's translations of a level. */
typedef enum timm_way {
    TIMM_PLAIN,
    TIMM_INCREASING, /* the effect grows with the level */
    TIMM_ORIGINAL,   /* of posterize: 4 to 8 bits */
    TIMM_DESATURATE, /* of color */
    TIMM_RANDOM      /* of blur: up to the level */
} timm_way;

enum { TIMM_SET_MIX = SL_TIMM_SETS, TIMM_COLUMNS };

typedef struct timm_op {
    uint8_t op, way;
    uint8_t weights[TIMM_COLUMNS];
} timm_op;

/*
 * Weights of each operation in each set, in the order of sl_timm_set; AugMix's is last. Weights are
 * those of timm times 20, the old ones times 200.
 */
static const timm_op timm_ops[] = {
    /* all, inc1, t3a, tweights, t3aw, w0, w0 with inc1, augmix */
    {SL_OP_AUTO_CONTRAST, TIMM_PLAIN, {1, 1, 0, 5, 1, 5, 5, 1}},
    {SL_OP_EQUALIZE, TIMM_PLAIN, {1, 1, 0, 1, 1, 1, 1, 1}},
    {SL_OP_INVERT, TIMM_PLAIN, {1, 1, 0, 1, 1, 0, 0, 0}},
    {SL_OP_ROTATE, TIMM_PLAIN, {1, 1, 0, 60, 3, 60, 60, 1}},
    {SL_OP_SHEAR_X, TIMM_PLAIN, {1, 1, 0, 40, 2, 40, 40, 1}},
    {SL_OP_SHEAR_Y, TIMM_PLAIN, {1, 1, 0, 40, 2, 40, 40, 1}},
    {SL_OP_TRANSLATE_X, TIMM_PLAIN, {1, 1, 0, 20, 0, 20, 20, 1}},
    {SL_OP_TRANSLATE_Y, TIMM_PLAIN, {1, 1, 0, 20, 0, 20, 20, 1}},
    {SL_OP_SOLARIZE_ADD, TIMM_PLAIN, {1, 1, 0, 1, 0, 1, 1, 0}},
    {SL_OP_SOLARIZE, TIMM_PLAIN, {1, 0, 0, 0, 0, 1, 0, 0}},
    {SL_OP_SOLARIZE, TIMM_INCREASING, {0, 1, 1, 1, 6, 0, 1, 1}},
    {SL_OP_POSTERIZE, TIMM_PLAIN, {1, 0, 0, 0, 0, 0, 0, 0}},
    {SL_OP_POSTERIZE, TIMM_INCREASING, {0, 1, 0, 1, 1, 0, 0, 1}},
    {SL_OP_COLOR, TIMM_PLAIN, {1, 0, 0, 0, 0, 5, 0, 0}},
    {SL_OP_COLOR, TIMM_INCREASING, {0, 1, 0, 5, 1, 0, 5, 1}},
    {SL_OP_COLOR, TIMM_DESATURATE, {0, 0, 1, 0, 6, 0, 0, 0}},
    {SL_OP_CONTRAST, TIMM_PLAIN, {1, 0, 0, 0, 0, 1, 0, 0}},
    {SL_OP_CONTRAST, TIMM_INCREASING, {0, 1, 0, 1, 1, 0, 1, 1}},
    {SL_OP_BRIGHTNESS, TIMM_PLAIN, {1, 0, 0, 0, 0, 1, 0, 0}},
    {SL_OP_BRIGHTNESS, TIMM_INCREASING, {0, 1, 0, 1, 1, 0, 1, 1}},
    {SL_OP_SHARPNESS, TIMM_PLAIN, {1, 0, 0, 0, 0, 5, 0, 0}},
    {SL_OP_SHARPNESS, TIMM_INCREASING, {0, 1, 0, 5, 1, 0, 5, 1}},
    {SL_OP_GAUSSIAN_BLUR, TIMM_PLAIN, {0, 0, 1, 0, 6, 0, 0, 0}},
};
enum { TIMM_OPS = sizeof(timm_ops) / sizeof(timm_ops[0]) };

/* ---- levels ---- */

/* Further arguments of a draw. */
typedef struct timm_draw {
    const sl_timm_policy *policy;
    uint32_t width, height;
    sl_random *random;
} timm_draw;

static double level_of(const timm_draw *draw, double magnitude)
{
    const double deviation = draw->policy->deviation;
    double level = magnitude;
    if (isinf(deviation)) {
        level = sl_random_range(draw->random, 0, magnitude);
    } else if (deviation > 0) {
        level = magnitude + deviation * sl_normal(draw->random);
    }
    return fmax(0, fmin(level, draw->policy->magnitude_max));
}

static double enhancement(const timm_draw *draw, double level, uint8_t way)
{
    if (way == TIMM_PLAIN) {
        return level / LEVELS * 1.8 + 0.1;
    }
    if (way == TIMM_DESATURATE) {
        const double lost = 0.5 + (1.0 - 0.5) * (level / LEVELS);
        return 1 - fmin(lost, 1);
    }
    return fmax(0.1, 1 + sl_sign(draw->random) * (level / LEVELS * 0.9));
}

/* Below 0 or above 8 if the level is above 10: Pillow treats these like 0 and 8. */
static double bits_kept(double level, uint8_t way)
{
    const double bits = trunc(level / LEVELS * 4);
    if (way == TIMM_PLAIN) {
        return fmin(bits, 8);
    }
    return way == TIMM_ORIGINAL ? fmin(bits + 4, 8) : fmax(4 - bits, 0);
}

static double threshold(double level, uint8_t way)
{
    const double plain = fmin(256, trunc(level / LEVELS * 256));
    return way == TIMM_PLAIN ? plain : 256 - plain;
}

static double radius(const timm_draw *draw, double level, uint8_t way)
{
    const double part = fmin(level / LEVELS, 1);
    if (way == TIMM_RANDOM) {
        return 0.1 + (2.0 * part - 0.1) * sl_random_unit(draw->random);
    }
    return 0.1 + (2.0 - 0.1) * part;
}

static double timm_value(const timm_draw *draw, sl_policy_op op, uint8_t way, double level)
{
    switch (op) {
    case SL_OP_SHEAR_X:
    case SL_OP_SHEAR_Y:
        return sl_sign(draw->random) * (level / LEVELS * 0.3);
    /* timm's number is where the input is read, ours where it goes: the sign is drawn anyway */
    case SL_OP_TRANSLATE_X:
        return sl_sign(draw->random) * (level / LEVELS * draw->policy->translation) * draw->width;
    case SL_OP_TRANSLATE_Y:
        return sl_sign(draw->random) * (level / LEVELS * draw->policy->translation) * draw->height;
    case SL_OP_ROTATE:
        return sl_sign(draw->random) * (level / LEVELS * 30);
    case SL_OP_BRIGHTNESS:
    case SL_OP_COLOR:
    case SL_OP_CONTRAST:
    case SL_OP_SHARPNESS:
        return enhancement(draw, level, way);
    case SL_OP_POSTERIZE:
        return bits_kept(level, way);
    case SL_OP_SOLARIZE:
        return threshold(level, way);
    case SL_OP_SOLARIZE_ADD:
        return fmin(128, trunc(level / LEVELS * 110));
    case SL_OP_GAUSSIAN_BLUR:
        return radius(draw, level, way);
    default:
        return 0;
    }
}

static sl_policy_choice timm_choice(const timm_draw *draw, sl_policy_op op, uint8_t way,
                                    double magnitude)
{
    const sl_timm_policy *policy = draw->policy;
    const double level = level_of(draw, magnitude);
    sl_policy_choice choice = {.op = op,
                               .interpolation = policy->interpolation,
                               .fill = {policy->fill[0], policy->fill[1], policy->fill[2]},
                               .value = timm_value(draw, op, way, level)};
    if (policy->interpolation == SL_POLICY_RANDOM) {
        choice.interpolation =
            sl_random_below(draw->random, 2) == 0 ? SL_POLICY_BILINEAR : SL_POLICY_BICUBIC;
    }
    return choice;
}

/* ---- draws ---- */

/* Returns whether the set is drawn without replacement, by weights. */
static bool has_weights(uint32_t set)
{
    return set >= SL_TIMM_WEIGHTS && set < SL_TIMM_SETS;
}

/* Draws from operations whose bit is not in `taken`. */
static uint32_t draw_op(uint32_t set, uint32_t taken, sl_random *random)
{
    uint32_t weights[TIMM_OPS];
    uint32_t total = 0;
    for (uint32_t i = 0; i < TIMM_OPS; i++) {
        weights[i] = taken >> i & 1 ? 0U : timm_ops[i].weights[set];
        total += weights[i];
    }
    uint32_t point = sl_random_below(random, total);
    uint32_t i = 0;
    while (point >= weights[i]) {
        point -= weights[i++];
    }
    return i;
}

static uint32_t draw_rand(const timm_draw *draw, sl_policy_choice *choices)
{
    const sl_timm_policy *policy = draw->policy;
    uint32_t taken = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < policy->num_ops; i++) {
        const uint32_t op = draw_op(policy->set, taken, draw->random);
        taken |= has_weights(policy->set) ? 1U << op : 0U;
        if (sl_random_unit(draw->random) < policy->probability) {
            choices[count++] =
                timm_choice(draw, timm_ops[op].op, timm_ops[op].way, policy->magnitude);
        }
    }
    return count;
}

/* Returns how a policy of sub-policies translates posterize; timm has the rest in the plain way. */
static timm_way posterize_way(sl_timm_set set)
{
    return set == SL_TIMM_ORIGINAL ? TIMM_ORIGINAL
           : set == SL_TIMM_V0     ? TIMM_PLAIN
                                   : TIMM_INCREASING;
}

static uint32_t draw_auto(const timm_draw *draw, sl_policy_choice *choices)
{
    const sl_timm_set set = draw->policy->set;
    const sl_auto_pair *table =
        set == SL_TIMM_V0 || set == SL_TIMM_V0_R ? sl_auto_v0 : sl_auto_imagenet;
    const sl_auto_part *pair = table[sl_random_below(draw->random, SL_AUTO_PAIRS)];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 2; i++) {
        if (sl_random_unit(draw->random) < pair[i].tenths / 10.0) {
            const timm_way way = pair[i].op == SL_OP_POSTERIZE ? posterize_way(set) : TIMM_PLAIN;
            choices[count++] = timm_choice(draw, pair[i].op, (uint8_t)way, pair[i].level);
        }
    }
    return count;
}

static uint32_t draw_3_augment(const timm_draw *draw, sl_policy_choice *choices)
{
    static const struct {
        uint8_t op, way, magnitude;
    } ops[] = {{SL_OP_SOLARIZE, TIMM_PLAIN, 5},
               {SL_OP_COLOR, TIMM_DESATURATE, 10},
               {SL_OP_GAUSSIAN_BLUR, TIMM_RANDOM, 10}};
    const uint32_t i = sl_random_below(draw->random, 3);
    choices[0] = timm_choice(draw, ops[i].op, ops[i].way, ops[i].magnitude);
    return 1;
}

uint32_t sl_timm_draw(const sl_timm_policy *policy, uint32_t width, uint32_t height,
                      sl_random *random, sl_policy_choice *choices)
{
    assert(policy->kind != SL_TIMM_AUG_MIX);
    const timm_draw draw = {policy, width, height, random};
    if (policy->kind == SL_TIMM_RAND) {
        return draw_rand(&draw, choices);
    }
    return policy->set == SL_TIMM_3_AUGMENT ? draw_3_augment(&draw, choices)
                                            : draw_auto(&draw, choices);
}

/* Sets weights of consecutive blends, so that chain i has the fraction weight[i] in the end; in
 * binary64. */
static void weights_of_blends(sl_policy_mix *mix)
{
    double left = 1;
    for (uint32_t i = mix->width; i-- > 0;) {
        const double share = (double)(mix->chains[i].weight * mix->blend);
        const double weight = left > share ? share / left : 1; /* rounding may leave less */
        left *= 1 - weight;
        mix->chains[i].weight = (float)weight;
    }
}

void sl_timm_mix_draw(const sl_timm_policy *policy, uint32_t width, uint32_t height,
                      sl_random *random, sl_policy_mix *mix)
{
    assert(policy->kind == SL_TIMM_AUG_MIX);
    const timm_draw draw = {policy, width, height, random};
    double shares[SL_POLICY_WIDTH_MAX];
    sl_dirichlet(random, policy->alpha, policy->width, shares);
    mix->rule = policy->blended ? SL_MIX_BLENDS : SL_MIX_SUM_AND_BLEND;
    mix->blend = (float)sl_beta(random, policy->alpha, policy->alpha);
    mix->original = 1 - mix->blend;
    mix->width = policy->width;
    for (uint32_t i = 0; i < mix->width; i++) {
        sl_policy_chain *chain = &mix->chains[i];
        chain->weight = (float)shares[i];
        const uint32_t drawn_depth = 1 + sl_random_below(random, SL_POLICY_DEPTH_DRAWN);
        chain->count = policy->depth > 0 ? policy->depth : drawn_depth;
        for (uint32_t k = 0; k < chain->count; k++) {
            const timm_op *op = &timm_ops[draw_op(TIMM_SET_MIX, 0, random)];
            chain->choices[k] = timm_choice(&draw, op->op, op->way, policy->magnitude);
        }
    }
    if (policy->blended) {
        weights_of_blends(mix);
    }
}

/* ---- ranges ---- */

static uint32_t most_ops(uint32_t set)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < TIMM_OPS; i++) {
        count += timm_ops[i].weights[set] > 0;
    }
    return has_weights(set) ? count : SL_POLICY_CHOICES_MAX;
}

static const char *rand_refusal(const sl_timm_policy *policy)
{
    if (policy->set >= SL_TIMM_SETS) {
        return "unknown set of operations for rand";
    }
    if (policy->num_ops < 1 || policy->num_ops > SL_POLICY_CHOICES_MAX) {
        return "n of rand, the number of operations, must be from 1 to 16";
    }
    if (policy->num_ops > most_ops(policy->set)) {
        return "n of rand must be at most the number of operations with a weight, which are drawn "
               "without replacement";
    }
    return policy->probability >= 0 && policy->probability <= 1
               ? NULL
               : "p of rand, a probability, must be from 0 to 1";
}

static const char *mix_refusal(const sl_timm_policy *policy)
{
    if (policy->width < 1 || policy->width > SL_POLICY_WIDTH_MAX) {
        return "w of augmix, the number of chains, must be from 1 to 8";
    }
    if (policy->depth > SL_POLICY_DEPTH_MAX) {
        return "d of augmix, the operations of a chain, must be from 0 to 8";
    }
    return policy->alpha >= SL_POLICY_ALPHA_MIN && policy->alpha <= SL_POLICY_ALPHA_MAX
               ? NULL
               : "a of augmix, a concentration, must be from 0.001 to 1000";
}

const char *sl_timm_refusal(const sl_timm_policy *policy)
{
    if (policy->kind >= SL_TIMM_KINDS) {
        return "unknown kind of timm policy";
    }
    if (policy->magnitude > 100 || policy->magnitude_max < 1 || policy->magnitude_max > 100) {
        return "magnitudes must be from 0 to 100, the largest from 1 to 100";
    }
    if (!(policy->deviation >= 0)) {
        return "the deviation of magnitudes must be at least 0";
    }
    if (!(policy->translation >= 0 && policy->translation <= 1)) {
        return "translation must be from 0 to 1, as a fraction of the side";
    }
    if (policy->interpolation > SL_POLICY_RANDOM) {
        return "interpolation must be nearest, bilinear, bicubic or random";
    }
    if (policy->kind == SL_TIMM_RAND) {
        return rand_refusal(policy);
    }
    if (policy->kind == SL_TIMM_AUG_MIX) {
        return mix_refusal(policy);
    }
    return policy->set >= SL_TIMM_ORIGINAL && policy->set < SL_TIMM_SETS_END
               ? NULL
               : "unknown policy of sub-policies";
}
