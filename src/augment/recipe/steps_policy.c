/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_policy: turns a policy's choices (policy.h) into operations. Shears, translations and
 * rotations are torchvision's and timm's by Pillow; all others are the kinds of operations.h. Pure.
 */
#include "operations.h"
#include "policy_timm.h"
#include "step_row.h"

#include <string.h>

/* In the order of sl_auto_policy, sl_timm_kind and sl_timm_set. */
static const char *const policy_words[] = {"imagenet", "cifar10", "svhn", NULL};
static const char *const timm_words[] = {"rand", "auto", "augmix", NULL};
static const char *const timm_interpolation_words[] = {"nearest", "bilinear", "bicubic", "random",
                                                       NULL};
static const char *const timm_sets[] = {"all",
                                        "increasing",
                                        "3a",
                                        "weights",
                                        "3a-weights",
                                        "old-weights",
                                        "old-weights-increasing",
                                        "original",
                                        "original-r",
                                        "v0",
                                        "v0-r",
                                        "3-augment",
                                        NULL};

/* ---- choices ---- */

static sluice_status move(const sl_policy_choice *choice, sl_drawing *drawing)
{
    static const sl_interpolation interpolations[] = {[SL_POLICY_NEAREST] = SL_NEAREST,
                                                      [SL_POLICY_BILINEAR] = SL_BILINEAR,
                                                      [SL_POLICY_BICUBIC] = SL_BICUBIC};
    double matrix[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    switch (choice->op) {
    case SL_OP_SHEAR_X:
        matrix[1] = choice->value;
        break;
    case SL_OP_SHEAR_Y:
        matrix[3] = choice->value;
        break;
    case SL_OP_TRANSLATE_X:
        matrix[2] = -choice->value;
        break;
    case SL_OP_TRANSLATE_Y:
        matrix[5] = -choice->value;
        break;
    default:
        sl_rotation_matrix(choice->value, drawing->width, drawing->height, matrix);
        break;
    }
    return sl_draw_warp(drawing, matrix, drawing->width, drawing->height,
                        interpolations[choice->interpolation], choice->fill);
}

static sluice_status choose(const sl_policy_choice *choice, sl_drawing *drawing)
{
    static const sl_operation_kind *const kinds[SL_OPS] = {
        [SL_OP_BRIGHTNESS] = &sl_operation_brightness,
        [SL_OP_COLOR] = &sl_operation_saturation,
        [SL_OP_CONTRAST] = &sl_operation_contrast,
        [SL_OP_SHARPNESS] = &sl_operation_sharpness,
        [SL_OP_POSTERIZE] = &sl_operation_posterize,
        [SL_OP_SOLARIZE] = &sl_operation_solarize,
        [SL_OP_SOLARIZE_ADD] = &sl_operation_solarize_add,
        [SL_OP_AUTO_CONTRAST] = &sl_operation_autocontrast,
        [SL_OP_EQUALIZE] = &sl_operation_equalize,
        [SL_OP_INVERT] = &sl_operation_invert,
        [SL_OP_GAUSSIAN_BLUR] = &sl_operation_box_blur,
    };
    if (choice->op == SL_OP_IDENTITY) {
        return SLUICE_OK;
    }
    if (sl_policy_op_moves(choice->op)) {
        return move(choice, drawing);
    }
    sl_operation *operation = sl_draw_operation(drawing, kinds[choice->op]);
    if (operation == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    operation->values[0] = choice->value;
    operation->values[1] = choice->op == SL_OP_SOLARIZE_ADD ? 128 : 0;
    return SLUICE_OK;
}

static sluice_status choose_all(const sl_policy_choice *choices, uint32_t count,
                                sl_drawing *drawing)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < count && status == SLUICE_OK; i++) {
        status = choose(&choices[i], drawing);
    }
    return status;
}

