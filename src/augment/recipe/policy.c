/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"

#include "policy_tables.h"
#include "variates.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

bool sl_policy_op_moves(sl_policy_op op)
{
    return op >= SL_OP_SHEAR_X && op <= SL_OP_ROTATE;
}

/* ---- magnitudes ---- */

/* torchvision's _augmentation_space: values of the last bin. */
typedef struct magnitude_space {
    uint32_t bins;
    double shear, rotation, enhancement;
    double translation[2]; /* pixels in x and in y */
    int32_t bits_first, bits_lost;
} magnitude_space;

/* Returns the space of RandAugment and AutoAugment. */
static magnitude_space ordinary_space(uint32_t bins, uint32_t width, uint32_t height)
{
    return (magnitude_space){.bins = bins,
                             .shear = 0.3,
                             .rotation = 30,
                             .enhancement = 0.9,
                             .translation = {150.0 / 331.0 * width, 150.0 / 331.0 * height},
                             .bits_first = 8,
                             .bits_lost = 4};
}

static magnitude_space wide_space(uint32_t bins)
{
    return (magnitude_space){.bins = bins,
                             .shear = 0.99,
                             .rotation = 135,
                             .enhancement = 0.99,
                             .translation = {32, 32},
                             .bits_first = 8,
                             .bits_lost = 6};
}

static magnitude_space mix_space(uint32_t width, uint32_t height)
{
    return (magnitude_space){.bins = 10,
                             .shear = 0.3,
                             .rotation = 30,
                             .enhancement = 0.9,
                             .translation = {width / 3.0, height / 3.0},
                             .bits_first = 4,
                             .bits_lost = 4};
}

/* torch.linspace(first, last, bins)[bin] */
static float linspace_at(double first, double last, uint32_t bins, uint32_t bin)
{
    const float start = (float)first;
    const float end = (float)last;
    const float step = (end - start) / (float)(bins - 1);
    return bin < bins / 2 ? start + step * (float)bin : end - step * (float)(bins - 1 - bin);
}

/* first - round(bin / ((bins - 1) / lost)), half to even */
static int32_t bits_at(const magnitude_space *space, uint32_t bin)
{
    const float bins_a_bit = (float)((double)(space->bins - 1) / space->bits_lost);
    return space->bits_first - (int32_t)rintf((float)bin / bins_a_bit);
}

static double signed_at(double last, uint32_t bins, uint32_t bin, sl_random *random)
{
    return sl_sign(random) * (double)linspace_at(0, last, bins, bin);
}

static double value_at(const magnitude_space *space, sl_policy_op op, uint32_t bin,
                       sl_random *random)
{
    switch (op) {
    case SL_OP_SHEAR_X:
    case SL_OP_SHEAR_Y:
        return signed_at(space->shear, space->bins, bin, random);
    case SL_OP_TRANSLATE_X:
        return trunc(signed_at(space->translation[0], space->bins, bin, random));
    case SL_OP_TRANSLATE_Y:
        return trunc(signed_at(space->translation[1], space->bins, bin, random));
    case SL_OP_ROTATE:
        return signed_at(space->rotation, space->bins, bin, random);
    case SL_OP_BRIGHTNESS:
    case SL_OP_COLOR:
    case SL_OP_CONTRAST:
    case SL_OP_SHARPNESS:
        return 1 + signed_at(space->enhancement, space->bins, bin, random);
    case SL_OP_POSTERIZE:
        return bits_at(space, bin);
    case SL_OP_SOLARIZE:
        return (double)linspace_at(255, 0, space->bins, bin);
    default:
        return 0;
    }
}

/* ---- draws ---- */

static const uint8_t mixed_ops[] = {
    SL_OP_SHEAR_X,   SL_OP_SHEAR_Y,  SL_OP_TRANSLATE_X,   SL_OP_TRANSLATE_Y, SL_OP_ROTATE,
    SL_OP_POSTERIZE, SL_OP_SOLARIZE, SL_OP_AUTO_CONTRAST, SL_OP_EQUALIZE,    SL_OP_BRIGHTNESS,
    SL_OP_COLOR,     SL_OP_CONTRAST, SL_OP_SHARPNESS,
};
enum { MIXED_OPS = sizeof(mixed_ops), MIXED_OPS_WITHOUT_COLOR = MIXED_OPS - 4 };

