/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_blend: rows of two layers. Pure.
 *
 * MixUp (Zhang et al., arXiv 1710.09412) with a picture of other samples, as detectors have it
 * (ultralytics, data/augment.py, MixUp): shares of Beta(alpha, alpha), and what belongs to either
 * picture stays. Pixels are rounded to nearest even; ultralytics cuts them off.
 * Copy-paste (Ghiasi et al., arXiv 2012.07177): a random subset of the objects of another picture,
 * drawn apart, over this one, and what of its own objects they cover is not there any more. As in
 * the paper's ablation, edges are not blended.
 */
#include "steps_draw.h"
#include "variates.h"

enum { BLEND_ALPHA, BLEND_PROBABILITY, BLEND_END_EPOCH };
enum { PASTE_PROBABILITY, PASTE_SHARE, PASTE_END_EPOCH };

static uint32_t layers_until(double end, uint64_t epoch)
{
    return end > 0 && (double)epoch >= end ? 1 : 2;
}

uint32_t sl_mixup_partner_layers(const double *arguments, uint64_t epoch)
{
    return layers_until(arguments[BLEND_END_EPOCH], epoch);
}

sluice_status sl_draw_mixup_partner(const double *arguments, sl_drawing *drawing)
{
    if (sl_mixup_partner_layers(arguments, drawing->epoch) == 1) {
        return SLUICE_OK;
    }
    const double alpha = arguments[BLEND_ALPHA];
    const bool happens = sl_draw_happens(drawing, arguments[BLEND_PROBABILITY]);
    sl_draw_blend(drawing, happens ? (float)sl_beta(&drawing->random, alpha, alpha) : 1, !happens);
    return SLUICE_OK;
}

uint32_t sl_copy_paste_layers(const double *arguments, uint64_t epoch)
{
    return layers_until(arguments[PASTE_END_EPOCH], epoch);
}

sluice_status sl_draw_copy_paste(const double *arguments, sl_drawing *drawing)
{
    if (sl_copy_paste_layers(arguments, drawing->epoch) == 1) {
        return SLUICE_OK;
    }
    const bool happens = sl_draw_happens(drawing, arguments[PASTE_PROBABILITY]);
    const uint64_t high = sl_random_u32(&drawing->random);
    const uint64_t key = high << 32 | sl_random_u32(&drawing->random);
    sl_draw_paste(drawing, key, arguments[PASTE_SHARE], !happens);
    return SLUICE_OK;
}