static sluice_status choose_chain(const sl_policy_chain *chain, sl_drawing *drawing)
{
    sl_operation *head = sl_draw_operation(drawing, &sl_operation_chain);
    if (head == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    const uint32_t before = drawing->params->operation_count;
    const sluice_status status = choose_all(chain->choices, chain->count, drawing);
    head->values[0] = (double)chain->weight;
    head->values[1] = drawing->params->operation_count - before;
    return status;
}

/* Chains move copies of the image, which does not move itself: nor do its annotations. */
static sluice_status choose_mix(const sl_policy_mix *mix, sl_drawing *drawing)
{
    const sl_trail trail = drawing->params->trail;
    sl_drawing *const twin = drawing->twin;
    if (drawing->labels) {
        return SLUICE_OK;
    }
    sl_operation *head = sl_draw_operation(drawing, &sl_operation_mix);
    if (head == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    head->values[0] = mix->rule;
    head->values[1] = (double)mix->original;
    head->values[2] = (double)mix->blend;
    head->values[3] = mix->width;
    drawing->twin = NULL; /* labels stay, too */
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < mix->width && status == SLUICE_OK; i++) {
        status = choose_chain(&mix->chains[i], drawing);
    }
    sl_drawing_close(drawing); /* later steps are not the last chain's */
    drawing->params->trail = trail;
    drawing->twin = twin;
    return status;
}

/* Returns the operations of a mix of that many chains, each of at most that many choices. */
static uint32_t mix_operations(uint32_t width, uint32_t depth)
{
    return 1 + width * (1 + depth);
}

/* ---- torchvision ---- */

enum { RAND_OPS, RAND_MAGNITUDE, RAND_BINS, RAND_INTERPOLATION, RAND_FILL };

static sl_rand_augment rand_augment_of(const double *arguments)
{
    sl_rand_augment config = {.num_ops = (uint32_t)arguments[RAND_OPS],
                              .magnitude = (uint32_t)arguments[RAND_MAGNITUDE],
                              .num_magnitude_bins = (uint32_t)arguments[RAND_BINS],
                              .interpolation = (uint8_t)arguments[RAND_INTERPOLATION]};
    sl_draw_fill(arguments + RAND_FILL, config.fill);
    return config;
}

static const char *rand_augment_mismatch(const double *arguments)
{
    return arguments[RAND_MAGNITUDE] >= arguments[RAND_BINS]
               ? "magnitude must be below num_magnitude_bins"
               : NULL;
}

static uint32_t rand_augment_operations(const double *arguments)
{
    return (uint32_t)arguments[RAND_OPS];
}

static sluice_status draw_rand_augment(const double *arguments, sl_drawing *drawing)
{
    sl_policy_choice choices[SL_POLICY_CHOICES_MAX];
    const sl_rand_augment config = rand_augment_of(arguments);
    const uint32_t count =
        sl_rand_augment_draw(&config, drawing->width, drawing->height, &drawing->random, choices);
    return choose_all(choices, count, drawing);
}

SL_STEP(rand_augment) = {
    .name = "rand_augment",
    .text = "torchvision's RandAugment: some of 14 operations, all at one magnitude",
    .stage = SL_STAGE_POLICY,
    .stream = 23,
    .arguments = {{SL_ARG_WHOLE("num_ops", 1, SL_POLICY_CHOICES_MAX, 2)},
                  {SL_ARG_WHOLE("magnitude", 0, SL_POLICY_BINS_MAX - 1, 9)},
                  {SL_ARG_WHOLE("num_magnitude_bins", 2, SL_POLICY_BINS_MAX, 31)},
                  {SL_ARG_WARPED(SL_NEAREST)},
                  SL_ARG_FILL(0)},
    .mismatch = rand_augment_mismatch,
    .draw = draw_rand_augment,
    .operations = rand_augment_operations};

enum { TRIVIAL_BINS, TRIVIAL_INTERPOLATION, TRIVIAL_FILL };

static sluice_status draw_trivial_augment_wide(const double *arguments, sl_drawing *drawing)
{
    sl_policy_choice choices[SL_POLICY_CHOICES_MAX];
    sl_trivial_augment config = {.num_magnitude_bins = (uint32_t)arguments[TRIVIAL_BINS],
                                 .interpolation = (uint8_t)arguments[TRIVIAL_INTERPOLATION]};
    sl_draw_fill(arguments + TRIVIAL_FILL, config.fill);
    const uint32_t count = sl_trivial_augment_draw(&config, drawing->width, drawing->height,
                                                   &drawing->random, choices);
    return choose_all(choices, count, drawing);
}

SL_STEP(trivial_augment_wide) = {
    .name = "trivial_augment_wide",
    .text = "torchvision's TrivialAugmentWide: one of 14 operations, at a random magnitude",
    .stage = SL_STAGE_POLICY,
    .stream = 24,
    .arguments = {{SL_ARG_WHOLE("num_magnitude_bins", 2, SL_POLICY_BINS_MAX, 31)},
                  {SL_ARG_WARPED(SL_NEAREST)},
                  SL_ARG_FILL(0)},
    .draw = draw_trivial_augment_wide};

enum { AUTO_POLICY, AUTO_INTERPOLATION, AUTO_FILL };

static uint32_t auto_augment_operations(const double *arguments)
{
    (void)arguments;
    return SL_POLICY_PARTS;
}

static sluice_status draw_auto_augment(const double *arguments, sl_drawing *drawing)
{
    sl_policy_choice choices[SL_POLICY_CHOICES_MAX];
    sl_auto_augment config = {.policy = (uint32_t)arguments[AUTO_POLICY],
                              .interpolation = (uint8_t)arguments[AUTO_INTERPOLATION]};
    sl_draw_fill(arguments + AUTO_FILL, config.fill);
    const uint32_t count =
        sl_auto_augment_draw(&config, drawing->width, drawing->height, &drawing->random, choices);
    return choose_all(choices, count, drawing);
}

SL_STEP(auto_augment) = {.name = "auto_augment",
                         .text = "torchvision's AutoAugment: one of 25 learnt pairs",
                         .stage = SL_STAGE_POLICY,
                         .stream = 25,
                         .arguments = {{SL_ARG_WORD("policy", policy_words, SL_AUTO_IMAGENET)},
                                       {SL_ARG_WARPED(SL_NEAREST)},
                                       SL_ARG_FILL(0)},
                         .draw = draw_auto_augment,
                         .operations = auto_augment_operations};

enum { MIX_SEVERITY, MIX_WIDTH, MIX_DEPTH, MIX_ALPHA, MIX_ALL_OPS, MIX_INTERPOLATION, MIX_FILL };

static sl_aug_mix aug_mix_of(const double *arguments)
{
    sl_aug_mix config = {.severity = (uint32_t)arguments[MIX_SEVERITY],
                         .mixture_width = (uint32_t)arguments[MIX_WIDTH],
                         .chain_depth = (int32_t)arguments[MIX_DEPTH],
                         .alpha = arguments[MIX_ALPHA],
                         .all_ops = arguments[MIX_ALL_OPS] != 0,
                         .interpolation = (uint8_t)arguments[MIX_INTERPOLATION]};
    sl_draw_fill(arguments + MIX_FILL, config.fill);
    return config;
}

static uint32_t aug_mix_operations(const double *arguments)
{
    const double depth = arguments[MIX_DEPTH] > 0 ? arguments[MIX_DEPTH] : SL_POLICY_DEPTH_DRAWN;
    return mix_operations((uint32_t)arguments[MIX_WIDTH], (uint32_t)depth);
}

static sluice_status draw_aug_mix(const double *arguments, sl_drawing *drawing)
{
    sl_policy_mix mix;
    const sl_aug_mix config = aug_mix_of(arguments);
    sl_aug_mix_draw(&config, drawing->width, drawing->height, &drawing->random, &mix);
    return choose_mix(&mix, drawing);
}

SL_STEP(aug_mix) = {
    .name = "aug_mix",
    .text = "torchvision's AugMix: chains of operations, blended with the image",
    .stage = SL_STAGE_POLICY,
    .stream = 26,
    .arguments = {{SL_ARG_WHOLE("severity", 1, 10, 3)},
                  {SL_ARG_WHOLE("mixture_width", 1, SL_POLICY_WIDTH_MAX, 3)},
                  {SL_ARG_WHOLE("chain_depth", -1, SL_POLICY_DEPTH_MAX, -1)},
                  {SL_ARG_REAL("alpha", SL_POLICY_ALPHA_MIN, SL_POLICY_ALPHA_MAX, 1)},
                  {SL_ARG_WHOLE("all_ops", 0, 1, 1)},
                  {SL_ARG_WARPED(SL_BILINEAR)},
                  SL_ARG_FILL(0)},
    .draw = draw_aug_mix,
    .operations = aug_mix_operations};

/* ---- timm ---- */

enum {
    TIMM_KIND,
    TIMM_SET,
    TIMM_OPS,
    TIMM_MAGNITUDE,
    TIMM_MAGNITUDE_MAX,
    TIMM_DEVIATION,
    TIMM_PROBABILITY,
    TIMM_WIDTH,
    TIMM_DEPTH,
    TIMM_ALPHA,
    TIMM_BLENDED,
    TIMM_TRANSLATION,
    TIMM_INTERPOLATION,
    TIMM_FILL
};
_Static_assert(TIMM_FILL + 3 == SL_STEP_ARGUMENTS_MAX, "as the row of the table has them");

static sl_timm_policy timm_of(const double *arguments)
{
    sl_timm_policy policy = {.kind = (sl_timm_kind)(int)arguments[TIMM_KIND],
                             .set = (sl_timm_set)(int)arguments[TIMM_SET],
                             .num_ops = (uint32_t)arguments[TIMM_OPS],
                             .magnitude = (uint32_t)arguments[TIMM_MAGNITUDE],
                             .magnitude_max = (uint32_t)arguments[TIMM_MAGNITUDE_MAX],
                             .deviation = arguments[TIMM_DEVIATION],
                             .probability = arguments[TIMM_PROBABILITY],
                             .width = (uint32_t)arguments[TIMM_WIDTH],
                             .depth = (uint32_t)arguments[TIMM_DEPTH],
                             .alpha = arguments[TIMM_ALPHA],
                             .blended = arguments[TIMM_BLENDED] != 0,
                             .translation = arguments[TIMM_TRANSLATION],
                             .interpolation = (uint8_t)arguments[TIMM_INTERPOLATION]};
    sl_draw_fill(arguments + TIMM_FILL, policy.fill);
    return policy;
}

sluice_status sl_timm_arguments(const char *text, double arguments[SL_STEP_ARGUMENTS_MAX],
                                sluice_error *error)
{
    sl_timm_policy policy;
    const sluice_status status = sl_timm_parse(&policy, text, error);
    if (status != SLUICE_OK) {
        return status;
    }
    const double numbers[SL_STEP_ARGUMENTS_MAX] = {[TIMM_KIND] = policy.kind,
                                                   [TIMM_SET] = policy.set,
                                                   [TIMM_OPS] = policy.num_ops,
                                                   [TIMM_MAGNITUDE] = policy.magnitude,
                                                   [TIMM_MAGNITUDE_MAX] = policy.magnitude_max,
                                                   [TIMM_DEVIATION] = policy.deviation,
                                                   [TIMM_PROBABILITY] = policy.probability,
                                                   [TIMM_WIDTH] = policy.width,
                                                   [TIMM_DEPTH] = policy.depth,
                                                   [TIMM_ALPHA] = policy.alpha,
                                                   [TIMM_BLENDED] = policy.blended,
                                                   [TIMM_TRANSLATION] = policy.translation,
                                                   [TIMM_INTERPOLATION] = policy.interpolation,
                                                   [TIMM_FILL] = policy.fill[0],
                                                   [TIMM_FILL + 1] = policy.fill[1],
                                                   [TIMM_FILL + 2] = policy.fill[2]};
    memcpy(arguments, numbers, sizeof(numbers));
    return SLUICE_OK;
}

static const char *timm_augment_mismatch(const double *arguments)
{
    const sl_timm_policy policy = timm_of(arguments);
    return sl_timm_refusal(&policy);
}

static uint32_t timm_augment_operations(const double *arguments)
{
    const double depth = arguments[TIMM_DEPTH] > 0 ? arguments[TIMM_DEPTH] : SL_POLICY_DEPTH_DRAWN;
    switch ((int)arguments[TIMM_KIND]) {
    case SL_TIMM_RAND:
        return (uint32_t)arguments[TIMM_OPS];
    case SL_TIMM_AUTO:
        return SL_POLICY_PARTS;
    default:
        return mix_operations((uint32_t)arguments[TIMM_WIDTH], (uint32_t)depth);
    }
}

static sluice_status draw_timm_augment(const double *arguments, sl_drawing *drawing)
{
    const sl_timm_policy policy = timm_of(arguments);
    if (policy.kind == SL_TIMM_AUG_MIX) {
        sl_policy_mix mix;
        sl_timm_mix_draw(&policy, drawing->width, drawing->height, &drawing->random, &mix);
        return choose_mix(&mix, drawing);
    }
    sl_policy_choice choices[SL_POLICY_CHOICES_MAX];
    const uint32_t count =
        sl_timm_draw(&policy, drawing->width, drawing->height, &drawing->random, choices);
    return choose_all(choices, count, drawing);
}

SL_STEP(timm_augment) = {
    .name = "timm_augment",
    .text = "timm's policies; sluice_augment_timm makes the arguments of a string",
    .stage = SL_STAGE_POLICY,
    .stream = 27,
    .arguments = {{SL_ARG_WORD("kind", timm_words, SL_TIMM_RAND)},
                  {SL_ARG_WORD("set", timm_sets, SL_TIMM_ALL)},
                  {SL_ARG_WHOLE("num_ops", 1, SL_POLICY_CHOICES_MAX, 2)},
                  {SL_ARG_WHOLE("magnitude", 0, 100, 10)},
                  {SL_ARG_WHOLE("magnitude_max", 1, 100, 10)},
                  {"deviation", SL_NUMBER_REAL, false, 0, INFINITY, 0},
                  {SL_ARG_PROBABILITY(0.5)},
                  {SL_ARG_WHOLE("width", 1, SL_POLICY_WIDTH_MAX, 3)},
                  {SL_ARG_WHOLE("depth", 0, SL_POLICY_DEPTH_MAX, 0)},
                  {SL_ARG_REAL("alpha", SL_POLICY_ALPHA_MIN, SL_POLICY_ALPHA_MAX, 1)},
                  {SL_ARG_FLAG("blended")},
                  {SL_ARG_REAL("translation", 0, 1, 0.45)},
                  {SL_ARG_WORD("interpolation", timm_interpolation_words, SL_POLICY_RANDOM)},
                  SL_ARG_FILL(124)},
    .mismatch = timm_augment_mismatch,
    .draw = draw_timm_augment,
    .operations = timm_augment_operations};
