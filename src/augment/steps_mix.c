/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps over a batch mean (batch_mixing.h). Pure. */
#include "steps_draw.h"

enum { ALPHA, PROBABILITY, PARTNER };
enum {
    MIXUP_ALPHA,
    CUTMIX_ALPHA,
    CUTMIX_MIN,
    CUTMIX_MAX,
    TIMM_PROBABILITY,
    SWITCH_PROBABILITY,
    MODE,
    CORRECT_LAMBDA,
    TIMM_PARTNER
};

void sl_mixup(const double *arguments, sl_mixing *mixing)
{
    mixing->mixup_alpha = arguments[ALPHA];
    mixing->probability = arguments[PROBABILITY];
    mixing->partner = (sl_mixing_partner)arguments[PARTNER];
}

void sl_cutmix(const double *arguments, sl_mixing *mixing)
{
    mixing->cutmix_alpha = arguments[ALPHA];
    mixing->probability = arguments[PROBABILITY];
    mixing->partner = (sl_mixing_partner)arguments[PARTNER];
}

void sl_timm_mix(const double *arguments, sl_mixing *mixing)
{
    const bool by_sides = arguments[CUTMIX_MAX] > 0; /* as timm has it, alpha is 1 then */
    mixing->mixup_alpha = arguments[MIXUP_ALPHA];
    mixing->cutmix_alpha = by_sides ? 1 : arguments[CUTMIX_ALPHA];
    mixing->sides[0] = arguments[CUTMIX_MIN];
    mixing->sides[1] = arguments[CUTMIX_MAX];
    mixing->probability = arguments[TIMM_PROBABILITY];
    mixing->switch_probability = arguments[SWITCH_PROBABILITY];
    mixing->mode = (sl_mixing_mode)arguments[MODE];
    mixing->keeps_lambda = arguments[CORRECT_LAMBDA] == 0;
    mixing->partner = (sl_mixing_partner)arguments[TIMM_PARTNER];
}

const char *sl_timm_mix_mismatch(const double *arguments)
{
    if (arguments[MIXUP_ALPHA] == 0 && arguments[CUTMIX_ALPHA] == 0 && arguments[CUTMIX_MAX] == 0) {
        return "mixup_alpha or cutmix_alpha must be above 0, or there must be cutmix_max";
    }
    if (arguments[CUTMIX_MIN] > arguments[CUTMIX_MAX]) {
        return "cutmix_min must be at most cutmix_max";
    }
    if (arguments[MODE] == SL_MIX_PAIR && arguments[TIMM_PARTNER] != SL_PARTNER_REVERSED) {
        return "mode pair needs the partner reversed: a row and the one before it are no pair";
    }
    return NULL;
}
