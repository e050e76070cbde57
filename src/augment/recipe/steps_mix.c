/* SPDX-License-Identifier: Apache-2.0 */
/* The steps over a batch (batch_mixing.h). Pure. */
#include "step_row.h"

enum { ALPHA, PROBABILITY, PARTNER, END_EPOCH };
enum {
    MIXUP_ALPHA,
    CUTMIX_ALPHA,
    CUTMIX_MIN,
    CUTMIX_MAX,
    TIMM_PROBABILITY,
    SWITCH_PROBABILITY,
    MODE,
    CORRECT_LAMBDA,
    TIMM_PARTNER,
    TIMM_END_EPOCH
};

/* In the order of sl_mixing_partner and sl_mixing_mode. */
static const char *const partner_words[] = {"reversed", "previous", NULL};
static const char *const mode_words[] = {"batch", "pair", "elem", NULL};

#define PARTNER_BY_RULE          SL_ARG_WORD("partner", partner_words, SL_PARTNER_REVERSED)
#define ALPHA_OR_0(name, preset) name, SL_NUMBER_REAL, false, 0, 1e9, preset

static void mixup_mixing(const double *arguments, sl_mixing *mixing)
{
    mixing->mixup_alpha = arguments[ALPHA];
    mixing->probability = arguments[PROBABILITY];
    mixing->partner = (sl_mixing_partner)arguments[PARTNER];
    mixing->end_epoch = (uint64_t)arguments[END_EPOCH];
}

SL_STEP(mixup) = {.name = "mixup",
                  .text = "each row of a batch blended with another one, by random fractions",
                  .stage = SL_STAGE_BATCH,
                  .stream = 31,
                  .arguments = {{SL_ARG_ALPHA(1)},
                                {SL_ARG_PROBABILITY(1)},
                                {PARTNER_BY_RULE},
                                {SL_ARG_END_EPOCH}},
                  .mix = mixup_mixing};

static void cutmix_mixing(const double *arguments, sl_mixing *mixing)
{
    mixing->cutmix_alpha = arguments[ALPHA];
    mixing->probability = arguments[PROBABILITY];
    mixing->partner = (sl_mixing_partner)arguments[PARTNER];
    mixing->end_epoch = (uint64_t)arguments[END_EPOCH];
}

SL_STEP(cutmix) = {.name = "cutmix",
                   .text = "a random box of each row of a batch is another row's",
                   .stage = SL_STAGE_BATCH,
                   .stream = 32,
                   .arguments = {{SL_ARG_ALPHA(1)},
                                 {SL_ARG_PROBABILITY(1)},
                                 {PARTNER_BY_RULE},
                                 {SL_ARG_END_EPOCH}},
                   .mix = cutmix_mixing};

static void timm_mixing(const double *arguments, sl_mixing *mixing)
{
    const bool by_sides = arguments[CUTMIX_MAX] > 0; /* as in timm, alpha is 1 then */
    mixing->mixup_alpha = arguments[MIXUP_ALPHA];
    mixing->cutmix_alpha = by_sides ? 1 : arguments[CUTMIX_ALPHA];
    mixing->sides[0] = arguments[CUTMIX_MIN];
    mixing->sides[1] = arguments[CUTMIX_MAX];
    mixing->probability = arguments[TIMM_PROBABILITY];
    mixing->switch_probability = arguments[SWITCH_PROBABILITY];
    mixing->mode = (sl_mixing_mode)arguments[MODE];
    mixing->keeps_lambda = arguments[CORRECT_LAMBDA] == 0;
    mixing->partner = (sl_mixing_partner)arguments[TIMM_PARTNER];
    mixing->end_epoch = (uint64_t)arguments[TIMM_END_EPOCH];
}

static const char *timm_mix_mismatch(const double *arguments)
{
    if (arguments[MIXUP_ALPHA] == 0 && arguments[CUTMIX_ALPHA] == 0 && arguments[CUTMIX_MAX] == 0) {
        return "one of mixup_alpha, cutmix_alpha and cutmix_max must be above 0";
    }
    if (arguments[CUTMIX_MIN] > arguments[CUTMIX_MAX]) {
        return "cutmix_min must be at most cutmix_max";
    }
    if (arguments[MODE] == SL_MIX_PAIR && arguments[TIMM_PARTNER] != SL_PARTNER_REVERSED) {
        return "mode pair needs partner reversed: adjacent rows do not form pairs";
    }
    return NULL;
}

SL_STEP(timm_mix) = {.name = "timm_mix",
                     .text = "timm's mixup and cutmix, for batches, pairs or rows by themselves",
                     .stage = SL_STAGE_BATCH,
                     .stream = 33,
                     .arguments = {{ALPHA_OR_0("mixup_alpha", 1)},
                                   {ALPHA_OR_0("cutmix_alpha", 0)},
                                   {SL_ARG_REAL("cutmix_min", 0, 1, 0)},
                                   {SL_ARG_REAL("cutmix_max", 0, 1, 0)},
                                   {SL_ARG_PROBABILITY(1)},
                                   {SL_ARG_REAL("switch_probability", 0, 1, 0.5)},
                                   {SL_ARG_WORD("mode", mode_words, SL_MIX_BATCH)},
                                   {SL_ARG_WHOLE("correct_lambda", 0, 1, 1)},
                                   {PARTNER_BY_RULE},
                                   {SL_ARG_END_EPOCH}},
                     .mismatch = timm_mix_mismatch,
                     .mix = timm_mixing};