static const uint8_t single_ops[] = {
    SL_OP_IDENTITY,  SL_OP_SHEAR_X,    SL_OP_SHEAR_Y,       SL_OP_TRANSLATE_X, SL_OP_TRANSLATE_Y,
    SL_OP_ROTATE,    SL_OP_BRIGHTNESS, SL_OP_COLOR,         SL_OP_CONTRAST,    SL_OP_SHARPNESS,
    SL_OP_POSTERIZE, SL_OP_SOLARIZE,   SL_OP_AUTO_CONTRAST, SL_OP_EQUALIZE,
};
enum { SINGLE_OPS = sizeof(single_ops) };

/* Returns a choice with the policy's interpolation and fill. */
static sl_policy_choice choice_of(uint8_t interpolation, const uint8_t *fill)
{
    return (sl_policy_choice){.interpolation = interpolation, .fill = {fill[0], fill[1], fill[2]}};
}

uint32_t sl_rand_augment_draw(const sl_rand_augment *config, uint32_t width, uint32_t height,
                              sl_random *random, sl_policy_choice *choices)
{
    const magnitude_space space = ordinary_space(config->num_magnitude_bins, width, height);
    for (uint32_t i = 0; i < config->num_ops; i++) {
        choices[i] = choice_of(config->interpolation, config->fill);
        choices[i].op = single_ops[sl_random_below(random, SINGLE_OPS)];
        choices[i].value = value_at(&space, choices[i].op, config->magnitude, random);
    }
    return config->num_ops;
}

uint32_t sl_trivial_augment_draw(const sl_trivial_augment *config, uint32_t width, uint32_t height,
                                 sl_random *random, sl_policy_choice *choices)
{
    (void)width; /* translation is in pixels, for images of any size */
    (void)height;
    const magnitude_space space = wide_space(config->num_magnitude_bins);
    choices[0] = choice_of(config->interpolation, config->fill);
    choices[0].op = single_ops[sl_random_below(random, SINGLE_OPS)];
    const uint32_t bin = sl_random_below(random, space.bins);
    choices[0].value = value_at(&space, choices[0].op, bin, random);
    return 1;
}

uint32_t sl_auto_augment_draw(const sl_auto_augment *config, uint32_t width, uint32_t height,
                              sl_random *random, sl_policy_choice *choices)
{
    static const sl_auto_pair *const tables[SL_AUTO_POLICIES] = {
        [SL_AUTO_IMAGENET] = sl_auto_imagenet,
        [SL_AUTO_CIFAR10] = sl_auto_cifar10,
        [SL_AUTO_SVHN] = sl_auto_svhn,
    };
    const magnitude_space space = ordinary_space(10, width, height);
    const sl_auto_part *pair = tables[config->policy][sl_random_below(random, SL_AUTO_PAIRS)];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 2; i++) {
        if (sl_random_unit(random) < pair[i].tenths / 10.0) {
            choices[count] = choice_of(config->interpolation, config->fill);
            choices[count].op = pair[i].op;
            choices[count].value = value_at(&space, pair[i].op, pair[i].level, random);
            count++;
        }
    }
    return count;
}

static void draw_chain(const sl_aug_mix *config, const magnitude_space *space, sl_random *random,
                       sl_policy_chain *chain)
{
    const uint32_t ops = config->all_ops ? MIXED_OPS : MIXED_OPS_WITHOUT_COLOR;
    const uint32_t drawn_depth = 1 + sl_random_below(random, SL_POLICY_DEPTH_DRAWN);
    chain->count = config->chain_depth > 0 ? (uint32_t)config->chain_depth : drawn_depth;
    for (uint32_t i = 0; i < chain->count; i++) {
        sl_policy_choice *choice = &chain->choices[i];
        *choice = choice_of(config->interpolation, config->fill);
        choice->op = mixed_ops[sl_random_below(random, ops)];
        const uint32_t bin = sl_random_below(random, config->severity);
        choice->value = value_at(space, choice->op, bin, random);
    }
}

void sl_aug_mix_draw(const sl_aug_mix *config, uint32_t width, uint32_t height, sl_random *random,
                     sl_policy_mix *mix)
{
    const double original = sl_beta(random, config->alpha, config->alpha);
    double shares[SL_POLICY_WIDTH_MAX];
    sl_dirichlet(random, config->alpha, config->mixture_width, shares);
    mix->rule = SL_MIX_SUM;
    mix->original = (float)original;
    mix->blend = (float)(1 - original);
    mix->width = config->mixture_width;
    const magnitude_space space = mix_space(width, height);
    for (uint32_t i = 0; i < mix->width; i++) {
        mix->chains[i].weight = (float)shares[i] * mix->blend;
        draw_chain(config, &space, random, &mix->chains[i]);
    }
}
