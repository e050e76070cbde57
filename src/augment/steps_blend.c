/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_blend: MixUp (Zhang et al., arXiv 1710.09412) with a picture of other samples, as detectors
 * have it (ultralytics, data/augment.py, MixUp): shares of Beta(alpha, alpha), and what belongs to
 * either picture stays. Pixels are rounded to nearest even; ultralytics cuts them off. Pure.
 */
#include "steps_draw.h"
#include "variates.h"

enum { BLEND_ALPHA, BLEND_PROBABILITY, BLEND_END_EPOCH };

uint32_t sl_mixup_partner_layers(const double *arguments, uint64_t epoch)
{
    const double end = arguments[BLEND_END_EPOCH];
    return end > 0 && (double)epoch >= end ? 1 : 2;
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
